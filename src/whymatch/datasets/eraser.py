"""ERASER's layout: `{train,val,test}.jsonl` with queries and evidence, `docs/` with a sentence a line."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from whymatch.datasets.jsonl import rows
from whymatch.datasets.records import Pair
from whymatch.text.document import Document, document, joined
from whymatch.text.spans import Span, Splitter, lines


def read_eraser(folder: str | Path, split: str, splitter: Splitter = lines) -> Iterator[Pair]:
    """A pair a row: the query on the left (two spans where it is "question || answer"), its documents on the right.

    The right rationale is the evidence, in ranges of tokens between blanks. Documents have a sentence a line, and lines
    are the right spans, unless another `splitter` is given, which then splits the query too.
    """
    folder = Path(folder)
    if not (folder / "docs").is_dir():
        raise ValueError(f"{folder} has no docs folder: this is not ERASER's layout.")
    return rows(folder, split, lambda row, name: read_row(folder, row, splitter))


def read_row(folder: Path, row: dict[str, Any], splitter: Splitter) -> Pair:
    """One row, with the documents that it names."""
    evidence = [piece for group in row["evidences"] for piece in group]
    names = tuple(row.get("docids") or dict.fromkeys(piece["docid"] for piece in evidence))
    if not names:
        names = (row["annotation_id"].rsplit(":", 2)[0],)  # a row without evidence: its id starts with its document
    right, first_token = read_documents(folder, names, splitter)
    tokens = token_spans(right)
    marked = []
    for piece in evidence:
        first = first_token[names.index(piece["docid"])]
        start, end = first + piece["start_token"], first + piece["end_token"]
        if not 0 <= start < end <= len(tokens):
            raise ValueError(f"evidence tokens {start} to {end} lie outside a text of {len(tokens)} tokens")
        marked.append(Span(tokens[start].start, tokens[end - 1].end))
    query = [part.strip() for part in row["query"].split("||")]
    left = joined([part for part in query if part])
    if splitter is not lines:
        left = document(left.text, splitter)
    return Pair(
        row["annotation_id"], left, right, str(row["classification"]), right_rationale=tuple(sorted(set(marked)))
    )


@lru_cache(maxsize=1024)
def read_documents(folder: Path, names: tuple[str, ...], splitter: Splitter) -> tuple[Document, tuple[int, ...]]:
    """The documents as one text, and the number of each one's first token."""
    texts = [(folder / "docs" / name).read_text(encoding="utf-8").strip("\n") for name in names]
    first, counts = [], 0
    for text in texts:
        first.append(counts)
        counts += len(text.split())
    whole = "\n\n".join(texts)
    return document(whole, splitter), tuple(first)


@lru_cache(maxsize=1024)
def token_spans(document: Document) -> list[Span]:
    return [Span(*match.span()) for match in re.finditer(r"\S+", document.text)]
