"""The paper's construction of a constraint: replicas and dummy points that turn it into a plain assignment.

For teaching, and as the oracle in tests. Solving does not go through it, since it is larger and slower.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from whymatch.transport.constraints import Constraint


class Augmented(NamedTuple):
    """A square assignment problem, and which span each of its points stands for (-1: a dummy)."""

    cost: Tensor
    left: Tensor
    right: Tensor


def augmented(cost: Tensor, constraint: Constraint, *, as_published: bool = False) -> Augmented:
    """The square cost matrix whose cheapest permutation is the optimal alignment under `constraint`.

    A dummy takes part at cost 0, but a pair of dummies under `Exactly(k)` is forbidden: there the numbers of dummies
    fix the number of links only if every dummy meets a span. The paper's code lets dummies meet for free
    (`as_published`), which turns "exactly k" into "at least k". Under `UpTo` dummies have to meet, once for every link.
    """
    n, m = cost.shape
    if constraint.takes_masses:
        raise ValueError(f"{constraint} has neither replicas nor dummies: it is the transport problem itself.")
    if not constraint.admits(n, m):
        raise ValueError(constraint.advice(n, m))
    dummies, replicas = constraint.dummies(n, m), constraint.per_span(n, m)
    left, right = (
        torch.cat([torch.arange(spans).repeat_interleave(copies), torch.full((alone,), -1)])
        for spans, copies, alone in zip((n, m), replicas, dummies, strict=True)
    )
    if constraint.thresholded:
        cost = torch.where(cost < constraint.zero(0.0), cost - constraint.zero(0.0), torch.inf)
    square = cost.new_zeros(len(left), len(right))
    points = len(left) - dummies[0], len(right) - dummies[1]
    square[: points[0], : points[1]] = cost.repeat_interleave(replicas[0], dim=0).repeat_interleave(replicas[1], dim=1)
    square[points[0] :, points[1] :] = 0.0 if constraint.thresholded or as_published else torch.inf
    return Augmented(square, left, right)
