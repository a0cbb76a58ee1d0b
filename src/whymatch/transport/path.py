"""The optimal `Exactly(k)` for every k, in one run."""

import numpy as np
from torch import Tensor

from whymatch.transport.batch import as_batch
from whymatch.transport.kernels.cpu.batches import solve_path
from whymatch.transport.kernels.threads import spread
from whymatch.transport.solution import Path, Status


def path(cost: Tensor, max_k: int | None = None, *, sizes: Tensor | None = None) -> Path:
    """The cheapest 1, 2, …, `max_k` links (as many as the shorter text has spans, unless told), and their total costs.

    What each further link adds never falls: a bend in `path(cost).increments` is a good k. The links may change from k
    to k + 1. A k that a problem has no links for costs +inf; a single matrix with NaN or -inf raises.
    """
    batch = as_batch(cost, sizes)
    if max_k is None:
        max_k = int(batch.shorter.max(initial=0))
    elif isinstance(max_k, bool) or not isinstance(max_k, int) or max_k < 1:
        raise ValueError(f"max_k must be a whole number, 1 or more, got {max_k!r}.")
    count, n, _ = batch.cost.shape
    partner = np.full((count, max_k, n), -1)
    value = np.full((count, max_k), np.inf)
    gap = np.full((count, max_k), np.nan)
    status = np.full((count, max_k), int(Status.INFEASIBLE))
    spread(solve_path, batch.work, batch.values(), batch.sizes, partner, value, gap, status)
    if batch.single and (status == Status.INVALID).any():
        raise ValueError(batch.bad_cost(0))
    return Path(*batch.give_back(value, partner, gap, status))
