"""Several processes learn what one would: the same losses, the same weights, the same documents drawn."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.learning.planted import Planted, PlantedTask, planted, tuned_ranker
from tests.learning.test_fit import hinge, ranker, wins
from whymatch.datasets.records import Query
from whymatch.learning import Adapter
from whymatch.learning.checkpoint import load_checkpoint
from whymatch.learning.fit import Fitting, Schedule
from whymatch.learning.processes import Processes
from whymatch.learning.tasks import RankTask
from whymatch.text.encoders.trainable import Projected

ROOT = Path(__file__).parents[2]
SCHEDULES = {
    "even": Schedule(2, 8, rate=0.01),
    "odd": Schedule(2, 7, rate=0.01),
    "one by one": Schedule(1, 1, rate=0.01),  # one process has nothing to do
    "adapter": Schedule(2, 8, rate=0.01),  # over a small model; of a linear map in the others
}
NEGATIVES, DISSIMILAR, KILL_AT = 2, 6, 9


def learned(schedule: Schedule, base: Path | None = None) -> tuple[list[float], torch.Tensor]:
    """The loss of every step, and the weights at the end: of a map, or of the last `up` of an adapter over a base."""
    tasks, encoder = planted(36, seed=4)
    model, losses = ranker(encoder) if base is None else tuned_ranker(base, Adapter(2)), list[float]()
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0  # which each process draws for itself
    Fitting[Planted](
        PlantedTask(model, lambda some: hinge(model, some), lambda: wins(model, tasks[30:])),
        schedule,
        progress=lambda progress: losses.append(progress.loss),
    ).run(tasks[:30])
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    return losses, weights[-1].detach().clone()


def drew() -> tuple[dict[str, list[list[str]]], list[float]]:
    """The documents that this process learned from, by query, and the losses of all."""
    tasks, encoder = planted(14, seed=5)
    queries = []
    for number, task in enumerate(tasks):
        others = tuple(tasks[(number + step) % len(tasks)].dissimilar for step in range(DISSIMILAR))
        queries.append(Query(str(number), task.left, (*others, task.similar), (*[False] * DISSIMILAR, True)))
    model, losses, seen = ranker(encoder), list[float](), dict[str, list[list[str]]]()

    class Watched(RankTask):
        def loss(self, queries: Sequence[Query]) -> torch.Tensor:
            for query in queries:
                seen.setdefault(query.id, []).append([text.text for text in query.documents])
            return super().loss(queries)

        def score(self) -> float:
            return 0.0

    Fitting[Query](
        Watched(model, queries, margin=0.5, negatives=NEGATIVES),
        Schedule(3, 5, rate=0.01),
        progress=lambda progress: losses.append(progress.loss),
    ).run(queries)
    return seen, losses


def interrupted(folder: Path, kill_at: int) -> None:
    """A run with dropout, in which the second process is killed at a step."""
    tasks, encoder = planted(30, seed=6)
    model, processes = ranker(encoder), Processes()
    assert isinstance(model.encoder, Projected)
    model.encoder.dropout.p = 0.2

    def loss(some: Sequence[Planted]) -> torch.Tensor:
        if run.step == kill_at and processes.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return hinge(model, some)

    task = PlantedTask(model, loss, lambda: wins(model, tasks[24:]))
    run = Fitting[Planted](task, Schedule(3, 5, rate=0.01), folder, processes=processes, checkpoint_steps=2)
    run.run(tasks[:24], resume=True)


def main(folder: Path, part: str, base: Path) -> None:
    """What each of the processes does: all of it, or only what was interrupted before."""
    processes = Processes()
    if part == "all":
        (folder / f"count-{processes.rank}").write_text(str(processes.count))
        for name, schedule in SCHEDULES.items():
            losses, weights = learned(schedule, base if name == "adapter" else None)
            (folder / f"{name}-{processes.rank}.json").write_text(json.dumps(losses))
            save_file({"weights": weights}, folder / f"{name}-{processes.rank}.safetensors")
        (folder / f"drawn-{processes.rank}.json").write_text(json.dumps(drew()))
        interrupted(folder / "whole", -1)
        interrupted(folder / "killed", KILL_AT)
    interrupted(folder / "killed", -1)
    processes.end()
    names = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").glob("*")]  # none but on Linux
    (folder / f"threads-{processes.rank}.json").write_text(json.dumps(names))


def started(folder: Path, part: str, base: Path) -> subprocess.CompletedProcess[str]:
    """Two of these processes, until both have ended."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command = [*torchrun, "-m", "tests.learning.test_processes", str(folder), part, str(base)]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)


@pytest.fixture(scope="module")
def two(roberta: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes left behind, the second of which was killed in the last run."""
    folder = tmp_path_factory.mktemp("two")
    ran = started(folder, "all", roberta)
    assert ran.returncode != 0
    assert "SIGKILL" in ran.stderr, ran.stderr
    return folder


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """As in each of two processes; and where other work keeps the cores busy, two threads would wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_there_are_two(two: Path) -> None:
    assert [(two / f"count-{rank}").read_text() for rank in (0, 1)] == ["2", "2"]


@pytest.mark.parametrize("name", SCHEDULES)
def test_two_processes_learn_what_one_does(name: str, two: Path, roberta: Path) -> None:
    losses, weights = learned(SCHEDULES[name], roberta if name == "adapter" else None)
    assert len(losses) > 3
    assert not torch.allclose(weights, torch.eye(*weights.shape), atol=1e-2)  # it has learned something
    assert weights.abs().max() > 1e-3
    for rank in (0, 1):
        assert json.loads((two / f"{name}-{rank}.json").read_text()) == pytest.approx(losses, abs=1e-5)
        found = load_file(two / f"{name}-{rank}.safetensors")["weights"]
        torch.testing.assert_close(found, weights, rtol=0, atol=1e-5)


def test_another_batch_learns_something_else() -> None:
    first, second = (learned(replace(SCHEDULES["even"], seed=seed))[1] for seed in (0, 1))
    assert (first - second).abs().max() > 1e-4  # so that what is equal above is so for a reason


def test_the_same_documents_are_drawn_whatever_the_number_of_processes(two: Path) -> None:
    alone, losses = drew()
    together: list[Any] = [json.loads((two / f"drawn-{rank}.json").read_text()) for rank in (0, 1)]
    both = {query: [found for part, _ in together for found in part.get(query, [])] for query in alone}
    assert all(part for part, _ in together)
    assert {query: sorted(found) for query, found in both.items()} == {q: sorted(found) for q, found in alone.items()}
    assert together[0][1] == pytest.approx(losses, abs=1e-5)
    assert {len(documents) for found in alone.values() for documents in found} == {1 + NEGATIVES}
    assert any(len(set(map(tuple, found))) > 1 for found in alone.values())  # and others in another epoch


def test_a_killed_run_of_two_ends_with_the_weights_of_one_that_was_not(two: Path, roberta: Path) -> None:
    before = load_checkpoint(two / "killed" / "checkpoints")
    assert before is not None
    assert 0 < before[1]["step"] < KILL_AT
    ran = started(two, "the rest", roberta)
    assert ran.returncode == 0, ran.stderr
    threads = [json.loads((two / f"threads-{rank}.json").read_text()) for rank in (0, 1)]
    assert not any("gloo" in name for some in threads for name in some)  # which would now and then abort at the end
    whole, killed = (load_checkpoint(two / name / "checkpoints") for name in ("whole", "killed"))
    assert whole is not None
    assert killed is not None
    assert {"random.cpu.0", "random.cpu.1"} <= whole[0].keys()
    assert whole[0].keys() == killed[0].keys()
    assert all(torch.equal(whole[0][name], killed[0][name]) for name in whole[0])


def test_processes_that_were_announced_and_not_started_are_an_error_in_words() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "MASTER_ADDR")}
    line = "from whymatch.learning.processes import Processes; print(Processes().count)"
    ran = subprocess.run(
        [sys.executable, "-c", line],
        check=False,
        capture_output=True,
        text=True,
        env=environment | {"WORLD_SIZE": "2"},
    )
    assert ran.returncode != 0
    assert ran.stdout == ""
    assert "ValueError: " in ran.stderr.splitlines()[-1]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
