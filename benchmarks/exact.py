"""Exact solvers side by side: ours and peers on the same cosine costs, in one run, on one thread.

    python -m benchmarks.exact

Prints microseconds a problem (the best of several interleaved rounds), how many times as long a peer takes, and the
share of problems whose links are the optimal ones. Entropic plans count a link where its mass exceeds the paper's
threshold 0.01/(n·m).
"""

import importlib.util
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the peers' threads; ours are torch's, set below

import lap
import numpy as np
import ot
import scipy.optimize
import torch
from numpy.typing import NDArray
from torch import Tensor

from whymatch.show.terminal import table
from whymatch.transport import Balanced, Constraint, Exactly, OneTo, UpTo, pad, solve

ROUNDS = 5
Array = NDArray[np.float64]
Links = list[NDArray[np.bool_]]

# A prototype in C, one thread of a 2-core machine, November 2026: microseconds a problem. Not run here.
FLOOR = {
    ("OneTo(k=1)", "8×8"): 0.5, ("OneTo(k=1)", "32×32"): 8.0, ("OneTo(k=1)", "64×64"): 32.0,
    ("Exactly(k=4)", "8×8"): 1.1, ("Exactly(k=4)", "32×32"): 4.5, ("Exactly(k=4)", "64×64"): 16.0,
    ("Exactly(k=4)", "ragged 4–60"): 5.0,
    ("Balanced()", "8×8"): 0.6, ("Balanced()", "32×32"): 8.7, ("Balanced()", "64×64"): 39.0,
    ("Balanced()", "ragged 4–60"): 59.0,
}  # fmt: skip


@dataclass
class Problems:
    """Cosine distances between random unit vectors of 64 dimensions."""

    name: str
    each: list[Array]
    cost: Tensor = field(init=False)
    sizes: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.cost, self.sizes = pad([torch.from_numpy(cost) for cost in self.each])


def cosine(rng: np.random.Generator, n: int, m: int) -> Array:
    x, y = rng.standard_normal((n, 64)), rng.standard_normal((m, 64))
    return 1 - x @ y.T / np.linalg.norm(x, axis=1)[:, None] / np.linalg.norm(y, axis=1)


def square(side: int, count: int) -> Problems:
    rng = np.random.default_rng(side)
    return Problems(f"{side}×{side}", [cosine(rng, side, side) for _ in range(count)])


def ragged(count: int) -> Problems:
    rng = np.random.default_rng(0)
    return Problems("ragged 4–60", [cosine(rng, *rng.integers(4, 61, 2)) for _ in range(count)])


class Solver(NamedTuple):
    """A way to solve a batch: only `run` is timed, `links` then reads the links off its results."""

    run: Callable[[], Any]
    links: Callable[[Any], Links]
    rounds: int = ROUNDS


def ours(batch: Problems, constraint: Constraint) -> Solver:
    return Solver(
        lambda: solve(batch.cost, constraint, sizes=batch.sizes).plan.numpy(), lambda plans: cut(plans > 0, batch)
    )


def cut(links: NDArray[np.bool_], batch: Problems) -> Links:
    return [link[:n, :m] for link, (n, m) in zip(links, batch.sizes.tolist(), strict=True)]


def assignment(batch: Problems, solver: Callable[[Array], tuple[Any, Any]]) -> Solver:
    """A loop over a function that returns rows and columns."""

    def links(results: list[tuple[Any, Any]]) -> Links:
        found = [np.zeros(cost.shape, dtype=bool) for cost in batch.each]
        for matrix, (rows, columns) in zip(found, results, strict=True):
            matrix[rows, columns] = True
        return found

    return Solver(lambda: [solver(cost) for cost in batch.each], links)


def transport(batch: Problems, solver: Callable[[Array], Array]) -> Solver:
    """A loop over a function that returns a plan."""
    return Solver(lambda: [solver(cost) for cost in batch.each], lambda plans: [plan > 1e-12 for plan in plans])


def lapx(cost: Array) -> tuple[Any, Any]:
    """The fastest of its functions on these sizes."""
    _, pairs = lap.lapjvsa(cost)
    return pairs[:, 0], pairs[:, 1]


def lapjv(cost: Array) -> tuple[Any, Any]:
    from lapjv import lapjv as solver

    return np.arange(len(cost)), solver(cost)[0]


def pot_exactly_4(cost: Array) -> Array:
    n, m = cost.shape
    return np.asarray(ot.partial.partial_wasserstein(np.ones(n), np.ones(m), cost, m=4))


def pot_emd(cost: Array) -> Array:
    n, m = cost.shape
    return np.asarray(ot.emd(np.full(n, 1 / n), np.full(m, 1 / m), cost))


def pot_batch_sinkhorn(batch: Problems) -> Solver:
    """POT's batched log-Sinkhorn at the paper's epsilon; padding has a mass that is as good as none."""
    n, m = batch.sizes[:, :1], batch.sizes[:, 1:]
    left = torch.where(torch.arange(batch.cost.shape[1]) < n, 1 / n, 1e-30).double()
    right = torch.where(torch.arange(batch.cost.shape[2]) < m, 1 / m, 1e-30).double()
    cost = batch.cost.nan_to_num(posinf=1.0)
    active = (0.01 / (n * m)).numpy()[..., None]
    return Solver(
        lambda: ot.solve_batch(cost, reg=1e-4, a=left, b=right, method="log_sinkhorn", grad="detach").plan.numpy(),
        lambda plans: cut(plans > active, batch),
        rounds=1,
    )


def solvers(batch: Problems) -> dict[str, dict[str, Solver]]:
    """For each constraint, every way to solve it: ours first, then an exact peer as the reference for optimal links."""
    assigning = {
        "whymatch": ours(batch, OneTo(1)),
        "scipy linear_sum_assignment": assignment(batch, scipy.optimize.linear_sum_assignment),
        "lapx": assignment(batch, lapx),
    }
    if "×" in batch.name and importlib.util.find_spec("lapjv"):  # takes square matrices only
        assigning["lapjv"] = assignment(batch, lapjv)
    return {
        "OneTo(k=1)": assigning,
        "Exactly(k=4)": {
            "whymatch": ours(batch, Exactly(4)),
            "POT partial_wasserstein": transport(batch, pot_exactly_4),
        },
        "Balanced()": {
            "whymatch": ours(batch, Balanced()),
            "POT emd": transport(batch, pot_emd),
            "POT batch log-Sinkhorn": pot_batch_sinkhorn(batch),
        },
    }


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def compare(batch: Problems) -> list[list[str]]:
    """The rows of one batch: rounds of all solvers in turn, so that a noisy moment hits them alike."""
    rows = []
    for constraint, ways in solvers(batch).items():
        reference = list(ways.values())[1]
        optimal = reference.links(reference.run())
        best = dict.fromkeys(ways, np.inf)
        agree = {}
        for turn in range(ROUNDS):
            for name, way in ways.items():
                if turn < way.rounds:
                    seconds, result = timed(way.run)
                    best[name] = min(best[name], seconds / len(batch.each) * 1e6)
                    pairs = zip(way.links(result), optimal, strict=True)
                    agree[name] = np.mean([np.array_equal(mine, theirs) for mine, theirs in pairs])
        for name in ways:
            ratio = best[name] / best["whymatch"]
            rows.append([constraint, batch.name, name, f"{best[name]:.2f}", f"{ratio:.1f}×", f"{agree[name]:.0%}"])
        floor = FLOOR.get((constraint, batch.name))
        if floor:
            ratio = floor / best["whymatch"]
            rows.append([constraint, batch.name, "(C prototype, recorded)", f"{floor:.2f}", f"{ratio:.1f}×", ""])
    return rows


def threads(batch: Problems) -> list[list[str]]:
    """What a second thread brings."""
    rows = []
    for constraint in (OneTo(1), Exactly(4), Balanced()):
        run = ours(batch, constraint).run
        best = {1: np.inf, 2: np.inf}
        for _ in range(3 * ROUNDS):
            for number in (1, 2):
                torch.set_num_threads(number)
                best[number] = min(best[number], timed(run)[0] / len(batch.each) * 1e6)
        torch.set_num_threads(1)
        name = f"{len(batch.each)} of {batch.name}"
        rows.append([repr(constraint), name, f"{best[1]:.2f}", f"{best[2]:.2f}", f"{best[1] / best[2]:.2f}×"])
    return rows


def large() -> list[list[str]]:
    """Single problems as long as the paper's longest document, one that is hard, and POT's `emd` on the same."""
    rows = []
    for m in (1600, 1599):
        problem = Problems(f"1600×{m}", [cosine(np.random.default_rng(m), 1600, m)])
        for constraint in (OneTo(1), UpTo(1, below=1.0), Exactly(4), Balanced()):
            run = ours(problem, constraint).run
            rows.append([repr(constraint), problem.name, f"{min(timed(run)[0] for _ in range(3)) * 1e3:.0f}"])
        seconds = min(timed(lambda cost=problem.each[0]: pot_emd(cost))[0] for _ in range(3))  # type: ignore[misc]
        rows.append(["POT emd", problem.name, f"{seconds * 1e3:.0f}"])
    hard = Problems("800×799, costs i·j", [np.outer(np.arange(1.0, 801), np.arange(1.0, 800))])
    for name, run in (("Balanced()", ours(hard, Balanced()).run), ("POT emd", lambda: pot_emd(hard.each[0]))):
        rows.append([name, hard.name, f"{min(timed(run)[0] for _ in range(3)) * 1e3:.0f}"])
    return rows


def main() -> None:
    torch.set_num_threads(1)
    print(f"{platform.machine()}, {os.cpu_count()} cores, one thread, double precision\n")
    batches = [square(8, 4096), square(16, 2048), square(32, 512), square(64, 128), ragged(256)]
    rows = sorted((row for batch in batches for row in compare(batch)), key=lambda row: -"BEO".index(row[0][0]))
    print(table(["constraint", "problems", "solver", "µs a problem", "of ours", "optimal links"], rows))
    print()
    rows = [row for batch in (square(32, 2048), square(64, 512), ragged(1024)) for row in threads(batch)]
    print(table(["constraint", "problems", "1 thread, µs", "2 threads, µs", "faster by"], rows))
    print()
    print(table(["constraint", "problem", "ms"], large()))


if __name__ == "__main__":
    main()
