"""ERASER's layout: `{train,val,test}.jsonl` with queries and evidence; `docs/` or `docs.jsonl` with documents.

Documents have one sentence per line, and evidence is given in ranges of tokens between blanks.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Literal, TypeAlias

from whymatch.datasets.conversion import Conversion, pair_conversion, pair_row
from whymatch.datasets.records import Pair, read_records
from whymatch.files import inside
from whymatch.reading import JsonObject, find_file, read_json_lines
from whymatch.text.document import Document, document, joined
from whymatch.text.spans import Span, Splitter, lines, overlaps

QuerySpans: TypeAlias = Literal["parts", "whole", "one"]
SENTENCES = ("_premise", "_hypothesis")
"""How the names of e-SNLI's two documents end."""


def is_eraser(folder: Path) -> bool:
    """Whether a folder has documents where ERASER has them."""
    return (folder / "docs").is_dir() or find_file([folder], "docs.jsonl") is not None


def read_eraser(folder: str | Path, split: str, splitter: Splitter = lines) -> Iterator[Pair]:
    """One pair per row: a query on the left, in two spans where it is "question || answer", its documents on the right.

    The evidence is the right rationale. Lines are the right spans, unless another `splitter` is given, which then
    splits the query too. e-SNLI's premise is on the left and its hypothesis on the right, with evidence on both sides.
    """
    folder = Path(folder)
    if not is_eraser(folder):
        raise ValueError(f"{folder} has no docs folder and no docs.jsonl: this is not ERASER's layout.")
    return read_records(folder, split, lambda row, name: _read_pair(folder, row, splitter))


def _read_pair(folder: Path, row: JsonObject, splitter: Splitter) -> Pair:
    """The pair of one row, with the documents that it names."""
    evidence = [piece for group in row["evidences"] for piece in group]
    names = tuple(row.get("docids") or dict.fromkeys(piece["docid"] for piece in evidence))
    base = _sentence_pair(folder, row, names)
    if base is not None:
        sides = [(f"{base}{end}",) for end in SENTENCES]
    else:  # the id of a row without evidence starts with its document
        sides = [names or (row["annotation_id"].rsplit(":", 2)[0],)]
    known = [name for side in sides for name in side]
    unknown = [piece["docid"] for piece in evidence if piece["docid"] not in known]
    if unknown:
        raise ValueError(f"there is evidence in {unknown[0]}, which is not among {', '.join(known)}")
    texts = [_marked_text(folder, side, evidence, splitter) for side in sides]
    if base is None:
        parts = [part.strip() for part in row["query"].split("||")]
        query = joined([part for part in parts if part])
        texts = [(query if splitter is lines else document(query.text, splitter), None), *texts]
    (left, left_rationale), (right, right_rationale) = texts
    return Pair(row["annotation_id"], left, right, str(row["classification"]), left_rationale, right_rationale)


def _sentence_pair(folder: Path, row: JsonObject, names: tuple[str, ...]) -> str | None:
    """What the names of e-SNLI's premise and hypothesis begin with; None where a row has a query and documents."""
    if not names and (_documents(folder) or {}).keys() >= {f"{row['annotation_id']}{end}" for end in SENTENCES}:
        return str(row["annotation_id"])
    bases = {name.removesuffix(end) for name in names for end in SENTENCES if name.endswith(end)}
    return bases.pop() if len(bases) == 1 else None


def _marked_text(
    folder: Path, names: tuple[str, ...], evidence: Iterable[JsonObject], splitter: Splitter
) -> tuple[Document, tuple[Span, ...] | None]:
    """The documents of these names as one text, and the evidence in them as its spans."""
    text, tokens, first_tokens = _read_documents(folder, names, splitter)
    spans = set()
    for piece in evidence:
        if piece["docid"] in first_tokens:
            first = first_tokens[piece["docid"]]
            start, end = first + piece["start_token"], first + piece["end_token"]
            if not 0 <= start < end <= len(tokens):
                raise ValueError(f"evidence tokens {start} to {end} lie outside a text of {len(tokens)} tokens")
            spans.add(Span(tokens[start].start, tokens[end - 1].end))
    return text, tuple(sorted(spans))


@lru_cache(maxsize=1024)
def _read_documents(
    folder: Path, names: tuple[str, ...], splitter: Splitter
) -> tuple[Document, list[Span], dict[str, int]]:
    """The documents as one text, its tokens between blanks, and the number of each document's first token."""
    texts = [_read_document(folder, name).strip("\n") for name in names]
    whole = document("\n\n".join(texts), splitter)
    tokens = [Span(*match.span()) for match in re.finditer(r"\S+", whole.text)]
    first_tokens = accumulate((len(text.split()) for text in texts), initial=0)
    return whole, tokens, dict(zip(names, first_tokens, strict=False))


def _read_document(folder: Path, name: str) -> str:
    """The text of one document, from its own file or from `docs.jsonl`."""
    documents = _documents(folder)
    if documents is None:
        file = inside(folder / "docs", name)
        if not file.is_file():
            raise ValueError(f"docs has no document {name!r:.80}")
        return file.read_text(encoding="utf-8")
    if name not in documents:
        raise ValueError(f"docs.jsonl has no document {name}")
    return documents[name]


@lru_cache(maxsize=2)
def _documents(folder: Path) -> Mapping[str, str] | None:
    """All documents of `docs.jsonl`; None where each has a file of its own."""
    file = None if (folder / "docs").is_dir() else find_file([folder], "docs.jsonl")
    if file is None:
        return None
    return dict(read_json_lines(file, lambda row, number: (row["docid"], str(row["document"]))))


def convert_eraser(folder: Path, query: QuerySpans = "parts") -> Conversion:
    """A folder of the ERASER benchmark, checked row by row; rows have their texts as lists of spans."""
    splits = {
        split: map(partial(with_query_spans, query=query), read_eraser(folder, split))
        for split in ("train", "val", "test")
    }
    documents = _documents(folder)
    count = sum(1 for _ in (folder / "docs").iterdir()) if documents is None else len(documents)

    def row(pair: Pair) -> JsonObject:
        return pair_row(pair) | {"left": pair.left.pieces, "right": pair.right.pieces}

    return pair_conversion(splits, "sentences", row, **{"documents in all": count})


def with_query_spans(pair: Pair, query: QuerySpans) -> Pair:
    """The pair with both texts joined from their spans, and its marks with them.

    The left spans are the `parts` of the query, these and the `whole` query as one more, or the query as `one` span.
    """
    pieces = pair.left.pieces
    spans = {"parts": pieces, "whole": [*pieces, " ".join(pieces)], "one": [" ".join(pieces)]}
    left = joined(spans[query] if len(pieces) > 1 else pieces)
    right = joined(pair.right.pieces)
    left_rationale = _moved_marks(pair.left, pair.left_rationale, left)
    return Pair(pair.id, left, right, pair.label, left_rationale, _moved_marks(pair.right, pair.right_rationale, right))


def _moved_marks(before: Document, marks: Sequence[Span] | None, after: Document) -> tuple[Span, ...] | None:
    """The spans that have the numbers of those that were marked before; an only span has the marks of all."""
    if marks is None:
        return None
    numbers = {number if len(after) > 1 else 0 for numbers in overlaps(before.spans, marks) for number in numbers}
    return tuple(after.spans[number] for number in sorted(numbers))
