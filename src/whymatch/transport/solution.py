"""What the solvers give back. Arrays are of the caller's kind: of numpy or of torch, in the precision of the costs."""

from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = Any  # an array of numpy or a tensor of torch

TOLERANCE = 1e-12
"""A gap within this share of the range of the costs is rounding. For `UpTo` and `Each` the range ends at `below`."""


class Status(IntEnum):
    """What became of a problem.

    >>> import whymatch as wm
    >>> wm.transport.Status(2).name, wm.transport.Status.OK == 0
    ('INFEASIBLE', True)
    """

    OK = 0
    INVALID = 1  # a cost is NaN or -inf, or the masses are not masses
    INFEASIBLE = 2  # no alignment keeps the constraint's promise
    OUT_OF_RANGE = 3  # solved, but a cost (then ±inf) or a mass is too large or too small for the costs' precision


class Solution(NamedTuple):
    """Optimal plans, one problem or a batch; zero plan and NaN cost and gap where it is invalid or infeasible.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> solution = wm.solve(np.array([[0.1, 0.8], [0.2, 0.9]]), wm.Exactly(1))
    >>> solution.plan.tolist(), float(solution.cost), float(solution.gap), int(solution.status)
    ([[1.0, 0.0], [0.0, 0.0]], 0.1, 0.0, 0)
    """

    plan: Array
    """(…, n, m) mass moved from left span i to right span j, zero where nothing is aligned."""
    cost: Array
    """(…) the optimised objective."""
    gap: Array
    """(…) cost minus a feasible dual value: the plan is optimal to within this, but for rounding (`TOLERANCE`)."""
    status: Array
    """(…) a `Status` for each problem."""

    @property
    def links(self) -> Array:
        """(number of links, 2) the left and right span of each; (…, 3) with the problem first for a batch."""
        return np.argwhere(self.plan) if isinstance(self.plan, np.ndarray) else self.plan.nonzero()


class OptimalPath(NamedTuple):
    """The optimal `Exactly(k)` for k = 1, 2, …, K, in this order along the dimension of length K.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> steps = wm.path(np.array([[0.1, 0.8], [0.2, 0.9]]))
    >>> steps.increments.round(6).tolist(), steps.partner[1].tolist()
    ([0.1, 0.9], [0, 1])
    """

    cost: Array
    """(…, K) total cost of the k links; +inf where there are none, ±inf out of range, NaN where it is invalid."""
    increments: Array
    """(…, K) what the k-th link adds to the total cost; never falls, +inf where there are no k links."""
    partner: Array
    """(…, K, n) the right span that each left span is linked to, -1 for none."""
    gap: Array
    """(…, K) cost minus a feasible dual value, NaN where there are no k links."""
    status: Array
    """(…, K) a `Status` for each k."""


class Entropic(NamedTuple):
    """Entropic plans, one problem or a batch; zero plan and NaN cost and error where it is invalid or infeasible.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> entropic = wm.transport.sinkhorn(np.array([[0.1, 0.8], [0.2, 0.9]]), wm.Exactly(1))
    >>> float(entropic.plan.sum().round(6)), bool(entropic.error <= 1e-6)
    (1.0, True)
    """

    plan: Array
    """(…, n, m) mass moved from left span i to right span j; all of it positive."""
    cost: Array
    """(…) <cost, plan>, and <cost - below, plan> for `UpTo` and `Each`."""
    error: Array
    """(…) the share of the mass that was out of place when the iteration stopped."""
    iterations: Array
    """(…) how many iterations that took."""
    status: Array
    """(…) a `Status` for each problem."""
