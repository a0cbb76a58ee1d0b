"""What edited passages of two versions say of each other: their relation, and the words that contradict."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from whymatch.matching.conflicts import Conflict
from whymatch.matching.defaults import word_aligner
from whymatch.matching.relating import NOT_ENGLISH, looks_english, pair_conflicts
from whymatch.matching.relations import Relation, shipped_reader
from whymatch.text.spans import Span
from whymatch.versions.comparison import Change


def with_meaning(changes: Sequence[Change], wordings: Sequence[tuple[str, str]]) -> tuple[list[Change], list[str]]:
    """The changes with the conflicts of those that were edited, and with the relation where one block stayed one.

    The network that reads relations knows sentences: it often sees a contradiction where one was cut in two.

    Args:
        changes: passages that belong together.
        wordings: both sides of each, character by character in its place.

    Returns:
        The changes, and a remark where nothing could be read.
    """
    edited = [number for number, change in enumerate(changes) if change.edited]
    reader = shipped_reader()
    if edited and reader.missing is not None:
        return [*changes], [f"Relations and conflicts were not read: {reader.missing}"]
    old, new = ("\n".join(wordings[number][side] for number in edited) for side in (0, 1))
    if not looks_english(old, new):
        return [*changes], [NOT_ENGLISH]
    if not edited:
        return [*changes], []
    alone = [number for number in edited if len(changes[number].left) == len(changes[number].right) == 1]
    relations = dict(zip(alone, reader.relations([wordings[number] for number in alone]), strict=True))
    edits = [wordings[number] for number in edited]
    conflicts = pair_conflicts(edits, [relations.get(number) for number in edited], word_aligner())
    read = dict(zip(edited, conflicts, strict=True))
    return [
        _with(change, relations.get(number), read[number]) if number in read else change
        for number, change in enumerate(changes)
    ], []


def _with(change: Change, relation: Relation | None, conflicts: Iterable[Conflict]) -> Change:
    """The change with its relation and those conflicts in which a word differs."""
    left, right = change.places
    assert left is not None
    assert right is not None
    moved = (one.moved(left.start, right.start) for one in conflicts)
    differ = tuple(one for one in moved if any(map(_overlap, (one.left, one.right), change.marks)))
    return replace(change, relation=relation, conflicts=differ)


def _overlap(spans: Sequence[Span], marks: Sequence[Span]) -> bool:
    return any(a.start < b.end and b.start < a.end for a in spans for b in marks)
