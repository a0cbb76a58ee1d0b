"""A frozen encoder with a linear map on top: what is trained in seconds."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from whymatch.text.encoders import Encoder
from whymatch.text.encoders.learning import Learning
from whymatch.text.spans import Span

MOST = 2**21  # vectors that are kept: 3 GB for MiniLM


class Projected(Learning):
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
        self.known: dict[tuple[str, tuple[Span, ...]], Tensor] = {}
        self.kept = 0

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        """As `encode`, with gradients of the map."""
        vectors = self.frozen(texts, spans)
        if not vectors:
            return []
        mapped = self.map(self.dropout(torch.cat(vectors).to(self.map.weight)))
        return list(mapped.split([len(some) for some in vectors]))

    def frozen(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        """The vectors of the encoder; what it has seen before is not encoded again."""
        keys = [(text, tuple(some)) for text, some in zip(texts, spans, strict=True)]
        new = list(dict.fromkeys(key for key in keys if key not in self.known))
        vectors = self.encoder.encode([text for text, _ in new], [some for _, some in new]) if new else []
        fresh = dict(zip(new, vectors, strict=True))
        for key, some in fresh.items():
            if self.kept + len(some) <= MOST:
                self.known[key] = some
                self.kept += len(some)
        return [self.known[key] if key in self.known else fresh[key] for key in keys]
