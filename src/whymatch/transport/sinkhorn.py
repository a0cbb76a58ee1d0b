"""Entropic plans: the smooth mode, for gradients through the plan and for comparison with the paper."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from whymatch.transport.batch import DeviceBatch, as_batch, as_device_batch
from whymatch.transport.constraints import Constraint, check_constraint
from whymatch.transport.entropic import EntropicPlans, Temperature, device_plans, entropic_plans
from whymatch.transport.exact import on_device as exact_plans
from whymatch.transport.exact import solve
from whymatch.transport.gradients import DeviceSmooth, Smooth, implicit
from whymatch.transport.kernels import gpu
from whymatch.transport.solution import Status


class Entropic(NamedTuple):
    """Entropic plans, one problem or a batch; zero plan and NaN cost and error where it is invalid or infeasible."""

    plan: Tensor
    """(…, n, m) mass moved from left span i to right span j; all of it positive."""
    cost: Tensor
    """(…) <cost, plan>, and <cost - below, plan> for `UpTo`."""
    error: Tensor
    """(…) the share of the mass that was out of place when the iteration stopped."""
    iterations: Tensor
    """(…) how many iterations that took."""
    status: Tensor
    """(…) a `Status` for each problem."""


DEFAULT = Temperature()


def sinkhorn(
    cost: Tensor,
    constraint: Constraint,
    temperature: Temperature = DEFAULT,
    *,
    sizes: Tensor | None = None,
    mass: tuple[Tensor, Tensor] | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
    strict: bool | None = None,
) -> Entropic:
    """The plan that minimises <cost, plan> - epsilon · entropy under the constraint; takes what `solve` takes.

    Iterates until `tolerance` of the mass is out of place, then moves that rest into place, so that the plan keeps the
    constraint's masses; with forbidden pairs it keeps them to within `error`. Plan and cost can be differentiated, by
    the implicit function theorem; epsilon is a constant.
    """
    check_constraint(constraint, mass)
    if max_iterations < 1 or not tolerance >= 0:
        raise ValueError(f"Iterations and tolerance must be positive, got {max_iterations} and {tolerance}.")
    if gpu.on_gpu(cost):
        there = as_device_batch(cost, sizes)
        done = device_plans(there, constraint, temperature, mass, tolerance, max_iterations)
        return finish(there, constraint, strict, without_impossible(done, there, constraint, mass))
    batch = as_batch(cost, sizes)
    done = entropic_plans(batch, constraint, temperature, mass, tolerance, max_iterations)
    if np.isinf(batch.values()).any():  # only the exact solver can tell whether there is a plan at all
        costs = batch.cost[0] if batch.single else batch.cost
        exact = solve(costs.detach(), constraint, sizes=sizes, mass=mass, strict=False)
        done.drop((exact.status.reshape(-1).cpu().numpy() != Status.OK) & (done.status == Status.OK))
    return finish(batch, constraint, strict, done)


def finish(batch: Any, constraint: Constraint, strict: bool | None, done: EntropicPlans) -> Entropic:
    """Raises where it should, and gives the results their gradients; on the device that the batch is on."""
    costs = batch.cost[0] if batch.single else batch.cost
    if strict or (strict is None and batch.single):
        batch.refuse(constraint, done.status)
    plan, total, error, iterations, status = batch.give_back(
        done.placed, done.value, done.error, done.iterations, done.status
    )
    if batch.cost.requires_grad and torch.is_grad_enabled():
        kind = DeviceSmooth if isinstance(batch, DeviceBatch) else Smooth
        smooth = kind(done.plan, done.epsilon, done.share)
        plan = implicit(costs, plan, lambda: smooth)
        sums = ((costs / 4 - constraint.zero(0.0) / 4).masked_fill(plan == 0, 0) * plan).sum(
            dim=(-2, -1)
        )  # a quarter cannot overflow
        total = total + 4 * (sums - sums.detach())
    return Entropic(plan, total, error, iterations, status)


def without_impossible(
    done: EntropicPlans, batch: DeviceBatch, constraint: Constraint, mass: tuple[Tensor, Tensor] | None
) -> EntropicPlans:
    """Marks problems that have no plan at all, which only the exact solver can tell: it looks at those with +inf."""
    spans = batch.spans()
    rows = torch.arange(batch.cost.shape[1], device=spans.device)[:, None] < spans[:, 0, None, None]
    columns = torch.arange(batch.cost.shape[2], device=spans.device) < spans[:, 1, None, None]
    forbidden = (rows & columns & batch.cost.isinf()).any(dim=2).any(dim=1)
    _, _, _, exact = exact_plans(DeviceBatch(batch.cost, spans * forbidden[:, None], batch.single), constraint, mass)
    drop = forbidden & (exact != Status.OK) & (done.status == Status.OK)
    keep = ~drop
    return done._replace(
        plan=done.plan * keep[:, None, None],
        placed=done.placed * keep[:, None, None],
        value=torch.where(drop, torch.nan, done.value),
        error=torch.where(drop, torch.nan, done.error),
        status=torch.where(drop, int(Status.INFEASIBLE), done.status),
    )
