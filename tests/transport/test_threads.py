"""The kernels inside other people's threads and processes."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from whymatch import Balanced, Constraint, Exactly, OneTo, UpTo, solve
from whymatch.transport.kernels.threads import spread

FOUR: list[Constraint] = [Balanced(), OneTo(1), UpTo(1), Exactly(3)]
COST = torch.randn(64, 40, 40, generator=torch.Generator().manual_seed(0))


def links(constraint: Constraint) -> list[list[int]]:
    plan = solve(COST, constraint).plan.numpy()
    return np.argwhere(plan).tolist()  # not torch: its own OpenMP loops do not survive a fork


@pytest.mark.parametrize("constraint", FOUR, ids=repr)
def test_the_number_of_threads_changes_nothing(constraint: Constraint) -> None:
    threads = torch.get_num_threads()
    results = []
    try:
        for number in (1, 2, 7):
            torch.set_num_threads(number)
            results.append(solve(COST, constraint))
    finally:
        torch.set_num_threads(threads)
    for other in results[1:]:
        assert all(torch.equal(mine, theirs) for mine, theirs in zip(results[0], other, strict=True))


def test_many_threads_may_solve_at_once() -> None:
    expected = {constraint: links(constraint) for constraint in FOUR}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(links, FOUR * 6))
    assert found == [expected[constraint] for constraint in FOUR * 6]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_workers_may_solve_after_their_parent_did() -> None:
    expected = [links(constraint) for constraint in FOUR]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(links, FOUR).get() == expected


def test_every_problem_is_handed_out_once() -> None:
    for size in (1, 2, 3, 100):
        work = np.random.default_rng(size).integers(0, 10**7, size)
        seen = np.zeros(size, dtype=np.int64)
        spread(lambda part: np.add(part, 1, out=part), work, seen)
        assert (seen == 1).all()


def test_an_error_in_a_thread_is_not_lost() -> None:
    def fail(part: np.ndarray) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        spread(fail, np.full(10, 10**7), np.zeros(10))
