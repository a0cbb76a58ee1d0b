"""One matrix or a padded ragged batch of them, seen as one thing."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad as fill_up

from whymatch.transport.constraints import INSTEAD, Constraint
from whymatch.transport.inputs import as_array, converted, described, is_plain, numbers
from whymatch.transport.solution import Status

SIZES = "They are the numbers of left and right spans: (left, right) for one matrix, (batch, 2) for a batch."


@dataclass(frozen=True)
class Batch:
    """Checked input: costs (batch, n, m) and the sizes (batch, 2) that are not padding."""

    cost: Tensor
    sizes: np.ndarray
    single: bool

    @property
    def shorter(self) -> np.ndarray:
        return self.sizes.min(axis=1)

    @property
    def longer(self) -> np.ndarray:
        return self.sizes.max(axis=1)

    @property
    def work(self) -> np.ndarray:
        """About how many steps each problem takes."""
        return self.shorter**2 * self.longer

    def below(self, constraint: Constraint) -> float:
        """What pairs have to cost less than, in the precision of the costs; +inf if the constraint does not say."""
        return torch.tensor(constraint.zero(float("inf")), dtype=self.cost.dtype).item()

    @property
    def limit(self) -> float:
        """The largest double that the precision of the costs can hold, rounded."""
        return largest(self.cost.dtype)

    def values(self) -> np.ndarray:
        """The costs as an array on the CPU, in single or double precision."""
        cost = self.cost.detach().cpu()
        cost = cost.resolve_neg() if cost.is_neg() else cost
        cost = cost if cost.dtype in (torch.float32, torch.float64) else converted(cost, torch.float32)
        return np.ascontiguousarray(cost.numpy())  # not by torch, whose threads hang in a forked child

    def refuse(self, constraint: Constraint, status: np.ndarray) -> None:
        """Raises for the first problem that is not ok, with the reason and what to do."""
        for b in np.flatnonzero(status != Status.OK).tolist():
            n, m = self.sizes[b].tolist()
            if bad := self.bad_cost(b):
                reason = bad
            elif status[b] == Status.OUT_OF_RANGE:
                reason = f"The plan or its cost is out of the range of {self.cost.dtype}."
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
        costs = self.cost[b, :n, :m]
        bad = torch.nonzero(costs.isnan() | (costs == -torch.inf))
        if not len(bad):
            return None
        i, j = bad[0].tolist()
        return f"Costs must be numbers, or +inf to forbid a pair, got {costs[i, j].item()} at [{i}, {j}]."

    def give_back(self, *results: np.ndarray) -> list[Tensor]:
        """Arrays as tensors where the costs came from, without the batch dimension if there was none."""
        tensors = []
        for result in results:
            tensor = torch.from_numpy(result)
            dtype = self.cost.dtype if tensor.is_floating_point() else tensor.dtype
            tensor = converted(tensor, dtype, self.cost.device)
            tensors.append(tensor[0] if self.single else tensor)
        return tensors


@dataclass(frozen=True)
class DeviceBatch:
    """The same on a GPU, where everything stays: sizes (batch, 2) there too, none if nothing is padding."""

    cost: Tensor
    sizes: Tensor | None
    single: bool

    def values(self) -> Tensor:
        """The costs, one after the other in memory."""
        return self.cost.detach().contiguous()

    def spans(self) -> Tensor:
        """(batch, 2) how many spans there are on either side, within the bounds of the costs."""
        _, n, m = self.cost.shape
        most = torch.stack([torch.full((len(self.cost),), size, device=self.cost.device) for size in (n, m)], dim=1)
        return most if self.sizes is None else torch.minimum(self.sizes.long().clamp(min=0), most)

    def refuse(self, constraint: Constraint, status: Tensor) -> None:
        """Raises for the first problem that is not ok. Waits for the GPU."""
        Batch(self.cost, self.spans().cpu().numpy(), self.single).refuse(constraint, status.cpu().numpy())

    def give_back(self, *results: Tensor) -> list[Tensor]:
        """Tensors without the batch dimension if there was none."""
        typed = [result.to(self.cost.dtype) if result.is_floating_point() else result for result in results]
        return [result[0] if self.single else result for result in typed]


@cache
def largest(dtype: torch.dtype) -> float:
    """The largest double that rounds to a finite number of this precision."""
    limits = torch.finfo(dtype)
    return limits.max * (1 + limits.eps / 4)


def check_below(cost: Tensor, constraint: Constraint) -> None:
    """Raises for a `below` that costs of this precision cannot hold."""
    if abs(constraint.zero(0.0)) > torch.finfo(cost.dtype).max:
        raise ValueError(
            f"{constraint} is more than costs of {cost.dtype} can hold. Use a smaller one, or more precision."
        )


def as_costs(cost: Any) -> tuple[Tensor, bool]:
    """Checks the costs: (batch, n, m), and whether they were a single matrix."""
    cost = numbers("Costs", cost, "Put matrices of different sizes together with pad.")
    if cost.ndim not in (2, 3):
        raise ValueError(f"Costs must be one matrix (n, m) or a batch (batch, n, m), got shape {tuple(cost.shape)}.")
    return (cost[None], True) if cost.ndim == 2 else (cost, False)


def as_device_batch(cost: Any, sizes: Any = None) -> DeviceBatch:
    """Checks what the caller gave, without waiting for the GPU: sizes that are there already are taken as they are.

    The kernels cut them to the costs.
    """
    if not isinstance(sizes, Tensor) or sizes.device != cost.device:
        batch = as_batch(cost, sizes)
        moved = None if sizes is None else torch.from_numpy(batch.sizes).to(batch.cost.device, non_blocking=True)
        return DeviceBatch(batch.cost, moved, batch.single)
    costs, single = as_costs(cost)
    return DeviceBatch(costs, whole_sizes(costs, single, sizes).contiguous(), single)


def whole_sizes(cost: Tensor, single: bool, sizes: Any) -> Any:
    """Sizes (batch, 2), a tensor if they came as one, else an array.

    Raises TypeError unless they are whole numbers, ValueError unless there is a pair for each problem.
    """
    if not isinstance(sizes, Tensor):
        sizes = as_array("Sizes", sizes, "iu", SIZES)
    elif sizes.is_floating_point() or sizes.is_complex() or sizes.dtype == torch.bool or not is_plain(sizes):
        raise TypeError(f"Sizes must be whole numbers, got {described(sizes)}. {SIZES}")
    expected = (2,) if single else (len(cost), 2)
    if tuple(sizes.shape) != expected:
        raise ValueError(f"Sizes must be of shape {expected} for these costs, got {tuple(sizes.shape)}. {SIZES}")
    return sizes[None] if single else sizes


def as_batch(cost: Any, sizes: Any = None) -> Batch:
    """Checks what the caller gave: a matrix (n, m), or a batch (batch, n, m) with sizes (batch, 2) if it is ragged."""
    cost, single = as_costs(cost)
    shape = np.array(cost.shape[1:], dtype=np.int64)
    if sizes is None:
        return Batch(cost, np.tile(shape, (len(cost), 1)), single)
    sizes = whole_sizes(cost, single, sizes)
    sizes = sizes.cpu().numpy() if isinstance(sizes, Tensor) else sizes
    wrong = np.flatnonzero(((sizes < 0) | (sizes > shape)).any(axis=1))
    if len(wrong):
        b = int(wrong[0])
        raise ValueError(
            f"Problem {b} has sizes {tuple(sizes[b].tolist())}, but its costs are {shape[0]} × {shape[1]}. {SIZES}"
        )
    return Batch(cost, np.ascontiguousarray(sizes, dtype=np.int64), single)


def pad(costs: Iterable[Any]) -> tuple[Tensor, Tensor]:
    """Stacks matrices of different sizes into one batch, with +inf (forbidden) as padding; returns it and the sizes.

    >>> cost, sizes = pad([torch.ones(2, 3), torch.ones(1, 4)])
    >>> cost.shape, sizes.tolist()
    (torch.Size([2, 2, 4]), [[2, 3], [1, 4]])
    """
    matrices = [numbers("Costs", cost) for cost in costs]
    if not matrices:
        raise ValueError("pad takes one matrix or more, got none.")
    for b, cost in enumerate(matrices):
        if cost.ndim != 2:
            raise ValueError(f"pad takes matrices (n, m), got shape {tuple(cost.shape)} at position {b}.")
    sizes = torch.tensor([cost.shape for cost in matrices])
    n, m = sizes.amax(dim=0).tolist()
    room = [(0, m - cost.shape[1], 0, n - cost.shape[0]) for cost in matrices]
    padded = [fill_up(cost, sides, value=torch.inf) for cost, sides in zip(matrices, room, strict=True)]
    return torch.stack(padded), sizes
