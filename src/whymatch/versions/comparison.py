"""What became of every block of two versions of a document; plain data."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from whymatch.files import write_whole
from whymatch.matching.conflicts import Conflict
from whymatch.matching.relations import Relation
from whymatch.text.document import Document
from whymatch.text.spans import Span

FORMAT = 1
ChangeKind: TypeAlias = Literal["same", "moved", "changed", "split", "merged", "new", "missing"]


@dataclass(frozen=True)
class Change:
    """What became of some blocks; of most, that they are the same.

    Args:
        kind: same, moved, changed, split, merged, new or missing.
        left, right: the numbers of its blocks in each version; empty where it is new or missing.
        places: its characters in each text, without the number of a clause; None where it is new or missing.
        texts: those characters.
        was, where: the number of its clause, the heading above it or its line, in each text; "" where it is not.
        edited: whether its words differ; of what moved, whether it was edited as well.
        numbers: the bullet and the number that it begins with in each version, as they stand; "" where there is none.
        marks: the words that differ, as spans of each text; without them both sides are equal, word by word.
        conflicts: words that contradict each other: numbers, dates, names, negations, antonyms, roles.
        relation: what both sides say of each other, as a whole; None where that was not read.
        reworded: whether it is edited and still says the same: only its emphasis differs, or the relation says so,
            nothing was added or taken out, and no word such as "all", "most" or "only" differs.
    """

    kind: ChangeKind
    left: tuple[int, ...]
    right: tuple[int, ...]
    places: tuple[Span | None, Span | None]
    texts: tuple[str, str]
    was: str
    where: str
    edited: bool = False
    numbers: tuple[str, str] = ("", "")
    marks: tuple[tuple[Span, ...], tuple[Span, ...]] = ((), ())
    conflicts: tuple[Conflict, ...] = ()
    relation: Relation | None = None
    reworded: bool = False

    @property
    def matters(self) -> bool:
        """Whether both sides contradict each other: in words, or as a whole."""
        return bool(self.conflicts) or (self.relation is not None and self.relation.name == "contradicts")

    @property
    def renumbered(self) -> bool:
        """Whether it is in both versions and begins with another number or bullet."""
        return bool(self.left and self.right) and self.numbers[0] != self.numbers[1]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        conflicts = [
            {"kind": one.kind, "left": [[*span] for span in one.left], "right": [[*span] for span in one.right]}
            for one in self.conflicts
        ]
        return {
            "kind": self.kind,
            "was": self.was,
            "where": self.where,
            "matters": self.matters,
            "reworded": self.reworded,
            "edited": self.edited,
            "renumbered": self.renumbered,
            "numbers": [*self.numbers],
            "left": [*self.left],
            "right": [*self.right],
            "places": [None if place is None else [*place] for place in self.places],
            "texts": [*self.texts],
            "marks": {
                side: [[*span] for span in spans] for side, spans in zip(("left", "right"), self.marks, strict=True)
            },
            "conflicts": conflicts,
            "relation": None if self.relation is None else asdict(self.relation),
        }


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two versions of a document, block by block.

    >>> import whymatch as wm
    >>> compared = wm.compare("It begins in May. It ends in June.", "It ends in June. It begins in May.")
    >>> compared.verdict, compared.counts["moved"], compared.same
    ('1 passage moved; 1 unchanged.', 1, False)

    Args:
        left: the old text, with its blocks as spans.
        right: the new text, likewise.
        changes: what became of every block of both, those that matter first; each block is in exactly one.
        remarks: what a reader has to know, such as why relations were not read.
    """

    left: Document
    right: Document
    changes: tuple[Change, ...]
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Comparison({', '.join(f'{kind}={count}' for kind, count in self.counts.items() if count)})"

    @property
    def counts(self) -> Mapping[str, int]:
        """How many changes there are of each kind."""
        counts = Counter(change.kind for change in self.changes)
        return {kind: counts[kind] for kind in get_args(ChangeKind)}

    @property
    def same(self) -> bool:
        """Whether both versions have the same blocks in the same order, under the same numbers."""
        return all(change.kind == "same" and not change.renumbered for change in self.changes)

    @property
    def verdict(self) -> str:
        """What changed, in one sentence, what matters first."""
        from whymatch.show.changes import changes_in_words

        return changes_in_words([change.to_dict() for change in self.changes])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "format": FORMAT,
            "verdict": self.verdict,
            "counts": {**self.counts},
            "changes": [change.to_dict() for change in self.changes],
            "left": {"text": self.left.text, "spans": [[*span] for span in self.left.spans]},
            "right": {"text": self.right.text, "spans": [[*span] for span in self.right.spans]},
            "remarks": [*self.remarks],
        }

    def to_html(self, file: str | Path | None = None) -> str:
        """A page that needs nothing else: both versions side by side, what matters first, unchanged runs folded."""
        from whymatch.show.changes_page import changes_page

        text = changes_page(self.to_dict())
        if file is not None:
            write_whole(file, text)
        return text

    def _repr_html_(self) -> str:
        from whymatch.show.html import framed

        return framed(self.to_html(), "Comparison", 900)

    def __str__(self) -> str:
        from whymatch.show.changes import changes_as_text

        return changes_as_text(self.to_dict())
