"""The paper's construction of a constraint: replicas and dummy points that turn it into a plain assignment.

For teaching, and as the oracle in tests. Solving does not go through it, since it is larger and slower.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from whymatch.transport.constraints import Balanced, Constraint, Exactly, OneTo


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
    if isinstance(constraint, Balanced):
        raise ValueError("Balanced() has neither replicas nor dummies: it is the transport problem itself.")
    if not constraint.admits(min(n, m), max(n, m)):
        raise ValueError(constraint.advice(n, m))
    if n > m:
        turned = augmented(cost.T, constraint, as_published=as_published)
        return Augmented(turned.cost.T, turned.right, turned.left)
    replicas, meeting = 1, torch.inf
    if isinstance(constraint, OneTo):
        replicas, left_dummies, right_dummies = constraint.k, m - constraint.k * n, 0
    elif isinstance(constraint, Exactly):
        left_dummies, right_dummies = m - constraint.k, n - constraint.k
        meeting = 0.0 if as_published else torch.inf
    else:
        replicas, left_dummies, right_dummies, meeting = constraint.k, m, constraint.k * n, 0.0
        cost = torch.where(cost < constraint.below, cost - constraint.below, torch.inf)
    left = torch.cat([torch.arange(n).repeat_interleave(replicas), torch.full((left_dummies,), -1)])
    right = torch.cat([torch.arange(m), torch.full((right_dummies,), -1)])
    square = cost.new_zeros(len(left), len(right))
    square[: n * replicas, :m] = cost.repeat_interleave(replicas, dim=0)
    square[n * replicas :, m:] = meeting
    return Augmented(square, left, right)
