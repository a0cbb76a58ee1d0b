"""ERASER's layout: `{train,val,test}.jsonl` with queries and evidence; `docs/` or `docs.jsonl`, a sentence a line."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from whymatch.datasets.jsonl import rows
from whymatch.datasets.records import Pair
from whymatch.files import inside
from whymatch.reading import find_file, read_json_lines
from whymatch.text.document import Document, document, joined
from whymatch.text.spans import Span, Splitter, lines

SENTENCES = ("_premise", "_hypothesis")
"""How the names of e-SNLI's two documents end."""


def is_eraser(folder: Path) -> bool:
    """Whether a folder has documents where ERASER has them."""
    return (folder / "docs").is_dir() or find_file([folder], "docs.jsonl") is not None


def count_documents(folder: Path) -> int:
    """All documents of a folder, whether a row names them or not."""
    every = collected(folder)
    return sum(1 for _ in (folder / "docs").iterdir()) if every is None else len(every)


def read_eraser(folder: str | Path, split: str, splitter: Splitter = lines) -> Iterator[Pair]:
    """A pair a row: the query on the left (two spans where it is "question || answer"), its documents on the right.

    The right rationale is the evidence, in ranges of tokens between blanks. Documents have a sentence a line, and lines
    are the right spans, unless another `splitter` is given, which then splits the query too. e-SNLI's premise is on the
    left and its hypothesis on the right, with evidence on both sides.
    """
    folder = Path(folder)
    if not is_eraser(folder):
        raise ValueError(f"{folder} has no docs folder and no docs.jsonl: this is not ERASER's layout.")
    return rows(folder, split, lambda row, name: read_row(folder, row, splitter))


def read_row(folder: Path, row: dict[str, Any], splitter: Splitter) -> Pair:
    """One row, with the documents that it names."""
    evidence = [piece for group in row["evidences"] for piece in group]
    names = tuple(row.get("docids") or dict.fromkeys(piece["docid"] for piece in evidence))
    base = sentence_pair(folder, row, names)
    if base is not None:
        known = [f"{base}{end}" for end in SENTENCES]
        strange = [piece["docid"] for piece in evidence if piece["docid"] not in known]
        if strange:
            raise ValueError(f"there is evidence in {strange[0]}, which is neither {known[0]} nor {known[1]}")
        left, right = (read_documents(folder, (name,), splitter)[0] for name in known)
        marks = [
            marked(side, [piece for piece in evidence if piece["docid"] == name], (name,), (0,))
            for side, name in zip((left, right), known, strict=True)
        ]
        return Pair(row["annotation_id"], left, right, str(row["classification"]), *marks)
    if not names:
        names = (row["annotation_id"].rsplit(":", 2)[0],)  # a row without evidence: its id starts with its document
    right, first_token = read_documents(folder, names, splitter)
    query = [part.strip() for part in row["query"].split("||")]
    left = joined([part for part in query if part])
    if splitter is not lines:
        left = document(left.text, splitter)
    rationale = marked(right, evidence, names, first_token)
    return Pair(row["annotation_id"], left, right, str(row["classification"]), right_rationale=rationale)


def sentence_pair(folder: Path, row: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """What the names of e-SNLI's premise and hypothesis begin with; None where a row has a query and documents."""
    found = {name.removesuffix(end) for name in names for end in SENTENCES if name.endswith(end)}
    if not names and (collected(folder) or {}).keys() >= {f"{row['annotation_id']}{end}" for end in SENTENCES}:
        return str(row["annotation_id"])
    return found.pop() if len(found) == 1 else None


def marked(
    text: Document, evidence: list[dict[str, Any]], names: tuple[str, ...], first_token: tuple[int, ...]
) -> tuple[Span, ...]:
    """The evidence as spans of the text that the documents of these names make."""
    tokens, spans = token_spans(text), []
    for piece in evidence:
        first = first_token[names.index(piece["docid"])]
        start, end = first + piece["start_token"], first + piece["end_token"]
        if not 0 <= start < end <= len(tokens):
            raise ValueError(f"evidence tokens {start} to {end} lie outside a text of {len(tokens)} tokens")
        spans.append(Span(tokens[start].start, tokens[end - 1].end))
    return tuple(sorted(set(spans)))


@lru_cache(maxsize=1024)
def read_documents(folder: Path, names: tuple[str, ...], splitter: Splitter) -> tuple[Document, tuple[int, ...]]:
    """The documents as one text, and the number of each one's first token."""
    texts = [read_document(folder, name).strip("\n") for name in names]
    first, counts = [], 0
    for text in texts:
        first.append(counts)
        counts += len(text.split())
    whole = "\n\n".join(texts)
    return document(whole, splitter), tuple(first)


def read_document(folder: Path, name: str) -> str:
    """The text of one document, from its own file or from `docs.jsonl`."""
    every = collected(folder)
    if every is None:
        file = inside(folder / "docs", name)
        if not file.is_file():
            raise ValueError(f"docs has no document {name!r:.80}")
        return file.read_text(encoding="utf-8")
    if name not in every:
        raise ValueError(f"docs.jsonl has no document {name}")
    return every[name]


@lru_cache(maxsize=2)
def collected(folder: Path) -> Mapping[str, str] | None:
    """All documents of `docs.jsonl`; None where each has a file of its own."""
    file = None if (folder / "docs").is_dir() else find_file([folder], "docs.jsonl")
    if file is None:
        return None
    return dict(read_json_lines(file, lambda row, number: (row["docid"], str(row["document"]))))


@lru_cache(maxsize=1024)
def token_spans(document: Document) -> list[Span]:
    return [Span(*match.span()) for match in re.finditer(r"\S+", document.text)]
