"""A frozen encoder with a linear map on top: what is trained in seconds."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from whymatch.text.encoders import Encoder, token_counts
from whymatch.text.encoders.known import Known
from whymatch.text.encoders.trainable import TrainableEncoder
from whymatch.text.spans import Span


class Projected(TrainableEncoder):
    """The vectors of a frozen encoder, each text encoded once, through a linear map that starts as the identity.

    A map that is not `learned` stays the identity.
    """

    def __init__(self, encoder: Encoder, size: int, dropout: float = 0.0, *, learned: bool = True) -> None:
        super().__init__()
        given = getattr(encoder, "size", size)
        if given != size:
            raise ValueError(f"{encoder.name} gives vectors of size {given}, and the map is for size {size}.")
        self.encoder = encoder
        self.name = f"{encoder.name}, projected"
        self.contextual = encoder.contextual
        self.size = size
        self.map = nn.Linear(size, size, bias=False)
        nn.init.eye_(self.map.weight)
        self.map.requires_grad_(learned)
        self.dropout = nn.Dropout(dropout)
        self.learned = learned
        self.known = Known()

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        """As `encode`, with gradients of the map."""
        vectors = self.frozen(texts, spans)
        if not vectors:
            return []
        mapped = self.map(self.dropout(torch.from_numpy(np.concatenate(vectors)).to(self.map.weight)))
        return list(mapped.split([len(some) for some in vectors]))

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """As its encoder counts them."""
        return token_counts(self.encoder, texts)

    def forget(self) -> None:
        self.known = Known()

    def frozen(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        """The vectors of the encoder; what it has seen before is not encoded again."""
        found = [self.known.get(text, tuple(some)) for text, some in zip(texts, spans, strict=True)]
        new = [number for number, vectors in enumerate(found) if vectors is None]
        if new:
            vectors = self.encoder.encode([texts[number] for number in new], [spans[number] for number in new])
            for number, some in zip(new, vectors, strict=True):
                found[number] = some
                self.known.put(texts[number], tuple(spans[number]), some)
        return [some for some in found if some is not None]
