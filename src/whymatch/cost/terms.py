"""Terms that look at vectors and costs: neighbours, whole text, novelty, order, calibration, a learned refinement."""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from array_api_compat import device, is_torch_array

from whymatch.arrays import array_namespace
from whymatch.cost.term import Array, PaddedPairs, Term, non_negative

if TYPE_CHECKING:
    from whymatch.cost.refinement import Refinement

MAX_REFINED_UNITS = 1_024  # of a network whose memory grows with their square


@dataclass(frozen=True)
class Neighbours(Term):
    """Adds a share of the vectors of the spans before and after: reasons stand close together.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> wm.cost.Neighbours(0.5).mixed_in(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.0, 0.5], [0.5, 0.0], [0.0, 0.5]]
    """

    share: float
    name = "neighbours"

    def __post_init__(self) -> None:
        non_negative(self)

    def mixed_in(self, vectors: Array) -> Array:
        xp = array_namespace(vectors)
        edge = xp.zeros_like(vectors[..., :1, :])
        before = xp.concat([edge, vectors[..., :-1, :]], axis=-2)
        after = xp.concat([vectors[..., 1:, :], edge], axis=-2)
        return self.share * (before + after)


@dataclass(frozen=True)
class WholeText(Term):
    """Adds a share of the mean of all vectors of the text: what a sentence is about is in the rest of the text.

    Zero vectors, of padding or of spans that the encoder does not know, do not count in the mean.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> wm.cost.WholeText(2.0).mixed_in(np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [[1.0, 1.0]]
    """

    share: float
    name = "whole_text"

    def __post_init__(self) -> None:
        non_negative(self)

    def mixed_in(self, vectors: Array) -> Array:
        xp = array_namespace(vectors)
        counted = xp.sum(xp.astype(xp.any(vectors != 0, axis=-1, keepdims=True), vectors.dtype), axis=-2, keepdims=True)
        return self.share * xp.sum(vectors, axis=-2, keepdims=True) / xp.where(counted == 0, counted + 1, counted)


@dataclass(frozen=True)
class Novelty(Term):
    """Makes links of right spans cheaper that have no counterpart on the left, by a share of what their best one costs.

    The links then say what is new, each beside what comes closest to it.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> cost = wm.Cost(wm.cost.Dot(), wm.cost.Novelty(1.0))
    >>> cost(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])).tolist()
    [[0.0, 0.0, 0.0]]
    """

    share: float
    name, least, ranks = "novelty", -inf, False

    def __post_init__(self) -> None:
        non_negative(self)

    def changed(self, cost: Array, pairs: PaddedPairs) -> Array:
        xp = array_namespace(cost)
        if not cost.shape[1]:
            return cost
        left_spans = pairs.sizes_like(cost)[:, :1, None]
        padding = xp.arange(cost.shape[1], device=device(cost))[None, :, None] >= left_spans
        lowest = xp.min(xp.where(padding, xp.full_like(cost, inf), cost), axis=1, keepdims=True)
        return cost - self.share * xp.where(left_spans == 0, xp.zeros_like(lowest), lowest)


@dataclass(frozen=True)
class Order(Term):
    """Adds a price for links out of order: `weight` times how far apart the two spans stand in their texts, 0 to 1.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> same = np.ones((2, 1))
    >>> wm.Cost(wm.cost.Cosine(), wm.cost.Order(0.4))(same, same).round(6).tolist()
    [[0.0, 0.2], [0.2, 0.0]]
    """

    weight: float
    name = "order"

    def __post_init__(self) -> None:
        non_negative(self)

    def changed(self, cost: Array, pairs: PaddedPairs) -> Array:
        xp = array_namespace(cost)
        return cost + self.weight * xp.abs(
            places(cost, pairs, side=0)[:, :, None] - places(cost, pairs, side=1)[:, None, :]
        )


def places(cost: Array, pairs: PaddedPairs, side: int) -> Array:
    """(batch, n) or (batch, m): where the spans of one side stand in their text, from 0 to 1."""
    xp = array_namespace(cost)
    spans = pairs.sizes_like(cost)[:, side, None]
    spans = xp.astype(spans + (spans == 0), cost.dtype)
    return (xp.arange(cost.shape[1 + side], dtype=cost.dtype, device=device(cost))[None] + 0.5) / spans


@dataclass(frozen=True)
class Calibrated(Term):
    """1 − √(p · q), where p and q are the shares of a similarity among those of its row and of its column.

    The shares are a softmax of −cost at a temperature. A word that is similar to everything gets small shares
    everywhere, where raw cosine would let it attract every link.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> vectors = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> wm.Cost(wm.cost.Cosine(), wm.cost.Calibrated(0.1))(vectors, vectors).round(3).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    temperature: float = 0.08
    name, neutral, least = "calibrated", 1.0, 0.0

    def __post_init__(self) -> None:
        non_negative(self)
        if not self.temperature:
            raise ValueError("Calibrated(temperature=0) takes a number above 0.")

    def changed(self, cost: Array, pairs: PaddedPairs) -> Array:
        xp = array_namespace(cost)
        if 0 in cost.shape:
            return cost
        logits = xp.where(pairs.mask(cost), -cost / self.temperature, xp.full_like(cost, -1e30))
        shares = [logits - _log_sum_exp(logits, axis) for axis in (1, 2)]
        return 1 - xp.exp((shares[0] + shares[1]) / 2)


def _log_sum_exp(logits: Array, axis: int) -> Array:
    xp = array_namespace(logits)
    largest = xp.max(logits, axis=axis, keepdims=True)
    if is_torch_array(largest):
        largest = largest.detach()
    return largest + xp.log(xp.sum(xp.exp(logits - largest), axis=axis, keepdims=True))


@dataclass(frozen=True)
class Refined(Term):
    """Adds what a small network reads in the costs around a pair; it adds nothing before it is trained. Needs torch.

    The value holds the network: models that are built from one `Refined` share its weights.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> cost = wm.Cost(wm.cost.Cosine(), wm.cost.Refined(8))
    >>> cost.trains, cost(np.ones((1, 2)), np.ones((2, 2))).round(6).tolist()
    (True, [[0.0, 0.0]])
    """

    hidden: int
    name, least, trains = "refined", -inf, True

    def __post_init__(self) -> None:
        non_negative(self)
        if not isinstance(self.hidden, int) or not 1 <= self.hidden <= MAX_REFINED_UNITS:
            limit = f"{MAX_REFINED_UNITS:,}"
            raise ValueError(f"Refined(hidden={self.hidden!r}) takes a whole number of units, from 1 to {limit}.")

    @cached_property
    def module(self) -> "Refinement":
        from whymatch.cost.refinement import Refinement

        return Refinement(self.hidden)

    def changed(self, cost: Array, pairs: PaddedPairs) -> Array:
        import torch

        if is_torch_array(cost):
            return self.module(cost, torch.from_numpy(pairs.sizes))
        if not len(cost):
            return cost
        sizes = torch.from_numpy(pairs.sizes)  # one by one: a convolution over a batch rounds otherwise
        alone = [self.module.alone(torch.from_numpy(cost[b : b + 1]), sizes[b : b + 1]) for b in range(len(cost))]
        return torch.cat(alone).numpy()
