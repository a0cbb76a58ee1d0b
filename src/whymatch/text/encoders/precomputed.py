"""Vectors that need no model, since the caller has them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from whymatch.text.spans import Span


class Precomputed:
    """A vector for each piece by its text, or by its name where it is no text: a region of an image, a product.

    >>> import whymatch as wm
    >>> encoder = wm.Precomputed({"region 1": [0.9, 0.1], "region 2": [0.1, 0.8], "a car": [1, 0], "a tree": [0, 1]})
    >>> wm.Aligner(encode=encoder).align(["region 1", "region 2"], ["a tree", "a car"], wm.OneTo(1)).to_pharaoh()
    '0-1 1-0'

    Args:
        vectors: one of the same length for each piece, by its text.
        name: what alignments call the encoder.

    Raises:
        ValueError: if the vectors differ in length; when a text is encoded, if a piece has none.
    """

    contextual = False

    def __init__(self, vectors: Mapping[str, Any], name: str = "precomputed") -> None:
        self.name = name
        self.vectors = {piece: to_array(vector) for piece, vector in vectors.items()}
        shapes = {vector.shape for vector in self.vectors.values()}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ValueError(f"Vectors must all have one length, got shapes {sorted(shapes)[:3]}.")
        self.size = next(iter(shapes))[0]

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        return [
            np.array([self._vector(text[start:end]) for start, end in own], np.float32).reshape(-1, self.size)
            for text, own in zip(texts, spans, strict=True)
        ]

    def _vector(self, piece: str) -> np.ndarray:
        if piece not in self.vectors:
            raise ValueError(f"There is no vector for {piece!r}. Precomputed takes one for every piece.")
        return self.vectors[piece]


def to_array(values: Any) -> np.ndarray:
    """An array in single precision from one of real numbers, a list of them or a tensor on any device.

    Raises:
        TypeError: if the values are no real numbers.
        ValueError: if rows differ in length.
    """
    if hasattr(values, "detach"):
        values = values.detach().cpu().float()
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"values of the type {array.dtype} are no real numbers")
    with np.errstate(over="ignore"):  # too large a number is infinite, which is reported where vectors are checked
        return array.astype(np.float32, copy=False)
