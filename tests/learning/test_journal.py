"""What a run measures is kept once, through crashes, and without TensorBoard too."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.learning.planted import PlantedTask
from whymatch.learning import checkpoint, fit
from whymatch.learning.checkpoint import Journal
from whymatch.learning.fit import Fitting, Schedule


class CrashError(Exception):
    """What ends a run in the middle."""


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def run(folder: Path, epochs: int, *, stop: int = -1, resume: bool = False) -> dict[int, float]:
    """A run of five steps an epoch; gives the loss of each step that it took."""
    model, losses = torch.nn.Linear(1, 1, bias=False), dict[int, float]()
    torch.nn.init.ones_(model.weight)

    def loss(some: Sequence[float]) -> torch.Tensor:
        if fitting.step == stop:
            raise CrashError
        return (model(torch.tensor(some)[:, None])[:, 0] - 1).square()

    fitting = Fitting[float](
        PlantedTask(model, loss, lambda: float(fitting.step)),
        Schedule(epochs, 2),
        folder,
        checkpoint_steps=2,
        progress=lambda progress: losses.update({fitting.step: progress.loss}),
    )
    fitting.run([0.1 * number for number in range(10)], resume=resume)
    return losses


@pytest.fixture(autouse=True)
def noted_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "JOURNAL_STEPS", 1)


def test_every_loss_and_every_epoch_is_a_line(tmp_path: Path) -> None:
    losses = run(tmp_path, 2)
    found = lines(tmp_path)
    assert [row["step"] for row in found if "loss" in row] == list(range(1, 11))
    assert {row["step"]: row["loss"] for row in found if "loss" in row} == losses
    assert [row for row in found if "epoch" in row] == [
        {"epoch": 1, "step": 5, "last loss": losses[5], "validation": 5.0},
        {"epoch": 2, "step": 10, "last loss": losses[10], "validation": 10.0},
    ]


@pytest.mark.parametrize("stop", [4, 5, 6, 9])
def test_a_crash_and_a_resume_leave_the_lines_of_a_run_that_was_never_interrupted(stop: int, tmp_path: Path) -> None:
    run(tmp_path / "whole", 2)
    with pytest.raises(CrashError):
        run(tmp_path / "crashed", 2, stop=stop)
    with (tmp_path / "crashed" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 7, "lo')  # the crash came in the middle of a line
    run(tmp_path / "crashed", 2, resume=True)
    assert lines(tmp_path / "crashed") == lines(tmp_path / "whole")


def test_a_crash_before_the_first_checkpoint_leaves_nothing_behind(tmp_path: Path) -> None:
    run(tmp_path / "whole", 1)
    with pytest.raises(CrashError):
        run(tmp_path / "crashed", 1, stop=2)
    assert lines(tmp_path / "crashed")
    run(tmp_path / "crashed", 1, resume=True)
    assert lines(tmp_path / "crashed") == lines(tmp_path / "whole")


@given(steps=st.lists(st.integers(0, 30)), keep=st.integers(0, 30), torn=st.integers(0, 26))
def test_what_was_measured_up_to_a_step_stays(
    steps: list[int], keep: int, torn: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    rows = [{"step": step, "loss": step / 8} for step in steps]
    torn_line = '{"step": 31, "loss": 3.875}'[:torn]  # never whole
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + torn_line)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "find_spec", lambda name: None)
        kept = Journal(folder, keep)
    kept.write({"step": keep + 1, "loss": 0.0})
    assert lines(folder) == [*(row for row in rows if row["step"] <= keep), {"step": keep + 1, "loss": 0.0}]
    assert [file.name for file in folder.iterdir()] == ["metrics.jsonl"]


def events(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard shows: steps and values, by name."""
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="tensorboard is not installed"
    )
    found = accumulator.EventAccumulator(str(folder / "tensorboard"))
    found.Reload()
    return {name: [(event.step, event.value) for event in found.Scalars(name)] for name in found.Tags()["scalars"]}


def test_tensorboard_reads_the_losses(tmp_path: Path) -> None:
    losses = run(tmp_path, 2)
    found = events(tmp_path)
    shown = found.pop("loss")
    assert dict(found.pop("last loss")) == pytest.approx({step: losses[step] for step in (5, 10)})
    assert [step for step, _ in shown] == list(losses)
    assert dict(shown) == pytest.approx(losses)
    assert found == {"epoch": [(5, 1.0), (10, 2.0)], "validation": [(5, 5.0), (10, 10.0)]}


def test_tensorboard_shows_a_resumed_run_once(tmp_path: Path) -> None:
    with pytest.raises(CrashError):
        run(tmp_path, 2, stop=4)  # the last checkpoint is that of step 2
    losses = run(tmp_path, 2, resume=True)
    assert min(losses) == 3
    shown = events(tmp_path)["loss"]
    assert [step for step, _ in shown] == list(range(1, 11))
    assert {step: value for step, value in shown if step in losses} == pytest.approx(losses)


WITHOUT = """
import sys
sys.modules["tensorboard"] = None
from pathlib import Path
from tests.learning import test_journal
test_journal.fit.JOURNAL_STEPS = 1
test_journal.run(Path(sys.argv[1]), 1)
assert "torch.utils.tensorboard" not in sys.modules
"""


def test_without_tensorboard_the_lines_are_the_same(tmp_path: Path) -> None:
    run(tmp_path / "with", 1)
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path / "without")],
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert ran.returncode == 0, ran.stderr
    assert lines(tmp_path / "without") == lines(tmp_path / "with")
    assert not (tmp_path / "without" / "tensorboard").exists()
