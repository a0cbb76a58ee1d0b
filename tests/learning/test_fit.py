"""Training finds what was planted, and a run that is killed ends where an uninterrupted one does."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

import pytest
import torch

import whymatch as wm
from tests.learning.planted import LINKS, SIZE, SPANS, Planted, PlantedTask, planted
from whymatch.evaluation.rationales import f1
from whymatch.learning.checkpoint import load_checkpoint
from whymatch.learning.fit import Fitting, Schedule
from whymatch.learning.losses import contrastive
from whymatch.matching.aligner import Aligner
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Attend, Transport
from whymatch.text.encoders.trainable import Projected
from whymatch.transport import Temperature


def ranker(encoder: wm.Precomputed) -> Ranker:
    return Ranker(Aligner("line", Projected(encoder, SIZE)), wm.Exactly(LINKS))


def hinge(model: Ranker, tasks: Sequence[Planted]) -> torch.Tensor:
    pairs = [(task.left, text) for task in tasks for text in (task.similar, task.dissimilar)]
    scores = model(pairs).score.view(-1, 2)
    return contrastive(scores[:, 0], scores[:, 1:], margin=0.5)


def wins(model: Ranker, tasks: Sequence[Planted]) -> float:
    pairs = [(task.left, text) for task in tasks for text in (task.similar, task.dissimilar)]
    scores = model(pairs).score.view(-1, 2)
    return (scores[:, 0] - scores[:, 1]).mean().item()


def found_links(model: Ranker, tasks: Sequence[Planted]) -> float:
    alignments = model.aligner.align_many([(task.left, task.similar) for task in tasks], wm.Exactly(LINKS))
    return fmean(f1({link.at for link in why.links}, task.links) for why, task in zip(alignments, tasks, strict=True))


def test_a_trained_ranker_finds_links_that_it_never_saw_and_attention_does_not() -> None:
    tasks, encoder = planted(460, seed=0)
    train, validation, test = tasks[:340], tasks[340:400], tasks[400:]
    model = ranker(encoder)
    before = found_links(model, test)
    schedule = Schedule(15, rate=0.03)
    Fitting[Planted](
        PlantedTask(model, lambda some: hinge(model, some), lambda: wins(model, validation)), schedule
    ).run(train)
    assert before < 0.6
    assert found_links(model, test) >= 0.95

    other = ranker(encoder)
    other.rule = Attend()
    Fitting[Planted](
        PlantedTask(other, lambda some: hinge(other, some), lambda: wins(other, validation)), schedule
    ).run(train)
    with torch.no_grad():
        weights = other([(task.left, task.similar) for task in test]).weights
    best = weights.flatten(1).topk(LINKS).indices
    width = weights.shape[2]
    guesses = [{(int(at) // width, int(at) % width) for at in row} for row in best]
    assert fmean(f1(guess, task.links) for guess, task in zip(guesses, test, strict=True)) < 0.95


KILLED = """
import sys
from pathlib import Path
from tests.learning.planted import PlantedTask, planted, tuned_ranker
from tests.learning.test_fit import hinge, ranker, wins
from whymatch.learning import Adapter
from whymatch.learning.fit import Fitting, Schedule
import os, signal
def train(folder, stop):
    tasks, encoder = planted(40, seed=1)
    kind, model_folder = sys.argv[3:]
    if kind == "projected":
        model = ranker(encoder)
        model.encoder.dropout.p = 0.2
    else:
        model = tuned_ranker(model_folder, Adapter(2))
    def loss(some):
        if run.step == stop:
            os.kill(os.getpid(), signal.SIGKILL)
        return hinge(model, some)
    task = PlantedTask(model, loss, lambda: wins(model, tasks[24:]))
    run = Fitting(task, Schedule(4, 8, decay=True), folder, checkpoint_steps=2)
    run.run(tasks[:24], resume=True)
if sys.argv[2] == "first":
    train(Path(sys.argv[1]) / "whole", -1)
    train(Path(sys.argv[1]) / "killed", 5)
train(Path(sys.argv[1]) / "killed", -1)
"""


@pytest.mark.parametrize("kind", ["projected", "adapter"])
def test_a_killed_run_ends_with_the_weights_of_one_that_was_not(kind: str, roberta: Path, tmp_path: Path) -> None:
    for part, status in (("first", -9), ("rest", 0)):
        command = [sys.executable, "-c", KILLED, str(tmp_path), part, kind, str(roberta)]
        ran = subprocess.run(command, check=False, capture_output=True)
        assert ran.returncode == status, ran.stderr.decode()
    checkpoints = [load_checkpoint(tmp_path / name / "checkpoints") for name in ("whole", "killed")]
    whole, killed = (checkpoint[0] for checkpoint in checkpoints if checkpoint is not None)
    assert whole.keys() == killed.keys()
    assert all(torch.equal(whole[name], killed[name]) for name in whole)
    kept = {name.rpartition(".")[2] for name in whole if name.startswith(("model.encoder.", "best.encoder."))}
    assert kept == ({"up", "down"} if kind == "adapter" else {"weight"})  # not the weights of the base


def quick(folder: Path | None, epochs: int = 2, *, resume: bool = False) -> Fitting[Planted]:
    tasks, encoder = planted(24, seed=2)
    model = ranker(encoder)
    task = PlantedTask(model, lambda some: hinge(model, some), lambda: wins(model, tasks[16:]))
    run = Fitting[Planted](task, Schedule(epochs, 8), folder)
    run.run(tasks[:16], resume=resume)
    return run


def test_rates_rise_in_the_warm_up_and_then_fall_in_a_line() -> None:
    tasks, encoder = planted(24, seed=2)
    model = ranker(encoder)
    rates: list[float] = []

    def validate() -> float:
        return -float(run.epoch)  # no epoch is better: it runs to the end all the same

    def loss(some: Sequence[Planted]) -> torch.Tensor:
        rates.extend(group["lr"] for group in run.optimiser.param_groups)
        return hinge(model, some)

    run = Fitting[Planted](
        PlantedTask(model, loss, validate), Schedule(5, 4, rate=0.5, warmup=3, decay=True, patience=9)
    )
    run.run(tasks[:16])
    rates.extend(group["lr"] for group in run.optimiser.param_groups)
    steps = [0.5 * (1 - step / 20) * min(1, (step + 1) / 3) for step in range(20)]
    assert rates[1:] == pytest.approx(steps)


def test_a_damaged_checkpoint_is_left_aside_for_the_one_before_it(tmp_path: Path) -> None:
    quick(tmp_path)
    last = sorted((tmp_path / "checkpoints").glob("step-*"))[-1]
    with (last / "tensors.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x07")
    found = load_checkpoint(tmp_path / "checkpoints")
    assert found is not None
    _, state, complaints = found
    assert state["epoch"] == 1
    assert last.name in complaints[0]
    for path in (tmp_path / "checkpoints").glob("step-*"):
        (path / "state.json").write_text("{")
    with pytest.raises(ValueError, match=r"No checkpoint in .* can be read"):
        load_checkpoint(tmp_path / "checkpoints")


def test_what_was_measured_is_on_disk(tmp_path: Path) -> None:
    quick(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows if "epoch" in row] == [1, 2]


def test_bad_runs_are_refused_in_words() -> None:
    tasks, encoder = planted(4, seed=3)
    model = ranker(encoder)
    with pytest.raises(ValueError, match="training split is empty"):
        Fitting[Planted](PlantedTask(model, lambda some: hinge(model, some), lambda: 0.0)).run([])
    with pytest.raises(ValueError, match="The loss is nan at step 1"):
        Fitting[Planted](PlantedTask(model, lambda some: hinge(model, some) * torch.nan, lambda: 0.0)).run(tasks)
    with pytest.raises(ValueError, match="validation score is nan"):
        Fitting[Planted](PlantedTask(model, lambda some: hinge(model, some), lambda: float("nan"))).run(tasks)
    with pytest.raises(ValueError, match=r"Schedule\(epochs=0\)"):
        Schedule(epochs=0)


def test_a_trained_classifier_finds_links_that_it_never_saw_and_attention_does_not() -> None:
    tasks, encoder = planted(1300, seed=0)
    train, validation, test = tasks[:1000], tasks[1000:1100], tasks[1100:]
    found = {}
    for rule in (Transport(wm.Exactly(LINKS), Temperature(0.05)), Attend()):
        torch.manual_seed(0)
        model = Classifier(Aligner("line", Projected(encoder, SIZE)), rule, ["no", "yes"], hidden=64, dropout=0.0)

        def loss(some: Sequence[Planted], model: Classifier = model) -> torch.Tensor:
            logits, _ = model.logits([(task.left, task.similar) for task in some])
            gold = torch.tensor([int(task.agree) for task in some])
            return torch.nn.functional.cross_entropy(logits, gold, reduction="none")

        def quality(loss: Callable[[Sequence[Planted]], torch.Tensor] = loss) -> float:
            return -loss(validation).mean().item()

        schedule = Schedule(20, rate=0.01, warmup=100, patience=20)
        Fitting[Planted](PlantedTask(model, loss, quality), schedule).run(train)
        pairs = [(task.left, task.similar) for task in test]
        right = [
            one.label == ("yes" if task.agree else "no") for one, task in zip(model.predict(pairs), test, strict=True)
        ]
        with torch.no_grad():
            best = model(pairs).weights.flatten(1).topk(LINKS).indices.tolist()
        links = [
            f1({(at // SPANS, at % SPANS) for at in row}, task.links) for row, task in zip(best, test, strict=True)
        ]
        found[type(rule).__name__] = fmean(right), fmean(links)
    assert found["Transport"][0] >= 0.9
    assert found["Transport"][1] >= 0.95
    assert found["Attend"][1] < 0.9


def test_a_gradient_that_is_no_number_stops_before_it_is_applied(tmp_path: Path) -> None:
    model = torch.nn.Linear(1, 1)

    def loss(items: Sequence[float]) -> torch.Tensor:
        return (model(torch.zeros(1, 1)) - model(torch.zeros(1, 1))).abs().sqrt().sum()

    run = Fitting[float](PlantedTask(model, loss, lambda: 0.0))
    with pytest.raises(ValueError, match="The gradient is nan at step 1"):
        run.run([1.0])
    assert all(weight.isfinite().all() for weight in model.parameters())


def test_a_state_that_was_edited_is_refused(tmp_path: Path) -> None:
    quick(tmp_path)
    last = sorted((tmp_path / "checkpoints").glob("step-*"))[-1]
    (last / "state.json").write_text((last / "state.json").read_text().replace('"epoch": 2', '"epoch": 1'))
    found = load_checkpoint(tmp_path / "checkpoints")
    assert found is not None
    assert last.name in found[2][0]


def test_a_used_folder_is_resumed_or_refused_and_measures_nothing_twice(tmp_path: Path) -> None:
    quick(tmp_path)
    with pytest.raises(ValueError, match="holds a run already"):
        quick(tmp_path)
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 99, "loss": 1.0}\n{"step": 10')
    quick(tmp_path, 3, resume=True)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows if "epoch" in row] == [1, 2, 3]
