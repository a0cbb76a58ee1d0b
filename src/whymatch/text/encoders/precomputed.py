"""Vectors that the caller already has."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from whymatch.text.spans import Span


class Precomputed:
    """A vector for each piece by its text, or by its name where it is no text: a region of an image, a product."""

    contextual = False

    def __init__(self, vectors: Mapping[str, Any], name: str = "precomputed") -> None:
        self.name = name
        self.vectors = {piece: _as_array(vector) for piece, vector in vectors.items()}
        shapes = {tuple(vector.shape) for vector in self.vectors.values()}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ValueError(f"Vectors must all have one length, got shapes {sorted(shapes)[:3]}.")
        self.size = next(iter(shapes))[0]

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        found = []
        for text, some in zip(texts, spans, strict=True):
            pieces = [text[start:end] for start, end in some]
            for piece in pieces:
                if piece not in self.vectors:
                    raise ValueError(f"There is no vector for {piece!r}. Precomputed takes one for every piece.")
            rows = [self.vectors[piece] for piece in pieces]
            found.append(np.stack(rows) if rows else np.zeros((0, self.size), np.float32))
        return found


def _as_array(vector: Any) -> np.ndarray:
    """A vector in single precision from an array, a list of numbers or a tensor of any device."""
    if hasattr(vector, "detach"):
        vector = vector.detach().cpu().float()
    return np.asarray(vector, dtype=np.float32)
