"""Sentence boundaries of languages other than English: what sentencex misses there, and what it cuts too much."""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

# What stands before an ordinal number in German: "am 3. Mai", "im 19. Jahrhundert".
_BEFORE_ORDINAL = (
    r"\b(?:am|der|den|dem|des|die|das|im|ins|vom|zum|zur|beim|ab|bis|seit|jede[rnms]?|und|oder|"
    r"frühen|späten|Ende|Anfang|Mitte|Heinrich|Ludwig)(?:\s+|\s*[–-]\s*)"
)
_AFTER_ORDINAL = (
    r"(?:Jän|Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Jahrhundert|Jahrtausend|Klasse|Lebensjahr|Auflage|"
    r"Weltkrieg|Platz|Bezirk|Präsident|Geburtstag|Jahrestag|Duke|Kapitel)"
)
_ORDINAL = re.compile(rf"(?i:{_BEFORE_ORDINAL})\d{{1,3}}\.\s*$")
_NUMBER_AT_END = re.compile(r"(?<!\S)\d{1,2}\.\s*$")
# A number, letter or clause that stands alone: "3.", "§ 4 Abs.", "a)", "IV.".
_HEADING = re.compile(r"(?:\(?(?:\d{1,3}(?:\.\d{1,3})*|[IVXLC]{1,5}|[a-zа-я])[.)]|§+\s*[\d.\s]*)\s*")
_TAIL = 60  # characters of a sentence before a boundary that are looked at
_NUMBER = re.compile(r"\s*(?:\d|[IVXLC]+\b)")
_GOES_ON = re.compile(r"[-–]\w|[,;:]")
_DASH = re.compile(r"[-–—]\s+")  # of somebody who said it, where a small letter follows
# What ends in one letter and a full stop: "a.C.", "O.N.U."; first names as in "J.-P. Martin", but not Christ's.
_ONE_LETTER = re.compile(r"(?<![^\W\d_])[^\W\d_]\.$")
_FIRST_NAMES = re.compile(r"\b(?!J\.-C)[A-Z]\.-[A-Z]\.\s*$")
_LATIN_INITIAL = re.compile(r"(?<![A-Za-z])[A-Z]\.\s*$")
_CLOSED = re.compile(r"[”“\"»’')」』]\s*$")
_ENDS_IN_NUMBER = re.compile(r"(?<![\w.])(?:\d{1,4}|[IVX]+)\.\s*$")
_VERB_LAST = ("ko", "tr")  # languages in which no sentence ends in a number, and a full stop after one makes it ordinal
_QUOTED_AND_SAID = re.compile(r"[」』]\s*$")
_SAID = re.compile(r"[とっがをはにもの、。]")
# Starts that are missed: a year, a numbered clause or a capital after a word that is too long for an abbreviation, and
# a number or letter after a Chinese full stop.
_AFTER_WORD = re.compile(r"(?<=[^\W\d_]{4}[.!?])(?<!str\.)\s+(?=1\d{3}\b|20\d{2}\b|\d{1,2}\.\s+[^\W\d_])")
_CAPITAL = re.compile(r"(?<=[^\W\d_]{5}[.!?])\s+(?=[^\W\d_])")
_FULL_STOP = re.compile(r"(?<=[。！？])(?=[0-9A-Za-z０-９])|(?<=[。！？][）)])\s*(?=\w)")
_BRACKET = re.compile(r"(?<=[.!?…][)\]])\s+(?=[^\W\d_]|[(\[„“«])")
_APOSTROPHE = re.compile(r"(?<=[.!?])\s+(?=['’](?:[stnkm]|ns)\s)")  # Dutch: "'s Avonds", "'t Was"
_OPENING, _CLOSING = "“«「『（(《", "”»」』）)》"
_THAI_PHRASE = re.compile(r"(?<=[\u0e00-\u0e7f])[ \u00a0]+(?=[\u0e00-\u0e7f])")
_MIN_THAI = 20  # characters of Thai that a phrase has: its sentences end in a blank, which also stands within them


class _Abbreviations(NamedTuple):
    """What is known of words before a full stop in one language."""

    end_nothing: re.Pattern[str]
    """The end of what is no sentence: "Dr.", "inkl."."""
    want_number: re.Pattern[str]
    """The end of what is no sentence where a number follows: "Art.", "§"."""
    are_words: re.Pattern[str]
    """Where a sentence starts after a word that sentencex takes for an abbreviation: "no." in Spanish."""


def _before_full_stop(word: str) -> str:
    """The pattern of a word with its full stop; one in small letters may begin with a capital, if it has several."""
    start = f"(?i:{word[0]})" if word[0].islower() and len(word) > 1 else word[0]
    return rf"(?<!\w){start}{re.escape(word[1:])}\."


@cache
def _abbreviations(code: str) -> _Abbreviations:
    lines = files("whymatch.text").joinpath("abbreviations.txt").read_text(encoding="utf-8").splitlines()
    ends, before_number, are_words = list[str](), ["§+", r"str\."], ["(?!)"]
    for line in lines:
        own, *lists = line.split("|")
        if own in ("*", code):
            for patterns, words in zip((ends, before_number, are_words), lists, strict=True):
                patterns.extend(map(_before_full_stop, words.split()))
    return _Abbreviations(
        re.compile(rf"(?:{'|'.join(ends)})\s*$"),
        re.compile(rf"(?:{'|'.join(before_number)})\s*$"),
        re.compile(rf"(?:{'|'.join(are_words)})\s+(?=[^\W\d_])"),
    )


def corrected_starts(text: str, starts: Sequence[int], code: str) -> list[int]:
    """Where the sentences of a text in a language start, from where sentencex says that they do."""
    found = sorted({*starts, *_missed(text, code)})
    kept = found[:1]
    for start, end in pairwise([*found[1:], len(text)]):
        before, piece = text[max(kept[-1], start - _TAIL) : start], text[start:end]
        same_line = before.strip() and piece.strip() and "\n" not in before[len(before.rstrip()) :]
        if not (same_line and _joined(before, piece, code)):
            kept.append(start)
    return kept


def _joined(before: str, piece: str, code: str) -> bool:
    """Whether a piece goes on with the sentence whose end is given."""
    known = _abbreviations(code)
    if _GOES_ON.match(piece) or known.end_nothing.search(before):
        return True
    if known.want_number.search(before) and _NUMBER.match(piece):
        return True
    if _HEADING.fullmatch(before) or not any(map(str.isalnum, before)):
        return True
    if code in ("zh", "ja"):
        said = _QUOTED_AND_SAID.search(before) and _SAID.match(piece)
        return bool(said or (_LATIN_INITIAL.search(before) and piece[0].isascii() and piece[0].isalpha()))
    closed = _CLOSED.search(before)
    dash = _DASH.match(piece)
    if piece[dash.end() if dash else 0 :][:1].islower() and (dash or closed or before.rstrip().endswith(".")):
        return True
    if piece[0].isalpha() and not before[-1].isspace() and (closed or _ONE_LETTER.search(before)):
        return True
    if code in _VERB_LAST and piece[0].isalnum() and _ENDS_IN_NUMBER.search(before):
        return True
    if code == "fr" and _FIRST_NAMES.search(before):
        return True
    german = code == "de" and _NUMBER_AT_END.search(before)
    return bool(german and (_ORDINAL.search(before) or re.match(_AFTER_ORDINAL, piece)))


def _missed(text: str, code: str) -> list[int]:
    """Starts of sentences that sentencex does not find."""
    if code == "th":
        return _thai_phrases(text)
    if code in ("zh", "ja"):
        return [match.end() for match in _FULL_STOP.finditer(text) if not _is_quoted(text, match.end())]
    patterns = [_CAPITAL, _BRACKET, _abbreviations(code).are_words, *([_APOSTROPHE] if code == "nl" else [])]
    places = [match.end() for pattern in patterns for match in pattern.finditer(text)]
    capitals = [place for place in places if not text[place].islower() and not _is_quoted(text, place)]
    return [*(match.end() for match in _AFTER_WORD.finditer(text)), *capitals]


def _is_quoted(text: str, place: int) -> bool:
    """Whether quotation marks or brackets are open at a place, as far as its line says."""
    line = text[max(0, place - 300) : place].rpartition("\n")[2]
    if "„" in line:  # which “ closes
        return line.count("„") > line.count("“") + line.count("”")
    return any(line.count(one) > line.count(other) for one, other in zip(_OPENING, _CLOSING, strict=True))


def _thai_phrases(text: str) -> list[int]:
    """Where phrases of Thai start that have a blank before them and enough characters on both sides of it."""
    starts, last = list[int](), 0
    blanks = [match.end() for match in _THAI_PHRASE.finditer(text)]
    for blank, following in pairwise([*blanks, len(text)]):
        last = max(last, text.rfind("\n", 0, blank) + 1)
        if blank - last >= _MIN_THAI and following - blank >= _MIN_THAI:
            starts.append(blank)
            last = blank
    return starts
