"""The optimal `Exactly(k)` for every k, in one run."""

import numpy as np
from torch import Tensor

from whymatch.transport.batch import DeviceBatch, as_batch, as_device_batch
from whymatch.transport.constraints import Exactly
from whymatch.transport.kernels import gpu
from whymatch.transport.kernels.cpu.batches import solve_path
from whymatch.transport.kernels.threads import spread
from whymatch.transport.solution import Path, Status


def path(cost: Tensor, max_k: int | None = None, *, sizes: Tensor | None = None) -> Path:
    """The cheapest 1, 2, …, `max_k` links (as many as the shorter text has spans, unless told), and their total costs.

    What each further link adds never falls: a bend in `path(cost).increments` is a good k. The links may change from k
    to k + 1. A k that a problem has no links for costs +inf; a single matrix with NaN or -inf raises. Where `sizes` are
    on a GPU and no `max_k` is given, it is as many as the padded costs have room for, since nothing waits for it.
    """
    if gpu.on_gpu(cost):
        there = as_device_batch(cost, sizes)
        if max_k is None and sizes is not None and not (isinstance(sizes, Tensor) and sizes.is_cuda):
            max_k = int(as_batch(cost, sizes).shorter.max(initial=0)) or None
        return on_device(there, max_k)
    batch = as_batch(cost, sizes)
    max_k = Exactly(max_k).k if max_k is not None else int(batch.shorter.max(initial=0))
    count, n, _ = batch.cost.shape
    partner = np.full((count, max_k, n), -1)
    value = np.full((count, max_k), np.inf)
    increments = value.copy()
    gap = np.full((count, max_k), np.nan)
    status = np.full((count, max_k), int(Status.INFEASIBLE))
    spread(solve_path, batch.work, batch.values(), batch.sizes, partner, value, increments, gap, status)
    if batch.single and (status == Status.INVALID).any():
        raise ValueError(batch.bad_cost(0))
    return Path(*batch.give_back(value, increments, partner, gap, status))


def on_device(batch: DeviceBatch, max_k: int | None) -> Path:
    """The same on a GPU. Without a `max_k` it is what the padded costs have room for, since sizes stay there."""
    from whymatch.transport.kernels.gpu.launch import every_k

    max_k = Exactly(max_k).k if max_k is not None else min(batch.cost.shape[1:])
    results = Path(*every_k(batch.values(), max_k, batch.sizes))
    if batch.single and (results.status == Status.INVALID).any():
        batch.refuse(Exactly(1), results.status[:, 0])
    return Path(*batch.give_back(*results))
