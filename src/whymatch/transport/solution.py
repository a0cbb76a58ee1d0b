"""What a solver gives back."""

from enum import IntEnum
from typing import NamedTuple

from torch import Tensor

TOLERANCE = 1e-12
"""A gap within this share of the range of the costs is rounding. For `UpTo` the range ends at `below`."""


class Status(IntEnum):
    """What became of a problem."""

    OK = 0
    INVALID = 1  # a cost is NaN or -inf, or the masses are not masses
    INFEASIBLE = 2  # no alignment keeps the constraint's promise
    OUT_OF_RANGE = 3  # solved, but a cost (then ±inf) or a mass is too large or too small for the costs' precision


class Solution(NamedTuple):
    """Optimal plans, one problem or a batch; zero plan and NaN cost and gap where it is invalid or infeasible."""

    plan: Tensor
    """(…, n, m) mass moved from left span i to right span j, zero where nothing is aligned."""
    cost: Tensor
    """(…) the optimised objective."""
    gap: Tensor
    """(…) cost minus a feasible dual value: the plan is optimal to within this, but for rounding (`TOLERANCE`)."""
    status: Tensor
    """(…) a `Status` for each problem."""

    @property
    def links(self) -> Tensor:
        """(number of links, 2) the left and right span of each; (…, 3) with the problem first for a batch."""
        return self.plan.nonzero()


class Path(NamedTuple):
    """The optimal `Exactly(k)` for k = 1, 2, …, K, in this order along the dimension of length K."""

    cost: Tensor
    """(…, K) total cost of the k links; +inf where there are none, ±inf out of range, NaN where it is invalid."""
    increments: Tensor
    """(…, K) what the k-th link adds to the total cost; never falls, +inf where there are no k links."""
    partner: Tensor
    """(…, K, n) the right span that each left span is linked to, -1 for none."""
    gap: Tensor
    """(…, K) cost minus a feasible dual value, NaN where there are no k links."""
    status: Tensor
    """(…, K) a `Status` for each k."""
