"""Encoders: one vector for each span of a text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeGuard

from whymatch.text.document import Document
from whymatch.text.spans import Span

if TYPE_CHECKING:
    from torch import Tensor


class Encoder(Protocol):
    """Turns the spans of a text into one vector each."""

    @property
    def name(self) -> str:
        """What it is, for people and for files."""

    @property
    def contextual(self) -> bool:
        """Whether the text around a span enters its vector."""

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> "list[Tensor]":
        """(spans, dimensions) for each text."""


class PairEncoder(Encoder, Protocol):
    """Turns the spans of two texts that are read together into one vector each."""

    @property
    def jointly(self) -> bool:
        """Whether it does; else it encodes each text alone."""

    def encode_pairs(self, pairs: Sequence[tuple[Document, Document]]) -> "list[tuple[Tensor, Tensor]]":
        """(spans, dimensions) for the left and the right text of each pair."""

    def pair_states(self, pairs: Sequence[tuple[Document, Document]]) -> "list[tuple[Tensor, Tensor]]":
        """The same with gradients."""


def reads_pairs(encoder: object) -> TypeGuard[PairEncoder]:
    """Whether an encoder reads the two texts of a pair together."""
    return bool(getattr(encoder, "jointly", False))
