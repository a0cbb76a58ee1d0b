"""The vectors of pairs of texts, each pair an island: where an encoder refuses a text, only its own pairs are lost."""

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from whymatch.text.document import Document
from whymatch.text.encoders import Encoder, reads_pairs

Pair: TypeAlias = tuple[Document, Document]
Vectors: TypeAlias = tuple[np.ndarray, np.ndarray]
Item = TypeVar("Item")
Encoded = TypeVar("Encoded")


def encode_pairs(encoder: Encoder, pairs: Sequence[Pair]) -> list[Vectors | ValueError]:
    """The vectors of both texts of each pair, or why there are none; each distinct text is encoded once.

    Raises:
        TypeError: if the encoder does not give one row per span.
    """
    encoded: list[Vectors | ValueError]
    if reads_pairs(encoder):
        encoded = each_alone(encoder.encode_pairs, pairs)
    else:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        by_text = dict(zip(texts, encode_texts(encoder, texts), strict=True))
        encoded = [_both(by_text[left], by_text[right]) for left, right in pairs]
    return [
        checked_vectors(encoder.name, pair, vectors) if not isinstance(vectors, ValueError) else vectors
        for pair, vectors in zip(pairs, encoded, strict=True)
    ]


def encode_texts(encoder: Encoder, texts: Sequence[Document]) -> list[np.ndarray | ValueError]:
    """The vectors of each text, or why there are none."""
    return each_alone(
        lambda batch: encoder.encode([text.text for text in batch], [text.spans for text in batch]), texts
    )


def each_alone(encode: Callable[[Sequence[Item]], list[Encoded]], items: Sequence[Item]) -> list[Encoded | ValueError]:
    """What an encoder gives for all items at once; if it refuses, for each item alone."""
    if not items:
        return []
    try:
        return [*encode(items)]
    except ValueError as error:
        if len(items) == 1:
            return [error]
        return [encoded for item in items for encoded in each_alone(encode, [item])]


def _both(left: np.ndarray | ValueError, right: np.ndarray | ValueError) -> Vectors | ValueError:
    if isinstance(left, ValueError):
        return left
    return right if isinstance(right, ValueError) else (left, right)


def checked_vectors(encoder_name: str, pair: Pair, vectors: Vectors) -> Vectors | ValueError:
    """The vectors of a pair, or an error if they are not finite.

    Raises:
        TypeError: if there is not one row per span.
    """
    for text, rows in zip(pair, vectors, strict=True):
        if rows.ndim != 2 or len(rows) != len(text):
            shape = tuple(rows.shape)
            raise TypeError(f"{encoder_name} must give one row per span, gave {shape} for {len(text)} spans.")
        if not np.isfinite(rows).all():
            return ValueError("The vectors hold NaN or infinity.")
    return vectors
