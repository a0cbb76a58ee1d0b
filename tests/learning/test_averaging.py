"""Weight averaging: the mean of what separate trainings learn, whatever happened on the way."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.learning.planted import Planted, PlantedTask, planted, tuned_ranker
from tests.learning.test_fit import hinge, ranker, wins
from whymatch.learning import Adapter
from whymatch.learning.fit import SEED_STEP, Fitting, Schedule, _mean, fit
from whymatch.matching.ranker import Ranker
from whymatch.text.encoders.trainable import Projected

Weights = dict[str, Tensor]


class StoppedError(Exception):
    """Somebody pulled the plug."""


def learned(
    schedule: Schedule,
    folder: Path | None = None,
    *,
    stop: int = -1,
    alone: bool = False,
    start: Callable[[], Ranker] | None = None,
) -> tuple[Weights, int]:
    """The weights that trainings end with, and the steps that were taken; stopped before one of them, if told.

    `start` gives the model that learns, a linear map unless it is given.
    """
    tasks, encoder = planted(48, seed=4)
    model, steps = ranker(encoder) if start is None else start(), 0
    if isinstance(model.encoder, Projected):
        model.encoder.dropout.p = 0.2

    def loss(some: Sequence[Planted]) -> Tensor:
        nonlocal steps
        if steps == stop:
            raise StoppedError
        steps += 1
        return hinge(model, some)

    task = PlantedTask(model, loss, lambda: wins(model, tasks[32:]))
    run = Fitting[Planted](task, schedule, folder, checkpoint_steps=2)
    if alone:
        run.run(tasks[:32])
    else:
        fit(run, tasks[:32], resume=folder is not None)
    return model.state_dict(), steps


def same(some: Weights, others: Weights) -> bool:
    return all(torch.equal(some[name], others[name]) for name in some | others)


def test_averaged_weights_are_the_mean_of_runs_with_seeds_of_their_own() -> None:
    runs = [learned(Schedule(2, 8, rate=0.03, seed=7 + SEED_STEP * number), alone=True)[0] for number in range(3)]
    assert not same(runs[0], runs[1])
    found = learned(Schedule(2, 8, rate=0.03, seed=7, average_weights_of=3))[0]
    for name, weight in found.items():
        torch.testing.assert_close(weight, torch.stack([run[name] for run in runs]).mean(dim=0))
    assert same(learned(Schedule(2, 8, rate=0.03, seed=7))[0], runs[0])


def test_averaged_adapters_are_nearest_to_the_mean_of_the_weights(roberta: Path) -> None:
    """And nearer than the product of the means of both matrices; the base stays as it is, to the bit."""

    def start() -> Ranker:
        return tuned_ranker(roberta, Adapter(2))

    schedules = [Schedule(1, 16, rate=0.05, seed=7 + SEED_STEP * number) for number in range(3)]
    runs = [learned(schedule, alone=True, start=start)[0] for schedule in schedules]
    average = learned(Schedule(1, 16, rate=0.05, seed=7, average_weights_of=3), start=start)[0]
    means = {name: torch.stack([run[name] for run in runs]).mean(dim=0) for name in average}
    layers = [name.removesuffix(".up") for name in average if name.endswith(".up")]

    def product(weights: Weights, layer: str) -> Tensor:
        return weights[f"{layer}.up"].double() @ weights[f"{layer}.down"].double()

    assert len(layers) == 12
    for layer in layers:
        mean = torch.stack([product(run, layer) for run in runs]).mean(dim=0)
        far = {
            name: torch.linalg.norm(product(weights, layer) - mean).item()
            for name, weights in {"average": average, "means": means, "one": runs[0]}.items()
        }
        assert far["average"] <= far["means"]
        assert far["average"] < far["one"]
    trained = {f"{layer}.{own}" for layer in layers for own in ("up", "down")}
    before = start().state_dict()
    assert all(torch.equal(average[name], before[name]) for name in average.keys() - trained)


STOPPED = Schedule(2, 8, rate=0.03, average_weights_of=3)


@pytest.fixture(scope="module")
def whole() -> tuple[Weights, int]:
    """What trainings end with that nobody stopped."""
    return learned(STOPPED)


@pytest.mark.parametrize("stop", [3, 8, 13, 23])
def test_trainings_that_were_stopped_go_on_where_they_were(
    tmp_path: Path, stop: int, whole: tuple[Weights, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whymatch.learning.checkpoint.find_spec", lambda name: None)  # TensorBoard has tests of its own
    weights, steps = whole
    with pytest.raises(StoppedError):
        learned(STOPPED, tmp_path, stop=stop)
    again, rest = learned(STOPPED, tmp_path)
    assert same(weights, again)
    assert steps - stop <= rest <= steps - stop + 1  # a step that was taken after the last checkpoint is taken again
    assert learned(STOPPED, tmp_path)[1] == 0


def test_trainings_of_adapters_that_were_stopped_go_on_where_they_were(
    roberta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whymatch.learning.checkpoint.find_spec", lambda name: None)

    def start() -> Ranker:
        return tuned_ranker(roberta, Adapter(2))

    schedule = Schedule(1, 16, rate=0.03, average_weights_of=2)
    weights, _ = learned(schedule, start=start)
    with pytest.raises(StoppedError):
        learned(schedule, tmp_path, stop=3, start=start)
    assert same(weights, learned(schedule, tmp_path, start=start)[0])


@pytest.mark.parametrize("trainings", range(2, 8))
def test_what_no_training_changed_stays_as_it_is(trainings: int) -> None:
    weight, number = torch.rand(1000, generator=torch.Generator().manual_seed(0)), torch.arange(3)
    assert torch.equal(_mean([weight] * trainings), weight)
    assert torch.equal(_mean([number] * trainings), number)
