"""Solvers on the GPU, in Triton: one program per problem, sizes read on the device, nothing waits for the host.

This file imports without Triton; the others are imported where `on_gpu` says so.
"""

from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import Any

import torch

MAX_SPANS = 256  # spans on a side; vectors live in registers, so that larger problems are solved on the CPU


def on_gpu(cost: Any) -> bool:
    """Whether the kernels take these costs: on a GPU, with Triton, and not too large."""
    return isinstance(cost, torch.Tensor) and cost.is_cuda and fits(cost)


def fits(cost: torch.Tensor) -> bool:
    return max(cost.shape[-2:], default=0) <= MAX_SPANS and find_spec("triton") is not None


def device_of(tensor: torch.Tensor) -> AbstractContextManager[object]:
    """Within this, kernels start on the GPU that the tensor is on, which need not be the current one."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()
