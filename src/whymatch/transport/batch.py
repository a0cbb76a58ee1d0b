"""Costs and sizes as the solvers read them: one matrix or a padded ragged batch of them, seen as one thing.

Arrays of numpy, and what numpy takes for one, are read here. Tensors are read by `_tensors`, which alone loads torch.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, TypeAlias

import numpy as np
from array_api_compat import device, is_torch_array
from numpy.ma import MaskedArray

from whymatch.arrays import array_namespace
from whymatch.batching import stacked
from whymatch.forking import loading
from whymatch.transport.constraints import INSTEAD, Constraint
from whymatch.transport.solution import Status

Array: TypeAlias = Any  # an array of numpy or a tensor of torch

PAD = "Put matrices of different sizes together with pad."
SIZES = "They are the numbers of left and right spans: (left, right) for one matrix, (batch, 2) for a batch."


@dataclass(frozen=True)
class Batch:
    """Checked input, as arrays of numpy, or as tensors where a GPU solves it.

    `costs` are (batch, n, m), contiguous; `given_sizes` (batch, 2) are None where nothing is padding; `dtype` is the
    precision that the costs came in, and `single` says that they came without the batch dimension.
    """

    costs: Array
    given_sizes: Array | None
    single: bool
    dtype: Any

    wants_gradient: ClassVar[bool] = False
    double: ClassVar[Any] = np.dtype(np.float64)

    @property
    def sizes(self) -> Array:
        """(batch, 2) the numbers of left and right spans that are not padding, within the bounds of the costs.

        It is not a cached property: those of Python 3.11 hold a lock, and a child that is forked meanwhile would wait
        for it for ever.
        """
        if self.given_sizes is not None:
            return self.given_sizes
        return np.tile(np.array(self.costs.shape[1:], np.int64), (len(self.costs), 1))

    @property
    def spans(self) -> tuple[Array, Array]:
        """The numbers of left and of right spans."""
        return self.sizes[:, 0], self.sizes[:, 1]

    @property
    def most_links(self) -> int:
        """The most spans of a shorter text, as far as that is known without waiting for a GPU."""
        return int(self.sizes.min(axis=1).max(initial=0))

    @property
    def xp(self) -> Any:
        """The array API of its arrays."""
        return array_namespace(self.costs)

    @property
    def on_host(self) -> bool:
        return isinstance(self.costs, np.ndarray)

    @property
    def kernels(self) -> ModuleType:
        """What starts the kernels that solve it."""
        if self.on_host:
            from whymatch.transport.kernels.cpu import launch
        else:
            from whymatch.transport.kernels.gpu import launch  # type: ignore[no-redef]
        return launch

    def inside(self, side: int) -> Array:
        """(batch, spans) which left (side 0) or right spans (side 1) are not padding."""
        places = self.xp.arange(self.costs.shape[1 + side], device=device(self.costs))
        return places[None, :] < self.sizes[:, side, None]

    @property
    def largest(self) -> float:
        """The largest double that the precision of the caller can hold, rounded."""
        return limits(self.dtype)[1]

    def rounded(self, value: float) -> float:
        """A number in the precision of the caller."""
        return float(self.dtype.type(value))

    def below(self, constraint: Constraint) -> float:
        """What pairs have to cost less than, in the precision of the costs; +inf if the constraint does not say.

        Raises ValueError for a `below` that the costs could not hold.
        """
        if not constraint.thresholded:
            return float("inf")
        below = constraint.zero(0.0)
        if abs(below) > limits(self.dtype)[0]:
            raise ValueError(
                f"{constraint} is more than costs of {self.dtype} can hold. Use a smaller one, or more precision."
            )
        return self.rounded(below)

    def masses(self, what: str, values: Any) -> Array:
        """Masses that the caller gave, in double precision, where the costs are."""
        return numbers(what, values).astype(np.float64, copy=False)

    def array(self, values: Array) -> Array:
        """An array of the caller's kind, such as a plan, where the costs are."""
        return values

    def in_double(self) -> "Batch":
        """The same as a batch in double precision, with its sizes."""
        costs = self.xp.astype(self.costs, self.xp.float64)
        return replace(self, costs=costs, given_sizes=self.sizes, single=False, dtype=self.double)

    @property
    def given(self) -> Array:
        """The costs as they came, through which gradients flow."""
        raise NotImplementedError("Arrays of numpy have no gradients.")

    def to_host(self, values: Array) -> np.ndarray:
        """One of its arrays as an array of numpy."""
        return values

    def give_back(self, *results: Array) -> list[Array]:
        """Results as the caller's kind of array and in its precision, without the batch dimension if there was none."""
        typed = [result.astype(self.dtype, copy=False) if result.dtype.kind == "f" else result for result in results]
        return [result[0] for result in typed] if self.single else typed

    def refuse(self, constraint: Constraint, status: Array) -> None:
        """Raises ValueError for the first problem that is not ok, with the reason and what to do."""
        status = self.to_host(status)
        for b in np.flatnonzero(status != Status.OK).tolist():
            n, m = self.sizes[b].tolist()
            if bad := self.bad_cost(b):
                reason = bad
            elif status[b] == Status.OUT_OF_RANGE:
                reason = f"The plan or its cost is out of the range of {self.dtype}."
                reason += " Multiply the costs or the masses by a power of two, or take a precision of wider range."
            elif status[b] == Status.INVALID:
                reason = "Masses must be finite, none negative, with the same positive total on both sides (to 10⁻⁵)."
            elif not constraint.admits(n, m):
                reason = constraint.advice(n, m)
            else:
                reason = f"+inf forbids so many pairs that no alignment keeps {constraint}. {INSTEAD}"
            raise ValueError(reason if self.single else f"Problem {b}: {reason}")

    def bad_cost(self, b: int) -> str | None:
        """What is wrong with the costs of problem b, if anything is."""
        n, m = self.sizes[b].tolist()
        costs = self.to_host(self.costs[b, :n, :m])
        bad = np.argwhere(np.isnan(costs) | (costs == -np.inf)).tolist()
        if not bad:
            return None
        return f"Costs must be numbers, or +inf to forbid a pair, got {costs[*bad[0]]} at {bad[0]}."


def as_batch(cost: Any, sizes: Any = None) -> Batch:
    """Checks what the caller gave: a matrix (n, m), or a batch (batch, n, m) with sizes (batch, 2) if it is ragged."""
    if is_torch_array(cost):
        return _tensors().as_batch(cost, sizes)
    costs = numbers("Costs", cost, PAD)
    single = is_single(costs.shape)
    costs = costs[None] if single else costs
    sizes = None if sizes is None else read_sizes(costs.shape, single, sizes)
    return Batch(in_working_precision(costs), sizes, single, costs.dtype)


def pad(costs: Iterable[Any]) -> tuple[Array, Array]:
    """Stacks matrices of different sizes into one batch, with +inf (forbidden) as padding; returns it and the sizes.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> cost, sizes = wm.transport.pad([np.ones((2, 3)), np.ones((1, 4))])
    >>> cost.shape, sizes.tolist()
    ((2, 2, 4), [[2, 3], [1, 4]])

    Args:
        costs: matrices (n, m), of numpy or of torch.

    Returns:
        (batch, n, m) and (batch, 2); tensors if one of the matrices is a tensor.

    Raises:
        ValueError: if there are none, or one is no matrix.
    """
    matrices = list(costs)
    of_torch = any(is_torch_array(cost) for cost in matrices)
    matrices = [(_tensors().numbers if is_torch_array(cost) else numbers)("Costs", cost) for cost in matrices]
    if not matrices:
        raise ValueError("pad takes one matrix or more, got none.")
    for b, cost in enumerate(matrices):
        if cost.ndim != 2:
            raise ValueError(f"pad takes matrices (n, m), got shape {tuple(cost.shape)} at position {b}.")
    if of_torch:
        sizes = np.array([cost.shape for cost in matrices], np.int64)
        return _tensors().pad(matrices, sizes, *sizes.max(axis=0).tolist())
    return stacked(matrices, np.inf)


def _tensors() -> ModuleType:
    """The module that reads tensors. It is loaded when the first one comes, and no process may fork meanwhile."""
    with loading:
        from whymatch.transport import tensors
    return tensors


@cache
def limits(dtype: Any) -> tuple[float, float]:
    """The largest number of a precision of numpy or torch, and the largest double that rounds to it."""
    finfo = np.finfo(dtype) if isinstance(dtype, np.dtype) else import_module("torch").finfo(dtype)
    return float(finfo.max), float(finfo.max) * (1 + float(finfo.eps) / 4)


def is_single(shape: tuple[int, ...]) -> bool:
    """Whether costs of this shape are a single matrix; raises ValueError unless they are a matrix or a batch."""
    if len(shape) not in (2, 3):
        raise ValueError(f"Costs must be one matrix (n, m) or a batch (batch, n, m), got shape {tuple(shape)}.")
    return len(shape) == 2


def numbers(what: str, values: Any, hint: str = "") -> np.ndarray:
    """An array of floating-point numbers: in the precision that came, double for lists and whole numbers.

    Raises TypeError for anything but a tensor or an array of real numbers, or lists of them.
    """
    if is_torch_array(values):
        return _tensors().to_array(_tensors().numbers(what, values))
    array = _as_array(what, values, "iuf", hint)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def in_working_precision(costs: np.ndarray) -> np.ndarray:
    """Costs in single or double precision, contiguous."""
    if costs.dtype in (np.float32, np.float64):
        return np.ascontiguousarray(costs)
    return costs.astype(np.float32)


def read_sizes(shape: tuple[int, ...], single: bool, sizes: Any) -> np.ndarray:
    """Sizes (batch, 2) for costs of this shape (batch, n, m).

    Raises TypeError unless they are whole numbers, ValueError unless there is a pair for each problem that it can hold.
    """
    sizes = _tensors().whole_numbers(sizes).cpu().numpy() if is_torch_array(sizes) else sizes
    sizes = _as_array("Sizes", sizes, "iu", SIZES)
    check_shape_of_sizes(shape, single, sizes.shape)
    sizes = sizes[None] if single else sizes
    wrong = ((sizes < 0) | (sizes > shape[1:])).any(axis=1)
    if wrong.any():
        b = int(wrong.argmax())
        costs = f"its costs are {shape[1]} × {shape[2]}"
        raise ValueError(f"Problem {b} has sizes {tuple(sizes[b].tolist())}, but {costs}. {SIZES}")
    return np.ascontiguousarray(sizes, dtype=np.int64)


def check_shape_of_sizes(shape: tuple[int, ...], single: bool, came: tuple[int, ...]) -> None:
    expected = (2,) if single else (shape[0], 2)
    if tuple(came) != expected:
        raise ValueError(f"Sizes must be of shape {expected} for these costs, got {tuple(came)}. {SIZES}")


def _as_array(what: str, values: Any, kinds: str, hint: str = "") -> np.ndarray:
    """An array that kernels can read: contiguous, writable, in native byte order; a copy only where it has to be.

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
