"""Entropic plans: the smooth mode, for gradients through the plan and for comparison with the paper."""

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, NamedTuple

from whymatch.transport.batch import Array, Batch, as_batch
from whymatch.transport.constraints import Constraint, check_constraint
from whymatch.transport.exact import optimal
from whymatch.transport.masses import first_status, reservoirs
from whymatch.transport.solution import Entropic, Status


@dataclass(frozen=True)
class Temperature:
    """What entropy is worth: epsilon as a share of the range of the costs, or in their unit where not `relative`.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> cost = np.array([[0.1, 0.8], [0.9, 0.2]])
    >>> for share in (0.01, 1.0, 100.0):                           # from nearly exact to nearly uniform
    ...     plan = wm.transport.sinkhorn(cost, wm.Balanced(), wm.transport.Temperature(share)).plan
    ...     print(plan.round(2).tolist())
    [[0.5, 0.0], [0.0, 0.5]]
    [[0.35, 0.15], [0.15, 0.35]]
    [[0.25, 0.25], [0.25, 0.25]]

    Args:
        epsilon: above 0. Low temperatures are close to the optimal plan, and have gradients that vanish.
        relative: whether epsilon is a share of the range of the costs.

    Raises:
        TypeError: if epsilon is no number.
        ValueError: if it is not positive and finite.
    """

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


_DEFAULT_TEMPERATURE = Temperature()


def sinkhorn(
    cost: Array,
    constraint: Constraint,
    temperature: Temperature = _DEFAULT_TEMPERATURE,
    *,
    sizes: Array | None = None,
    mass: tuple[Array, Array] | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
    strict: bool | None = None,
) -> Entropic:
    """The plan that minimises <cost, plan> - epsilon · entropy under the constraint; takes what `solve` takes.

    Iterates until `tolerance` of the mass is out of place, then moves that rest into place, so that the plan keeps the
    constraint's masses; with forbidden pairs it keeps them to within `error`. Plan and cost of tensors can be
    differentiated, by the implicit function theorem; epsilon is a constant.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> cost = np.array([[0.1, 0.8], [0.9, 0.2]])
    >>> entropic = wm.transport.sinkhorn(cost, wm.Balanced(), wm.transport.Temperature(0.2))
    >>> entropic.plan.round(2).tolist()                            # every pair has mass; solve would leave two
    [[0.49, 0.01], [0.01, 0.49]]

    Args:
        cost: (n, m), or (batch, n, m); low is good.
        constraint: one that has an entropic plan: all but `Each`.
        temperature: what entropy is worth.
        sizes: (batch, 2), as for `solve`.
        mass: as for `solve`.
        tolerance: the share of the mass that may be out of place.
        max_iterations: after how many iterations to stop; convergence is in the `error`, and raises nothing.
        strict: as for `solve`.

    Raises:
        ValueError: if shapes do not fit, the constraint has no entropic plan, or a problem cannot be solved and
            `strict` holds.
    """
    check_constraint(constraint, mass, entropic=True)
    if max_iterations < 1 or not tolerance >= 0:
        raise ValueError(f"Iterations and tolerance must be positive, got {max_iterations} and {tolerance}.")
    batch = as_batch(cost, sizes)
    plans = entropic_plans(batch, constraint, temperature, mass, tolerance, max_iterations, placed=True)
    plans = _without_impossible(plans, batch, constraint, mass)
    if strict or (strict is None and batch.single):
        batch.refuse(constraint, plans.status)
    results = plans.placed, plans.value, plans.error, plans.iterations, plans.status
    entropic = Entropic(*batch.give_back(*results))
    if not batch.wants_gradient:
        return entropic
    from whymatch.transport.gradients import implicit, total_cost

    plan = implicit(batch.given, entropic.plan, lambda: plans)
    return entropic._replace(plan=plan, cost=total_cost(batch.given, plan, constraint.zero(0.0), entropic.cost))


class EntropicPlans(NamedTuple):
    """Plans of the transport problem with its reservoirs, where the batch is, and how they came about."""

    epsilon: Array
    """(batch), in the unit of the costs."""
    share: Array
    """(batch) the mass of a link."""
    plan: Array
    """(batch, 1 + n, 1 + m), in links, the reservoirs first."""
    placed: Array
    """(batch, n, m), with its masses in place and in their own unit; not where only gradients need the plan."""
    value: Array
    error: Array
    iterations: Array
    status: Array


def entropic_plans(
    batch: Batch,
    constraint: Constraint,
    temperature: Temperature,
    mass: tuple[Any, Any] | None,
    tolerance: float = 1e-6,
    max_iterations: int = 10_000,
    *,
    placed: bool = False,
    solved: Array | None = None,
) -> EntropicPlans:
    """Runs the iteration on every problem of a batch; the plans of problems that are not `solved` become 0."""
    masses = reservoirs(batch, constraint, mass)
    status = first_status(batch, constraint, masses.valid)
    epsilon = batch.xp.full_like(masses.share, temperature.epsilon)
    settings = temperature.relative, tolerance, max_iterations, placed
    results = batch.kernels.entropic(batch, constraint, masses, epsilon, status, *settings)
    plans = EntropicPlans(epsilon, masses.share, *results)
    if solved is None:
        return plans
    return plans._replace(plan=batch.xp.where(solved[:, None, None], plans.plan, 0.0))


def _without_impossible(
    plans: EntropicPlans, batch: Batch, constraint: Constraint, mass: tuple[Any, Any] | None
) -> EntropicPlans:
    """Marks problems that have no plan at all, which only the exact solver can tell: it looks at those with +inf."""
    xp = batch.xp
    if batch.on_host and not xp.any(xp.isinf(batch.costs)):
        return plans
    pairs = batch.inside(0)[:, :, None] & batch.inside(1)[:, None, :]
    forbidden = xp.any(xp.any(pairs & xp.isinf(batch.costs), axis=2), axis=1)
    doubtful = replace(batch, given_sizes=batch.sizes * forbidden[:, None])
    drop = forbidden & (optimal(doubtful, constraint, mass)[3] != Status.OK) & (plans.status == Status.OK)
    return plans._replace(
        plan=xp.where(drop[:, None, None], 0.0, plans.plan),
        placed=xp.where(drop[:, None, None], 0.0, plans.placed),
        value=xp.where(drop, float("nan"), plans.value),
        error=xp.where(drop, float("nan"), plans.error),
        status=xp.where(drop, int(Status.INFEASIBLE), plans.status),
    )
