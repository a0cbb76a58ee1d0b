"""Backgrounds of drawn vectors, ordinary and adversarial, and an encoder that draws a vector for each text."""

import zlib
from collections.abc import Sequence

import numpy as np

from whymatch.cost import Background
from whymatch.text.document import Document, joined
from whymatch.text.spans import Span

SHAPES = ["ordinary", "duplicated", "zeros", "huge", "tiny", "half", "template", "equal"]
"""Kinds of vectors that `draw` knows."""


def draw(shape: str, rows: int, dimensions: int, seed: int = 0) -> np.ndarray:
    """Vectors (rows, dimensions) of one of the `SHAPES`."""
    numbers = np.random.default_rng(seed)
    vectors = numbers.standard_normal((rows, dimensions)).astype(np.float32)
    if shape == "duplicated":
        vectors = vectors[numbers.integers(max(1, rows // 8), size=rows)]
    elif shape == "zeros":
        vectors[numbers.random(rows) < 0.3] = 0
    elif shape == "huge":
        vectors *= np.float32(1e30)
    elif shape == "tiny":
        vectors *= np.float32(1e-30)
    elif shape == "half":
        vectors = vectors.astype(np.float16)
    elif shape == "template":
        vectors[::2] = vectors[0]
    elif shape == "equal":
        vectors[:] = vectors[0]
    return vectors


def documents(spans: int, per_text: int = 4, name: str = "b") -> tuple[Document, ...]:
    """Texts with `per_text` spans each, the last with fewer, that have so many spans together."""
    starts = range(0, spans, per_text)
    return tuple(joined([f"{name}{start + i}" for i in range(min(per_text, spans - start))]) for start in starts)


def background(vectors: np.ndarray, per_text: int = 4, encoder: str = "drawn") -> Background:
    """A background with these vectors."""
    return Background("drawn spans", encoder, documents(len(vectors), per_text), vectors)


class Drawn:
    """Draws a vector for each text; spans with the same first word are close to each other."""

    name, contextual = "drawn", False

    def __init__(self, dimensions: int = 32, noise: float = 0.5) -> None:
        self.size, self.noise = dimensions, noise

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        """One row per span."""
        return [
            np.array([self._vector(text[start:end]) for start, end in own], np.float32).reshape(len(own), self.size)
            for text, own in zip(texts, spans, strict=True)
        ]

    def _vector(self, piece: str) -> np.ndarray:
        topic, own = (
            np.random.default_rng(zlib.crc32(name.encode())).standard_normal(self.size)
            for name in ((piece.split() or [""])[0], piece)
        )
        return topic + self.noise * own
