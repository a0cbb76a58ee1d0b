"""Reads what the links of alignments mean: their relation by a model, the words in conflict by rules."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from whymatch.matching.alignment import Alignment
from whymatch.matching.conflicts import Conflict, conflicts
from whymatch.matching.parts import Link
from whymatch.matching.relations import Relation, RelationReader
from whymatch.text.languages import language, may_be_english

if TYPE_CHECKING:
    from whymatch.matching.aligner import Aligner

NOT_ENGLISH = "Relations and conflicts were not read: the texts do not look English."


def related(
    alignments: Sequence[Alignment], reader: RelationReader, word_aligner: "Callable[[], Aligner]"
) -> list[Alignment]:
    """The alignments with the relation and the conflicts of every link, all of them read in one batch.

    Texts that do not look English keep their links as they are, with a remark that says so.
    """
    read = [bool(why.links) and looks_english(why.left.text, why.right.text) for why in alignments]
    pairs = [link.texts for why, chosen in zip(alignments, read, strict=True) if chosen for link in why.links]
    relations = iter(reader.relations(pairs) if pairs else ())
    in_conflict = iter(_conflicts(pairs, word_aligner()) if pairs else ())
    return [
        _with_meaning(why, [(next(relations), next(in_conflict)) for _ in why.links]) if chosen else _unread(why)
        for why, chosen in zip(alignments, read, strict=True)
    ]


def looks_english(left: str, right: str) -> bool:
    """Whether two texts may be English: neither is known to be in another language.

    >>> looks_english("Take five milligrams of it.", "Nimm fünf Milligramm davon, und zwar dreimal am Tag.")
    False
    >>> looks_english("Take five milligrams of it, three times a day.", "5 mg")
    True
    """
    return all(language(text) in ("en", None) for text in (left, right)) and may_be_english(f"{left}\n{right}")


def _conflicts(pairs: Sequence[tuple[str, str]], word_aligner: "Aligner") -> list[tuple[Conflict, ...]]:
    """The conflicts of each pair of spans; none where a span has too many words to be aligned."""
    inside = word_aligner.outcomes(pairs, links_only=True)
    return [
        conflicts(*pair, [(link.left, link.right) for link in why.links]) if isinstance(why, Alignment) else ()
        for pair, why in zip(pairs, inside, strict=True)
    ]


def _with_meaning(why: Alignment, meanings: Sequence[tuple[Relation, tuple[Conflict, ...]]]) -> Alignment:
    links = [_link(link, *meaning) for link, meaning in zip(why.links, meanings, strict=True)]
    return replace(why, links=tuple(links))


def _link(link: Link, relation: Relation, in_conflict: tuple[Conflict, ...]) -> Link:
    moved = tuple(conflict.moved(link.left.start, link.right.start) for conflict in in_conflict)
    return replace(link, relation=relation, conflicts=moved)


def _unread(why: Alignment) -> Alignment:
    return replace(why, remarks=(*why.remarks, NOT_ENGLISH)) if why.links else why
