"""Entropic plans for every problem of a batch, on the transport problem with its reservoirs."""

from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from whymatch.transport.batch import Batch, DeviceBatch, largest
from whymatch.transport.constraints import Constraint
from whymatch.transport.gradients import DeviceSmooth, Smooth
from whymatch.transport.kernels.cpu.batches import ROUNDING
from whymatch.transport.kernels.cpu.scaling import solve_smooth
from whymatch.transport.kernels.threads import spread
from whymatch.transport.reservoirs import Reservoirs, device_reservoirs, reservoirs
from whymatch.transport.solution import Status


@dataclass(frozen=True)
class Temperature:
    """What entropy is worth: epsilon as a share of the range of the costs, or in their unit where not `relative`."""

    epsilon: float = 0.1
    relative: bool = True

    def __post_init__(self) -> None:
        try:
            epsilon = float(self.epsilon)
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"Temperature(epsilon) takes a number, got {self.epsilon!r}.") from None
        except OverflowError:
            epsilon = float("inf")
        if not (isfinite(epsilon) and epsilon > 0):
            raise ValueError(f"Temperature(epsilon={epsilon}) takes a positive number. Use solve for no entropy.")
        object.__setattr__(self, "epsilon", epsilon)


class EntropicPlans(NamedTuple):
    """The plans (batch, 1 + n, 1 + m) of the transport problem with its reservoirs, and how they came about."""

    plan: Any  # arrays on the CPU, tensors on a GPU
    placed: Any  # (batch, n, m), with its masses in place and in their own unit
    share: Any
    epsilon: Any
    value: Any
    error: Any
    iterations: Any
    status: Any

    def drop(self, which: np.ndarray) -> None:
        """Marks problems that turn out to have no plan."""
        self.status[which] = Status.INFEASIBLE
        self.plan[which], self.placed[which] = 0.0, 0.0
        self.value[which], self.error[which] = np.nan, np.nan


def entropic_plans(
    batch: Batch,
    constraint: Constraint,
    temperature: Temperature,
    mass: tuple[Any, Any] | None,
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
) -> EntropicPlans:
    """Runs the iteration on every problem of a batch."""
    count, n, m = batch.cost.shape
    masses = reservoirs(batch, constraint, mass)
    status = np.where(constraint.admits(*batch.sizes.T), Status.OK, Status.INFEASIBLE)
    status[~masses.valid] = Status.INVALID
    plan, placed = np.zeros((2, count, 1 + n, 1 + m))
    epsilon = np.full(count, temperature.epsilon)
    (value, error), iterations = np.full((2, count), np.nan), np.zeros(count, np.int64)
    settings = temperature.relative, batch.below(constraint), tolerance, max_iterations, batch.limit
    arrays = [batch.values(), batch.sizes, masses.left, masses.right, masses.target, masses.share, epsilon]
    kernel = partial(solve_smooth, *settings)
    spread(kernel, batch.work * 10, *arrays, plan, placed, value, error, iterations, status)
    share = masses.share
    return EntropicPlans(
        plan, placed[:, 1:, 1:] * share[:, None, None], share, epsilon, value, error, iterations, status
    )


def device_plans(
    batch: DeviceBatch,
    constraint: Constraint,
    temperature: Temperature,
    mass: tuple[Any, Any] | None,
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
) -> EntropicPlans:
    """The same on a GPU, without waiting for it."""
    costs = batch.values()
    there = device_problem(batch, constraint, temperature, mass, tolerance, max_iterations)
    masses, plan, status = there.masses, there.plan, there.status
    target = None if constraint.thresholded else masses.target
    placed = into_place(plan[:, 1:, 1:], masses.left[:, 1:], masses.right[:, 1:], target, costs < torch.inf)
    placed = placed * masses.share[:, None, None]
    zero = costs.new_full((), constraint.zero(0.0)).double()
    quarter = ((costs.double() / 4 - zero / 4).masked_fill(placed == 0, 0) * placed).sum(dim=(1, 2))
    limit = largest(costs.dtype)
    beyond = quarter.abs() / (1 + ROUNDING) > limit / 4
    value = torch.where(beyond, quarter.sign() * torch.inf, (4 * quarter).clamp(-limit, limit))
    value = torch.where(status == Status.OK, value, torch.nan)
    status = torch.where((status == Status.OK) & beyond, int(Status.OUT_OF_RANGE), status)
    return EntropicPlans(plan, placed, masses.share, there.epsilon, value, there.error, there.iterations, status)


class DeviceProblem(NamedTuple):
    """What the kernel gives back, before mass is put into place."""

    masses: Reservoirs
    plan: Tensor
    epsilon: Tensor
    error: Tensor
    iterations: Tensor
    status: Tensor


def device_problem(
    batch: DeviceBatch,
    constraint: Constraint,
    temperature: Temperature,
    mass: tuple[Any, Any] | None,
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
) -> DeviceProblem:
    """Runs the iteration on a GPU."""
    from whymatch.transport.kernels.gpu.scaling import entropic

    masses = device_reservoirs(batch, constraint, mass)
    wrong = Status.INVALID if mass is not None else Status.INFEASIBLE
    status = torch.where(masses.valid, int(Status.OK), int(wrong))
    epsilon = torch.full_like(masses.share, temperature.epsilon)
    below = constraint.zero(0.0) if constraint.thresholded else None
    plan, error, iterations = entropic(
        batch.values(), batch.spans(), below, masses.left, masses.right, epsilon, status,
        temperature.relative, tolerance, max_iterations,
    )  # fmt: skip
    return DeviceProblem(masses, plan, epsilon, error, iterations, status)


def into_place(plan: Tensor, left: Tensor, right: Tensor, target: Tensor | None, allowed: Tensor) -> Tensor:
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


def smooth_plans(
    batch: Batch | DeviceBatch,
    constraint: Constraint,
    temperature: Temperature,
    mass: tuple[Any, Any] | None,
    solved: Any,
) -> Smooth | DeviceSmooth:
    """What the implicit rule needs to differentiate exact plans, for the problems that were solved."""
    if isinstance(batch, DeviceBatch):
        there = device_problem(batch, constraint, temperature, mass)
        plan = torch.where(solved[:, None, None], there.plan, 0.0)
        return DeviceSmooth(plan, there.epsilon, there.masses.share)
    done = entropic_plans(batch, constraint, temperature, mass)
    done.plan[~solved] = 0.0
    return Smooth(done.plan, done.epsilon, done.share)
