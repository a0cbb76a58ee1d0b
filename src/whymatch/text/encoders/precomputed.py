"""Vectors that the caller already has."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from whymatch.text.spans import Span


class Precomputed:
    """A vector for each piece by its text, or by its name where it is no text: a region of an image, a product."""

    contextual = False

    def __init__(self, vectors: Mapping[str, Any], name: str = "precomputed") -> None:
        self.name = name
        self.vectors = {piece: torch.as_tensor(vector, dtype=torch.float32) for piece, vector in vectors.items()}
        shapes = {tuple(vector.shape) for vector in self.vectors.values()}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ValueError(f"Vectors must all have one length, got shapes {sorted(shapes)[:3]}.")
        self.size = next(iter(shapes))[0]

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        found = []
        for text, some in zip(texts, spans, strict=True):
            pieces = [text[start:end] for start, end in some]
            for piece in pieces:
                if piece not in self.vectors:
                    raise ValueError(f"There is no vector for {piece!r}. Precomputed takes one for every piece.")
            found.append(
                torch.stack([self.vectors[piece] for piece in pieces]) if pieces else torch.zeros(0, self.size)
            )
        return found
