"""Optimal plans under a constraint, each with a proof of optimality."""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whymatch.transport.batch import Batch, DeviceBatch, as_batch, as_device_batch, check_below
from whymatch.transport.constraints import Constraint, check_constraint
from whymatch.transport.entropic import Temperature, smooth_plans
from whymatch.transport.gradients import envelope, implicit
from whymatch.transport.kernels import gpu
from whymatch.transport.kernels.cpu.batches import solve_links, solve_masses
from whymatch.transport.kernels.threads import spread
from whymatch.transport.masses import device_units, even, given
from whymatch.transport.solution import Solution, Status


def solve(
    cost: Tensor,
    constraint: Constraint,
    *,
    sizes: Tensor | None = None,
    mass: tuple[Tensor, Tensor] | None = None,
    smooth: Temperature | None = None,
    strict: bool | None = None,
) -> Solution:
    """The optimal plan for one cost matrix (n, m), or for each of a padded batch (batch, n, m) with `sizes` (batch, 2).

    A cost of +inf forbids a pair; NaN and -inf are invalid. A problem that cannot be solved gets a status and changes
    nothing for its neighbours; it raises instead where `strict`, the default for a single matrix. `mass` gives the left
    and right mass of `Balanced()`, of equal totals, padded as the costs are; differences of 2⁻⁵⁰ of the total are lost.

    The solution's cost is the optimised objective: <cost, plan>, and <cost - below, plan> for `UpTo`. It can be
    differentiated with respect to the costs. The plan is constant almost everywhere; with `smooth` it has the
    derivative that the entropic plan of that temperature has.

    Costs on a GPU are solved there in their own precision, up to 256 spans on a side and if Triton is installed, and
    nothing waits for the GPU unless `strict` does; give `sizes` there too. Others are solved on the CPU.
    """
    check_constraint(constraint, mass)
    if gpu.on_gpu(cost):
        there = as_device_batch(cost, sizes)
        check_below(there.cost, constraint)
        return finish(there, constraint, mass, smooth, strict, *on_device(there, constraint, mass))
    batch = as_batch(cost, sizes)
    check_below(batch.cost, constraint)
    return finish(batch, constraint, mass, smooth, strict, *on_host(batch, constraint, mass))


def on_device(
    batch: DeviceBatch, constraint: Constraint, mass: tuple[Tensor, Tensor] | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Plans, costs, gaps and statuses by the kernels for GPUs."""
    from whymatch.transport.kernels.gpu.balanced import optimal_flows
    from whymatch.transport.kernels.gpu.launch import optimal_links

    if constraint.takes_masses:
        spans = batch.spans()
        masses = device_units(batch, mass)
        status = torch.where(spans.amin(dim=1) >= 1, int(Status.OK), int(Status.INFEASIBLE))
        status = torch.where(masses.valid, status, int(Status.INVALID))
        units = masses.supply, masses.demand, masses.unit, masses.crumb
        return optimal_flows(batch.values(), spans, *units, status)
    return optimal_links(batch.values(), constraint, batch.sizes)


def on_host(
    batch: Batch, constraint: Constraint, mass: tuple[Tensor, Tensor] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same by the kernels for CPUs."""
    costs = batch.values()
    plan = np.empty_like(costs)  # the kernels clear it
    value, gap = np.full((2, len(costs)), np.nan)
    status = np.where(constraint.admits(*batch.sizes.T), Status.OK, Status.INFEASIBLE)
    if constraint.takes_masses:
        masses = even(batch) if mass is None else given(batch, *mass)
        status[~masses.valid] = Status.INVALID
        arrays = [costs, batch.sizes, masses.supply, masses.demand, masses.unit, masses.crumb]
        spread(partial(solve_masses, batch.limit), batch.work, *arrays, plan, value, gap, status)
    else:
        share = constraint.mass(*batch.sizes.T)
        kernel = partial(solve_links, *constraint.rule(), batch.below(constraint), batch.limit)
        spread(kernel, batch.work, costs, batch.sizes, share, plan, value, gap, status)
    return plan, value, gap, status


def finish(
    batch: Any, constraint: Constraint, mass: tuple[Tensor, Tensor] | None, smooth: Temperature | None,
    strict: bool | None, plan: Any, value: Any, gap: Any, status: Any,
) -> Solution:  # fmt: skip
    """Raises where it should, and gives the results their gradients; on the device that the batch is on."""
    if strict or (strict is None and batch.single):
        batch.refuse(constraint, status)
    solution = Solution(*batch.give_back(plan, value, gap, status))
    if batch.cost.requires_grad and torch.is_grad_enabled():
        given_costs = batch.cost[0] if batch.single else batch.cost
        solution = solution._replace(cost=envelope(given_costs, solution.cost, solution.plan))
        if smooth is not None:
            entropic = partial(smooth_plans, batch, constraint, smooth, mass, status == Status.OK)
            solution = solution._replace(plan=implicit(given_costs, solution.plan, entropic))
    return solution


def _warm_up() -> None:
    """Calls once what solving on a CPU calls in torch, while this module loads and nobody can fork.

    Torch sets up each of its functions on the first call, under a lock of the C library. In the child of a process that
    forks at such a moment of another thread that lock stays locked, and the next new function never returns.
    """
    for cost in (torch.zeros(1, 1), torch.zeros(1, 1, 1, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float16)):
        batch = as_batch(cost)
        batch.give_back(batch.values(), np.zeros(1), np.zeros(1, dtype=np.int64))


_warm_up()
