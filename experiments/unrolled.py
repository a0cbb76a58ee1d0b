"""The paper's way to learn through a plan: its Sinkhorn, differentiated through every iteration."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from whymatch.matching.rules import Transport
from whymatch.transport.constraints import Constraint
from whymatch.transport.unrolled import unrolled

ITERATIONS = 20  # at each epsilon


@dataclass(frozen=True)
class Unrolled(Transport):
    """While it is trained, an entropic plan of this epsilon through whose iterations gradients flow; else exact."""

    epsilon: float = 1e-4

    def plan(self, cost: Tensor, constraint: Constraint, sizes: Tensor) -> Tensor:
        if not (cost.requires_grad and torch.is_grad_enabled()):
            return super().plan(cost, constraint, sizes)
        plan = torch.zeros_like(cost)
        for n, m in sorted({(n, m) for n, m in sizes.tolist()}):
            rows = (sizes == torch.tensor([n, m])).all(dim=1).nonzero().flatten().to(cost.device)
            plans = unrolled(cost[rows, :n, :m], constraint, self.epsilon, iterations=ITERATIONS)
            plan = plan.index_copy(0, rows, pad(plans, (0, cost.shape[2] - m, 0, cost.shape[1] - n)))
        return plan
