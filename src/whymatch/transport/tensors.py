"""Tensors in, tensors out: torch around the solvers' arrays. Loaded when the first tensor comes, not before."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad as fill_up

from whymatch.transport.batch import (
    PAD,
    SIZES,
    Batch,
    check_shape_of_sizes,
    in_working_precision,
    is_single,
    read_sizes,
)
from whymatch.transport.kernels import gpu

_CHUNK = 2**14  # elements: torch shares out work only where there are more


@dataclass(frozen=True)
class _TensorBatch(Batch):
    """A batch that came as a tensor: its costs are an array of numpy, unless they are on a GPU that solves them."""

    tensor: Tensor
    """The costs (batch, n, m) as they came."""
    host_sizes: np.ndarray | None = None
    """The sizes, where they did not come on a GPU."""

    double: ClassVar[torch.dtype] = torch.float64

    @property
    def wants_gradient(self) -> bool:  # type: ignore[override]
        return self.tensor.requires_grad and torch.is_grad_enabled()

    @property
    def given(self) -> Tensor:
        return self.tensor[0] if self.single else self.tensor

    @property
    def sizes(self) -> Any:
        return super().sizes if self.on_host else self._sizes_on_gpu

    @cached_property
    def _sizes_on_gpu(self) -> Tensor:
        _, n, m = self.costs.shape
        most = torch.stack([torch.full((len(self.costs),), size, device=self.costs.device) for size in (n, m)], dim=1)
        return most if self.given_sizes is None else torch.minimum(self.given_sizes.long().clamp(min=0), most)

    @property
    def most_links(self) -> int:
        if self.on_host:
            return super().most_links
        room = min(self.costs.shape[1:])
        return room if self.host_sizes is None else min(room, int(self.host_sizes.min(axis=1).max(initial=0)))

    def rounded(self, value: float) -> float:
        return torch.tensor(value, dtype=self.dtype).item()

    def masses(self, what: str, values: Any) -> Any:
        if self.on_host:
            return super().masses(what, values)
        return numbers(what, values).detach().to(self.costs.device, torch.float64)

    def array(self, values: Any) -> Any:
        return to_array(values) if self.on_host else values

    def to_host(self, values: Any) -> np.ndarray:
        return values if isinstance(values, np.ndarray) else to_array(values)

    def give_back(self, *results: Any) -> list[Tensor]:
        tensors = []
        for result in results:
            tensor = torch.from_numpy(result) if self.on_host else result
            dtype = self.dtype if tensor.is_floating_point() else tensor.dtype
            tensor = _converted(tensor, dtype, self.tensor.device)
            tensors.append(tensor[0] if self.single else tensor)
        return tensors


def as_batch(cost: Tensor, sizes: Any = None) -> _TensorBatch:
    """Checks what the caller gave; where a GPU solves it, without waiting for that.

    Sizes that are on that GPU already are taken as they are, since the kernels cut them to the costs.
    """
    tensor = numbers("Costs", cost, PAD)
    single = is_single(tensor.shape)
    tensor = tensor[None] if single else tensor
    if not gpu.on_gpu(cost):
        sizes = None if sizes is None else read_sizes(tensor.shape, single, sizes)
        return _TensorBatch(in_working_precision(to_array(tensor)), sizes, single, tensor.dtype, tensor)
    host_sizes = None
    if isinstance(sizes, Tensor) and sizes.device == cost.device:
        sizes = whole_numbers(sizes)
        check_shape_of_sizes(tensor.shape, single, sizes.shape)
        sizes = (sizes[None] if single else sizes).contiguous()
        host_sizes = None if sizes.is_cuda else to_array(sizes)
    elif sizes is not None:
        host_sizes = read_sizes(tensor.shape, single, sizes)
        sizes = torch.from_numpy(host_sizes).to(cost.device, non_blocking=True)
    return _TensorBatch(tensor.detach().contiguous(), sizes, single, tensor.dtype, tensor, host_sizes)


def numbers(what: str, values: Any, hint: str = "") -> Tensor:
    """A dense floating-point tensor: in the precision that came, double for whole numbers.

    Raises TypeError for a tensor of other numbers, or without elements that are the numbers they stand for.
    """
    if not isinstance(values, Tensor):
        from whymatch.transport import batch

        return torch.from_numpy(batch.numbers(what, values, hint))
    if values.is_complex() or values.dtype == torch.bool or not _is_plain(values):
        raise TypeError(f"{what} must be dense and of real numbers, got {_described(values)}.")
    return values if values.is_floating_point() else _converted(values, torch.float64)


def whole_numbers(sizes: Tensor) -> Tensor:
    """The sizes that the caller gave; raises TypeError unless they are whole numbers."""
    if sizes.is_floating_point() or sizes.is_complex() or sizes.dtype == torch.bool or not _is_plain(sizes):
        raise TypeError(f"Sizes must be whole numbers, got {_described(sizes)}. {SIZES}")
    return sizes


def _is_plain(tensor: Tensor) -> bool:
    """Whether every element of a tensor is there and is the number that it stands for."""
    return tensor.layout == torch.strided and not (tensor.is_nested or tensor.is_quantized or tensor.is_meta)


def _described(tensor: Tensor) -> str:
    """What kind of tensor this is, for messages."""
    kinds = {"nested": tensor.is_nested, "quantized": tensor.is_quantized, "meta (without data)": tensor.is_meta}
    return " ".join([str(tensor.dtype), str(tensor.layout), *(name for name, applies in kinds.items() if applies)])


def to_array(tensor: Tensor) -> np.ndarray:
    """A tensor as an array of numpy, which has no bfloat16: that becomes single precision."""
    tensor = tensor.detach().cpu()
    tensor = tensor.resolve_neg() if tensor.is_neg() else tensor
    return (_converted(tensor, torch.float32) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def _converted(tensor: Tensor, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    """A tensor in another precision, and on another device if one is given.

    Without torch's OpenMP threads on the CPU, since they hang in a forked child.
    """
    if tensor.dtype == dtype or tensor.numel() <= _CHUNK or not tensor.is_cpu:
        return tensor.to(device or tensor.device, dtype)
    result = torch.empty(tensor.shape, dtype=dtype)
    flat, values = result.view(-1), tensor.reshape(-1)
    for start in range(0, len(values), _CHUNK):
        flat[start : start + _CHUNK].copy_(values[start : start + _CHUNK])
    return result if device is None else result.to(device)


def pad(matrices: Sequence[Any], sizes: np.ndarray, n: int, m: int) -> tuple[Tensor, Tensor]:
    """Matrices stacked into a batch (batch, n, m) through which gradients flow, and their sizes."""
    tensors = [matrix if isinstance(matrix, Tensor) else torch.from_numpy(matrix) for matrix in matrices]
    room = [(0, m - cost.shape[1], 0, n - cost.shape[0]) for cost in tensors]
    padded = [fill_up(cost, sides, value=torch.inf) for cost, sides in zip(tensors, room, strict=True)]
    return torch.stack(padded), torch.from_numpy(sizes)


def _warm_up() -> None:
    """Calls once what solving on a CPU calls in torch, while this module loads and nobody can fork.

    Torch sets up each of its functions on the first call, under a lock of the C library. In the child of a process that
    forks at such a moment of another thread that lock stays locked, and the next new function never returns.
    """
    for cost in (torch.zeros(1, 1), torch.zeros(1, 1, 1, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float16)):
        batch = as_batch(cost)
        batch.give_back(batch.costs, np.zeros(1), np.zeros(1, dtype=np.int64))


_warm_up()
