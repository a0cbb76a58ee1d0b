"""The simple recurrent unit (Lei et al., 2018): all products first, then a light loop over time."""

from importlib.util import find_spec

import torch
from torch import Tensor, nn

from whymatch.interruption import interruption_point


class Direction(nn.Module):
    """One layer in one direction:

    f_t = σ(W_f x_t + v_f ⊙ c_{t-1} + b_f),  c_t = f_t ⊙ c_{t-1} + (1 − f_t) ⊙ W x_t,
    r_t = σ(W_r x_t + v_r ⊙ c_{t-1} + b_r),  h_t = r_t ⊙ c_t + (1 − r_t) ⊙ W_h x_t,

    where W_h x_t is x_t itself if input and state have the same size. (The published package also takes half of x_t
    where the input of a layer of two directions is as large as both states; here that input is projected.)
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.same_size = inputs == hidden
        self.weight = nn.Linear(inputs, hidden * (3 if self.same_size else 4), bias=False)
        nn.init.uniform_(self.weight.weight, -((3 / inputs) ** 0.5), (3 / inputs) ** 0.5)
        self.gates = nn.Parameter(torch.zeros_like(self.weight.weight[: 2 * hidden, 0]).uniform_(-1, 1) / hidden**0.5)
        self.bias = nn.Parameter(torch.zeros_like(self.gates))

    def forward(self, inputs: Tensor) -> Tensor:
        """(batch, time, hidden) from (batch, time, inputs); padding after a text changes nothing before it."""
        products = self.weight(inputs).split(self.hidden, dim=-1)
        candidate, forget, reset = products[:3]
        highway = inputs if self.same_size else products[3]
        return recurrence(candidate, forget, reset, highway, self.gates, self.bias)


class SRU(nn.Module):
    """Layers of forward and backward units; the output joins both directions: (batch, time, 2 · hidden)."""

    def __init__(self, inputs: int, hidden: int, layers: int, dropout: float = 0.0) -> None:
        super().__init__()
        sizes = [inputs, *[2 * hidden] * (layers - 1)]
        self.forwards = nn.ModuleList(Direction(size, hidden) for size in sizes)
        self.backwards = nn.ModuleList(Direction(size, hidden) for size in sizes)
        self.dropout = dropout

    def forward(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """States for each step; what it gives for padding means nothing."""
        step = torch.arange(inputs.shape[1], device=lengths.device)[None]
        reversed_step = torch.where(step < lengths[:, None], lengths[:, None] - 1 - step, step)[
            ..., None
        ]  # not padding
        states = inputs
        for ahead, back in zip(self.forwards, self.backwards, strict=True):
            states = nn.functional.dropout(states, self.dropout, self.training)
            from_end = back(states.gather(1, reversed_step.expand_as(states)))
            states = torch.cat([ahead(states), from_end.gather(1, reversed_step.expand_as(from_end))], dim=-1)
        return states


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
    """The same as torch operations; inputs are unbound once, since the gradient of each slice is a whole tensor."""
    forget_gate, reset_gate = gates.chunk(2)
    forget_bias, reset_bias = bias.chunk(2)
    state = torch.zeros_like(candidate[:, 0])
    out = []
    steps = (inputs.unbind(dim=1) for inputs in (candidate, forget, reset, highway))
    for x, to_forget, to_reset, w in zip(*steps, strict=True):
        interruption_point()
        f = (to_forget + forget_gate * state + forget_bias).sigmoid()
        r = (to_reset + reset_gate * state + reset_bias).sigmoid()
        state = x + f * (state - x)
        out.append(w + r * (state - w))
    return torch.stack(out, dim=1)
