"""The paper's backward rule, for comparison only (docs/gradients.md): differentiate through every iteration."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from whymatch.matching.rules import Transport
from whymatch.transport.constraints import Constraint
from whymatch.transport.masses import reservoirs
from whymatch.transport.tensors import as_batch

ITERATIONS = 20  # at each epsilon while a model is trained


@dataclass(frozen=True)
class Unrolled(Transport):
    """Transport whose plan is entropic in training, differentiated through every iteration down to `epsilon`.

    Without gradients the plan is the exact one, and a saved model has the rule `Transport`.
    """

    epsilon: float = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.epsilon > 0:
            raise ValueError(f"Unrolled(epsilon={self.epsilon}) takes a positive number.")

    def plan(self, cost: Tensor, constraint: Constraint, sizes: Tensor) -> Tensor:
        if not (cost.requires_grad and torch.is_grad_enabled()):
            return super().plan(cost, constraint, sizes)
        plan = torch.zeros_like(cost)
        for n, m in sorted({(n, m) for n, m in sizes.tolist()}):
            rows = (sizes == torch.tensor([n, m])).all(dim=1).nonzero().flatten().to(cost.device)
            plans = unrolled(cost[rows, :n, :m], constraint, self.epsilon, iterations=ITERATIONS)
            plan = plan.index_copy(0, rows, pad(plans, (0, cost.shape[2] - m, 0, cost.shape[1] - n)))
        return plan


def unrolled(
    cost: Any, constraint: Constraint, epsilon: float, *, iterations: int = 100, shrink: float = 0.25
) -> Tensor:
    """The entropic plans of problems of one size, as a chain of torch operations: `iterations` at each of the epsilons.

    These run from 1 down to `epsilon`, both in the unit of the costs.
    """
    batch = as_batch(cost)
    masses = reservoirs(batch, constraint)
    left, right = (torch.from_numpy(side).to(batch.tensor) for side in (masses.left, masses.right))
    costs = pad(batch.tensor - constraint.zero(0.0), (1, 0, 1, 0))
    if not constraint.thresholded:
        costs[:, 0, 0] = torch.inf
    top, side = int(left[0, 0] == 0), int(right[0, 0] == 0)  # leave out a reservoir without mass: its logarithm is -inf
    costs, left, right = costs[:, top:, side:], left[:, top:], right[:, side:]
    f, g = torch.zeros_like(left), torch.zeros_like(right)
    stage = max(1.0, epsilon)
    while True:
        for _ in range(iterations):
            f = stage * (left.log() - ((g[:, None, :] - costs) / stage).logsumexp(dim=2))
            g = stage * (right.log() - ((f[:, :, None] - costs) / stage).logsumexp(dim=1))
        if stage == epsilon:
            break
        stage = max(epsilon, stage * shrink)
    plan = ((f[:, :, None] + g[:, None, :] - costs) / epsilon).exp()[:, 1 - top :, 1 - side :]
    plan = plan * torch.from_numpy(masses.share).to(plan)[:, None, None]
    return plan[0] if batch.single else plan
