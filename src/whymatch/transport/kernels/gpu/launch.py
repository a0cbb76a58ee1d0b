"""Starts the kernels: memory for the results, and the shape of a program for the size of the problems."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from whymatch.transport.batch import largest
from whymatch.transport.constraints import Constraint
from whymatch.transport.kernels.gpu import device_of
from whymatch.transport.kernels.gpu.batches import solve_links, solve_path
from whymatch.transport.kernels.gpu.steps import AT_ONCE, SMALLEST
from whymatch.transport.solution import Status

ENOUGH = 2**20  # a k above this is as good as this
WARPS = {32: 1, 64: 1, 128: 1, 256: 4}  # for vectors of each length (benchmarks.gpu warps): several have to wait


def working_type(cost: Tensor) -> torch.dtype:
    """The precision to work in."""
    return torch.float64 if cost.dtype == torch.float64 else torch.float32


def shape(cost: Tensor, sizes: Tensor | None) -> dict[str, Any]:
    """What every kernel is compiled for: the lengths of its vectors, its precision, and when costs are too large.

    Costs above HUGE are multiplied by SHRINK, and results above LIMIT are ±inf.
    """
    _, n, m = cost.shape
    rows = max(SMALLEST, triton.next_power_of_2(min(n, m)))
    columns = max(SMALLEST, triton.next_power_of_2(max(n, m)))
    double = cost.dtype == torch.float64
    return {
        "RAGGED": sizes is not None,
        "HUGE": 1e290 if double else 1e35,
        "SHRINK": 2.0**-32 if double else 2.0**-20,
        "LIMIT": largest(cost.dtype),
        "ROWS": rows,
        "COLUMNS": columns,
        "AT_ONCE": AT_ONCE[columns],
        "REAL": tl.float64 if double else tl.float32,
        "num_warps": WARPS[columns],
    }


def optimal_links(cost: Tensor, constraint: Constraint, sizes: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Plans, objectives, gaps and statuses for contiguous costs (batch, n, m) with sizes on the same device."""
    count, n, m = cost.shape
    plan = torch.empty_like(cost)
    value = torch.empty(count, dtype=working_type(cost), device=cost.device)
    gap = torch.empty_like(value)  # on its own: where an address starts is part of what a kernel is compiled for
    status = torch.empty(count, dtype=torch.int64, device=cost.device)
    rule, k = constraint.rule()
    limit = cost.new_full((1,), constraint.zero(0.0)) if constraint.thresholded else cost
    if count:
        with device_of(cost):
            solve_links[(count,)](
                cost, cost if sizes is None else sizes, limit, plan, value, gap, status, min(k, ENOUGH),
                n, m, RULE=rule, **shape(cost, sizes),
            )  # fmt: skip
    return plan, value.to(cost.dtype), gap.to(cost.dtype), status


def every_k(cost: Tensor, max_k: int, sizes: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Costs, increments, partners, gaps and statuses of `Exactly(k)` for k = 1, …, max_k."""
    count, n, m = cost.shape
    value = torch.full((count, max_k), torch.inf, dtype=working_type(cost), device=cost.device)
    increment, gap = value.clone(), torch.full_like(value, torch.nan)
    status = torch.full(value.shape, int(Status.INFEASIBLE), device=cost.device)
    partner = torch.full((count, max_k, n), -1, device=cost.device)
    if count and max_k:
        with device_of(cost):
            solve_path[(count,)](
                cost, cost if sizes is None else sizes, partner, value, increment, gap, status, max_k, n, m,
                **shape(cost, sizes),
            )  # fmt: skip
    return value.to(cost.dtype), increment.to(cost.dtype), partner, gap.to(cost.dtype), status
