"""What edited passages of two versions say of each other: their relation, and the words that contradict."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from whymatch.matching.conflicts import Conflict
from whymatch.matching.defaults import word_aligner
from whymatch.matching.relating import MAX_CHARACTERS, NOT_ENGLISH, looks_english, pair_conflicts
from whymatch.matching.relations import Relation, shipped_reader
from whymatch.text.spans import Span
from whymatch.versions.comparison import Change
from whymatch.versions.rewording import may_say_the_same

TOO_LONG = f"Relations and conflicts were not read of passages with more than {MAX_CHARACTERS:,} characters."
_NUMBER = re.compile(r"\d[\d.,]*")
_CLAUSE_ENDS = re.compile(r"[,;:.!?]\s|\b(?:and|or|but)\b", re.IGNORECASE)


def with_meaning(changes: Sequence[Change], wordings: Sequence[tuple[str, str]]) -> tuple[list[Change], list[str]]:
    """The changes with the conflicts of those that were edited, and with the relation where one block stayed one.

    The network that reads relations knows sentences: it often sees a contradiction where one was cut in two.

    Args:
        changes: passages that belong together.
        wordings: both sides of each, character by character in its place.

    Returns:
        The changes, and a remark where something could not be read: passages that are too long are left as they are.
    """
    edited = [number for number, change in enumerate(changes) if change.edited and not change.reworded]
    reader = shipped_reader()
    if edited and reader.missing is not None:
        return [*changes], [f"Relations and conflicts were not read: {reader.missing}"]
    old, new = ("\n".join(wordings[number][side] for number in edited) for side in (0, 1))
    if not looks_english(old, new):
        return [*changes], [NOT_ENGLISH]
    if not edited:
        return [*changes], []
    short = [number for number in edited if max(map(len, wordings[number])) <= MAX_CHARACTERS]
    remarks = [TOO_LONG] if len(short) < len(edited) else []
    edited = short
    alone = [number for number in edited if len(changes[number].left) == len(changes[number].right) == 1]
    relations = dict(zip(alone, reader.relations([wordings[number] for number in alone]), strict=True))
    edits = [wordings[number] for number in edited]
    conflicts = pair_conflicts(edits, [relations.get(number) for number in edited], word_aligner())
    read = dict(zip(edited, conflicts, strict=True))
    return [
        _with(change, relations.get(number), read[number], wordings[number]) if number in read else change
        for number, change in enumerate(changes)
    ], remarks


def _with(change: Change, relation: Relation | None, conflicts: Iterable[Conflict], wording: tuple[str, str]) -> Change:
    """The change with its relation and those conflicts in which a word differs."""
    left, right = change.places
    assert left is not None
    assert right is not None
    moved = [one.moved(left.start, right.start) for one in conflicts]
    differ = tuple(one for one in moved if any(map(_overlap, (one.left, one.right), change.marks)))
    if _cancel(differ, relation, change):
        differ = ()
    marks = tuple(
        tuple(Span(a - place.start, b - place.start) for a, b in own)
        for place, own in zip((left, right), change.marks, strict=True)
    )
    same = relation is not None and relation.name == "same" and not differ
    reworded = same and may_say_the_same(*wording, (marks[0], marks[1]))
    return replace(change, relation=relation, conflicts=differ, reworded=reworded)


def _cancel(conflicts: Sequence[Conflict], relation: Relation | None, change: Change) -> bool:
    """Whether a negation and the other bound of the same number are all that differs: "below 5", "not above 5".

    The negation has to stand before the number, in the same part of the sentence.
    """
    negations, numbers = ([one for one in conflicts if one.kind == kind] for kind in ("negation", "number"))
    if not (len(conflicts) == 2 and len(negations) == len(numbers) == 1):
        return False
    if relation is not None and relation.name == "contradicts":
        return False
    texts = [
        text[span.start - place.start : span.end - place.start]
        for text, place, spans in zip(change.texts, change.places, (numbers[0].left, numbers[0].right), strict=True)
        for span in spans
        if place is not None
    ]
    values = [_NUMBER.findall(text) for text in texts]
    if len(values) != 2 or not values[0] or values[0] != values[1]:
        return False
    side = 0 if negations[0].left else 1
    place = change.places[side]
    assert place is not None
    start = (negations[0].left or negations[0].right)[0].end - place.start
    end = (numbers[0].left, numbers[0].right)[side][0].start - place.start
    return start <= end and not _CLAUSE_ENDS.search(change.texts[side][start:end])


def _overlap(spans: Sequence[Span], marks: Sequence[Span]) -> bool:
    return any(a.start < b.end and b.start < a.end for a in spans for b in marks)
