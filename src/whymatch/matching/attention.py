"""The paper's baselines: attention as plans, and what counts as an active alignment."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

Normaliser: TypeAlias = Callable[[Tensor, int], Tensor]
THRESHOLD = 0.01  # the paper's λ, as a multiple of 1 / (n·m)


def sparsemax(logits: Tensor, dim: int = -1) -> Tensor:
    """Softmax with many exact zeros (Martins and Astudillo, 2016)."""
    from entmax import sparsemax

    return sparsemax(logits, dim)


def entmax15(logits: Tensor, dim: int = -1) -> Tensor:
    """Between softmax and sparsemax (Peters et al., 2019)."""
    from entmax import entmax15

    return entmax15(logits, dim)


class Attention(NamedTuple):
    """The two matrices of attention, (…, n, m) each."""

    to_right: Tensor
    """Where each left span looks: rows add up to 1."""
    to_left: Tensor
    """Where each right span looks: columns add up to 1."""


def inside(cost: Tensor, sizes: Tensor | None) -> Tensor:
    """Which entries of a batch of costs are not padding."""
    n, m = cost.shape[-2:]
    if sizes is None:
        return torch.ones(n, m, dtype=torch.bool, device=cost.device).expand(cost.shape)
    sizes = sizes.to(cost.device)
    rows = torch.arange(n, device=cost.device) < sizes[..., 0, None]
    columns = torch.arange(m, device=cost.device) < sizes[..., 1, None]
    return rows[..., :, None] & columns[..., None, :]


def attention(
    cost: Tensor,
    *,
    temperature: float = 1.0,
    normaliser: Normaliser = torch.softmax,
    sizes: Tensor | None = None,
) -> Attention:
    """Attention on -cost / temperature in both directions; padding and forbidden pairs (+inf) get no weight.

    `normaliser` is softmax, or `sparsemax` or `entmax15` for weights that can be zero.
    """
    if not temperature > 0:
        raise ValueError(f"The temperature of attention must be positive, got {temperature}.")
    allowed = inside(cost, sizes) & (cost != torch.inf)
    scores = -cost.masked_fill(~allowed, 0) / temperature
    return Attention(*(normalise(scores, allowed, dim, normaliser) for dim in (-1, -2)))


def normalise(scores: Tensor, allowed: Tensor, dim: int, normaliser: Normaliser) -> Tensor:
    """Weights along one dimension; zero wherever nothing is allowed."""
    largest = scores.detach().masked_fill(~allowed, -torch.inf).amax(dim=dim, keepdim=True)
    largest = largest.masked_fill(largest == -torch.inf, 0)
    scores = (scores - largest).masked_fill(~allowed, LOST)
    return normaliser(scores, dim) * allowed


LOST = -1e4  # far below the best score: weight 0 under every normaliser, and no infinity to turn into NaN


def max_sim(cost: Tensor, *, sizes: Tensor | None = None) -> Tensor:
    """Late interaction as a plan: each left span is linked to its cheapest right span, with mass 1/n."""
    within = inside(cost, sizes)
    allowed = within & (cost != torch.inf)
    best = cost.detach().masked_fill(~allowed, torch.inf).argmin(dim=-1, keepdim=True)
    linked = torch.zeros_like(cost).scatter(-1, best, 1.0) * allowed
    return linked / within.any(dim=-1).sum(dim=-1).clamp(min=1)[..., None, None]


class Active(NamedTuple):
    """How many alignments are active, and what percentage of all pairs that is."""

    number: Tensor
    percentage: Tensor


def active(plan: Tensor, *, sizes: Tensor | None = None, threshold: float = THRESHOLD) -> Tensor:
    """Which alignments the paper calls active: those above λ = 0.01 / (n·m), or another threshold / (n·m)."""
    pairs = inside(plan, sizes).sum(dim=(-2, -1), keepdim=True)
    return plan > threshold / pairs.clamp(min=1)


def count_active(*plans: Tensor, sizes: Tensor | None = None) -> Active:
    """Active alignments in any of the plans: of one plan, or of both directions of attention."""
    union = torch.stack([active(plan, sizes=sizes) for plan in plans]).any(dim=0)
    number = union.sum(dim=(-2, -1))
    return Active(number, 100 * number / inside(plans[0], sizes).sum(dim=(-2, -1)).clamp(min=1))


__all__ = ["Active", "Attention", "active", "attention", "count_active", "entmax15", "max_sim", "sparsemax"]
