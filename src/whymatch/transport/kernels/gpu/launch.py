"""Starts the kernels for GPUs: memory for the results, and the shape of a program for the size of the problems."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from whymatch.transport.batch import Batch
from whymatch.transport.constraints import Constraint
from whymatch.transport.kernels.gpu import device_of
from whymatch.transport.kernels.gpu.backward import solve_backward
from whymatch.transport.kernels.gpu.balanced import solve_masses
from whymatch.transport.kernels.gpu.batches import solve_choices, solve_links, solve_path
from whymatch.transport.kernels.gpu.scaling import solve_smooth
from whymatch.transport.kernels.gpu.steps import MIN_VECTOR, ROUNDING, ROWS_AT_ONCE
from whymatch.transport.masses import Masses, Reservoirs
from whymatch.transport.solution import Status

_MAX_K = 2**20  # a k above this is as good as this
WARPS = {32: 1, 64: 1, 128: 1, 256: 4}  # for vectors of each length (benchmarks.gpu warps): several have to wait
_SMOOTH_WARPS = {32: 1, 64: 1, 128: 2, 256: 4, 512: 4}
_SMOOTH_ROWS = {32: 4, 64: 4, 128: 2, 256: 2, 512: 2}  # that a pass of the entropic kernels works on at the same time


def optimal_links(batch: Batch, constraint: Constraint) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Plans, objectives, gaps and statuses under a constraint whose links all have the same mass."""
    cost, sizes = batch.costs, batch.given_sizes
    count, n, m = cost.shape
    plan, value, gap = _memory(cost)
    status = torch.empty(count, dtype=torch.int64, device=cost.device)
    rule, k = constraint.rule()
    below = cost.new_full((1,), batch.below(constraint)) if constraint.thresholded else cost
    if count:
        with device_of(cost):
            solve_links[(count,)](
                cost, cost if sizes is None else sizes, below, plan, value, gap, status, min(k, _MAX_K), n, m,
                RULE=rule, RAGGED=sizes is not None, **_shape(batch),
            )  # fmt: skip
    return plan, value, gap, status


def optimal_choices(batch: Batch, constraint: Constraint) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same under a constraint that lets every left span choose on its own."""
    cost, sizes = batch.costs, batch.given_sizes
    count, n, m = cost.shape
    plan, value, gap = _memory(cost)
    status = torch.empty(count, dtype=torch.int64, device=cost.device)
    _, k = constraint.rule()
    below = cost.new_full((1,), batch.below(constraint))
    settings = _shape(batch)
    del settings["ROWS"]
    if count:
        with device_of(cost):
            solve_choices[(count,)](
                cost, cost if sizes is None else sizes, below, plan, value, gap, status, min(k, _MAX_K), n, m,
                RAGGED=sizes is not None, **settings,
            )  # fmt: skip
    return plan, value, gap, status


def optimal_flows(batch: Batch, masses: Masses, status: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Plans, objectives, gaps and statuses for whole units of mass; changes `status` in place."""
    cost = batch.costs
    count, n, m = cost.shape
    plan, value, gap = _memory(cost)
    flow = torch.zeros(cost.shape, dtype=torch.int64, device=cost.device)
    settings = _shape(batch)
    if cost.dtype == torch.float64:
        settings["SHRINK"] = 2.0**-64  # sums run over units of mass, of which there are up to 2^50
    settings["ROWS"], settings["COLUMNS"] = settings["COLUMNS"], settings["ROWS"]  # here the longer side has the rows
    if count:
        with device_of(cost):
            solve_masses[(count,)](
                cost, batch.sizes, masses.supply, masses.demand, masses.unit, masses.crumb, flow, plan, value, gap,
                status, n, m, **settings,
            )  # fmt: skip
    return plan, value, gap, status


def every_k(batch: Batch, max_k: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Costs, increments, partners, gaps and statuses of `Exactly(k)` for k = 1, …, max_k."""
    cost, sizes = batch.costs, batch.given_sizes
    count, n, m = cost.shape
    value = torch.full((count, max_k), torch.inf, dtype=_working_type(cost), device=cost.device)
    increment, gap = value.clone(), torch.full_like(value, torch.nan)
    status = torch.full(value.shape, int(Status.INFEASIBLE), device=cost.device)
    partner = torch.full((count, max_k, n), -1, device=cost.device)
    if count and max_k:
        with device_of(cost):
            solve_path[(count,)](
                cost, cost if sizes is None else sizes, partner, value, increment, gap, status, max_k, n, m,
                RAGGED=sizes is not None, **_shape(batch),
            )  # fmt: skip
    return value, increment, partner, gap, status


def entropic(
    batch: Batch, constraint: Constraint, masses: Reservoirs, epsilon: Tensor, status: Tensor,
    relative: bool, tolerance: float, max_iterations: int, placed: bool,
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor, Tensor, Tensor]:  # fmt: skip
    """Plans with reservoirs, plans with their masses in place and costs (if `placed`), errors, iterations, statuses.

    All are double. Changes `epsilon`, which becomes absolute, and `status` in place.
    """
    cost = batch.costs
    count, n, m = cost.shape
    plan = torch.empty((count, 1 + n, 1 + m), dtype=torch.float64, device=cost.device)
    error = torch.empty(count, dtype=torch.float64, device=cost.device)
    iterations = torch.empty(count, dtype=torch.int64, device=cost.device)
    below = cost.new_full((1,), batch.below(constraint)) if constraint.thresholded else cost
    columns = max(MIN_VECTOR, triton.next_power_of_2(1 + m))
    if count:
        with device_of(cost):
            solve_smooth[(count,)](
                cost, batch.sizes, below, masses.left, masses.right, epsilon, plan, error, iterations, status,
                tolerance, max_iterations, n, m, RELATIVE=relative, MEET=constraint.thresholded,
                AT_ONCE=_SMOOTH_ROWS[columns], COLUMNS=columns, REAL=_real(cost), num_warps=_SMOOTH_WARPS[columns],
            )  # fmt: skip
    if not placed:
        return plan, None, None, error, iterations, status
    target = None if constraint.thresholded else masses.target
    in_place = _into_place(plan[:, 1:, 1:], masses.left[:, 1:], masses.right[:, 1:], target, cost < torch.inf)
    in_place = in_place * masses.share[:, None, None]
    zero = below.double() if constraint.thresholded else 0.0
    quarter = ((cost.double() / 4 - zero / 4).masked_fill(in_place == 0, 0) * in_place).sum(dim=(1, 2))
    beyond = quarter.abs() / (1 + ROUNDING.value) > batch.largest / 4
    value = torch.where(beyond, quarter.sign() * torch.inf, (4 * quarter).clamp(-batch.largest, batch.largest))
    value = torch.where(status == Status.OK, value, torch.nan)
    status = torch.where((status == Status.OK) & beyond, int(Status.OUT_OF_RANGE), status)
    return plan, in_place, value, error, iterations, status


def pull_back(gradient: Tensor, plan: Tensor, epsilon: Tensor, share: Tensor) -> Tensor:
    """`gradients.pull_back` for a batch (batch, n, m) on the device of the plans (batch, 1 + n, 1 + m)."""
    count, n, m = gradient.shape
    result = torch.empty_like(gradient, memory_format=torch.contiguous_format)
    columns = max(MIN_VECTOR, triton.next_power_of_2(1 + m))
    if result.numel():
        with device_of(plan):
            solve_backward[(count,)](
                plan, gradient.contiguous(), share, epsilon, result, n, m, AT_ONCE=_SMOOTH_ROWS[columns],
                COLUMNS=columns, REAL=_real(gradient), num_warps=_SMOOTH_WARPS[columns],
            )  # fmt: skip
    return result


def _shape(batch: Batch) -> dict[str, Any]:
    """What every exact kernel is compiled for: the lengths of its vectors, its precision, when costs are too large.

    Costs above HUGE are multiplied by SHRINK, and results above LIMIT are ±inf.
    """
    _, n, m = batch.costs.shape
    rows = max(MIN_VECTOR, triton.next_power_of_2(min(n, m)))
    columns = max(MIN_VECTOR, triton.next_power_of_2(max(n, m)))
    double = batch.costs.dtype == torch.float64
    return {
        "HUGE": 1e290 if double else 1e35,
        "SHRINK": 2.0**-32 if double else 2.0**-20,
        "LIMIT": batch.largest,
        "ROWS": rows,
        "COLUMNS": columns,
        "AT_ONCE": ROWS_AT_ONCE[columns],
        "REAL": _real(batch.costs),
        "num_warps": WARPS[columns],
    }


def _working_type(cost: Tensor) -> torch.dtype:
    """The precision to work in."""
    return torch.float64 if cost.dtype == torch.float64 else torch.float32


def _real(cost: Tensor) -> tl.dtype:
    return tl.float64 if cost.dtype == torch.float64 else tl.float32


def _memory(cost: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For plans, objectives and gaps."""
    value = torch.empty(len(cost), dtype=_working_type(cost), device=cost.device)
    gap = torch.empty_like(value)  # on its own: where an address starts is part of what a kernel is compiled for
    return torch.empty_like(cost), value, gap


def _into_place(plan: Tensor, left: Tensor, right: Tensor, target: Tensor | None, allowed: Tensor) -> Tensor:
    """Makes `plan` move no more than it may, and `target` in all: cuts, then adds what is missing.

    What is missing goes to pairs in proportion to the room that both their spans have left, but not to forbidden pairs.
    """
    rows = plan.sum(dim=2)
    plan = plan * torch.where(rows > left, left / rows, 1.0)[:, :, None]
    columns = plan.sum(dim=1)
    plan = plan * torch.where(columns > right, right / columns, 1.0)[:, None, :]
    if target is None:
        return plan
    total = plan.sum(dim=(1, 2))
    plan = plan * torch.where(total > target, target / total, 1.0)[:, None, None]
    rows, columns = (left - plan.sum(dim=2)).clamp(min=0), (right - plan.sum(dim=1)).clamp(min=0)
    missing = (target - plan.sum(dim=(1, 2))).clamp(min=0)
    room = rows.sum(dim=1) * columns.sum(dim=1)
    more = torch.where(room > 0, missing / room, 0.0)[:, None, None] * rows[:, :, None] * columns[:, None, :]
    return plan + more * (allowed & (plan.sum(dim=(1, 2)) > 0)[:, None, None])
