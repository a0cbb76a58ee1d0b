"""Sentence boundaries of languages other than English: what sentencex misses there, and what it cuts too much."""

import re
from collections.abc import Sequence
from itertools import pairwise

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
# A number, letter or clause that stands alone: "3.", "§ 4 Abs.", "a)", "IV.", and abbreviations that want a number.
_HEADING = re.compile(r"(?:\(?(?:\d{1,3}(?:\.\d{1,3})*|[IVXLC]{1,5}|[a-zа-я])[.)]|§+\s*[\d.\s]*)\s*")
_WANTS_NUMBER = re.compile(
    r"(?:§|str|\b(?:Abs|Art|Nr|Ziff|Abb|Abschn|Anm|Bd|Kap|Rn|Tab|Ca|Str|art|alin|chap|fig|no|núm|pág|cap|nr|rozdz|ст|рис|гл|"
    r"стр|п))\.?\s*$"
)
_TITLE = {"fr": re.compile(r"\b(?:MM?|Mmes?|Mlles?|Dr|Pr|St|Ste|av|apr|J)\.\s*$")}
_INITIAL = re.compile(r"(?<![^\W\d_])[A-Z]\.\s*$")
_GOES_ON = re.compile(r"[-–]\w|[,;:]")
_STARTS_LOW = re.compile(r"[^\W\d_]")
_QUOTED_AND_SAID = re.compile(r"[」』]\s*$")
_SAID = re.compile(r"[とっがをはにもの、。]")
# Starts that are missed: a year, a numbered clause or a capital after a word that is too long for an abbreviation, and
# a number or letter after a Chinese full stop.
_AFTER_WORD = re.compile(r"(?<=[^\W\d_]{4}[.!?])(?<!str\.)\s+(?=1\d{3}\b|20\d{2}\b|\d{1,2}\.\s+[^\W\d_])")
_CAPITAL = re.compile(r"(?<=[^\W\d_]{5}[.!?])\s+(?=[^\W\d_])")
_FULL_STOP = re.compile(r"(?<=[。！？])(?=[0-9A-Za-z０-９])")
_OPENING, _CLOSING = "“„«「『（(《", "”“»」』）)》"
_THAI_PHRASE = re.compile(r"(?<=[\u0e00-\u0e7f])[ \u00a0]+(?=[\u0e00-\u0e7f])")
_MIN_THAI = 20  # characters of Thai that a phrase has: its sentences end in a blank, which also stands within them


def corrected_starts(text: str, starts: Sequence[int], code: str) -> list[int]:
    """Where the sentences of a text in a language start, from where sentencex says that they do."""
    found = sorted({*starts, *_missed(text, code)})
    kept = found[:1]
    for start, end in pairwise([*found[1:], len(text)]):
        before, piece = text[kept[-1] : start], text[start:end]
        same_line = before.strip() and piece.strip() and "\n" not in before[len(before.rstrip()) :]
        if not (same_line and _joined(before, piece, code)):
            kept.append(start)
    return kept


def _joined(before: str, piece: str, code: str) -> bool:
    """Whether two pieces are of one sentence."""
    if _HEADING.fullmatch(before) or (_WANTS_NUMBER.search(before) and piece.lstrip()[:1].isdigit()):
        return True
    if _GOES_ON.match(piece):
        return True
    if code in ("zh", "ja"):
        said = _QUOTED_AND_SAID.search(before) and _SAID.match(piece)
        return bool(said or (_INITIAL.search(before) and piece[0].isascii() and piece[0].isalpha()))
    if before.rstrip().endswith(".") and _STARTS_LOW.match(piece) and piece[0].islower():
        return True
    if code in _TITLE and _TITLE[code].search(before):
        return True
    german = code == "de" and _NUMBER_AT_END.search(before)
    return bool(german and (_ORDINAL.search(before) or re.match(_AFTER_ORDINAL, piece)))


def _missed(text: str, code: str) -> list[int]:
    """Starts of sentences that sentencex does not find."""
    if code == "th":
        return _thai_phrases(text)
    if code in ("zh", "ja"):
        return [match.end() for match in _FULL_STOP.finditer(text) if not _is_quoted(text, match.end())]
    capitals = [match.end() for match in _CAPITAL.finditer(text) if text[match.end()].isupper()]
    return [
        *(match.end() for match in _AFTER_WORD.finditer(text)),
        *(place for place in capitals if not _is_quoted(text, place)),
    ]


def _is_quoted(text: str, place: int) -> bool:
    """Whether quotation marks or brackets are open at a place, as far as its line says."""
    line = text[max(text.rfind("\n", 0, place), place - 300, 0) : place]
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
