"""The paper's construction of a constraint, and its appendix D on optima that are not unique.

For teaching, and as the oracle in tests. Solving does not go through the construction, which is larger and slower.
"""

from typing import Any, NamedTuple

import numpy as np
from array_api_compat import device, is_numpy_array

from whymatch.arrays import array_namespace
from whymatch.transport.batch import Array
from whymatch.transport.constraints import Constraint, OneTo
from whymatch.transport.exact import solve
from whymatch.transport.solution import Status


class Augmented(NamedTuple):
    """A square assignment problem, and which span each of its points stands for (-1: a dummy).

    >>> import numpy as np
    >>> import whymatch as wm
    >>> wm.transport.augmented(np.array([[0.1, 0.8, 0.9]]), wm.Exactly(1)).left.tolist()   # one span, and two dummies
    [0, -1, -1]
    """

    cost: Array
    left: Array
    right: Array


def augmented(cost: Array, constraint: Constraint, *, as_published: bool = False) -> Augmented:
    """The square cost matrix whose cheapest permutation is the optimal alignment under `constraint`.

    Replicas and dummy points turn the constraint into a plain assignment. A dummy takes part at cost 0, but a pair of
    dummies under `Exactly(k)` is forbidden: there the numbers of dummies fix the number of links only if every dummy
    meets a span. The paper's code lets dummies meet for free (`as_published`), which turns "exactly k" into "at least
    k". Under `UpTo` dummies have to meet, once for every link.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> wm.transport.augmented(np.array([[0.1, 0.8], [0.2, 0.9]]), wm.Exactly(1)).cost.tolist()
    [[0.1, 0.8, 0.0], [0.2, 0.9, 0.0], [0.0, 0.0, inf]]

    Args:
        cost: (n, m).
        constraint: any but `Balanced()`.
        as_published: whether dummies may meet for free under `Exactly(k)`, as in the paper's code.

    Raises:
        ValueError: if the constraint is `Balanced()`, or does not admit n and m spans.
    """
    xp, (n, m) = array_namespace(cost), cost.shape
    if constraint.takes_masses:
        raise ValueError(f"{constraint} has neither replicas nor dummies: it is the transport problem itself.")
    if not constraint.admits(n, m):
        raise ValueError(constraint.advice(n, m))
    replicas, dummies = constraint.per_span(n, m), constraint.dummies(n, m)
    if constraint.thresholded:
        cost = xp.where(cost < constraint.zero(0.0), cost - constraint.zero(0.0), float("inf"))
    spans = [xp.repeat(xp.arange(size), copies) for size, copies in zip((n, m), replicas, strict=True)]
    points = [len(copies) for copies in spans]
    square = xp.zeros((points[0] + dummies[0], points[1] + dummies[1]), dtype=cost.dtype, device=device(cost))
    square[: points[0], : points[1]] = cost[spans[0]][:, spans[1]]
    square[points[0] :, points[1] :] = 0.0 if constraint.thresholded or as_published else float("inf")
    left, right = (xp.concat([copies, xp.full((alone,), -1)]) for copies, alone in zip(spans, dummies, strict=True))
    return Augmented(square, left, right)


class Decomposition(NamedTuple):
    """Permutations (count, n), each the right span of every left span, and weights (count,) that add up to 1.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> pair = wm.transport.Decomposition(np.array([[0, 1], [1, 0]]), np.array([0.75, 0.25]))
    >>> pair.plan().tolist()
    [[0.375, 0.125], [0.125, 0.375]]
    """

    permutations: Array
    weights: Array

    def plan(self) -> Array:
        """The doubly stochastic plan that the permutations make up: rows and columns add up to 1/n."""
        xp, n = array_namespace(self.weights), self.permutations.shape[1]
        matrices = self.permutations[:, :, None] == xp.arange(n, device=device(self.weights))
        return xp.sum(xp.where(matrices, self.weights[:, None, None], 0.0), axis=0) / n


def decompose(plan: Array, *, tolerance: float = 1e-9) -> Decomposition:
    """A square plan with uniform masses as a convex combination of permutations (Birkhoff's algorithm).

    Takes the heaviest permutation out of the links that are left, one after the other, at most (n - 1)² + 1 of them. If
    the plan is optimal, so is every one of them.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> parts = wm.transport.decompose(np.array([[0.375, 0.125], [0.125, 0.375]]))
    >>> parts.permutations.tolist(), parts.weights.round(6).tolist()
    ([[0, 1], [1, 0]], [0.75, 0.25])

    Args:
        plan: (n, n), whose rows and columns add up to 1/n.
        tolerance: the mass that may be left out as rounding.

    Raises:
        ValueError: if the plan is not square, or its masses are not uniform.
    """
    if plan.ndim != 2 or plan.shape[0] != plan.shape[1] or not len(plan):
        raise ValueError(f"Only a square plan has permutations, got shape {tuple(plan.shape)}.")
    xp, n = array_namespace(plan), len(plan)
    rest = xp.astype(plan.detach() if hasattr(plan, "detach") else plan, xp.float64) * n
    off = max(float(xp.max(xp.abs(xp.sum(rest, axis=side) - 1))) for side in (0, 1))
    if not off <= 1e-5 or xp.any(rest < 0):
        raise ValueError(f"The rows and columns of a plan must add up to 1/n, got sums off by {off / n:.1e}.")
    permutations, weights = [], []
    rows = xp.arange(n, device=device(plan))
    while float(xp.sum(rest)) / n > tolerance:
        cost = xp.where(rest > tolerance / n, -rest, float("inf"))
        solution = solve(cost, OneTo(1), strict=False)
        if solution.status != Status.OK:  # what is left is rounding
            break
        permutation = xp.argmax(solution.plan, axis=1)
        weight = xp.min(rest[rows, permutation])
        rest[rows, permutation] -= weight
        permutations.append(permutation)
        weights.append(weight)
    total = xp.stack(weights)
    return Decomposition(xp.stack(permutations), total / xp.sum(total))


def perturb(cost: Array, noise: float, generator: Any = None) -> Array:
    """The costs with independent uniform noise from 0 to `noise` added: with probability 1 their optimum is unique.

    Under the original costs that optimum costs at most `noise` more than the best, and no more than the best if `noise`
    is less than the step to the second best. Keep it far above rounding. `generator` is numpy's or torch's.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> tied = np.zeros((2, 2))
    >>> noisy = wm.transport.perturb(tied, 1e-6, np.random.default_rng(0))
    >>> len(set(noisy.ravel().tolist())), bool(noisy.max() <= 1e-6)
    (4, True)

    Args:
        cost: of any shape.
        noise: the most that is added, above 0.
        generator: a generator of random numbers of numpy or of torch; a new one by default.

    Raises:
        ValueError: if the noise is not positive.
    """
    if not noise > 0:
        raise ValueError(f"The noise must be positive to make an optimum unique, got {noise}.")
    if is_numpy_array(cost):
        return cost + noise * (generator or np.random.default_rng()).random(cost.shape).astype(cost.dtype)
    import torch

    return cost + noise * torch.rand(cost.shape, generator=generator, dtype=cost.dtype, device=cost.device)
