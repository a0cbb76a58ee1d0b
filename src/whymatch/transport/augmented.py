"""The paper's construction of a constraint: replicas and dummy points that turn it into a plain assignment.

For teaching, and as the oracle in tests. Solving does not go through it, since it is larger and slower.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from whymatch.transport.constraints import Balanced, Constraint, Exactly, UpTo


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
    replicas, left_dummies, right_dummies = (int(number) for number in constraint.construction(n, m))
    meeting = torch.inf if isinstance(constraint, Exactly) and not as_published else 0.0
    if isinstance(constraint, UpTo):
        cost = torch.where(cost < constraint.below, cost - constraint.below, torch.inf)
    left = torch.cat([torch.arange(n).repeat_interleave(replicas), torch.full((left_dummies,), -1)])
    right = torch.cat([torch.arange(m), torch.full((right_dummies,), -1)])
    square = cost.new_zeros(len(left), len(right))
    square[: n * replicas, :m] = cost.repeat_interleave(replicas, dim=0)
    square[n * replicas :, m:] = meeting
    return Augmented(square, left, right)
