"""Weight averaging: the mean of what separate trainings learn, whatever happened on the way."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.learning.planted import Planted, PlantedTask, planted
from tests.learning.test_fit import hinge, ranker, wins
from whymatch.learning.fit import SEED_STEP, Fitting, Schedule, _mean, fit
from whymatch.text.encoders.trainable import Projected

Weights = dict[str, Tensor]


class StoppedError(Exception):
    """Somebody pulled the plug."""


def learned(
    schedule: Schedule, folder: Path | None = None, *, stop: int = -1, alone: bool = False
) -> tuple[Weights, int]:
    """The weights that trainings end with, and the steps that were taken; stopped before one of them, if told."""
    tasks, encoder = planted(48, seed=4)
    model, steps = ranker(encoder), 0
    assert isinstance(model.encoder, Projected)
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


@pytest.mark.parametrize("trainings", range(2, 8))
def test_what_no_training_changed_stays_as_it_is(trainings: int) -> None:
    weight, number = torch.rand(1000, generator=torch.Generator().manual_seed(0)), torch.arange(3)
    assert torch.equal(_mean([weight] * trainings), weight)
    assert torch.equal(_mean([number] * trainings), number)
