"""Numbers of clauses, lists and sections, told from numbers that are words of a sentence by their sequence."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

_LABEL = re.compile(
    r"""[ \t]*(?P<hash>[#>]+[ \t]+)?(?:\*\*|__)?(?P<label>
        (?P<word>§§?|article|section|clause|chapter|part|schedule|annex|appendix|exhibit)[ \t]*
            (?:\d{1,4}(?:\.\d{1,4})*[a-z]?|[ivxlc]{1,8}|[a-z])\b(?:\((?:\d{1,4}|[a-z]{1,6})\))*
        | \d{1,3}(?:\.\d{1,3})+[.)]? | \d{1,3}[.)] | [a-z][.)] | [ivxlc]{1,6}[.)]
        | \((?:\d{1,3}|[a-z]|[ivxlc]{1,6})\)
    )(?=[ \t\r\n]|\*\*|__|$|[:.–—-])(?P<mark>[:.–—-]*)(?P<bold>\*\*|__)?(?P<blank>[ \t]*)""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_BULLET = re.compile(r"[ \t]*[-*+•–·‣◦][ \t]+")
_PARTS = re.compile(r"\d+|[a-z]+", re.IGNORECASE | re.ASCII)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_MOST_PARTS = 8  # of a number such as 3.1.2

_Path: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Number:
    """What may be the number of a clause at the beginning of a piece of text.

    Args:
        label: as it stands, without the mark behind it.
        body: where the text after it begins; the end of the piece, if there is none.
        style: what the numbers of one list have in common: their bullet, brackets and word.
        readings: ways to read it, each a kind of numeral and its parts, such as ("1", (3, 2)); none where it is none.
        titled: whether its shape is that of a heading's number: behind "#" or a word such as "Article".
    """

    label: str
    body: int
    style: str
    readings: tuple[tuple[str, _Path], ...]
    titled: bool


def starts_numbered(line: str) -> bool:
    """Whether a line begins as one with a number or a bullet does, so that it does not go on the line before it."""
    return bool(_LABEL.match(line) or _BULLET.match(line))


def after_bullet(text: str, start: int, end: int) -> int:
    """Where a piece begins after its bullet; a bullet alone begins with itself."""
    bullet = _BULLET.match(text, start, end)
    return bullet.end() if bullet and bullet.end() < end else start


def number_at(text: str, start: int, end: int) -> Number | None:
    """What may be a number at the beginning of a piece, behind its bullet.

    A decimal or a word such as "Article" without a mark behind its number is none before a small letter: "2.5 percent",
    "Clause 5 applies".

    >>> number_at("3.2 Rent", 0, 8).readings, number_at("5.5.2024 is a Sunday", 0, 20), number_at("1.5 km", 0, 6)
    ((('1', (3, 2)),), None, None)
    """
    bullet = _BULLET.match(text, start, end)
    match = _LABEL.match(text, bullet.end() if bullet else start, end)
    if match is None or not (match["blank"] or match["bold"] or match.end() >= end or text[match.end()] in "\r\n"):
        return None
    label = " ".join(match["label"].split())
    bare = not match["mark"] and label[-1] not in ".)" and not match["bold"]
    after = text[match.end() : end].lstrip(" \t\r\n\"'“‘([*_")[:1]
    if bare and after.islower():
        return None
    shape = re.sub(r"[\da-z]+", "", label.lower().removeprefix((match["word"] or "").lower()).replace(".", ""))
    style = f"{'-' if bullet else ''} {(match['word'] or '').lower()} {shape}"
    label = label if "(" in label else label.rstrip(".)")
    return Number(label, match.end(), style, tuple(_readings(match)), bool(match["hash"] or match["word"]))


def _readings(match: re.Match[str]) -> Iterator[tuple[str, _Path]]:
    """As digits, or as a letter and as a Roman numeral; behind the first part letters are the places of letters."""
    digits = match["label"][len(match["word"] or "") :]
    first, *rest = _PARTS.findall(digits)[:_MOST_PARTS]
    if any(len(part) > 1 and part.startswith("0") for part in (first, *rest)):
        return  # as in 12.05. and 2.50
    path = tuple(int(part) if part.isdigit() else ord(part[0].lower()) - 96 for part in rest)
    if first.isdigit():
        yield "1", (int(first), *path)
        return
    case = "a" if first.islower() else "A"
    if len(first) == 1:
        yield case, (ord(first.lower()) - 96, *path)
    if {*first.lower()} <= {*_ROMAN}:
        values = [_ROMAN[one] for one in first.lower()]
        signed = [-a if a < b else a for a, b in pairwise([*values, 0])]
        yield f"roman {case}", (sum(signed), *path)


def in_sequence(numbers: Sequence[Number | None]) -> list[bool]:
    """Which numbers of a text, in order, follow the one before or go before the next, in the style of both.

    >>> lines = "1. Rent", "1.1 Gas", "A. Smith", "2. Keys", "9. Dogs"
    >>> in_sequence([number_at(line, 0, len(line)) for line in lines])
    [True, True, False, True, False]
    """
    sure = [False] * len(numbers)
    last: dict[tuple[str, str, int], tuple[int, _Path]] = {}
    for place, number in enumerate(numbers):
        for kind, path in number.readings if number else ():
            for depth in (0, len(path)):  # the last of any depth, and of the same
                before = last.get((number.style, kind, depth)) if number else None
                if before is not None and follows(before[1], path):
                    sure[before[0]] = sure[place] = True
        for kind, path in number.readings if number else ():
            assert number is not None
            last[number.style, kind, 0] = last[number.style, kind, len(path)] = place, path
    return sure


def follows(first: _Path, second: _Path) -> bool:
    """Whether a number stands right behind another: 3.2 behind 3.1, 4 and 4.1 behind 3.2, 3.1.1 behind 3.1.

    >>> [follows((3, 1), second) for second in ((3, 2), (4,), (4, 1), (3, 1, 1), (3, 3), (5, 1), (3, 1))]
    [True, True, True, True, False, False, False]
    """
    common = next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(map(len, (first, second)))
    )
    if len(second) == common:
        return False
    step = second[common] - first[common] if common < len(first) else second[common]
    return step == 1 and all(part == 1 for part in second[common + 1 :])


def agreed(
    left: Sequence[tuple[Number, bool, str] | None], right: Sequence[tuple[Number, bool, str] | None]
) -> tuple[list[bool], list[bool]]:
    """Which numbers of two versions are those of clauses: also where only the other version says so.

    That is where the other version has, in the same style, the same number or the same words behind a number that is
    sure. Each number comes with whether it is, and with the words behind it.
    """
    known = [{key for one in side if one and one[1] for key in _keys(one)} for side in (left, right)]
    flags = [
        [one is not None and (one[1] or not other.isdisjoint(_keys(one))) for one in side]
        for side, other in ((left, known[1]), (right, known[0]))
    ]
    return flags[0], flags[1]


def _keys(one: tuple[Number, bool, str]) -> tuple[tuple[str, str, str], ...]:
    number, _, behind = one
    return (number.style, "number", number.label), (number.style, "words", behind)
