"""The records of a folder in ERASER's layout or in our own: `{train,val,test}.jsonl` with one record per line."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from operator import index
from pathlib import Path
from typing import Literal

from whymatch.datasets.eraser import is_eraser, read_eraser
from whymatch.datasets.records import Pair, Query, read_records
from whymatch.reading import JsonObject
from whymatch.text.document import Document, document
from whymatch.text.spans import Span, Splitter, lines, splitter


def read_split(folder: str | Path, split: str, task: Literal["rank", "classify"], spans: str) -> list[Pair | Query]:
    """Queries to rank, or pairs to classify: in ERASER's layout where the folder has its docs, in ours otherwise.

    ERASER's documents have one sentence per line, so there the spans named "sentence" are lines. A split is read once
    and kept until its files change.
    """
    folder = Path(folder)
    files = [file.stat() for file in sorted([*folder.glob(f"{split}.jsonl*"), *folder.glob("docs*")])]
    versions = tuple((file.st_mtime_ns, file.st_size) for file in files)
    return [*_read_split(folder, split, task, spans, versions)]


@lru_cache(maxsize=6)  # several runs of one table read the same splits
def _read_split(
    folder: Path, split: str, task: str, spans: str, versions: tuple[tuple[int, int], ...]
) -> tuple[Pair | Query, ...]:
    cut = splitter(spans)
    if task == "classify" and is_eraser(folder):
        return (*read_eraser(folder, split, lines if spans == "sentence" else cut),)
    read = read_query if task == "rank" else read_pair
    return (*read_records(folder, split, lambda row, name: read(row, name, cut)),)


def read_pair(row: JsonObject, name: str, splitter: Splitter) -> Pair:
    """A row with "left", "right" and, where there are any, "id", "label", "left_rationale" and "right_rationale".

    A rationale is a list of [start, end] in characters; `name` is the id of a row that has none.
    """
    _check_names(row, ("id", "left", "right", "label", "left_rationale", "right_rationale"))
    left, right = (document(row[side], splitter) for side in ("left", "right"))
    marks = [_marked_spans(row.get(f"{side}_rationale"), text) for side, text in (("left", left), ("right", right))]
    label = row.get("label")
    return Pair(str(row.get("id", name)), left, right, None if label is None else str(label), *marks)


def read_query(row: JsonObject, name: str, splitter: Splitter) -> Query:
    """A row with "query", "documents" and "relevant", the numbers of the relevant documents, from 0."""
    _check_names(row, ("id", "ids", "query", "documents", "relevant"))
    texts, relevant = row["documents"], row["relevant"]
    if not isinstance(texts, list) or not isinstance(relevant, list):
        raise ValueError('"documents" and "relevant" are lists')
    numbers = {number for number in relevant if type(number) is int}
    if len(numbers) != len(relevant) or not numbers or not numbers <= set(range(len(texts))):
        raise ValueError(f'"relevant" holds the numbers of similar documents, from 0 to {len(texts) - 1}: {relevant}')
    documents = tuple(document(text, splitter) for text in texts)
    marks = tuple(number in numbers for number in range(len(documents)))
    return Query(str(row.get("id", name)), document(row["query"], splitter), documents, marks)


def _check_names(row: Iterable[str], known: Sequence[str]) -> None:
    """Raises for a name that is nearly one of those that are read; other names are the caller's own."""
    for name in row:
        if name not in known and (near := get_close_matches(name, known, 1, 0.85)):
            raise ValueError(f"{name!r} is no name that is read. Is it {near[0]!r}?")


def _marked_spans(ranges: object, text: Document) -> tuple[Span, ...] | None:
    """The spans that people marked, from ranges of characters; None where nobody was asked."""
    if ranges is None:
        return None
    try:
        spans = tuple(Span(index(start), index(end)) for start, end in ranges)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ValueError(f"a rationale is a list of [start, end] in characters, got {ranges!r:.60}") from None
    for start, end in spans:
        if not 0 <= start < end <= len(text.text):
            raise ValueError(f"[{start}, {end}] marks nothing in a text of {len(text.text)} characters")
    return spans
