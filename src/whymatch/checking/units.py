"""The sentences of an answer as models write them: without their markup, and apart from what claims nothing."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from whymatch.checking.result import NoClaim, NoClaimKind
from whymatch.text.document import Document
from whymatch.text.spans import Span, is_blank

_TITLE = r"^[ \t]*#{1,6}[ \t]+\S.*$|^[ \t]*\S.*\n[ \t]*={3,}[ \t]*$"
_BOLD_TITLE = r"^[ \t]*(?P<bold>\*\*|__)[^\n*_]{1,80}(?<![.!?])(?P=bold):?[ \t]*$(?=\n+[ \t]*\S)"
_RULE = r"^[ \t]*(?:\|[ \t]*)?:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*(?:\|[ \t]*)?$"
_TABLE_TITLE = rf"^[ \t]*\|.*\|[ \t]*$(?=\n{_RULE[1:]})"
TITLE = re.compile(f"{_TITLE}|{_BOLD_TITLE}", re.MULTILINE)
_HEADING = re.compile(f"{_TITLE}|{_BOLD_TITLE}|{_TABLE_TITLE}", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.MULTILINE)
_ITEM = r"^[ \t>]*(?:[-*+•‣◦▪–][ \t]+|\(?\d{1,3}[.)][ \t]+|\(?(?:[a-z]|[ivx]{2,4})\)[ \t]+)"
_STARTS = re.compile(rf"{_ITEM}(?=\S)|^[ \t]*\|", re.MULTILINE)
_COLON = re.compile(r"[:：][ \t*_]*\n")
_YEAR = r"\b(?:1[6-9]|20)\d\d"  # "In 1998 L. Page" has an initial
_UNIT = re.compile(
    rf"(?<=\d)[ \t]?(?:min|sec|hrs?|oz|lbs?|in|ft|[a-zµ]|(?<!{_YEAR})(?<!{_YEAR}[ \t])[LVW])\.\s+(?=[A-Z])"
)
_NAMED = r"(?:sources?|docs?|documents?|refs?|references?|passages?|citations?)"
_MARKUP = re.compile(
    rf"""{_ITEM}|^[ \t]*>[ \t>]*|^[ \t>]*\#{{1,6}}[ \t]+|{_RULE}|^[ \t]*={{3,}}[ \t]*$|^[ \t]*```.*$
    |\[\^?\d{{1,3}}(?:\s*[,;–-]\s*\^?\d{{1,3}})*\](?:\([^()\s]*\))?|【[^】【\n]{{0,200}}】|<sup>[^<\n]*</sup>|<br\s*/?>
    |[\[(]{_NAMED}(?:\s{{0,3}}:\s{{0,3}}[^\])\n]{{1,200}}|\s+\#?\d{{1,3}}(?:\s*(?:,|;|and|&)\s*\d{{1,3}})*)[\])]
    |\b(?:according\ to|as\ (?:stated|noted)\ in|based\ on)\ (?:the\ )?(?:(?:given|provided)\ )?
        (?:context|text|{_NAMED}\b(?:\ \d{{1,3}})?),?
    |(?<=\])\([^()\s]+\)|\*\*|__(?!\w{{1,80}}__)|~~|`+|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_LINK = re.compile(r"\[([^\[\]\n]+)\]\([^()\s]+\)")
_BEHIND_THE_END = "*_\"'”’»)]"
_LEADS_IN = re.compile(r"\W*(?:here|below|these|this|in (?:short|summary)|to summari[sz]e|the following|sure)\b", re.I)
_OFFER = re.compile(
    r"""\W*(?:
    (?:please\ )?(?:let\ me\ know|feel\ free\ to\ (?:ask|reach|contact|let))\b
    |(?:i\ )?hope\ (?:this|that|it)\ helps\b|(?:(?:i'?m|i\ am|i'd\ be|i\ would\ be)\s+)?(?:happy|glad)\ to\ help\b
    |if\ (?:you|there)\ (?:have|are|need|want|would\ like)\b[^.\d]{0,100}\b
        (?:questions?|help|assist\w*|clarif\w*|details?|information)
        \b[^.\d]{0,100}\b(?:just\ ask|please\ ask|ask\ me|let\ me\ know|reach\ out|feel\ free|happy\ to|i\ can)\b
    |(?:sure|certainly|of\ course|absolutely|great\ question|good\ question|thank\ you|thanks|you're\ welcome)\W*$
    |(?:thank\ you|thanks)\ for\ (?:your|the|asking)\b
    |(?:sure\W+|certainly\W+|of\ course\W+)?here(?:'s|’s|\ is|\ are)\ (?:(?:a|an|the|my|your|some)\ )?(?:[\w-]+\ ){0,2}
        (?:summary|overview|answer|list|breakdown|explanation|outline|points|steps|details)\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True)
class Unit:
    """A sentence or a clause of an answer: its characters, and its text with blanks in place of markup."""

    sentence: int
    span: Span
    text: str


def without_markup(text: str) -> str:
    """A text of the same length with blanks in place of list numbers, bullets, emphasis, links and citation marks.

    Bars between the cells of a row are commas.

    >>> without_markup("1. It lasts **5 days** [2].")
    '   It lasts   5 days      .'
    """
    text = _LINK.sub(lambda match: f" {match[1]}".ljust(len(match[0])), text)
    text = _ROW.sub(lambda match: f" {match[1].replace('|', ',')} ".rjust(len(match[0])), text)
    return _MARKUP.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def units(answer: str, split: Callable[[str], Document]) -> tuple[list[Unit], list[NoClaim]]:
    """The sentences of an answer that claim something, with their numbers, and those that claim nothing.

    Headings, questions, lead-ins that end in a colon, and offers claim nothing. An item of a list and a row of a table
    begin a new sentence.
    """
    plain = without_markup(answer)
    headings = [Span(*match.span()) for match in _HEADING.finditer(answer)]
    starts = [span.start for span in headings]
    cuts = {edge for span in headings for edge in span} | {match.start() for match in _STARTS.finditer(answer)}
    cuts |= {match.end() for match in _COLON.finditer(plain)} | unit_ends(plain)
    claims, others = list[Unit](), list[NoClaim]()
    for number, span in enumerate(cut_spans(plain, split(plain).spans, sorted(cuts))):
        text = plain[span.start : span.end]
        heading = headings[bisect_right(starts, span.start) - 1] if headings else Span(0, 0)
        kind = "heading" if heading.start <= span.start < heading.end else claims_nothing(text)
        if kind is None:
            claims.append(Unit(number, span, text))
        else:
            others.append(NoClaim(span, answer[span.start : span.end], kind))
    return claims, others


def unit_ends(text: str) -> set[int]:
    """Where sentences end in a number with a unit and a point, which may look like an abbreviation or an initial."""
    return {match.end() for match in _UNIT.finditer(text)}


def cut_spans(text: str, spans: tuple[Span, ...], cuts: list[int]) -> Iterator[Span]:
    """The spans, cut at these places, without blanks around them; those without a letter or digit are left out.

    The places are in ascending order.
    """
    for start, end in spans:
        inner = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
        for a, b in pairwise([start, *inner, end]):
            piece = text[a:b]
            if not is_blank(piece) and any(map(str.isalnum, piece)):
                yield Span(a + len(piece) - len(piece.lstrip()), a + len(piece.rstrip()))


def claims_nothing(text: str) -> NoClaimKind | None:
    """What a sentence is that claims nothing, or None for a claim."""
    end = next((sign for sign in reversed(text) if not sign.isspace() and sign not in _BEHIND_THE_END), "")
    if end and end in "?？؟":
        return "question"
    if end and end in ":：" and (_LEADS_IN.match(text) or not any(map(str.isdigit, text))):
        return "lead-in"
    return "offer" if _OFFER.match(text) else None
