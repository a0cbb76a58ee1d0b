"""Optimal plans under a constraint, each with a proof of optimality; for every k at once; and how clear they are."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from array_api_compat import device

from whymatch.interruption import interruption_point
from whymatch.transport.batch import Array, Batch, as_batch, limits
from whymatch.transport.constraints import MANY, Constraint, Exactly, check_constraint
from whymatch.transport.masses import first_status, given, units
from whymatch.transport.solution import OptimalPath, Solution, Status

if TYPE_CHECKING:
    from whymatch.transport.entropic import Temperature

_MAX_COSTS_PER_BATCH = 2**21  # that `margin` has in memory at a time


def solve(
    cost: Array,
    constraint: Constraint,
    *,
    sizes: Array | None = None,
    mass: tuple[Array, Array] | None = None,
    smooth: "Temperature | None" = None,
    strict: bool | None = None,
) -> Solution:
    """The optimal plan for one cost matrix (n, m), or for each of a padded batch (batch, n, m) with `sizes` (batch, 2).

    Arrays of numpy give arrays of numpy, tensors give tensors. A cost of +inf forbids a pair; NaN and -inf are invalid.
    A problem that cannot be solved gets a status and changes nothing for its neighbours; it raises ValueError instead
    where `strict`, the default for a single matrix. `mass` gives the left and right mass of `Balanced()`, of equal
    totals, padded as the costs are; differences of 2⁻⁵⁰ of the total are lost.

    The solution's cost is the optimised objective: <cost, plan>, and <cost - below, plan> for `UpTo` and `Each`. That
    of tensors can be differentiated with respect to the costs. The plan is constant almost everywhere; with `smooth` it
    has the derivative that the entropic plan of that temperature has.

    Costs on a GPU are solved there in their own precision, up to 256 spans on a side and if Triton is installed, and
    nothing waits for the GPU unless `strict` does; give `sizes` there too. Others are solved on the CPU.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> cost = np.array([[0.1, 0.8, 0.9], [0.2, 0.3, 0.9]])
    >>> solution = wm.solve(cost, wm.Exactly(2))
    >>> solution.links.tolist(), float(solution.cost.round(6))     # the mean cost of the two links
    ([[0, 0], [1, 1]], 0.2)
    >>> costs, sizes = wm.transport.pad([cost, cost[:1, :1]])
    >>> wm.solve(costs, wm.Exactly(2), sizes=sizes).status.tolist()
    [0, 2]

    Args:
        cost: (n, m), or (batch, n, m); low is good.
        constraint: what an alignment may look like, such as `Exactly(2)`.
        sizes: (batch, 2), the numbers of left and right spans of each problem; without it nothing is padding.
        mass: (n) and (m), or (batch, n) and (batch, m), for `Balanced()`.
        smooth: the temperature of the derivative of the plan, for tensors.
        strict: whether a problem that cannot be solved raises; by default for a single matrix.

    Returns:
        The plans, costs, gaps and statuses, of the kind and precision of the costs.

    Raises:
        TypeError: if the constraint or the masses are none.
        ValueError: if shapes do not fit, or a problem cannot be solved and `strict` holds.
    """
    check_constraint(constraint, mass, entropic=smooth is not None)
    batch = as_batch(cost, sizes)
    plan, value, gap, status = optimal(batch, constraint, mass)
    if strict or (strict is None and batch.single):
        batch.refuse(constraint, status)
    solution = Solution(*batch.give_back(plan, value, gap, status))
    if not batch.wants_gradient:
        return solution
    from whymatch.transport.entropic import entropic_plans
    from whymatch.transport.gradients import envelope, implicit

    plan, value = solution.plan, envelope(batch.given, solution.cost, solution.plan)
    if smooth is not None:
        entropic = partial(entropic_plans, batch, constraint, smooth, mass, solved=status == Status.OK)
        plan = implicit(batch.given, plan, entropic)
    return solution._replace(plan=plan, cost=value)


def optimal(batch: Batch, constraint: Constraint, mass: Sequence[Any] | None) -> tuple[Array, Array, Array, Array]:
    """Plans, objectives, gaps and statuses, where the batch is."""
    if constraint.shares_right:
        return batch.kernels.optimal_choices(batch, constraint)
    if not constraint.takes_masses:
        return batch.kernels.optimal_links(batch, constraint)
    masses = units(batch, mass)
    return batch.kernels.optimal_flows(batch, masses, first_status(batch, constraint, masses.valid))


def path(cost: Array, max_k: int | None = None, *, sizes: Array | None = None) -> OptimalPath:
    """The cheapest 1, 2, …, K links, and their total costs.

    K is the largest number of spans that the shorter text of a problem has, or `max_k` where that is less. Where
    `sizes` are on a GPU it is as many as the padded costs have room for, since nothing waits for the GPU.

    What each further link adds never falls: a bend in `path(cost).increments` is a good k. The links may change from k
    to k + 1. A k that a problem has no links for costs +inf; a single matrix with NaN or -inf raises ValueError.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> steps = wm.path(np.array([[0.1, 0.8, 0.9], [0.2, 0.3, 0.9]]))
    >>> steps.cost.round(6).tolist(), steps.partner.tolist()
    ([0.1, 0.4], [[0, -1], [0, 1]])

    Args:
        cost: (n, m), or (batch, n, m); low is good.
        max_k: the largest number of links to look at.
        sizes: (batch, 2), as for `solve`.

    Raises:
        ValueError: if shapes do not fit, or a single matrix holds NaN or -inf.
    """
    most = MANY if max_k is None else Exactly(max_k).k
    batch = as_batch(cost, sizes)
    results = batch.kernels.every_k(batch, min(most, batch.most_links))
    if batch.single and (results[-1] == Status.INVALID).any():
        batch.refuse(Exactly(1), results[-1][:, 0])
    return OptimalPath(*batch.give_back(*results))


def margin(
    cost: Array,
    constraint: Constraint,
    solution: Solution,
    *,
    sizes: Array | None = None,
    mass: tuple[Array, Array] | None = None,
) -> Array:
    """(…) what the best alignment without one of the solution's links costs more, the smallest over its links.

    0 means a tie: another alignment is as good. +inf means that there is no other; a difference that is too large for
    the precision of the costs becomes the largest number of that precision. NaN where the solution is not ok. Takes
    what `solve` took, and solves once more for every link.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> cost = np.array([[0.1, 0.8, 0.9], [0.2, 0.3, 0.9]])
    >>> float(wm.transport.margin(cost, wm.Exactly(1), wm.solve(cost, wm.Exactly(1))).round(6))
    0.1

    Args:
        cost: what `solve` took: (n, m), or (batch, n, m).
        constraint: likewise.
        solution: what `solve` gave.
        sizes: as for `solve`.
        mass: as for `solve`.

    Raises:
        ValueError: if the solution is of costs of another shape.
    """
    check_constraint(constraint, mass)
    batch = as_batch(cost, sizes)
    xp, (count, n, m) = batch.xp, batch.costs.shape
    if tuple(solution.plan.shape) != ((n, m) if batch.single else (count, n, m)):
        raise ValueError(f"The solution is of other costs: its plan has shape {tuple(solution.plan.shape)}.")
    if constraint.thresholded:  # as it was rounded when the costs were solved
        constraint = replace(constraint, below=batch.below(constraint))  # type: ignore[type-var]
    exact = batch.in_double()
    masses = None if mass is None else tuple(given(batch, mass)[0])
    _, best, _, status = optimal(exact, constraint, masses)
    more = xp.full((count, n, m), float("inf"), dtype=xp.float64, device=device(batch.costs))
    b, i, j = xp.nonzero(xp.reshape(batch.array(solution.plan), (count, n, m)))
    step = max(1, _MAX_COSTS_PER_BATCH // max(1, n * m))
    for start in range(0, len(b), step):
        interruption_point()
        links = b[start : start + step], i[start : start + step], j[start : start + step]
        without = exact.costs[links[0]]
        without[xp.arange(len(without), device=device(without)), links[1], links[2]] = float("inf")
        other = replace(exact, costs=without, given_sizes=exact.sizes[links[0]])
        chosen = None if masses is None else (masses[0][links[0]], masses[1][links[0]])
        _, cost_without, _, status_without = optimal(other, constraint, chosen)
        extra = xp.clip(cost_without - best[links[0]], max=limits(batch.dtype)[0])
        more[links] = xp.where(status_without == Status.INFEASIBLE, float("inf"), extra)
    margins = xp.clip(xp.min(more, axis=(1, 2)), min=0) if n * m else best + float("inf")
    return batch.give_back(xp.where(status == Status.OK, margins, float("nan")))[0]
