"""The changes between two versions, in words and for a terminal, from a comparison's dictionary."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING, Any

from whymatch.show.words import SIGNS, percent, plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SIDES = ("left", "right")
KIND_SIGNS = {"same": "=", "moved": "↕", "changed": "~", "split": "⇉", "merged": "⇇", "new": "+", "missing": "−"}
"""The kinds of changes, and the sign of each; what matters has the sign of a contradiction."""
KIND_NAMES = {"missing": "deleted"}
_CONFLICTS = {"number": "a number", "date": "a date", "name": "a name", "negation": "a negation"}
_CONFLICTS |= {"antonym": "an opposite", "role": "exchanged roles"}
_STYLES = {"new": "green", "missing": "red", "moved": "blue", "same": "dim"}
_MOST_NAMED = 4  # changes that matter which the verdict names one by one
Change = Mapping[str, Any]


def changes_in_words(changes: Sequence[Change]) -> str:
    """What changed, in one sentence, what matters first.

    >>> changes_in_words([])
    'Both versions are empty.'
    """
    if not changes:
        return "Both versions are empty."
    matter = [change for change in changes if change["matters"]]
    parts = [_counted(change for change in changes if not change["matters"])]
    unchanged = sum(change["kind"] == "same" for change in changes)
    if matter:
        counts = Counter(map(_named, matter))
        named = [name if count == 1 else f"{name} ({count}×)" for name, count in [*counts.items()][:_MOST_NAMED]]
        more = sum([*counts.values()][_MOST_NAMED:])
        named += [f"{more} more"] if more else []
        noun = "1 change that matters" if len(matter) == 1 else f"{len(matter)} changes that matter"
        parts.insert(0, f"{noun}: {', '.join(named)}")
    if unchanged == len(changes):
        return f"Both versions have the same words: {unchanged_in_words(changes, _MOST_NAMED)}."
    parts.append(
        unchanged_in_words(changes, _MOST_NAMED).replace(" passages", "").replace(" passage", "") if unchanged else ""
    )
    sentence = "; ".join(filter(None, parts)) + "."
    return sentence[0].upper() + sentence[1:]


def unchanged_in_words(changes: Sequence[Change], most: int | None = None) -> str:
    """How many passages are the same, and the numbers of those that have another; at most so many of them.

    >>> unchanged_in_words([{"kind": "same", "renumbered": True, "numbers": ["5.", "6."]}])
    '1 passage unchanged (1 renumbered: 5. → 6.)'
    """
    same = [change for change in changes if change["kind"] == "same"]
    numbers = [renumbered_in_words(change) for change in same if change["renumbered"]]
    more = f" and {len(numbers) - most} more" if most is not None and len(numbers) > most else ""
    named = f" ({len(numbers)} renumbered: {', '.join(numbers[:most])}{more})" if numbers else ""
    return _passages(len(same), "unchanged") + named


def renumbered_in_words(change: Change) -> str:
    """The number or bullet that a passage had, and the one that it has: "5. → 6."."""
    return " → ".join(plain(number) or "none" for number in change["numbers"])


def _counted(changes: Iterator[Change]) -> str:
    """How many passages were moved, deleted and so on; runs that moved together count once."""
    counts = Counter[str]()
    for run in together([*changes]):
        counts[state(run[0])] += 1 if run[0]["kind"] == "moved" else len(run)
    names = ("deleted", "new", "changed", "moved and edited", "moved", "split", "merged", "reworded")
    counted = [(name, counts[name]) for name in names if counts[name]]
    return ", ".join(
        _passages(count, name) if number == 0 else f"{count} {name}" for number, (name, count) in enumerate(counted)
    )


def _passages(count: int, name: str) -> str:
    return f"1 passage {name}" if count == 1 else f"{count} passages {name}"


def _named(change: Change) -> str:
    """What contradicts in a change, and where: "a number in 2.1"."""
    kinds = dict.fromkeys(_CONFLICTS[one["kind"]] for one in change["conflicts"])
    return f"{' and '.join(kinds) or 'a contradiction'} in {change['where'] or change['was']}"


def state(change: Change) -> str:
    """What became of a passage, in a word or two."""
    kind: str = change["kind"]
    if kind == "moved" and change["edited"]:
        return "moved and edited"
    if kind == "changed" and change["reworded"]:
        return "reworded"
    return KIND_NAMES.get(kind, kind)


def title(change: Change) -> str:
    """Where a passage is and was, and what became of it: "6.2 → 2.3, moved"."""
    places = [change["was"], change["where"]]
    where = " → ".join(places) if all(places) and places[0] != places[1] else places[1] or places[0]
    already_said = not change["renumbered"] or (
        places[0] != places[1] and places == [number.rstrip(".") for number in change["numbers"]]
    )
    return plain(f"{where}, {state(change)}") + ("" if already_said else f", renumbered {renumbered_in_words(change)}")


def sign(change: Change) -> str:
    """One character for a change."""
    return SIGNS["contradicts"] if change["matters"] else KIND_SIGNS[change["kind"]]


def conflict_lines(change: Change) -> list[str]:
    """The words of a change that contradict each other: "number: 24 months → 36 months"."""
    starts = [0 if place is None else place[0] for place in change["places"]]
    lines = []
    for one in change["conflicts"]:
        sides = [
            " … ".join(
                plain(change["texts"][side][start - starts[side] : end - starts[side]]) for start, end in one[name]
            )
            for side, name in enumerate(SIDES)
        ]
        both = (
            f"{sides[0]} → {sides[1]}" if all(sides) else f"{sides[0]} (deleted)" if sides[0] else f"{sides[1]} (added)"
        )
        lines.append(f"{one['kind']}: {both}")
    if change["matters"] and not lines:
        lines.append(f"read as a contradiction ({percent(change['relation']['probabilities']['contradicts'])})")
    return lines


def together(changes: Sequence[Change]) -> list[list[Change]]:
    """Changes in runs: those of the same kind whose blocks follow one another in both versions."""
    runs: list[list[Change]] = []
    for change in sorted(changes, key=lambda one: (one["right"] or [-1], one["left"])):
        last = runs[-1][-1] if runs else None
        if last is not None and state(last) == state(change) and _follows(last, change):
            runs[-1].append(change)
        else:
            runs.append([change])
    return runs


def _follows(last: Change, change: Change) -> bool:
    return all(last[side] and change[side] and change[side][0] == last[side][-1] + 1 for side in SIDES)


def in_reading_order(changes: Sequence[Change]) -> list[Change]:
    """The changes in the order of the new version; what is missing stands behind what it followed in the old one."""
    in_place = [change for change in changes if change["right"] and change["kind"] != "moved"]
    behind = {n: change["right"][0] for change in in_place for n in change["left"]}
    last, place = -1, dict[int, int]()
    for number in range(1 + max((n for change in changes for n in change["left"]), default=-1)):
        last = behind.get(number, last)
        place[number] = last
    return sorted(
        changes,
        key=lambda one: (one["right"][0], 0, 0) if one["right"] else (place[one["left"][0]], 1, one["left"][0]),
    )


def changes_as_text(comparison: Mapping[str, Any]) -> str:
    """A comparison as plain text."""
    from rich.console import Console

    lines = StringIO()
    print_changes(comparison, Console(file=lines, width=120, highlight=False, no_color=True))
    return lines.getvalue().rstrip()


def print_changes(comparison: Mapping[str, Any], console: "Console") -> None:
    """The verdict; then like a diff every change in the order of the new version, with unchanged runs left out."""
    from rich.text import Text

    console.print(Text(plain(comparison["verdict"]), "bold"), soft_wrap=True)
    for remark in comparison["remarks"]:
        console.print(Text("Note: ", "bold") + Text(plain(remark)), soft_wrap=True)
    ordered = in_reading_order(comparison["changes"])
    for unchanged, run in groupby(ordered, lambda one: one["kind"] == "same"):
        own = [*run]
        if unchanged:
            console.print(Text(f"  … {unchanged_in_words(own)}", "dim"))
            continue
        for change in own:
            for line in _diff(change):
                console.print(line, soft_wrap=True)


def _diff(change: Change) -> "Iterator[Text]":
    """The lines of one change: its title, the words in conflict, and both texts with the words that differ."""
    from rich.text import Text

    style = "bold red" if change["matters"] else _STYLES.get(change["kind"], "yellow")
    yield Text(f"@ {sign(change)} {title(change)}", style)
    for line in conflict_lines(change):
        yield Text(f"  {SIGNS['contradicts']} {line}", "bold red")
    if change["kind"] == "moved" and not change["edited"]:
        yield Text(f"  {plain(change['texts'][1])}", "dim")
        return
    for side, mark, colour in ((0, "-", "red"), (1, "+", "green")):
        if change["places"][side] is not None:
            yield Text(f"{mark} ", colour) + _marked(change, side, colour)


def _marked(change: Change, side: int, colour: str) -> "Text":
    """A text with the words that differ in brackets."""
    from rich.text import Text

    text, start = change["texts"][side], change["places"][side][0]
    line, end = Text(), 0
    for first, last in change["marks"][SIDES[side]]:
        line += Text(_spaced(text[end : first - start]), colour)
        line += Text(f"[{plain(text[first - start : last - start])}]", f"bold reverse {colour}")
        end = last - start
    return line + Text(_spaced(text[end:]), colour)


def _spaced(text: str) -> str:
    """One line, with the blanks around it."""
    if not text.strip():
        return " " if text else ""
    return f"{' ' * text[0].isspace()}{plain(text)}{' ' * text[-1].isspace()}"
