"""The records that data sets are read into."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from whymatch.reading import JsonObject, Record, read_json_lines, required_file
from whymatch.text.document import Document
from whymatch.text.spans import Span


@dataclass(frozen=True)
class Pair:
    """Two texts, their label, and the spans that people marked as the reason for it; None where nobody was asked."""

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
    """A pair as it is; a query with its first similar document."""
    if isinstance(record, Pair):
        return record
    similar = next(text for text, relevant in zip(record.documents, record.relevant, strict=True) if relevant)
    return Pair(record.id, record.query, similar)


def read_records(folder: Path, split: str, read: Callable[[JsonObject, str], Record]) -> Iterator[Record]:
    """What `read` makes of each row of `{split}.jsonl`, plain or gzipped, and of its place, such as "val:3".

    Raises:
        ValueError: if there is no such file; for a bad row, with its file and line.
    """
    file = required_file([folder], f"{split}.jsonl")
    return read_json_lines(file, lambda row, number: read(row, f"{split}:{number}"))
