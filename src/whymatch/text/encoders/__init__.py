"""Encoders: one vector for each span of a text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

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
