"""Whether two wordings may say the same, by what is certain from their words alone."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from whymatch.matching.conflicts.correspondence import FUNCTION_WORDS
from whymatch.text.antonyms import lemmas
from whymatch.text.spans import Span, words
from whymatch.versions.words import Marks

_QUALIFIERS = {
    word: number
    for number, line in enumerate(
        """all every each everyone everybody everything
        any anyone anybody anything
        both
        either
        most mostly mainly primarily
        some certain
        several
        many much numerous
        few little
        more
        less fewer
        least minimum
        maximum
        half
        only solely exclusively merely
        very highly extremely
        approximately roughly nearly almost
        exactly precisely
        always
        usually generally normally typically
        often frequently
        sometimes occasionally
        rarely seldom
        partly partially
        fully entirely completely wholly
        except excluding unless
        temporarily
        permanently""".splitlines()
    )
    for word in line.split()
}
"""Words that say of how much a sentence holds, or how far; those of one number say the same."""
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3}|`)(?=\S)([^*_`\r\n]{1,200})(?<=\S)\1(?![\w*])")  # linear: bounded


def only_emphasis_differs(left: str, right: str) -> bool:
    """Whether two wordings are equal without the emphasis of Markdown.

    >>> only_emphasis_differs("The **rent** is _due_.", "The rent is due."), only_emphasis_differs("5*", "5")
    (True, False)
    """
    plain = [_EMPHASIS.sub(r"\2", text) for text in (left, right)]
    lefts, rights = ([text[start:end] for start, end in words(text)] for text in plain)
    return lefts == rights


def may_say_the_same(left: str, right: str, marks: Marks) -> bool:
    """Whether nothing was added, taken out, or limited in another way.

    It was where a place that one side leaves empty has a content word that the other has nowhere, and where one side
    has other words such as "all", "most" and "only".

    >>> from whymatch.versions.words import differing
    >>> pairs = [("All pay.", "Every one pays."), ("All pay.", "Most pay."), ("10 days", "10 working days")]
    >>> [may_say_the_same(*pair, differing(*pair)) for pair in pairs]
    [True, False, False]
    """
    sides = [[text[start:end].lower() for start, end in words(text)] for text in (left, right)]
    qualifiers = [Counter(_QUALIFIERS[word] for word in side if word in _QUALIFIERS) for side in sides]
    if qualifiers[0] != qualifiers[1]:
        return False
    known = [{form for word in side for form in _forms(word)} for side in sides]
    for own, other in _hunks((left, right), marks):
        content = [_new(own, known[1]), _new(other, known[0])]
        if (content[0] and not _content(other)) or (content[1] and not _content(own)):
            return False
    return True


def _hunks(texts: tuple[str, str], marks: Marks) -> Iterator[tuple[list[str], list[str]]]:
    """The words of both sides that differ, in lower case, between each two words that were kept."""
    gaps: list[list[list[str]]] = [[[]], [[]]]
    for text, own, side in zip(texts, marks, gaps, strict=True):
        for start, end in words(text):
            if _inside(start, own):
                side[-1].append(text[start:end].lower())
            else:
                side.append([])
    return zip(*gaps, strict=True)


def _inside(place: int, spans: Sequence[Span]) -> bool:
    return any(start <= place < end for start, end in spans)


def _content(own: Sequence[str]) -> list[str]:
    return [word for word in own if word not in FUNCTION_WORDS and any(map(str.isalnum, word))]


def _new(own: Sequence[str], known: set[str]) -> list[str]:
    """The content words that the other side has nowhere."""
    return [word for word in _content(own) if known.isdisjoint(_forms(word))]


def _forms(word: str) -> set[str]:
    return {word, *lemmas(word)}
