"""Names that contradict each other."""

import re
import unicodedata
from collections import defaultdict
from difflib import SequenceMatcher

from whymatch.matching.conflicts.correspondence import FUNCTION_WORDS, Conflict, Correspondence, Word
from whymatch.text.antonyms import are_antonyms
from whymatch.text.dates import MONTHS, WEEKDAYS
from whymatch.text.numerals import NUMBER_WORDS
from whymatch.text.spans import Span

_TITLES = frozenset(
    str.split(
        """mr mrs ms miss dr prof professor president vice prime minister premier king queen prince princess sir lord
    lady senator sen rep governor gov secretary chairman chairwoman general gen colonel col captain capt major
    lieutenant lt sergeant sgt judge justice chancellor ambassador pope saint st jr senior representative director chief
    officer ministry department master mayor doctor attorney spokesman spokeswoman company corp inc ltd co
    corporation llc plc"""
    )
)
_JOINERS = frozenset(str.split("of the de la le van von der bin al el du di da for"))
_DEMONYM = re.compile(
    r"(?:ish|ese|ians?|ans?|ns?|is?|ics?|ch|sh|lands?|s|ers?|ites?|ia|e|a|y|ic|ine|ern|ican|uese|ons?)"
)
_ALIASES = [
    "us usa america american americans united states u.s washington",
    "uk britain british england english united kingdom great",
    "eu europe european union",
    "un united nations",
    "dutch netherlands holland",
    "prc china chinese beijing",
    "ussr soviet russia russian moscow kremlin",
]
_SPELLING = 0.75  # of the letters, for two spellings of a name
_LOOSE_SPELLING = (
    0.5  # the same where the texts are worded differently: names of other scripts are spelled in many ways
)
_NO_NAMES = frozenset({*FUNCTION_WORDS, *MONTHS, *WEEKDAYS, *NUMBER_WORDS})
_MIN_SHARED = 0.9
_SINGULAR = frozenset(str.split("is was has does"))
_FINITE = frozenset(
    str.split(
        """had will would can could did said says may might must should won made took went came got gave left beat met
    wrote ran sat told saw knew felt became began found kept led held lost sent and spoke stood fell drove flew grew
    chose broke built bought sold caught taught thought paid sang rose signed"""
    )
)
_OBJECTS = frozenset(str.split("the a an his her him them that it its their to from"))


def name_conflicts(pair: Correspondence) -> list[Conflict]:
    """Names in the same place of both texts that differ, neither of which the other text has anywhere."""
    sides = [_names(pair, 0), _names(pair, 1)]
    capitals = [{n for n, word in enumerate(own) if word.text[0].isupper()} for own in (pair.left, pair.right)]
    phrases = [{n: run for run in side for n in run if n in own} for side, own in zip(sides, capitals, strict=True)]
    differing = defaultdict[tuple[int, int], tuple[set[int], set[int]]](lambda: (set(), set()))
    for i, j in sorted(pair.links | pair.replaced):
        if i not in phrases[0] or j not in phrases[1] or pair.judged_by_amount(i, j):
            continue
        one, other = phrases[0][i], phrases[1][j]
        sure = (i, j) in pair.substituted or (pair.context(one, other) == 2 and pair.shared(one, other) >= _MIN_SHARED)
        if sure and pair.exclusive(i, j) and not _same(pair, one, other, i, j):
            both = differing[one[0], other[0]]
            both[0].add(i)
            both[1].add(j)
    return [
        Conflict("name", (_cover(pair.left, own),), (_cover(pair.right, other),)) for own, other in differing.values()
    ]


def _cover(words: list[Word], numbers: set[int]) -> Span:
    return Span(words[min(numbers)].span.start, words[max(numbers)].span.end)


def _names(pair: Correspondence, side: int) -> list[range]:
    """The names of a text, as runs of words; none where most words have capitals."""
    own = (pair.left, pair.right)[side]
    letters = [word for word in own if word.text[0].isalpha()]
    capitals = [word for word in letters if word.text[0].isupper()]
    if len(letters) >= 6 and len(capitals) > 0.75 * len(letters):
        return []
    runs, number = list[range](), 0
    while number < len(own):
        end = number
        while end < len(own) and _is_name(own, end):
            end += 1
            joined = end
            while joined < len(own) and joined - end < 2 and own[joined].lower in _JOINERS | {".", "-", "&"}:
                joined += 1
            if joined > end and joined < len(own) and _is_name(own, joined):
                end = joined
        if end > number:
            runs.append(range(number, end))
        number = max(end, number + 1)
    return runs


def _begins_sentence(own: list[Word], number: int) -> bool:
    """Whether a word is the first of a sentence or a quotation."""
    while number and own[number - 1].text in ("'", '"', "“", "‘", "''", "``", "(", "-", "–", "*", "["):
        number -= 1
    return number == 0 or own[number - 1].text in (".", "!", "?", ":", ";", "…")


def _is_name(own: list[Word], number: int) -> bool:
    """Whether a word is part of a name: it has a capital that its place does not explain."""
    word = own[number]
    if not word.text[0].isupper() or word.bare in _NO_NAMES:
        return False
    if len(word.bare) < 2 or not _begins_sentence(own, number):
        return len(word.bare) >= 2
    if word.text[1:2].isupper() or word.lower.endswith("'s"):
        return True
    follows, then = ([*own[number + 1 : number + 3], None, None])[:2]
    if follows is None or re.search(r"(?:ly|ing|ed)$", word.lower):
        return False
    if follows.lower in _SINGULAR:
        return True  # a common noun in the singular would have an article
    if re.search(r"[^s]s$", word.lower):
        return False
    if follows.text[0].isupper() and follows.lower not in FUNCTION_WORDS:
        return True
    inflected = (
        follows.lower.endswith(("ed", "s")) and then is not None and (then.lower in _OBJECTS or then.text[0].isupper())
    )
    return follows.lower in _FINITE or inflected


def _same(pair: Correspondence, one: range, other: range, i: int, j: int) -> bool:
    """Whether two names, of which word i and word j differ, may still be those of the same thing."""
    a, b = _folded(pair.left[i]), _folded(pair.right[j])
    if a in _TITLES or b in _TITLES or are_antonyms(a, b) or pair.left[i].lemmas & pair.right[j].lemmas:
        return True
    if any(a in alias.split() and b in alias.split() for alias in _ALIASES):
        return True
    alike = _SPELLING if (i, j) in pair.substituted else _LOOSE_SPELLING
    if _derived(a, b) or _derived(b, a) or SequenceMatcher(None, a, b, autojunk=False).ratio() >= alike:
        return True
    whole = ["".join(_folded(own[n]) for n in run) for own, run in ((pair.left, one), (pair.right, other))]
    return whole[0] == whole[1] or _stands_for(pair.left[i], pair.right) or _stands_for(pair.right[j], pair.left)


def _folded(word: Word) -> str:
    """The letters and digits of a word, without case and accents."""
    plain = unicodedata.normalize("NFKD", word.bare.replace("ı", "i"))
    return "".join(character for character in plain if character.isalnum())


def _derived(name: str, form: str) -> bool:
    """Whether one is made of the other by an ending, as "Chinese" of "China"."""
    common = next((n for n, (a, b) in enumerate(zip(name, form, strict=False)) if a != b), min(len(name), len(form)))
    return (
        common >= 3
        and len(name) - common <= 2 + 2 * name.endswith("land")
        and bool(_DEMONYM.fullmatch(form[common:] or "s"))
    )


def _stands_for(acronym: Word, words: list[Word]) -> bool:
    """Whether a word in capitals has the initials of words that follow one another in the other text."""
    if not acronym.text.removesuffix("'s").isupper():
        return False
    initials = "".join(
        word.lower[0] for word in words if word.text[0].isalnum() and word.lower not in _JOINERS | {"and"}
    )
    return acronym.bare in initials
