"""What the readers give."""

from dataclasses import dataclass

from whymatch.text.document import Document
from whymatch.text.spans import Span


@dataclass(frozen=True)
class Pair:
    """Two texts, what is true of them, and what people marked as the reason; None where nobody was asked."""

    id: str
    left: Document
    right: Document
    label: str | None = None
    left_rationale: tuple[Span, ...] | None = None
    right_rationale: tuple[Span, ...] | None = None


@dataclass(frozen=True)
class Query:
    """A text, the documents to be ranked for it, and which of them are similar to it."""

    id: str
    query: Document
    documents: tuple[Document, ...]
    relevant: tuple[bool, ...]


def as_pair(record: Pair | Query) -> Pair:
    """A query with its first similar document is a pair."""
    if isinstance(record, Pair):
        return record
    similar = next(text for text, wanted in zip(record.documents, record.relevant, strict=True) if wanted)
    return Pair(record.id, record.query, similar)
