"""Optimal plans under a constraint, each with a proof of optimality."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from whymatch.transport.batch import Batch, as_batch
from whymatch.transport.constraints import Balanced, Constraint, Exactly, OneTo, UpTo
from whymatch.transport.gradients import envelope
from whymatch.transport.kernels.cpu.batches import EXACTLY, ONE_TO, UP_TO, solve_links, solve_masses
from whymatch.transport.kernels.threads import spread
from whymatch.transport.masses import even, given
from whymatch.transport.solution import Solution, Status

RULES = {OneTo: ONE_TO, UpTo: UP_TO, Exactly: EXACTLY}


def solve(
    cost: Tensor,
    constraint: Constraint,
    *,
    sizes: Tensor | None = None,
    mass: tuple[Tensor, Tensor] | None = None,
    strict: bool | None = None,
) -> Solution:
    """The optimal plan for one cost matrix (n, m), or for each of a padded batch (batch, n, m) with `sizes` (batch, 2).

    A cost of +inf forbids a pair; NaN and -inf are invalid. A problem that cannot be solved gets a status and changes
    nothing for its neighbours; it raises instead where `strict`, the default for a single matrix. `mass` gives the left
    and right mass of `Balanced()`, of equal totals, padded as the costs are.

    The solution's cost is the optimised objective: <cost, plan>, and <cost - below, plan> for `UpTo`. It can be
    differentiated with respect to the costs.
    """
    batch = as_batch(cost, sizes)
    if mass is not None and not isinstance(constraint, Balanced):
        raise ValueError(f"Only Balanced() takes masses, got {constraint}, whose links all have the same mass.")
    costs = batch.values()
    plan = np.empty_like(costs)  # the kernels clear it
    value, gap = np.full((2, len(costs)), np.nan)
    status = np.where(constraint.admits(batch.shorter, batch.longer), Status.OK, Status.INFEASIBLE)
    if isinstance(constraint, Balanced):
        masses = even(batch) if mass is None else given(batch, *mass)
        status[~masses.valid] = Status.INVALID
        arrays = [costs, batch.sizes, masses.supply, masses.demand, masses.unit, plan, value, gap, status]
        spread(solve_masses, batch.work, *arrays)
    else:
        share = constraint.mass(batch.shorter, batch.longer)
        below = constraint.below if isinstance(constraint, UpTo) else np.inf
        kernel = partial(solve_links, RULES[type(constraint)], min(constraint.k, np.iinfo(np.int64).max), below)
        spread(kernel, batch.work, costs, batch.sizes, share, plan, value, gap, status)
    if strict or (strict is None and batch.single):
        refuse(batch, constraint, status)
    solution = Solution(*batch.give_back(plan, value, gap, status))
    if batch.cost.requires_grad and torch.is_grad_enabled():
        wanted = batch.cost[0] if batch.single else batch.cost
        solution = solution._replace(cost=envelope(wanted, solution.cost, solution.plan))
    return solution


def refuse(batch: Batch, constraint: Constraint, status: np.ndarray) -> None:
    """Raises for the first problem that has no solution, with the reason and what to do."""
    for b in np.flatnonzero(status != Status.OK).tolist():
        n, m = batch.sizes[b].tolist()
        if bad := batch.bad_cost(b):
            reason = bad
        elif status[b] == Status.INVALID:
            reason = "Masses must be finite, none negative, with the same positive total on both sides."
        elif not constraint.admits(min(n, m), max(n, m)):
            reason = constraint.advice(n, m)
        else:
            reason = (
                f"+inf forbids so many pairs that no alignment keeps {constraint}. Use UpTo(1) to allow fewer links."
            )
        raise ValueError(reason if batch.single else f"Problem {b}: {reason}")
