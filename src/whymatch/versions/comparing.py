"""From two versions of a document to what became of every block."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whymatch.text.document import Document, document
from whymatch.text.spans import Span, Splitter, splitter, words
from whymatch.transport.groups import InOrder
from whymatch.versions.blocks import Block, blocks, of_spans, with_numbers
from whymatch.versions.comparison import Change, ChangeKind, Comparison
from whymatch.versions.linking import Joined, Side, joined, unmatched
from whymatch.versions.meaning import with_meaning
from whymatch.versions.numbering import Number, agreed
from whymatch.versions.rewording import only_emphasis_differs
from whymatch.versions.words import differing

if TYPE_CHECKING:
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

    >>> import whymatch as wm
    >>> compared = wm.compare("It runs for 24 months. Rent is due.", "It runs for 36 months. Rent is due.")
    >>> [(change.kind, change.matters) for change in compared.changes]
    [('changed', True), ('same', False)]

    Args:
        old: a text; `whymatch.datasets.office.document_text` reads HTML and DOCX.
        new: its later version.
        spans: block (headings, rows of tables, and the sentences of paragraphs, list items and clauses), or as for
            `Aligner`: sentence, paragraph, line, …
        relations: whether to read in which words changed blocks contradict each other, and what both say of each
            other; for English texts. Needs the bundled model.
        encoder: MiniLM by default; it reads only blocks that are not in both versions.
        most: blocks that one may become, or that may become one.

    Raises:
        ValueError: if a text is not valid Unicode or has too many blocks.
    """
    versions = versions_of(old, new, spans)
    return compare_versions(*versions, relations=relations, encoder=encoder, most=most)


def compare_versions(
    old: "Version", new: "Version", *, relations: bool = True, encoder: "Encoder | None" = None, most: int = 4
) -> Comparison:
    """As `compare`, for the two that `versions_of` gives."""
    needed = _default_encoder if encoder is None else lambda: encoder
    together, remarks = joined(old.side, new.side, needed, InOrder(most))
    changes = [_change(one, old, new) for one in together]
    if relations:
        changes, remark = with_meaning(changes, [_wordings(one, old, new) for one in together])
        remarks = [*remarks, *remark]
    for number, version in enumerate((old, new)):
        linked = {n for one in together for n in (one.left, one.right)[number]}
        changes += [_alone(number, n, version) for n in range(len(version.blocks)) if n not in linked]
    return Comparison(old.document, new.document, tuple(_ordered(changes)), tuple(remarks))


def versions_of(
    old: str, new: str, spans: str | Splitter = BLOCKS, *, limit: int = MAX_BLOCKS
) -> tuple["Version", "Version"]:
    """Two texts cut into blocks; what one version alone leaves open as a number, the other may say. Raises as `of`."""
    left, right = Version.of(old, spans, limit=limit), Version.of(new, spans, limit=limit)
    flags = agreed(left.numbers(), right.numbers())
    return left.numbered(flags[0]), right.numbered(flags[1])


def texts_to_read(old: "Version", new: "Version") -> tuple[list[str], list[str]]:
    """The blocks of each version that a model has to read: those that are left where identical ones were matched."""
    free = unmatched(old.side, new.side)
    if not all(map(len, free)):
        return [], []
    return [old.side.texts[number] for number in free[0]], [new.side.texts[number] for number in free[1]]


def _default_encoder() -> "Encoder":
    from whymatch.matching.defaults import default_aligner

    return default_aligner("sentence").encoder


@dataclass(frozen=True)
class Version:
    """A text with its blocks, and where each of them is, for people."""

    text: str
    blocks: Sequence[Block]
    side: Side
    places: Sequence[str]

    @classmethod
    def of(cls, text: str, spans: str | Splitter = BLOCKS, *, limit: int = MAX_BLOCKS) -> "Version":
        """A text cut into blocks.

        Raises:
            ValueError: if it is not valid Unicode or has more blocks than the limit.
        """
        Document(text, ())  # valid Unicode
        if spans == BLOCKS:
            own = blocks(text)
        else:
            cut = splitter(spans) if isinstance(spans, str) else spans
            own = of_spans(text, document(text, cut, limit=10**9).spans)
        if len(own) > limit:
            raise ValueError(f"A version has {len(own):,} blocks, and the limit is {limit:,}. Use larger spans.")
        return cls._of_blocks(text, own)

    @classmethod
    def _of_blocks(cls, text: str, own: Sequence[Block]) -> "Version":
        texts = [text[block.body : block.span.end] for block in own]
        pieces = [[one[start:end] for start, end in words(one)] for one in texts]
        return cls(text, own, Side(texts, pieces, ["\n".join(one) for one in pieces]), _places(text, own))

    def numbered(self, numbered: Sequence[bool]) -> "Version":
        """The same, where other blocks begin with a number of a clause than this text alone says."""
        if [*numbered] == [bool(block.label) for block in self.blocks]:
            return self
        return self._of_blocks(self.text, with_numbers(self.text, self.blocks, numbered))

    def numbers(self) -> list[tuple[Number, bool, str] | None]:
        """What each block may have as its number, whether it is one, and the words behind it."""
        rows: list[tuple[Number, bool, str] | None] = []
        for block in self.blocks:
            number = block.number
            behind = "" if number is None else self.text[number.body : block.span.end]
            rows.append(
                None
                if number is None
                else (number, bool(block.label), "\n".join(behind[a:b] for a, b in words(behind)))
            )
        return rows

    def marker(self, number: int) -> str:
        """The bullet and the number of a block, as they stand; "" where it has none."""
        block = self.blocks[number]
        return " ".join(self.text[block.span.start : block.body].split())

    @property
    def document(self) -> Document:
        """The text with its blocks as spans."""
        return Document(self.text, tuple(block.span for block in self.blocks))

    def covering(self, numbers: Sequence[int]) -> Span:
        """The characters of blocks that follow one another, without the number of the first."""
        return Span(self.blocks[numbers[0]].body, self.blocks[numbers[-1]].span.end)

    def wording(self, numbers: Sequence[int]) -> str:
        """The same characters with blanks in place of the numbers of the other blocks."""
        start, end = self.covering(numbers)
        text = self.text[start:end]
        for own in (self.blocks[number] for number in numbers[1:]):
            first, last = own.span.start - start, own.body - start
            text = text[:first] + " " * (last - first) + text[last:]
        return text


def _change(one: Joined, left: Version, right: Version) -> Change:
    """What became of blocks that belong together, before their relation is read."""
    own, other = left.covering(one.left), right.covering(one.right)
    keys = ["\n".join(v.side.keys[n] for n in numbers) for v, numbers in ((left, one.left), (right, one.right))]
    edited, wordings = keys[0] != keys[1], _wordings(one, left, right)
    marks = differing(*wordings) if edited else ((), ())
    return Change(
        _kind(one, edited=edited),
        one.left,
        one.right,
        (own, other),
        (left.text[own.start : own.end], right.text[other.start : other.end]),
        left.places[one.left[0]],
        right.places[one.right[0]],
        edited=edited,
        numbers=(left.marker(one.left[0]), right.marker(one.right[0])),
        marks=(_shifted(marks[0], own.start), _shifted(marks[1], other.start)),
        reworded=edited and only_emphasis_differs(*wordings),
    )


def _wordings(one: Joined, left: Version, right: Version) -> tuple[str, str]:
    return left.wording(one.left), right.wording(one.right)


def _alone(side: int, number: int, version: Version) -> Change:
    """A block that only the left (side 0) or right version has."""
    span = version.covering((number,))
    text, place = version.text[span.start : span.end], version.places[number]
    if side == 0:
        return Change(
            "missing", (number,), (), (span, None), (text, ""), place, "", numbers=(version.marker(number), "")
        )
    return Change("new", (), (number,), (None, span), ("", text), "", place, numbers=("", version.marker(number)))


def _kind(one: Joined, *, edited: bool) -> ChangeKind:
    if one.moved:
        return "moved"
    if len(one.right) > 1:
        return "split"
    if len(one.left) > 1:
        return "merged"
    return "changed" if edited else "same"


def _shifted(spans: Sequence[Span], by: int) -> tuple[Span, ...]:
    return tuple(Span(start + by, end + by) for start, end in spans)


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
