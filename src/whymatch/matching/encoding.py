"""The vectors of pairs of texts, each pair an island: where an encoder refuses a text, only its own pairs are lost."""

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from whymatch.text.document import Document
from whymatch.text.encoders import Encoder, reads_pairs

Pair: TypeAlias = tuple[Document, Document]
Item = TypeVar("Item")
Vectors = TypeVar("Vectors")


def encode_pairs(encoder: Encoder, pairs: Sequence[Pair]) -> list[tuple[Tensor, Tensor] | ValueError]:
    """The vectors of both texts of each pair, or why there are none; each distinct text is encoded once."""
    if reads_pairs(encoder):
        found = each_alone(encoder.encode_pairs, pairs)
    else:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = each_alone(lambda some: encoder.encode(*zip(*((t.text, t.spans) for t in some), strict=True)), texts)
        known = dict(zip(texts, vectors, strict=True))
        found = [both(known[left], known[right]) for left, right in pairs]
    return [checked(encoder, pair, some) for pair, some in zip(pairs, found, strict=True)]


def each_alone(encode: Callable[[Sequence[Item]], list[Vectors]], items: Sequence[Item]) -> list[Vectors | ValueError]:
    """What an encoder gives for all items at once; if it refuses, for each item alone."""
    if not items:
        return []
    try:
        return [*encode(items)]
    except ValueError as error:
        if len(items) == 1:
            return [error]
        return [found for item in items for found in each_alone(encode, [item])]


def both(left: np.ndarray | ValueError, right: np.ndarray | ValueError) -> tuple[np.ndarray, np.ndarray] | ValueError:
    if isinstance(left, ValueError):
        return left
    return right if isinstance(right, ValueError) else (left, right)


def checked(
    encoder: Encoder, pair: Pair, found: tuple[np.ndarray, np.ndarray] | ValueError
) -> tuple[Tensor, Tensor] | ValueError:
    """The vectors of a pair, if they are what an encoder promises."""
    if isinstance(found, ValueError):
        return found
    for text, vectors in zip(pair, found, strict=True):
        if vectors.ndim != 2 or len(vectors) != len(text):
            shape = tuple(vectors.shape)
            raise TypeError(f"{encoder.name} must give one row per span, gave {shape} for {len(text)} spans.")
        if not np.isfinite(vectors).all():
            return ValueError("The vectors hold NaN or infinity.")
    left, right = (torch.from_numpy(vectors) for vectors in found)
    return left, right
