"""Costs between spans: vectors in, a matrix out, low is good."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf

import torch
from torch import Tensor
from torch.nn.functional import pad


@dataclass(frozen=True)
class Cost:
    """A cost of left vectors (…, n, d) with right vectors (…, m, d), and what two spans with nothing in common cost.

    `of_all` says that the cost of a pair depends on the other spans too, `unpadded` that it takes one pair of texts and
    no batch with zeros behind the shorter ones; `least` is what no pair costs less than.
    """

    name: str
    neutral: float
    between: Callable[[Tensor, Tensor], Tensor] = field(repr=False, compare=False)
    of_all: bool = False
    unpadded: bool = False
    least: float = -inf  # no pair costs less
    mixes: tuple[float, float] = (0.0, 0.0)  # how much of neighbours and of the whole text, by `blended`

    def __call__(self, left: Tensor, right: Tensor) -> Tensor:
        if left.ndim < 2 or left.ndim != right.ndim or left.shape[-1] != right.shape[-1]:
            shapes = f"{tuple(left.shape)} and {tuple(right.shape)}"
            raise ValueError(f"Vectors must be (…, n, d) and (…, m, d) with the same d, got {shapes}.")
        return self.between(left, right)


def unit(vectors: Tensor) -> Tensor:
    """Vectors of length 1, and zero for the zero vector, whose gradient is finite."""
    largest = vectors.detach().abs().amax(dim=-1, keepdim=True)
    vectors = vectors / largest.masked_fill(largest == 0, 1)  # so that squares neither overflow nor vanish
    squared = vectors.square().sum(dim=-1, keepdim=True)
    return vectors * squared.masked_fill(squared == 0, 1).rsqrt()


def inner(left: Tensor, right: Tensor) -> Tensor:
    return left @ right.mT


def distance(left: Tensor, right: Tensor) -> Tensor:
    return torch.cdist(left, right, compute_mode="donot_use_mm_for_euclid_dist")


cosine_distance = Cost("cosine distance", 1.0, lambda x, y: 1 - inner(unit(x), unit(y)), least=0.0)
negative_cosine = Cost("negative cosine", 0.0, lambda x, y: -inner(unit(x), unit(y)))
dot = Cost("dot product", 0.0, lambda x, y: -inner(x, y))
scaled_dot = Cost("scaled dot product", 0.0, lambda x, y: -inner(x, y) / x.shape[-1] ** 0.5)
# Neutral for vectors of length 1: the distance of two that are orthogonal.
euclidean = Cost("Euclidean distance", 2**0.5, distance, least=0.0)
squared_euclidean = Cost("squared Euclidean distance", 2.0, lambda x, y: distance(x, y).square(), least=0.0)


def calibrated(temperature: float = 0.08) -> Cost:
    """1 − √(p · q), where p and q are the shares of a similarity among those of its row and of its column.

    The shares are softmax at a temperature, over cosines. A word that is like everything gets small shares everywhere,
    where raw cosine would let it attract every link. The cost looks at all spans: it takes one pair of texts, unpadded.
    """

    def between(left: Tensor, right: Tensor) -> Tensor:
        similarity = inner(unit(left), unit(right)) / temperature
        return 1 - (0.5 * (similarity.log_softmax(dim=-1) + similarity.log_softmax(dim=-2))).exp()

    return Cost(f"calibrated cosine (temperature {temperature:g})", 1.0, between, of_all=True, unpadded=True, least=0.0)


def blended(cost: Cost, neighbours: float = 0.0, whole: float = 0.0) -> Cost:
    """The cost of vectors that have some of their text mixed in.

    `neighbours` is how much of the vectors before and after: reasons stand close together. `whole` is how much of the
    mean of all: what a sentence is about is in the rest of the text. Zero vectors count as no spans, and may pad.
    """
    if not (neighbours or whole):
        return cost

    def mixed(vectors: Tensor) -> Tensor:
        before, after = pad(vectors[..., :-1, :], (0, 0, 1, 0)), pad(vectors[..., 1:, :], (0, 0, 0, 1))
        number = (vectors != 0).any(dim=-1).sum(dim=-1)[..., None, None].clamp(min=1)
        mean = vectors.sum(dim=-2, keepdim=True) / number
        return vectors + neighbours * (before + after) + whole * mean

    parts = [f"neighbours ({neighbours:g})"] * bool(neighbours) + [f"the whole text ({whole:g})"] * bool(whole)
    return replace(
        cost,
        name=f"{cost.name} with {' and '.join(parts)}",
        between=lambda left, right: cost(mixed(left), mixed(right)),
        of_all=True,
        mixes=(neighbours, whole),
    )


COSTS = {
    "cosine": cosine_distance,
    "calibrated": calibrated(),
    "negative-cosine": negative_cosine,
    "dot": dot,
    "scaled-dot": scaled_dot,
    "euclidean": euclidean,
    "squared-euclidean": squared_euclidean,
}


def out_of_order(n: int, m: int, sizes: Tensor | None = None) -> Tensor:
    """How far apart two spans stand in their texts, from 0 to 1: (n, m), or (batch, n, m) for sizes (batch, 2).

    Times a weight, an addition to any cost that prefers links in the order of the texts.

    >>> out_of_order(2, 2)
    tensor([[0.0000, 0.5000],
            [0.5000, 0.0000]])
    """
    spans = torch.tensor([[n, m]]) if sizes is None else sizes
    left, right = (
        (torch.arange(length, device=spans.device) + 0.5) / spans[:, side, None].clamp(min=1)
        for side, length in enumerate((n, m))
    )
    apart = (left[:, :, None] - right[:, None, :]).abs()
    return apart[0] if sizes is None else apart
