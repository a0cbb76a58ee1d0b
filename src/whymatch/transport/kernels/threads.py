"""Splits a batch over threads: the kernels release the GIL, so that plain threads are enough."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

SMALL = 1_000_000  # steps of work under which starting threads takes longer than it saves
PARTS = 8  # for each thread, so that problems of unequal size even out


def spread(kernel: Callable[..., None], work: np.ndarray, *arrays: np.ndarray) -> None:
    """Calls `kernel` on slices of `arrays` along the batch, on as many threads as torch may use; `work` is in steps.

    The threads live as long as the call: a pool kept between calls would not survive a fork.
    """
    threads = min(torch.get_num_threads(), len(work))
    if threads < 2 or work.sum() < SMALL:
        kernel(*arrays)
        return
    share = np.cumsum(work) / work.sum() * threads * PARTS
    cuts = np.unique(np.searchsorted(share, np.arange(1, threads * PARTS)))
    edges = np.unique([0, *cuts.tolist(), len(work)])
    with ThreadPoolExecutor(threads) as pool:
        parts = [[a[lo:hi] for a in arrays] for lo, hi in zip(edges[:-1], edges[1:], strict=True)]
        for done in [pool.submit(kernel, *part) for part in parts]:
            done.result()
