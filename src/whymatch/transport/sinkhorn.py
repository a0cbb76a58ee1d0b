"""Entropic plans: the smooth mode, for gradients through the plan and for comparison with the paper."""

from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from whymatch.transport.batch import Batch, as_batch
from whymatch.transport.constraints import Constraint, UpTo, check
from whymatch.transport.gradients import implicit
from whymatch.transport.kernels.cpu.scaling import solve_smooth
from whymatch.transport.kernels.threads import spread
from whymatch.transport.reservoirs import reservoirs
from whymatch.transport.solution import Status


@dataclass(frozen=True)
class Temperature:
    """What entropy is worth: epsilon as a share of the range of the costs, or in their unit where not `relative`."""

    epsilon: float = 0.1
    relative: bool = True

    def __post_init__(self) -> None:
        if not (isfinite(self.epsilon) and self.epsilon > 0):
            raise ValueError(f"Temperature(epsilon={self.epsilon}) takes a positive number. Use solve for no entropy.")


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


class Transported(NamedTuple):
    """The plans (batch, 1 + n, 1 + m) of the transport problem with its reservoirs, and how they came about."""

    plan: np.ndarray
    placed: np.ndarray  # (batch, n, m), with its masses in place and in their own unit
    share: np.ndarray
    epsilon: np.ndarray
    value: np.ndarray
    error: np.ndarray
    iterations: np.ndarray
    status: np.ndarray


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
    constraint's masses. Plan and cost can be differentiated, by the implicit function theorem; epsilon is a constant.
    """
    check(constraint, mass)
    if max_iterations < 1 or not tolerance >= 0:
        raise ValueError(f"Iterations and tolerance must be positive, got {max_iterations} and {tolerance}.")
    batch = as_batch(cost, sizes)
    done = transport(batch, constraint, temperature, mass, tolerance, max_iterations)
    if strict or (strict is None and batch.single):
        batch.refuse(constraint, done.status)
    results = done.placed, done.value, done.error, done.iterations, done.status
    plan, total, error, iterations, status = batch.give_back(*results)
    if batch.cost.requires_grad and torch.is_grad_enabled():
        costs = batch.cost[0] if batch.single else batch.cost
        plan = implicit(costs, plan, lambda: done)
        below = constraint.below if isinstance(constraint, UpTo) else 0.0
        sums = torch.where(plan > 0, (costs - below) * plan, 0).sum(dim=(-2, -1))
        total = total + (sums - sums.detach())
    return Entropic(plan, total, error, iterations, status)


def transport(
    batch: Batch,
    constraint: Constraint,
    temperature: Temperature,
    mass: tuple[Any, Any] | None,
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
) -> Transported:
    """Runs the iteration on every problem of a batch."""
    count, n, m = batch.cost.shape
    masses = reservoirs(batch, constraint, mass)
    status = np.where(constraint.admits(batch.shorter, batch.longer), Status.OK, Status.INFEASIBLE)
    status[~masses.valid] = Status.INVALID
    plan, placed = np.zeros((2, count, 1 + n, 1 + m))
    epsilon = np.full(count, temperature.epsilon)
    (value, error), iterations = np.full((2, count), np.nan), np.zeros(count, np.int64)
    kernel = partial(solve_smooth, temperature.relative, batch.below(constraint), tolerance, max_iterations)
    arrays = [batch.values(), batch.sizes, masses.left, masses.right, masses.target, epsilon]
    spread(kernel, batch.work * 10, *arrays, plan, placed, value, error, iterations, status)
    share = masses.share
    return Transported(
        plan, placed[:, 1:, 1:] * share[:, None, None], share, epsilon, value * share, error, iterations, status
    )
