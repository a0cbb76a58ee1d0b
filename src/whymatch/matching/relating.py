"""Reads what the links of alignments mean: their relation by a model, the words in conflict by rules."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from whymatch.interruption import interruption_point
from whymatch.matching.alignment import Alignment
from whymatch.matching.parts import Link
from whymatch.matching.relations import Relation, RelationReader
from whymatch.text.languages import language, leans_to_another, may_be_english

if TYPE_CHECKING:
    from whymatch.matching.aligner import Aligner
    from whymatch.matching.conflicts import Conflict

NOT_ENGLISH = "Relations and conflicts were not read: the texts do not look English."
TOO_LONG = "Relations and conflicts were not read of links whose spans have more than 2,000 characters."
MAX_CHARACTERS = 2000  # of a span whose relation is read
SAME_WORD = 0.3
"""The calibrated cost below which two words that are aligned mean the same; others only stand in the same place."""
MAX_WORDS = 300  # of a span whose words are compared for conflicts
_RULED_OUT = 0.005  # the probability of a contradiction below which words of these kinds are in no conflict
_KINDS_RULED_OUT = ("antonym", "role")


def related(
    alignments: Sequence[Alignment], reader: RelationReader, word_aligner: "Callable[[], Aligner]"
) -> list[Alignment]:
    """The alignments with the relation and the conflicts of every link, all of them read in one batch.

    Texts that do not look English, and links of long spans, stay as they are, with a remark that says so.
    """
    english = [bool(why.links) and looks_english(why.left.text, why.right.text) for why in alignments]
    texts = {
        (number, place): link.texts
        for number, why in enumerate(alignments)
        if english[number]
        for place, link in enumerate(why.links)
        if max(map(len, link.texts)) <= MAX_CHARACTERS
    }
    pairs = [*texts.values()]
    relations = reader.relations(pairs) if pairs else []
    in_conflict = pair_conflicts(pairs, relations, word_aligner()) if pairs else []
    meanings = dict(zip(texts, zip(relations, in_conflict, strict=True), strict=True))
    return [
        _with_meanings(
            why,
            [meanings.get((number, place)) for place in range(len(why.links))],
            TOO_LONG if english[number] else NOT_ENGLISH,
        )
        for number, why in enumerate(alignments)
    ]


def looks_english(left: str, right: str) -> bool:
    """Whether two texts may be English: neither is known to be in another language.

    >>> looks_english("Take five milligrams of it.", "Nimm fünf Milligramm davon, und zwar dreimal am Tag.")
    False
    >>> looks_english("Take five milligrams of it, three times a day.", "5 mg")
    True
    """
    each = (language(text) == "en" or not (language(text) or leans_to_another(text)) for text in (left, right))
    return all(each) and may_be_english(f"{left}\n{right}")


def pair_conflicts(
    pairs: Sequence[tuple[str, str]], relations: Sequence[Relation | None], word_aligner: "Aligner"
) -> "list[tuple[Conflict, ...]]":
    """The conflicts of each pair of spans that its relation confirms, if that was read.

    There are none where a span has too many words to be compared.
    """
    aligned = word_aligner.outcomes(pairs, links_only=True)
    return [
        confirmed(_conflicts_inside(pair, why, relation), relation)
        for pair, relation, why in zip(pairs, relations, aligned, strict=True)
    ]


def confirmed(in_conflict: "Sequence[Conflict]", relation: Relation | None) -> "tuple[Conflict, ...]":
    """The conflicts of two spans without opposites and exchanged roles that the model rules out.

    Rules see that words changed places or are opposites, and the model whether that says something else: "the winner is
    Maria" and "Maria is the winner" agree, and so do "Tom is taller than Jim" and "Jim is shorter than Tom".
    """
    if relation is None or relation.probabilities["contradicts"] >= _RULED_OUT:
        return tuple(in_conflict)
    return tuple(one for one in in_conflict if one.kind not in _KINDS_RULED_OUT)


def _conflicts_inside(
    pair: tuple[str, str], words: Alignment | ValueError, relation: Relation | None
) -> "tuple[Conflict, ...]":
    from whymatch.matching.conflicts import conflicts

    interruption_point()
    if isinstance(words, ValueError) or max(len(words.left), len(words.right)) > MAX_WORDS:
        return ()
    links = [(link.left, link.right, link.cost) for link in words.links]
    same = [link[:2] for link in links if link[2] < SAME_WORD]
    contradictory = relation is not None and relation.name == "contradicts"
    return conflicts(*pair, [link[:2] for link in links], same=same, contradictory=contradictory)


def _with_meanings(
    why: Alignment, meanings: "Sequence[tuple[Relation, tuple[Conflict, ...]] | None]", reason: str
) -> Alignment:
    """The alignment with the meaning of each link, and the reason as a remark where a link has none."""
    links = [
        link if meaning is None else _link(link, *meaning) for link, meaning in zip(why.links, meanings, strict=True)
    ]
    remarks = (*why.remarks, reason) if None in meanings else why.remarks
    return replace(why, links=tuple(links), remarks=remarks)


def _link(link: Link, relation: Relation, in_conflict: "tuple[Conflict, ...]") -> Link:
    moved = tuple(conflict.moved(link.left.start, link.right.start) for conflict in in_conflict)
    return replace(link, relation=relation, conflicts=moved)
