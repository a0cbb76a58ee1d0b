"""The kernels inside other people's threads and processes."""

import faulthandler
import multiprocessing
import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from whymatch.transport import Balanced, Constraint, Each, Exactly, OneTo, UpTo, path, sinkhorn, solve
from whymatch.transport.kernels.cpu.launch import spread

FIVE: list[Constraint] = [Balanced(), OneTo(1), UpTo(1), Exactly(3), Each(2)]
COST = torch.randn(64, 40, 40, generator=torch.Generator().manual_seed(0))


def links(constraint: Constraint) -> list[list[int]]:
    plan = solve(COST, constraint).plan.numpy()
    return np.argwhere(plan).tolist()  # not torch: its own OpenMP loops do not survive a fork


@pytest.mark.parametrize("constraint", FIVE, ids=repr)
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
    expected = {constraint: links(constraint) for constraint in FIVE}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(links, FIVE * 6))
    assert found == [expected[constraint] for constraint in FIVE * 6]


@contextmanager
def another_thread_that_solves() -> Iterator[None]:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            links(Exactly(3))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def status_of_child(work: Callable[[], object]) -> int:
    """The exit status of a forked child that does some work: 0, or 1 if that fails or never ends."""
    child = os.fork()
    if child == 0:
        try:
            faulthandler.dump_traceback_later(1500, exit=True, file=2)
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def two_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")


@forks
@pytest.mark.usefixtures("two_threads")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int32], ids=lambda dtype: str(dtype)
)
def test_a_child_may_solve_though_its_parent_used_the_threads_of_torch(dtype: torch.dtype) -> None:
    cost = (4 * COST).to(dtype)
    COST.exp()  # on OpenMP threads, which the child does not have: its own loops on them would never end

    def work() -> None:
        for constraint in FIVE:
            solve(cost, constraint)
        sinkhorn(cost, Exactly(3))
        path(cost)

    work()
    with another_thread_that_solves():
        assert [status_of_child(work) for _ in range(3)] == [0, 0, 0]


AT_FIRST_USE = """
import faulthandler, os, sys, threading
import torch
import whymatch as wm

torch.set_num_threads(2)
cost, large = torch.randn(64, 40, 40), torch.randn(300, 300)


def work():
    for constraint in (wm.Balanced(), wm.OneTo(1), wm.UpTo(1), wm.Exactly(3)):
        wm.solve(cost, constraint)


def work_on():
    started.set()
    while True:
        work()


started = threading.Event()
threading.Thread(target=work_on, daemon=True).start()
started.wait()
for _ in range(12):
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(1500, exit=True)
        (large @ large).exp().sum()
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print("done", flush=True)
os._exit(0)
"""


@forks
def test_a_child_may_call_torch_and_solve_though_another_thread_just_loads_and_compiles_the_solver() -> None:
    ran = subprocess.run([sys.executable, "-c", AT_FIRST_USE], capture_output=True, text=True, check=False)
    assert ran.stdout == "done\n", ran.stderr


def multiply_and_solve() -> int:
    """What a forked child of such a parent could not do: a loop of torch on many threads."""
    torch.set_num_threads(2)
    return len(links(Exactly(3))) + int(torch.ones(300, 300).exp().isfinite().all())


@pytest.mark.usefixtures("two_threads")
def test_a_spawned_process_may_call_torch_whatever_its_parent_does() -> None:
    COST.exp()
    with another_thread_that_solves(), multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(multiply_and_solve).get() == 3 * len(COST) + 1


@forks
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_workers_may_solve_after_their_parent_did() -> None:
    expected = [links(constraint) for constraint in FIVE]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(links, FIVE).get() == expected


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
