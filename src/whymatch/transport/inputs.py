"""What callers take for numbers, as tensors and arrays that the solvers can read."""

from typing import Any

import numpy as np
import torch
from numpy.ma import MaskedArray
from torch import Tensor

PIECE = 2**14  # elements: torch shares out work only where there are more


def numbers(what: str, values: Any, hint: str = "") -> Tensor:
    """A dense floating-point tensor: in the precision that came, double for lists and whole numbers.

    Raises TypeError for anything but a tensor or an array of real numbers, or lists of them.
    """
    if not isinstance(values, Tensor):
        array = as_array(what, values, "iuf", hint)
        return torch.from_numpy(array if array.dtype.kind == "f" else array.astype(np.float64))
    if values.is_complex() or values.dtype == torch.bool or not is_plain(values):
        raise TypeError(f"{what} must be dense and of real numbers, got {described(values)}.")
    return values if values.is_floating_point() else converted(values, torch.float64)


def is_plain(tensor: Tensor) -> bool:
    """Whether every element of a tensor is there and is the number that it stands for."""
    return tensor.layout == torch.strided and not (tensor.is_nested or tensor.is_quantized or tensor.is_meta)


def described(tensor: Tensor) -> str:
    """What kind of tensor this is, for messages."""
    kinds = {"nested": tensor.is_nested, "quantized": tensor.is_quantized, "meta (without data)": tensor.is_meta}
    return " ".join([str(tensor.dtype), str(tensor.layout), *(name for name, applies in kinds.items() if applies)])


def as_array(what: str, values: Any, kinds: str, hint: str = "") -> np.ndarray:
    """An array that torch can share: contiguous, writable, in native byte order; a copy only where it has to be.

    `kinds` are numpy's codes of the numbers that are allowed: i and u for whole numbers, f for others. Raises TypeError
    for other values.
    """
    if isinstance(values, MaskedArray):
        raise TypeError(f"{what} must not be a masked array. Fill it first: array.filled(value). {hint}".rstrip())
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).rstrip(".")
        raise TypeError(f"{what} must be a tensor or an array of numbers: {reason}. {hint}".rstrip()) from None
    if array.dtype.kind not in kinds or array.dtype.itemsize > 8:
        kind = "whole numbers" if "f" not in kinds else "real numbers of up to 64 bits"
        came = f"{type(values).__name__} of {array.dtype}"
        raise TypeError(f"{what} must be a tensor or an array of {kind}, got {came}. {hint}".rstrip())
    return np.require(array, array.dtype.newbyteorder("="), ["C", "W"])


def converted(tensor: Tensor, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    """A tensor in another precision, and on another device if one is given.

    Without torch's OpenMP threads on the CPU, since they hang in a forked child.
    """
    if tensor.dtype == dtype or tensor.numel() <= PIECE or not tensor.is_cpu:
        return tensor.to(device or tensor.device, dtype)
    result = torch.empty(tensor.shape, dtype=dtype)
    flat, values = result.view(-1), tensor.reshape(-1)
    for start in range(0, len(values), PIECE):
        flat[start : start + PIECE].copy_(values[start : start + PIECE])
    return result if device is None else result.to(device)
