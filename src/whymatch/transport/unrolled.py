"""The paper's backward rule, for comparison only (docs/gradients.md): differentiate through every iteration."""

from typing import Any

import torch
from torch import Tensor

from whymatch.transport.constraints import Constraint
from whymatch.transport.masses import reservoirs
from whymatch.transport.tensors import as_batch


def unrolled(
    cost: Any, constraint: Constraint, epsilon: float, *, iterations: int = 100, shrink: float = 0.25
) -> Tensor:
    """The entropic plans of problems of one size, as a chain of torch operations: `iterations` at each of the epsilons.

    These run from 1 down to `epsilon`, both in the unit of the costs.
    """
    batch = as_batch(cost)
    masses = reservoirs(batch, constraint)
    left, right = (torch.from_numpy(side).to(batch.tensor) for side in (masses.left, masses.right))
    costs = torch.nn.functional.pad(batch.tensor - constraint.zero(0.0), (1, 0, 1, 0))
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
