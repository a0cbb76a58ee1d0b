"""How clear an optimum is: what the next best alignment costs more."""

import torch
from torch import Tensor

from whymatch.interruption import interruption_point
from whymatch.transport.batch import as_batch
from whymatch.transport.constraints import Constraint, check_constraint
from whymatch.transport.exact import solve
from whymatch.transport.masses import one_side
from whymatch.transport.solution import Solution, Status

AT_ONCE = 2**21  # costs in memory at a time


def margin(
    cost: Tensor,
    constraint: Constraint,
    solution: Solution,
    *,
    sizes: Tensor | None = None,
    mass: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    """What the best alignment without one of the solution's links costs more, the smallest over its links.

    0 means a tie: another alignment is as good. +inf means that there is no other; a difference that is too large for
    the precision of the costs becomes the largest number of that precision. NaN where the solution is not ok. Takes
    what `solve` took, and solves once more for every link.
    """
    check_constraint(constraint, mass)
    batch = as_batch(cost, sizes)
    if solution.plan.shape != (batch.cost.shape[1:] if batch.single else batch.cost.shape):
        raise ValueError(f"The solution is of other costs: its plan has shape {tuple(solution.plan.shape)}.")
    costs = batch.cost.detach().double()
    limits = torch.from_numpy(batch.sizes)
    masses = None if mass is None else [torch.from_numpy(one_side(batch, side, mass[side])) for side in (0, 1)]
    best = solve(costs, constraint, sizes=limits, mass=None if masses is None else (masses[0], masses[1]))
    margins = torch.full_like(best.cost, torch.inf)
    links = torch.nonzero(solution.plan[None] if batch.single else solution.plan)
    for some in torch.split(links, max(1, AT_ONCE // max(1, costs.shape[1] * costs.shape[2]))):
        interruption_point()
        b, i, j = some.unbind(dim=1)
        without = costs[b]
        without[torch.arange(len(b)), i, j] = torch.inf
        here = b.cpu()
        chosen = None if masses is None else (masses[0][here], masses[1][here])
        other = solve(without, constraint, sizes=limits[here], mass=chosen)
        more = (other.cost - best.cost[b]).clamp(max=torch.finfo(batch.cost.dtype).max)
        more = torch.where(other.status == Status.INFEASIBLE, torch.inf, more)
        margins.scatter_reduce_(0, b, more, "amin")
    margins = torch.where(best.status == Status.OK, margins.clamp(min=0), torch.nan).to(batch.cost.dtype)
    return margins[0] if batch.single else margins
