"""The simple recurrent unit (Lei et al., 2018): all products first, then a light loop over time."""

import torch
from torch import Tensor, nn

from whymatch.text.encoders.recurrence import recurrence


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
        """States for each step; steps from a text's length on are padding, and hold nothing of use."""
        turned = backwards_in_time(inputs.shape[1], lengths)[..., None]
        states = inputs
        for ahead, back in zip(self.forwards, self.backwards, strict=True):
            states = nn.functional.dropout(states, self.dropout, self.training)
            from_end = back(states.gather(1, turned.expand_as(states)))
            states = torch.cat([ahead(states), from_end.gather(1, turned.expand_as(from_end))], dim=-1)
        return states


def backwards_in_time(steps: int, lengths: Tensor) -> Tensor:
    """(batch, time) the step that stands in the place of each when the text is reversed; padding stays where it is."""
    step = torch.arange(steps, device=lengths.device)[None]
    return torch.where(step < lengths[:, None], lengths[:, None] - 1 - step, step)
