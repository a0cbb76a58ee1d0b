"""Backward rules."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from whymatch.transport.entropic import EntropicPlans

_RIDGE = 1e-12  # alpha + x and beta - x are as good as alpha and beta; this picks one of them


class _Envelope(torch.autograd.Function):
    """The optimal cost as a function of the costs: its derivative is the optimal plan, by the envelope theorem."""

    @staticmethod
    def forward(ctx: Any, costs: Tensor, optimum: Tensor, plan: Tensor) -> Tensor:
        ctx.save_for_backward(plan)
        return optimum.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (plan,) = ctx.saved_tensors
        return gradients[0][..., None, None] * plan, None, None


def envelope(costs: Tensor, optimum: Tensor, plan: Tensor) -> Tensor:
    """`optimum`, with a gradient towards `costs`."""
    result: Tensor = _Envelope.apply(costs, optimum, plan)  # type: ignore[no-untyped-call]
    return result


class _Implicit(torch.autograd.Function):
    """A plan whose derivative is that of an entropic plan, which is asked for only when it is needed."""

    @staticmethod
    def forward(ctx: Any, costs: Tensor, plan: Tensor, entropic: Callable[[], EntropicPlans]) -> Tensor:
        ctx.save_for_backward(costs)  # so that torch notices when they change before the entropic plan is asked for
        ctx.entropic = entropic
        return plan.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        _ = ctx.saved_tensors
        (gradient,) = gradients
        return pulled_back(gradient, ctx.entropic()), None, None


def pulled_back(gradient: Tensor, plans: EntropicPlans) -> Tensor:
    """The gradient with respect to the costs, from one with respect to the plan (both as they came), on its device."""
    single = gradient.ndim == 2
    wanted = gradient[None] if single else gradient
    smooth = plans.plan, plans.epsilon, plans.share
    if isinstance(plans.plan, Tensor):
        from whymatch.transport.kernels.gpu import launch

        result = launch.pull_back(wanted, *smooth)
    else:
        arrays = (torch.from_numpy(values) for values in smooth)
        result = pull_back(wanted.cpu().double(), *arrays).to(gradient)
    return result[0] if single else result


def implicit(costs: Tensor, plan: Tensor, entropic: Callable[[], EntropicPlans]) -> Tensor:
    """`plan`, with the gradient of an entropic plan towards `costs`."""
    result: Tensor = _Implicit.apply(costs, plan, entropic)  # type: ignore[no-untyped-call]
    return result


def total_cost(costs: Tensor, plan: Tensor, zero: float, total: Tensor) -> Tensor:
    """`total`, with the gradient of <costs - zero, plan> towards both."""
    quarters = (costs / 4 - zero / 4).masked_fill(plan == 0, 0)  # which cannot overflow
    sums = (quarters * plan).sum(dim=(-2, -1))
    return total + 4 * (sums - sums.detach())


def pull_back(gradient: Tensor, plan: Tensor, epsilon: Tensor, share: Tensor) -> Tensor:
    """The gradient with respect to the costs, from one with respect to the plan (both batch, n, m).

    A plan P = exp((f + g - C) / epsilon) with fixed sums of rows a and columns b has the derivative
    dP = P * (df + dg - dC) / epsilon, with df and dg such that the sums stay. Transposed, a gradient G becomes
    -P * (G - alpha - beta) / epsilon, where alpha and beta solve [diag(a) P; P' diag(b)] (alpha, beta) = sums of P * G.
    """
    weighted = torch.nn.functional.pad(gradient, (1, 0, 1, 0)) * share[:, None, None] * plan
    rows, columns = plan.sum(dim=2), plan.sum(dim=1)
    rows, columns = rows.masked_fill(rows == 0, 1), columns.masked_fill(columns == 0, 1)
    per_row = plan / rows[:, :, None]
    system = torch.diag_embed(columns) - plan.mT @ per_row
    factors = torch.linalg.lu_factor(system + torch.diag_embed(_RIDGE * columns))
    right = weighted.sum(dim=1, keepdim=True).mT - per_row.mT @ weighted.sum(dim=2, keepdim=True)
    beta = torch.linalg.lu_solve(*factors, right)
    beta = (beta + torch.linalg.lu_solve(*factors, right - system @ beta))[:, :, 0]  # takes out what the ridge put in
    alpha = (weighted.sum(dim=2) - (plan @ beta[:, :, None])[:, :, 0]) / rows
    result = plan * (alpha[:, :, None] + beta[:, None, :]) - weighted
    return (result / epsilon[:, None, None])[:, 1:, 1:]
