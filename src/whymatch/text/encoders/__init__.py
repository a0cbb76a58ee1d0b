"""Encoders: one vector for each span of a text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeGuard

import numpy as np

from whymatch.text.document import Document
from whymatch.text.spans import Span

if TYPE_CHECKING:
    from torch import Tensor


class Encoder(Protocol):
    """Turns each span of a text into a vector."""

    @property
    def name(self) -> str:
        """What people and files call it."""

    @property
    def contextual(self) -> bool:
        """Whether the text around a span enters its vector."""

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        """(spans, dimensions) in single precision for each text: one row per span."""


class PairEncoder(Encoder, Protocol):
    """Reads the two texts of a pair together."""

    @property
    def jointly(self) -> bool:
        """Whether it does; otherwise it encodes each text alone."""

    def encode_pairs(self, pairs: Sequence[tuple[Document, Document]]) -> list[tuple[np.ndarray, np.ndarray]]:
        """(spans, dimensions) for the left and the right text of each pair."""

    def pair_states(self, pairs: Sequence[tuple[Document, Document]]) -> "list[tuple[Tensor, Tensor]]":
        """The same as tensors with gradients."""

    def pair_token_counts(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """How many tokens it reads to encode each pair."""


def reads_pairs(encoder: object) -> TypeGuard[PairEncoder]:
    """Whether an encoder reads the two texts of a pair together."""
    return bool(getattr(encoder, "jointly", False))


def token_counts(encoder: object, texts: Sequence[str]) -> list[int]:
    """How many tokens an encoder reads for each text, by its own `token_counts`, or else how many characters it has."""
    if hasattr(encoder, "token_counts"):
        return list(encoder.token_counts(texts))
    return [len(text) for text in texts]


def tokens_read(encoder: object, pairs: Sequence[tuple[str, str]]) -> int:
    """How many tokens an encoder reads for pairs of texts: each distinct text once, or else each pair together."""
    if reads_pairs(encoder):
        return sum(encoder.pair_token_counts(pairs))
    return sum(token_counts(encoder, list(dict.fromkeys(text for pair in pairs for text in pair))))
