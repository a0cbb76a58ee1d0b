"""Base distances: left vectors (…, n, d) and right vectors (…, m, d) in, costs (…, n, m) out; numpy or torch."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, TypeAlias

import numpy as np
from array_api_compat import array_namespace, is_torch_array

Array: TypeAlias = Any  # a numpy array or a torch tensor


@dataclass(frozen=True)
class Base:
    """A distance between vectors.

    `name` is its name in settings and `words` the one for people. Two spans with nothing in common cost `neutral`, and
    no pair costs less than `least`.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    neutral: ClassVar[float]
    least: ClassVar[float] = -inf

    def between(self, left: Array, right: Array) -> Array:
        """Costs (…, n, m) of left vectors (…, n, d) with right vectors (…, m, d)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Cosine(Base):
    """1 minus the cosine; the zero vector has nothing in common with any vector."""

    name, words, neutral, least = "cosine", "cosine distance", 1.0, 0.0

    def between(self, left: Array, right: Array) -> Array:
        return 1 - unit(left) @ unit(right).mT


@dataclass(frozen=True)
class NegativeCosine(Base):
    """Minus the cosine: the cost for which the paper's `below = 0` is meant."""

    name, words, neutral = "negative_cosine", "negative cosine", 0.0

    def between(self, left: Array, right: Array) -> Array:
        return -(unit(left) @ unit(right).mT)


@dataclass(frozen=True)
class Dot(Base):
    """Minus the dot product."""

    name, words, neutral = "dot", "dot product", 0.0

    def between(self, left: Array, right: Array) -> Array:
        return -(left @ right.mT)


@dataclass(frozen=True)
class ScaledDot(Base):
    """Minus the dot product over the root of the dimension, as in attention."""

    name, words, neutral = "scaled_dot", "scaled dot product", 0.0

    def between(self, left: Array, right: Array) -> Array:
        return -(left @ right.mT) / left.shape[-1] ** 0.5


@dataclass(frozen=True)
class Euclidean(Base):
    """The Euclidean distance; its neutral cost is that of orthogonal vectors of length 1."""

    name, words, neutral, least = "euclidean", "Euclidean distance", 2**0.5, 0.0

    def between(self, left: Array, right: Array) -> Array:
        return _distance(left, right)


@dataclass(frozen=True)
class SquaredEuclidean(Base):
    """The square of the Euclidean distance."""

    name, words, neutral, least = "squared_euclidean", "squared Euclidean distance", 2.0, 0.0

    def between(self, left: Array, right: Array) -> Array:
        return _distance(left, right) ** 2


def unit(vectors: Array) -> Array:
    """Vectors of length 1, and zero for the zero vector, whose gradient is finite."""
    xp = array_namespace(vectors)
    if not vectors.shape[-1]:
        return vectors
    fixed = vectors.detach() if is_torch_array(vectors) else vectors
    largest = xp.max(xp.abs(fixed), axis=-1, keepdims=True)
    vectors = vectors / xp.where(largest == 0, xp.ones_like(largest), largest)  # squares neither overflow nor vanish
    squared = xp.sum(vectors * vectors, axis=-1, keepdims=True)
    return vectors / xp.sqrt(xp.where(squared == 0, xp.ones_like(squared), squared))


def _distance(left: Array, right: Array) -> Array:
    """Euclidean distances by differences, which are exact for near vectors where products are not."""
    if is_torch_array(left):
        import torch

        return torch.cdist(left, right, compute_mode="donot_use_mm_for_euclid_dist")
    rows = [np.linalg.norm(right - left[..., i : i + 1, :], axis=-1) for i in range(left.shape[-2])]
    return np.stack(rows, axis=-2) if rows else np.zeros((*left.shape[:-1], right.shape[-2]), left.dtype)
