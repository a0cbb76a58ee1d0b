"""Entropic plans: the smooth mode, for gradients through the plan and for comparison with the paper."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from whymatch.transport.batch import as_batch
from whymatch.transport.constraints import Constraint, UpTo, check_constraint
from whymatch.transport.entropic import Temperature, entropic_plans
from whymatch.transport.exact import solve
from whymatch.transport.gradients import Smooth, implicit
from whymatch.transport.solution import Status


class Entropic(NamedTuple):
    """Entropic plans, one problem or a batch; zero plan and NaN cost and error where the status is not ok."""

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
    batch = as_batch(cost, sizes)
    done = entropic_plans(batch, constraint, temperature, mass, tolerance, max_iterations)
    costs = batch.cost[0] if batch.single else batch.cost
    if np.isinf(batch.values()).any():  # only the exact solver can tell whether there is a plan at all
        exact = solve(costs.detach(), constraint, sizes=sizes, mass=mass, strict=False)
        done.drop((exact.status.reshape(-1).cpu().numpy() != Status.OK) & (done.status == Status.OK))
    if strict or (strict is None and batch.single):
        batch.refuse(constraint, done.status)
    plan, total, error, iterations, status = batch.give_back(
        done.placed, done.value, done.error, done.iterations, done.status
    )
    if batch.cost.requires_grad and torch.is_grad_enabled():
        smooth = Smooth(done.plan, done.epsilon, done.share)
        plan = implicit(costs, plan, lambda: smooth)
        below = constraint.below if isinstance(constraint, UpTo) else 0.0
        sums = ((costs - below).masked_fill(plan == 0, 0) * plan).sum(dim=(-2, -1))
        total = total + (sums - sums.detach())
    return Entropic(plan, total, error, iterations, status)
