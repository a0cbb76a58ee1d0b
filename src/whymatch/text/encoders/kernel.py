"""The simple recurrent unit's loop over time as one kernel, forward and backward.

A program follows some units of one text through time with their state in registers; what the next step needs is on its
way from memory while this one is computed.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from whymatch.transport.kernels.gpu import device_of

UNITS = 64  # that a program follows


@triton.jit(do_not_specialize=["steps", "hidden"])
def forward(
    candidate: tl.tensor, forget: tl.tensor, reset: tl.tensor, highway: tl.tensor, gates: tl.tensor, bias: tl.tensor,
    states: tl.tensor, out: tl.tensor, steps: tl.tensor, hidden: tl.tensor,
    between_texts: tl.tensor, between_steps: tl.tensor, highway_texts: tl.tensor, highway_steps: tl.tensor,
    UNITS: tl.constexpr, REAL: tl.constexpr,
) -> None:  # fmt: skip
    """c[t] = x[t] + f (c[t-1] - x[t]) and h[t] = w[t] + r (c[t] - w[t]), with the gates f and r that look at c[t-1]."""
    b = tl.program_id(0).to(tl.int64)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    there = unit < hidden
    gate_f = tl.load(gates + unit, mask=there, other=0.0).to(REAL)
    gate_r = tl.load(gates + hidden + unit, mask=there, other=0.0).to(REAL)
    bias_f = tl.load(bias + unit, mask=there, other=0.0).to(REAL)
    bias_r = tl.load(bias + hidden + unit, mask=there, other=0.0).to(REAL)
    place, beside = b * between_texts + unit, b * highway_texts + unit
    to = b * steps * hidden + unit
    state = tl.zeros((UNITS,), REAL)
    x = tl.load(candidate + place, mask=there, other=0.0).to(REAL)
    f = tl.load(forget + place, mask=there, other=0.0).to(REAL)
    r = tl.load(reset + place, mask=there, other=0.0).to(REAL)
    w = tl.load(highway + beside, mask=there, other=0.0).to(REAL)
    t = tl.full((), 0, tl.int32)
    while t < steps:
        place += between_steps
        beside += highway_steps
        next_there = unit < tl.where(t + 1 < steps, hidden, 0)
        next_x = tl.load(candidate + place, mask=next_there, other=0.0).to(REAL)
        next_f = tl.load(forget + place, mask=next_there, other=0.0).to(REAL)
        next_r = tl.load(reset + place, mask=next_there, other=0.0).to(REAL)
        next_w = tl.load(highway + beside, mask=next_there, other=0.0).to(REAL)
        open_f = tl.sigmoid(f + gate_f * state + bias_f)
        open_r = tl.sigmoid(r + gate_r * state + bias_r)
        state = x + open_f * (state - x)
        tl.store(states + to, state, mask=there)
        tl.store(out + to, w + open_r * (state - w), mask=there)
        x, f, r, w = next_x, next_f, next_r, next_w
        to += hidden
        t += 1


@triton.jit(do_not_specialize=["steps", "hidden"])
def backward(
    candidate: tl.tensor, forget: tl.tensor, reset: tl.tensor, highway: tl.tensor, gates: tl.tensor, bias: tl.tensor,
    states: tl.tensor, gradient: tl.tensor, to_candidate: tl.tensor, to_forget: tl.tensor, to_reset: tl.tensor,
    to_highway: tl.tensor, to_gates: tl.tensor, to_bias: tl.tensor, steps: tl.tensor, hidden: tl.tensor,
    between_texts: tl.tensor, between_steps: tl.tensor, highway_texts: tl.tensor, highway_steps: tl.tensor,
    UNITS: tl.constexpr, REAL: tl.constexpr,
) -> None:  # fmt: skip
    """The gradients of all inputs, from the last step to the first; those of gates and bias for each text alone."""
    b = tl.program_id(0).to(tl.int64)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    there = unit < hidden
    gate_f = tl.load(gates + unit, mask=there, other=0.0).to(REAL)
    gate_r = tl.load(gates + hidden + unit, mask=there, other=0.0).to(REAL)
    bias_f = tl.load(bias + unit, mask=there, other=0.0).to(REAL)
    bias_r = tl.load(bias + hidden + unit, mask=there, other=0.0).to(REAL)
    gates_f, gates_r = tl.zeros((UNITS,), REAL), tl.zeros((UNITS,), REAL)
    biases_f, biases_r = tl.zeros((UNITS,), REAL), tl.zeros((UNITS,), REAL)
    to_state = tl.zeros((UNITS,), REAL)
    t = (steps - 1).to(tl.int64)
    place = b * between_texts + t * between_steps + unit
    beside = b * highway_texts + t * highway_steps + unit
    at = b * steps * hidden + t * hidden + unit
    state = tl.load(states + at, mask=there, other=0.0).to(REAL)
    while t >= 0:
        before = tl.load(states + at - hidden, mask=unit < tl.where(t > 0, hidden, 0), other=0.0).to(REAL)
        x = tl.load(candidate + place, mask=there, other=0.0).to(REAL)
        w = tl.load(highway + beside, mask=there, other=0.0).to(REAL)
        f = tl.sigmoid(tl.load(forget + place, mask=there, other=0.0).to(REAL) + gate_f * before + bias_f)
        r = tl.sigmoid(tl.load(reset + place, mask=there, other=0.0).to(REAL) + gate_r * before + bias_r)
        d = tl.load(gradient + at, mask=there, other=0.0).to(REAL)
        to_state += d * r
        d_r = d * (state - w) * r * (1 - r)
        d_f = to_state * (before - x) * f * (1 - f)
        tl.store(to_highway + at, d * (1 - r), mask=there)
        tl.store(to_candidate + at, to_state * (1 - f), mask=there)
        tl.store(to_forget + at, d_f, mask=there)
        tl.store(to_reset + at, d_r, mask=there)
        to_state = to_state * f + d_f * gate_f + d_r * gate_r
        gates_f, gates_r = gates_f + d_f * before, gates_r + d_r * before
        biases_f, biases_r = biases_f + d_f, biases_r + d_r
        state = before
        place -= between_steps
        beside -= highway_steps
        at -= hidden
        t -= 1
    both = b * 2 * hidden + unit
    tl.store(to_gates + both, gates_f, mask=there)
    tl.store(to_gates + both + hidden, gates_r, mask=there)
    tl.store(to_bias + both, biases_f, mask=there)
    tl.store(to_bias + both + hidden, biases_r, mask=there)


def together(*tensors: Tensor) -> list[Tensor]:
    """Tensors with the same steps in memory, units side by side; they are copied only where they are not so already."""
    strides = {tensor.stride() for tensor in tensors}
    if len(strides) == 1 and tensors[0].stride(2) == 1:
        return list(tensors)
    return [tensor.contiguous() for tensor in tensors]


class Recurrence(torch.autograd.Function):
    """The loop over time, (batch, time, hidden) from four inputs of that shape, gates and biases (2 · hidden)."""

    @staticmethod
    def forward(
        ctx: Any, candidate: Tensor, forget: Tensor, reset: Tensor, highway: Tensor, gates: Tensor, bias: Tensor
    ) -> Tensor:
        candidate, forget, reset = together(candidate, forget, reset)
        (highway,) = together(highway)
        gates, bias = gates.contiguous(), bias.contiguous()
        inputs = candidate, forget, reset, highway, gates, bias
        kind = candidate.dtype
        for other in inputs[1:]:
            kind = torch.promote_types(kind, other.dtype)
        count, steps, hidden = candidate.shape
        states = candidate.new_empty(candidate.shape, dtype=torch.float64 if kind == torch.float64 else torch.float32)
        out = torch.empty_like(states, dtype=kind)
        ctx.settings = (
            steps, hidden, candidate.stride(0), candidate.stride(1), highway.stride(0), highway.stride(1),
            UNITS, tl.float64 if kind == torch.float64 else tl.float32,
        )  # fmt: skip
        if out.numel():
            with device_of(out):
                forward[(count, triton.cdiv(hidden, UNITS))](*inputs, states, out, *ctx.settings, num_warps=2)
        ctx.save_for_backward(*inputs, states)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        *inputs, states = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        count, _, hidden = gradient.shape
        results = [torch.empty_like(gradient, dtype=part.dtype) for part in inputs[:4]]
        sums = [states.new_zeros((count, 2 * hidden)) for _ in range(2)]
        if gradient.numel():
            with device_of(gradient):
                backward[(count, triton.cdiv(hidden, UNITS))](
                    *inputs, states, gradient, *results, *sums, *ctx.settings, num_warps=2
                )  # fmt: skip
        of_both = [part.sum(dim=0).to(given.dtype) for part, given in zip(sums, inputs[4:], strict=True)]
        return *results, *of_both
