"""Appendix D of the paper: what to do when the optimum is not unique."""

from typing import NamedTuple

import torch
from torch import Tensor

from whymatch.transport.constraints import OneTo
from whymatch.transport.exact import solve
from whymatch.transport.solution import Status


class Decomposition(NamedTuple):
    """Permutations (count, n), each the right span of every left span, and weights (count,) that add up to 1."""

    permutations: Tensor
    weights: Tensor

    def plan(self) -> Tensor:
        """The doubly stochastic plan that the permutations make up: rows and columns add up to 1/n."""
        n = self.permutations.shape[1]
        matrices = torch.nn.functional.one_hot(self.permutations, n).to(self.weights)
        return (self.weights[:, None, None] * matrices).sum(dim=0) / n


def decompose(plan: Tensor, *, tolerance: float = 1e-9) -> Decomposition:
    """A square plan with uniform masses as a convex combination of permutations (Birkhoff's algorithm).

    Takes the heaviest permutation out of the links that are left, one after the other, at most (n - 1)² + 1 of them. If
    the plan is optimal, so is every one of them.
    """
    if plan.ndim != 2 or plan.shape[0] != plan.shape[1] or not len(plan):
        raise ValueError(f"Only a square plan has permutations, got shape {tuple(plan.shape)}.")
    n = len(plan)
    rest = plan.detach().double() * n
    off = max(float((rest.sum(dim=side) - 1).abs().max()) for side in (0, 1))
    if not off <= 1e-5 or (rest < 0).any():
        raise ValueError(f"The rows and columns of a plan must add up to 1/n, got sums off by {off / n:.1e}.")
    permutations, weights = [], []
    while float(rest.sum()) / n > tolerance:
        cost = torch.where(rest > tolerance / n, -rest, torch.inf)
        solution = solve(cost, OneTo(1), strict=False)
        if solution.status != Status.OK:  # what is left is rounding
            break
        permutation = solution.plan.argmax(dim=1)
        weight = rest[torch.arange(n), permutation].min()
        rest[torch.arange(n), permutation] -= weight
        permutations.append(permutation)
        weights.append(weight)
    total = torch.stack(weights)
    return Decomposition(torch.stack(permutations), total / total.sum())


def perturb(cost: Tensor, noise: float, generator: torch.Generator | None = None) -> Tensor:
    """The costs with independent uniform noise from 0 to `noise` added: with probability 1 their optimum is unique.

    Under the original costs that optimum costs at most `noise` more than the best, and no more than the best if `noise`
    is less than the step to the second best. Keep it far above rounding.
    """
    if not noise > 0:
        raise ValueError(f"The noise must be positive to make an optimum unique, got {noise}.")
    return cost + noise * torch.rand(cost.shape, generator=generator, dtype=cost.dtype, device=cost.device)
