"""Our own layout: a folder with `{train,val,test}.jsonl`, plain or gzipped, one record a line."""

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from operator import index
from pathlib import Path
from typing import Any

from whymatch.datasets.records import Pair, Query
from whymatch.reading import JsonObject, Record, find_file, read_json_lines
from whymatch.text.document import Document, document
from whymatch.text.spans import Span, Splitter


def read_pairs(folder: Path, split: str, splitter: Splitter) -> Iterator[Pair]:
    """`{"left", "right", "label"}`, with "left_rationale" and "right_rationale", lists of [start, end], if marked."""

    def read(row: JsonObject, name: str) -> Pair:
        no_misspelling(row, ("id", "left", "right", "label", "left_rationale", "right_rationale"))
        left, right = (document(row[side], splitter) for side in ("left", "right"))
        marks = [marked(row.get(f"{side}_rationale"), text) for side, text in (("left", left), ("right", right))]
        label = row.get("label")
        return Pair(str(row.get("id", name)), left, right, None if label is None else str(label), *marks)

    return rows(folder, split, read)


def read_queries(folder: Path, split: str, splitter: Splitter) -> Iterator[Query]:
    """`{"query", "documents", "relevant"}`: the numbers of the relevant documents, from 0."""

    def read(row: JsonObject, name: str) -> Query:
        no_misspelling(row, ("id", "ids", "query", "documents", "relevant"))
        texts, relevant = row["documents"], row["relevant"]
        if not isinstance(texts, list) or not isinstance(relevant, list):
            raise ValueError('"documents" and "relevant" are lists')
        numbers = {number for number in relevant if type(number) is int}
        if len(numbers) != len(relevant) or not numbers or not numbers <= set(range(len(texts))):
            raise ValueError(
                f'"relevant" holds the numbers of similar documents, from 0 to {len(texts) - 1}: {relevant}'
            )
        documents = tuple(document(text, splitter) for text in texts)
        marks = tuple(number in numbers for number in range(len(documents)))
        return Query(str(row.get("id", name)), document(row["query"], splitter), documents, marks)

    return rows(folder, split, read)


def rows(folder: Path, split: str, read: Callable[[JsonObject, str], Record]) -> Iterator[Record]:
    """The records of one split; a bad row raises with its file and line."""
    file = find_file([folder], f"{split}.jsonl")
    if file is None:
        raise ValueError(f"{folder} has no {split}.jsonl or {split}.jsonl.gz.")
    return read_json_lines(file, lambda row, number: read(row, f"{split}:{number}"))


def no_misspelling(row: JsonObject, known: Sequence[str]) -> None:
    """Raises for a name that is nearly one of ours; others are the caller's own."""
    for name in row:
        if name not in known and (near := get_close_matches(name, known, 1, 0.85)):
            raise ValueError(f"{name!r} is no name that is read. Is it {near[0]!r}?")


def marked(ranges: Any, text: Document) -> tuple[Span, ...] | None:
    """Ranges of characters that people marked, or None if nobody was asked."""
    if ranges is None:
        return None
    try:
        spans = tuple(Span(index(start), index(end)) for start, end in ranges)
    except (TypeError, ValueError):
        raise ValueError(f"a rationale is a list of [start, end] in characters, got {ranges!r:.60}") from None
    for start, end in spans:
        if not 0 <= start < end <= len(text.text):
            raise ValueError(f"[{start}, {end}] marks nothing in a text of {len(text.text)} characters")
    return spans
