"""For PyTorch: the alignment as a layer, and as an operator that `torch.export` and `torch.compile` keep whole.

Needs the extra `train`. The operators `whymatch::align` and `whymatch::pull_back` are registered when this module is
imported, so import it before `torch.export.load`.
"""

import json
from typing import Any

import torch
from torch import Tensor, nn

from whymatch.transport.constraints import Constraint, check_constraint, constraint_from_dict, parse_constraint
from whymatch.transport.entropic import Temperature, entropic_plans
from whymatch.transport.exact import solve
from whymatch.transport.gradients import pulled_back
from whymatch.transport.solution import Solution, Status
from whymatch.transport.tensors import as_batch


class Align(nn.Module):
    """The optimal plan of every cost matrix of a batch, exact in the forward pass and differentiable.

        >>> import torch
        >>> import whymatch as wm
        >>> layer = wm.nn.Align(wm.Exactly(2))
        >>> layer(torch.tensor([[0.1, 0.9, 0.9], [0.9, 0.9, 0.2]])).links.tolist()
        [[0, 0], [1, 2]]

    Args:
        constraint: what alignments may look like: a constraint, or its text, such as "exactly:2".
        smooth: the temperature of the entropic plan whose derivative the plan has, as a share of the range of the
            costs or as a `whymatch.transport.Temperature`. With None the plan has no derivative, and `cost` alone has.

    Raises:
        TypeError: if the constraint is none.
        ValueError: if a threshold is missing, or the constraint has no smooth mode and `smooth` is given.
    """

    def __init__(self, constraint: Constraint | str, smooth: float | Temperature | None = 0.1) -> None:
        super().__init__()
        constraint = parse_constraint(constraint) if isinstance(constraint, str) else constraint
        check_constraint(constraint, entropic=smooth is not None)
        self.constraint = constraint.resolved(None)
        self.smooth = smooth if smooth is None or isinstance(smooth, Temperature) else Temperature(smooth)
        self._settings = json.dumps(self.constraint.to_dict())

    def extra_repr(self) -> str:
        return f"{self.constraint.text}, smooth={self.smooth}"

    def forward(self, cost: Tensor, sizes: Tensor | None = None, mass: tuple[Tensor, Tensor] | None = None) -> Solution:
        """Plans (…, n, m), objectives (…), gaps (…) and statuses (…) of costs (n, m) or (batch, n, m).

        `sizes` (batch, 2) has the numbers of left and right spans where costs are padded, and `mass` is that of
        `Balanced()`, as `whymatch.solve` takes them. A problem that cannot be solved has a status, a plan of zeros and
        no gradient; none is raised.
        """
        left, right = (None, None) if mass is None else mass
        epsilon, relative = (0.0, True) if self.smooth is None else (self.smooth.epsilon, self.smooth.relative)
        return Solution(*_align(cost, sizes, left, right, self._settings, epsilon, relative))


@torch.library.custom_op("whymatch::align", mutates_args=())
def _align(
    cost: Tensor,
    sizes: Tensor | None,
    left: Tensor | None,
    right: Tensor | None,
    constraint: str,
    epsilon: float,
    relative: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Plan, objective, gap and status; an epsilon of 0 stands for no smooth mode."""
    mass = None if left is None or right is None else (left, right)
    solution = solve(cost.detach(), _constraint(constraint), sizes=sizes, mass=mass, strict=False)
    plan, value, gap, status = solution
    return plan.clone(), value.clone(), gap.clone(), status.clone()


@_align.register_fake
def _(
    cost: Tensor,
    sizes: Tensor | None,
    left: Tensor | None,
    right: Tensor | None,
    constraint: str,
    epsilon: float,
    relative: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    dtype = cost.dtype if cost.is_floating_point() else torch.float64
    plan, value = (cost.new_empty(shape, dtype=dtype) for shape in (cost.shape, cost.shape[:-2]))
    return plan, value, torch.empty_like(value), torch.empty_like(value, dtype=torch.int64)


@torch.library.custom_op("whymatch::pull_back", mutates_args=())
def _pull_back(
    gradient: Tensor,
    cost: Tensor,
    sizes: Tensor | None,
    left: Tensor | None,
    right: Tensor | None,
    status: Tensor,
    constraint: str,
    epsilon: float,
    relative: bool,
) -> Tensor:
    """The gradient towards the costs of one towards the plan, by the derivative of the entropic plan."""
    batch = as_batch(cost.detach(), sizes)
    mass = None if left is None or right is None else (left, right)
    solved = batch.array((status == Status.OK).reshape(-1))
    temperature = Temperature(epsilon, relative)
    plans = entropic_plans(batch, _constraint(constraint), temperature, mass, solved=solved)
    return pulled_back(gradient, plans).contiguous()


@_pull_back.register_fake
def _(gradient: Tensor, *arguments: Any) -> Tensor:
    return gradient.new_empty(gradient.shape)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    cost, sizes, left, right, *ctx.settings = inputs
    plan, _, gap, status = output
    epsilon = ctx.settings[1]
    ctx.mark_non_differentiable(*(() if epsilon > 0 else (plan,)), gap, status)
    ctx.save_for_backward(cost, sizes, left, right, plan, status)


def _backward(ctx: Any, of_plan: Tensor, of_cost: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    cost, sizes, left, right, plan, status = ctx.saved_tensors
    constraint, epsilon, relative = ctx.settings
    gradient = of_cost[..., None, None] * plan  # the envelope theorem
    if epsilon > 0:
        gradient = gradient + _pull_back(of_plan, cost, sizes, left, right, status, constraint, epsilon, relative)
    return gradient, *[None] * 6


_align.register_autograd(_backward, setup_context=_remember)


def _constraint(settings: str) -> Constraint:
    return constraint_from_dict(json.loads(settings))
