"""From two versions of a document to what became of every block."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from whymatch.matching.conflicts import Conflict
from whymatch.text.document import Document
from whymatch.text.spans import Span, Splitter, splitter, words
from whymatch.transport.groups import InOrder
from whymatch.versions.blocks import Block, blocks, of_spans
from whymatch.versions.comparison import Change, ChangeKind, Comparison
from whymatch.versions.linking import Joined, Side, joined
from whymatch.versions.words import differing

if TYPE_CHECKING:
    from whymatch.matching.relations import Relation, RelationReader
    from whymatch.text.encoders import Encoder

BLOCKS = "block"
MAX_BLOCKS = 50_000
"""Blocks of a version."""
_LONGEST_PLACE = 40  # characters of a heading that says where a change is
_ORDER = ("missing", "new", "changed", "moved", "split", "merged")


def compare(
    old: str,
    new: str,
    *,
    spans: str | Splitter = BLOCKS,
    relations: bool = True,
    encoder: "Encoder | None" = None,
    most: int = 4,
) -> Comparison:
    """What became of every block of the old version, and what is new: same, moved, changed, split, merged or missing.

    Identical blocks are matched first. What is left between them is linked in order, groups of up to `most` blocks
    with one, optimally; what is left over then is looked through for blocks that moved and were edited.

    Args:
        old, new: two texts; `whymatch.versions.files.document_text` reads HTML and DOCX.
        spans: block (headings, rows of tables, and the sentences of paragraphs, list items and clauses), or as for
            `Aligner`: sentence, paragraph, line, …
        relations: whether to read in which words changed blocks contradict each other, and what both say of each
            other; for English texts. Needs the bundled model.
        encoder: MiniLM by default; it reads only blocks that are not in both versions.
        most: blocks that one may become, or that may become one.

    Raises:
        ValueError: if a text is not valid Unicode or has too many blocks.
    """
    texts, rule = (old, new), InOrder(most)
    sides = [_split(text, spans) for text in texts]
    left, right = (_side(text, own) for text, own in zip(texts, sides, strict=True))
    together, remarks = joined(left, right, lambda: _default_encoder() if encoder is None else encoder, rule)
    changes = _changes(texts, sides, (left, right), together)
    if relations:
        changes, remark = _read(changes, texts)
        remarks += remark
    documents = (Document(text, tuple(block.span for block in own)) for text, own in zip(texts, sides, strict=True))
    return Comparison(*documents, tuple(_ordered(changes)), tuple(remarks))


def _default_encoder() -> "Encoder":
    from whymatch.matching.defaults import default_aligner

    return default_aligner("sentence").encoder


def _split(text: str, spans: str | Splitter) -> list[Block]:
    Document(text, ())  # valid Unicode
    if spans == BLOCKS:
        own = blocks(text)
    else:
        from whymatch.text.document import document

        cut = splitter(spans) if isinstance(spans, str) else spans
        own = of_spans(text, document(text, cut, limit=MAX_BLOCKS).spans)
    if len(own) > MAX_BLOCKS:
        raise ValueError(f"A version has {len(own):,} blocks, and the limit is {MAX_BLOCKS:,}. Use larger spans.")
    return own


def _side(text: str, own: Sequence[Block]) -> Side:
    texts = [text[block.body : block.span.end] for block in own]
    pieces = [[one[start:end] for start, end in words(one)] for one in texts]
    return Side(texts, pieces, ["\n".join(one) for one in pieces])


def _changes(
    texts: tuple[str, str], sides: Sequence[Sequence[Block]], sources: tuple[Side, Side], together: Sequence[Joined]
) -> list[Change]:
    """The changes before relations are read, in no order."""
    places = [_places(text, own) for text, own in zip(texts, sides, strict=True)]
    changes = []
    for one in together:
        spans = [_covering(own, numbers) for own, numbers in zip(sides, (one.left, one.right), strict=True)]
        pieces = tuple(text[span.start : span.end] for text, span in zip(texts, spans, strict=True))
        keys = [[side.keys[n] for n in own] for side, own in zip(sources, (one.left, one.right), strict=True)]
        edited = "\n".join(keys[0]) != "\n".join(keys[1])
        marks = differing(*pieces) if edited else ((), ())
        moved = tuple(tuple(_shifted(own, span.start)) for own, span in zip(marks, spans, strict=True))
        labels = [sides[side][numbers[0]].label for side, numbers in enumerate((one.left, one.right))]
        kind = _kind(one, edited)
        was, where = places[0][one.left[0]], places[1][one.right[0]]
        changes.append(
            Change(kind, one.left, one.right, (spans[0], spans[1]), (pieces[0], pieces[1]), was, where,
                   edited, labels[0] != labels[1], (moved[0], moved[1]))
        )  # fmt: skip
    for side, kind in enumerate(("missing", "new")):
        linked = {n for one in together for n in (one.left, one.right)[side]}
        changes += [
            _alone(kind, side, n, texts[side], sides[side], places[side])  # type: ignore[arg-type]
            for n in range(len(sides[side]))
            if n not in linked
        ]
    return changes


def _alone(kind: ChangeKind, side: int, number: int, text: str, own: Sequence[Block], places: Sequence[str]) -> Change:
    """A block that only one version has."""
    span = _covering(own, (number,))
    piece = text[span.start : span.end]
    if side == 0:
        return Change(kind, (number,), (), (span, None), (piece, ""), places[number], "")
    return Change(kind, (), (number,), (None, span), ("", piece), "", places[number])


def _kind(one: Joined, edited: bool) -> ChangeKind:
    if one.moved:
        return "moved"
    if len(one.right) > 1:
        return "split"
    if len(one.left) > 1:
        return "merged"
    return "changed" if edited else "same"


def _covering(own: Sequence[Block], numbers: Sequence[int]) -> Span:
    """The characters of blocks that follow one another, without the number of the first."""
    return Span(own[numbers[0]].body, own[numbers[-1]].span.end)


def _shifted(spans: Sequence[Span], by: int) -> list[Span]:
    return [Span(start + by, end + by) for start, end in spans]


def _places(text: str, own: Sequence[Block]) -> list[str]:
    """Where each block is: the number of its clause, or the heading above it, or its line."""
    places, last, line, seen = [], "", 1, 0
    for block in own:
        line, seen = line + text.count("\n", seen, block.span.start), block.span.start
        if block.label:
            last = block.label
        elif block.heading:
            title = " ".join(text[block.body : block.span.end].split())
            last = f"“{title if len(title) <= _LONGEST_PLACE else title[:_LONGEST_PLACE].rstrip() + '…'}”"
        places.append(last or f"line {line}")
    return places


def _read(changes: list[Change], texts: tuple[str, str]) -> tuple[list[Change], list[str]]:
    """The changes with the conflicts and relations of those that were edited, and remarks on what was not read."""
    from whymatch.matching.relating import NOT_ENGLISH, looks_english
    from whymatch.matching.relations import shipped_reader

    edited = [number for number, change in enumerate(changes) if change.edited]
    if not edited:
        return changes, []
    reader = shipped_reader()
    if reader.missing is not None:
        return changes, [f"Relations and conflicts were not read: {reader.missing}"]
    if not looks_english("\n".join(changes[number].texts[1] for number in edited)):
        return changes, [NOT_ENGLISH]
    return _related(changes, edited, reader), []


def _related(changes: list[Change], edited: Sequence[int], reader: "RelationReader") -> list[Change]:
    from whymatch.matching.defaults import word_aligner
    from whymatch.matching.relating import pair_conflicts

    pairs = [changes[number].texts for number in edited]
    found: list[tuple[Relation, tuple[Conflict, ...]]] = [
        *zip(reader.relations(pairs), pair_conflicts(pairs, word_aligner()), strict=True)
    ]
    related = [*changes]
    for number, (relation, conflicts) in zip(edited, found, strict=True):
        left, right = changes[number].places
        assert left is not None
        assert right is not None
        moved = tuple(one.moved(left.start, right.start) for one in conflicts)
        related[number] = replace(changes[number], relation=relation, conflicts=moved)
    return related


def _ordered(changes: Sequence[Change]) -> list[Change]:
    """Those that matter first, then by kind, then by place in the new text; what is the same comes last."""

    def rank(change: Change) -> tuple[int, ...]:
        place = change.right or change.left
        if change.matters:
            return 0, 0, *place
        if change.kind == "same":
            return 3, 0, *place
        little = change.reworded or not (change.edited or change.kind in ("missing", "new"))
        return 2 if little else 1, _ORDER.index(change.kind), *place

    return sorted(changes, key=rank)
