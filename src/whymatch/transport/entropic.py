"""Entropic plans for every problem of a batch, on the transport problem with its reservoirs."""

from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from whymatch.transport.batch import Batch
from whymatch.transport.constraints import Constraint
from whymatch.transport.gradients import Smooth
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


class EntropicPlans(NamedTuple):
    """The plans (batch, 1 + n, 1 + m) of the transport problem with its reservoirs, and how they came about."""

    plan: np.ndarray
    placed: np.ndarray  # (batch, n, m), with its masses in place and in their own unit
    share: np.ndarray
    epsilon: np.ndarray
    value: np.ndarray
    error: np.ndarray
    iterations: np.ndarray
    status: np.ndarray

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
    status = np.where(constraint.admits(batch.shorter, batch.longer), Status.OK, Status.INFEASIBLE)
    status[~masses.valid] = Status.INVALID
    plan, placed = np.zeros((2, count, 1 + n, 1 + m))
    epsilon = np.full(count, temperature.epsilon)
    (value, error), iterations = np.full((2, count), np.nan), np.zeros(count, np.int64)
    kernel = partial(solve_smooth, temperature.relative, batch.below(constraint), tolerance, max_iterations)
    arrays = [batch.values(), batch.sizes, masses.left, masses.right, masses.target, epsilon]
    spread(kernel, batch.work * 10, *arrays, plan, placed, value, error, iterations, status)
    share = masses.share
    return EntropicPlans(
        plan, placed[:, 1:, 1:] * share[:, None, None], share, epsilon, value * share, error, iterations, status
    )


def smooth_plans(
    batch: Batch, constraint: Constraint, temperature: Temperature, mass: tuple[Any, Any] | None, solved: np.ndarray
) -> Smooth:
    """What the implicit rule needs to differentiate exact plans, for the problems that were solved."""
    done = entropic_plans(batch, constraint, temperature, mass)
    done.plan[~solved] = 0.0
    return Smooth(done.plan, done.epsilon, done.share)
