"""The optimal `Exactly(k)` for every k, in one run."""

from functools import partial

import numpy as np
from torch import Tensor

from whymatch.transport.batch import DeviceBatch, as_batch, as_device_batch
from whymatch.transport.constraints import MANY, Exactly
from whymatch.transport.kernels import gpu
from whymatch.transport.kernels.cpu.batches import solve_path
from whymatch.transport.kernels.threads import spread
from whymatch.transport.solution import Path, Status


def path(cost: Tensor, max_k: int | None = None, *, sizes: Tensor | None = None) -> Path:
    """The cheapest 1, 2, …, K links, and their total costs.

    K is the largest number of spans that the shorter text of a problem has, or `max_k` where that is less. Where
    `sizes` are on a GPU it is as many as the padded costs have room for, since nothing waits for the GPU.

    What each further link adds never falls: a bend in `path(cost).increments` is a good k. The links may change from k
    to k + 1. A k that a problem has no links for costs +inf; a single matrix with NaN or -inf raises ValueError.
    """
    most = MANY if max_k is None else Exactly(max_k).k
    if gpu.on_gpu(cost):
        there = as_device_batch(cost, sizes)
        on_host = sizes is not None and not (isinstance(sizes, Tensor) and sizes.is_cuda)
        room = as_batch(cost, sizes).shorter.max(initial=0) if on_host else min(there.cost.shape[1:])
        return on_device(there, min(most, int(room)))
    batch = as_batch(cost, sizes)
    max_k = min(most, int(batch.shorter.max(initial=0)))
    count, n, _ = batch.cost.shape
    partner = np.full((count, max_k, n), -1)
    value = np.full((count, max_k), np.inf)
    increments = value.copy()
    gap = np.full((count, max_k), np.nan)
    status = np.full((count, max_k), int(Status.INFEASIBLE))
    kernel = partial(solve_path, batch.limit)
    spread(kernel, batch.work, batch.values(), batch.sizes, partner, value, increments, gap, status)
    if batch.single and (status == Status.INVALID).any():
        raise ValueError(batch.bad_cost(0))
    return Path(*batch.give_back(value, increments, partner, gap, status))


def on_device(batch: DeviceBatch, max_k: int) -> Path:
    """The same on a GPU."""
    from whymatch.transport.kernels.gpu.launch import every_k

    results = Path(*every_k(batch.values(), max_k, batch.sizes))
    if batch.single and (results.status == Status.INVALID).any():
        batch.refuse(Exactly(1), results.status[:, 0])
    return Path(*batch.give_back(*results))
