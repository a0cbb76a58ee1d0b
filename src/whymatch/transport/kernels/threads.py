"""Splits a batch over threads: the kernels release the GIL, so that plain threads are enough."""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numpy as np
import torch

SMALL = 500_000  # steps of work under which handing some to another thread takes longer than it saves
PARTS = 4  # for each thread, so that problems of unequal size even out


@cache
def helpers(threads: int, process: int) -> ThreadPoolExecutor:
    """The threads beside the caller's own. Each process has its own, since threads do not survive a fork."""
    return ThreadPoolExecutor(threads, thread_name_prefix="whymatch")


def spread(kernel: Callable[..., None], work: np.ndarray, *arrays: np.ndarray) -> None:
    """Calls `kernel` on slices of `arrays` along the batch, on as many threads as torch may use; `work` is in steps."""
    threads = min(torch.get_num_threads(), len(work))
    if threads < 2 or work.sum() < SMALL:
        kernel(*arrays)
        return
    share = np.cumsum(work) / work.sum() * threads * PARTS
    edges = sorted({0, *np.searchsorted(share, np.arange(1, threads * PARTS)).tolist(), len(work)})
    parts = deque(pairwise(edges))

    def take_parts() -> None:
        while True:
            try:
                low, high = parts.popleft()
            except IndexError:
                return
            kernel(*(array[low:high] for array in arrays))

    helping = [helpers(threads - 1, os.getpid()).submit(take_parts) for _ in range(threads - 1)]
    try:
        take_parts()
    finally:
        parts.clear()
        for helper in helping:
            if not helper.cancel():  # it may still wait behind another caller's work
                helper.result()
