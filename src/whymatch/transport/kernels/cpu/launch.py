"""Starts the kernels for CPUs: memory for the results, and a batch split over threads.

The kernels release the GIL, so that plain threads are enough.
"""

import os
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise

import numpy as np

from whymatch.transport.batch import Batch
from whymatch.transport.constraints import Constraint
from whymatch.transport.kernels.cpu.batches import solve_choices, solve_links, solve_masses, solve_path
from whymatch.transport.kernels.cpu.compiling import Kernel
from whymatch.transport.kernels.cpu.scaling import solve_smooth
from whymatch.transport.masses import Masses, Reservoirs
from whymatch.transport.solution import Status

_SMALL_WORK = 500_000  # steps under which handing some to another thread takes longer than it saves
_STEPS_PER_PROBLEM = 200  # beside those of its pairs
_PARTS_PER_THREAD = 4  # so that problems of unequal size even out


def optimal_links(batch: Batch, constraint: Constraint) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Plans, objectives, gaps and statuses under a constraint whose links all have the same mass."""
    status = np.where(constraint.admits(*batch.spans), Status.OK, Status.INFEASIBLE)
    plan, value, gap = _memory(batch)
    numbers = *constraint.rule(), batch.below(constraint), batch.largest
    arrays = [batch.costs, batch.sizes, constraint.mass(*batch.spans), plan, value, gap, status]
    _run(_suited(solve_links, batch), numbers, batch, arrays)
    return plan, value, gap, status


def optimal_choices(batch: Batch, constraint: Constraint) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same under a constraint that lets every left span choose on its own."""
    status = np.where(constraint.admits(*batch.spans), Status.OK, Status.INFEASIBLE)
    plan, value, gap = _memory(batch)
    _, k = constraint.rule()
    arrays = [batch.costs, batch.sizes, constraint.mass(*batch.spans), plan, value, gap, status]
    _run(_suited(solve_choices, batch), (k, batch.below(constraint), batch.largest), batch, arrays)
    return plan, value, gap, status


def optimal_flows(
    batch: Batch, masses: Masses, status: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Plans, objectives, gaps and statuses for whole units of mass; changes `status` in place."""
    plan, value, gap = _memory(batch)
    arrays = [batch.costs, batch.sizes, masses.supply, masses.demand, masses.unit, masses.crumb]
    _run(_suited(solve_masses, batch), (batch.largest,), batch, [*arrays, plan, value, gap, status])
    return plan, value, gap, status


def every_k(batch: Batch, max_k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Costs, increments, partners, gaps and statuses of `Exactly(k)` for k = 1, …, max_k."""
    count, n, _ = batch.costs.shape
    partner = np.full((count, max_k, n), -1)
    value = np.full((count, max_k), np.inf)
    increment, gap = value.copy(), np.full((count, max_k), np.nan)
    status = np.full((count, max_k), int(Status.INFEASIBLE))
    arrays = [batch.costs, batch.sizes, partner, value, increment, gap, status]
    _run(_suited(solve_path, batch), (batch.largest,), batch, arrays)
    return value, increment, partner, gap, status


def entropic(
    batch: Batch, constraint: Constraint, masses: Reservoirs, epsilon: np.ndarray, status: np.ndarray,
    relative: bool, tolerance: float, max_iterations: int, placed: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Plans with reservoirs, plans with their masses in place, costs, errors, iterations and statuses.

    Changes `epsilon`, which becomes absolute, and `status` in place. The kernel puts masses into place in any case.
    """
    count, n, m = batch.costs.shape
    plan, in_place = np.zeros((2, count, 1 + n, 1 + m))
    (value, error), iterations = np.full((2, count), np.nan), np.zeros(count, np.int64)
    numbers = relative, batch.below(constraint), tolerance, max_iterations, batch.largest
    given = [batch.costs, batch.sizes, masses.left, masses.right, masses.target, masses.share, epsilon]
    results = [plan, in_place, value, error, iterations, status]
    _run(solve_smooth, numbers, batch, [*given, *results], passes=10)
    return plan, in_place[:, 1:, 1:] * masses.share[:, None, None], value, error, iterations, status


def _memory(batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For plans, which the kernels clear, and for objectives and gaps."""
    value, gap = np.full((2, len(batch.costs)), np.nan)
    return np.empty_like(batch.costs), value, gap


def _suited(kernel: Kernel, batch: Batch) -> Callable[..., None]:
    """The kernel as Python while there is little work, or else compiled."""
    count, n, m = batch.costs.shape
    return kernel.suited(count * (n * m * min(n, m) + _STEPS_PER_PROBLEM), batch.costs)


def _run(
    kernel: Callable[..., None], numbers: tuple[float, ...], batch: Batch, arrays: list[np.ndarray], passes: int = 1
) -> None:
    """Calls `kernel` on `arrays`, where a problem takes about shorter² · longer steps in each of its passes."""
    count, n, m = batch.costs.shape
    if count * n * m * min(n, m) * passes < _SMALL_WORK:
        kernel(*numbers, *arrays)
    else:
        work = batch.sizes.prod(axis=1) * batch.sizes.min(axis=1) * passes
        spread(partial(kernel, *numbers), work, *arrays)


def spread(kernel: Callable[..., None], work: np.ndarray, *arrays: np.ndarray) -> None:
    """Calls `kernel` on slices of `arrays` along the batch, on several threads where `work`, in steps, is large."""
    total = work.sum()
    threads = 1 if total < _SMALL_WORK else min(_threads(), len(work))
    if threads < 2:
        kernel(*arrays)
        return
    share = np.cumsum(work) / total * threads * _PARTS_PER_THREAD
    edges = sorted({0, *np.searchsorted(share, np.arange(1, threads * _PARTS_PER_THREAD)).tolist(), len(work)})
    parts = deque(pairwise(edges))

    def take_parts() -> None:
        while True:
            try:
                low, high = parts.popleft()
            except IndexError:
                return
            kernel(*(array[low:high] for array in arrays))

    helping = [_helpers(threads - 1, os.getpid()).submit(take_parts) for _ in range(threads - 1)]
    try:
        take_parts()
    finally:
        parts.clear()
        for helper in helping:
            if not helper.cancel():  # it may still wait behind another caller's work
                helper.result()


def _threads() -> int:
    """As many threads as torch may use where it is loaded, else OMP_NUM_THREADS or the cores of this process."""
    of_torch = getattr(sys.modules.get("torch"), "get_num_threads", None)
    if of_torch is not None:
        return int(of_torch())
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(wanted) if wanted.isdecimal() else cores or 1


@cache
def _helpers(threads: int, process: int) -> ThreadPoolExecutor:
    """The threads beside the caller's own. Each process has its own, since threads do not survive a fork."""
    return ThreadPoolExecutor(threads, thread_name_prefix="whymatch")
