"""One matrix or a padded ragged batch of them, seen as one thing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


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

    def values(self) -> np.ndarray:
        """The costs as an array on the CPU, in single or double precision."""
        cost = self.cost.detach().cpu()
        return (cost if cost.dtype in (torch.float32, torch.float64) else cost.float()).contiguous().numpy()

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
            tensor = tensor.to(self.cost.device, dtype)
            tensors.append(tensor[0] if self.single else tensor)
        return tensors


def as_batch(cost: Any, sizes: Any = None) -> Batch:
    """Checks what the caller gave: a matrix (n, m), or a batch (batch, n, m) with sizes (batch, 2) if it is ragged."""
    cost = torch.as_tensor(cost)
    if not cost.is_floating_point():
        raise TypeError(f"Costs must be floating-point numbers, got {cost.dtype}. Convert them with cost.float().")
    single = cost.ndim == 2
    if cost.ndim not in (2, 3):
        raise ValueError(f"Costs must be one matrix (n, m) or a batch (batch, n, m), got shape {tuple(cost.shape)}.")
    if single:
        cost = cost[None]
    shape = np.array(cost.shape[1:], dtype=np.int64)
    if sizes is None:
        return Batch(cost, np.tile(shape, (len(cost), 1)), single)
    sizes = torch.as_tensor(sizes).cpu()
    if sizes.is_floating_point() or sizes.is_complex() or sizes.dtype == torch.bool:
        raise TypeError(f"Sizes must be whole numbers, got {sizes.dtype}.")
    sizes = sizes.to(torch.int64).numpy()
    if single:
        sizes = sizes[None]
    if sizes.shape != (len(cost), 2):
        raise ValueError(f"Sizes must be the (left, right) spans of {len(cost)} problems, got shape {sizes.shape}.")
    wrong = np.flatnonzero(((sizes < 0) | (sizes > shape)).any(axis=1))
    if len(wrong):
        b = int(wrong[0])
        raise ValueError(
            f"Problem {b} has sizes {tuple(sizes[b].tolist())}, but its costs are {shape[0]} × {shape[1]}."
        )
    return Batch(cost, sizes, single)


def pad(costs: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Stacks matrices of different sizes into one batch; returns it and the sizes.

    >>> cost, sizes = pad([torch.ones(2, 3), torch.ones(1, 4)])
    >>> cost.shape, sizes.tolist()
    (torch.Size([2, 2, 4]), [[2, 3], [1, 4]])
    """
    if not len(costs):
        raise ValueError("pad takes one matrix or more, got none.")
    for b, cost in enumerate(costs):
        if cost.ndim != 2:
            raise ValueError(f"pad takes matrices (n, m), got shape {tuple(cost.shape)} at position {b}.")
    sizes = torch.tensor([cost.shape for cost in costs])
    n, m = sizes.amax(dim=0).tolist()
    padded = [torch.nn.functional.pad(cost, (0, m - cost.shape[1], 0, n - cost.shape[0])) for cost in costs]
    return torch.stack(padded), sizes
