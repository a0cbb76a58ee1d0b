"""The simple recurrent unit's light loop over time: a kernel on a GPU, a plain loop elsewhere."""

from importlib.util import find_spec

import torch
from torch import Tensor

from whymatch.interruption import interruption_point


def recurrence(
    candidate: Tensor, forget: Tensor, reset: Tensor, highway: Tensor, gates: Tensor, bias: Tensor
) -> Tensor:
    """States (batch, time, hidden) from four inputs of that shape; gates and bias (2 · hidden): forget, then reset."""
    if candidate.is_cuda and candidate.shape[1] and find_spec("triton"):
        from whymatch.text.encoders.kernel import Recurrence

        result: Tensor = Recurrence.apply(candidate, forget, reset, highway, gates, bias)  # type: ignore[no-untyped-call]
        return result
    return step_by_step(candidate, forget, reset, highway, gates, bias)


def step_by_step(
    candidate: Tensor, forget: Tensor, reset: Tensor, highway: Tensor, gates: Tensor, bias: Tensor
) -> Tensor:
    """The same as torch operations; steps are taken apart at once, since the gradient of a slice is a whole tensor."""
    forget_gate, reset_gate = gates.chunk(2)
    forget_bias, reset_bias = bias.chunk(2)
    state = torch.zeros_like(candidate[:, 0])
    out = []
    steps = (inputs.unbind(dim=1) for inputs in (candidate, forget, reset, highway))
    for new, to_forget, to_reset, passed in zip(*steps, strict=True):
        interruption_point()
        f = (to_forget + forget_gate * state + forget_bias).sigmoid()
        r = (to_reset + reset_gate * state + reset_bias).sigmoid()
        state = new + f * (state - new)
        out.append(passed + r * (state - passed))
    return torch.stack(out, dim=1)
