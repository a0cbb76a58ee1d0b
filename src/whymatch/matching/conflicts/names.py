"""Names that contradict each other."""

import re
from collections import defaultdict
from difflib import SequenceMatcher

from whymatch.matching.conflicts.correspondence import FUNCTION_WORDS, Conflict, Correspondence, Word
from whymatch.text.antonyms import are_antonyms
from whymatch.text.dates import MONTHS, WEEKDAYS
from whymatch.text.quantities import quantities
from whymatch.text.spans import Span

_TITLES = frozenset(
    """mr mrs ms miss dr prof professor president vice prime minister premier king queen prince princess sir lord lady senator
    sen rep governor gov secretary chairman chairwoman general gen colonel col captain capt major lieutenant lt sergeant sgt judge
    justice chancellor ambassador pope saint st jr senior representative director chief officer ministry department master
    mayor doctor attorney spokesman spokeswoman company corp inc ltd co corporation llc plc""".split()
)
_JOINERS = frozenset("of the de la le van von der bin al el du di da for".split())
_DEMONYM = re.compile(r"(?:ish|ese|ians?|ans?|ns?|is?|ics?|ch|sh|lands?|s|ers?|ites?|ia|e|a|y|ic|ine)")
_ALIASES = [
    "us usa america american americans united states u.s washington",
    "uk britain british england english united kingdom great",
    "eu europe european union",
    "un united nations",
    "dutch netherlands holland",
    "prc china chinese beijing",
    "ussr soviet russia russian moscow kremlin",
]
_SPELLING = 0.8  # of the letters, for two spellings of a name
MIN_SHARED = 0.8
_FINITE = re.compile(
    r"is|was|has|had|will|would|can|could|did|does|said|says|may|might|must|should|won|made|took|went|came|got|gave|left|beat|met"
    r"|wrote|ran|sat|told|saw|knew|felt|became|began|found|kept|let|put|set|led|held|lost|sent|and|'s|\w{3,}ed|\w{3,}[^s]s"
)


def name_conflicts(pair: Correspondence) -> list[Conflict]:
    """Names in the same place of both texts that differ, neither of which the other text has anywhere."""
    sides = [_names(pair, 0), _names(pair, 1)]
    phrases = [{number: phrase for phrase in side for number in phrase} for side in sides]
    differing = defaultdict[tuple[int, int], tuple[set[int], set[int]]](lambda: (set(), set()))
    for i, j in sorted(pair.links | pair.replaced):
        if i not in phrases[0] or j not in phrases[1]:
            continue
        one, other = phrases[0][i], phrases[1][j]
        sure = (i, j) in pair.substituted or (pair.context(one, other) == 2 and pair.shared(one, other) >= MIN_SHARED)
        if sure and pair.exclusive(i, j) and not _same(pair, one, other, i, j):
            both = differing[one[0], other[0]]
            both[0].add(i)
            both[1].add(j)
    return [Conflict("name", (_cover(pair.left, own),), (_cover(pair.right, other),)) for own, other in differing.values()]


def _cover(words: list[Word], numbers: set[int]) -> Span:
    return Span(words[min(numbers)].span.start, words[max(numbers)].span.end)


def _names(pair: Correspondence, side: int) -> list[range]:
    """The names of a text, as runs of words; none where most words have capitals."""
    own, text = (pair.left, pair.right)[side], pair.texts[side]
    letters = [word for word in own if word.text[0].isalpha()]
    capitals = [word for word in letters if word.text[0].isupper()]
    if len(letters) >= 6 and len(capitals) > 0.75 * len(letters):
        return []
    numerals = {n for numbers in pair.numbers(side, [q.span for q in quantities(text)]) for n in numbers}
    runs, number = list[range](), 0
    while number < len(own):
        end = number
        while end < len(own) and (is_name(own, end) and end not in numerals):
            end += 1
            joined = end
            while joined < len(own) and joined - end < 2 and own[joined].lower in _JOINERS | {".", "-", "&"}:
                joined += 1
            if joined > end and joined < len(own) and is_name(own, joined) and joined not in numerals:
                end = joined
        if end > number:
            runs.append(range(number, end))
        number = max(end, number + 1)
    return runs


def begins_sentence(own: list[Word], number: int) -> bool:
    """Whether a word is the first of a sentence or a quotation."""
    while number and own[number - 1].text in ("'", '"', "“", "‘", "''", "``", "(", "-", "–", "*", "["):
        number -= 1
    return number == 0 or own[number - 1].text in (".", "!", "?", ":", ";", "…")


def is_name(own: list[Word], number: int) -> bool:
    """Whether a word is part of a name: it has a capital that its place does not explain."""
    word = own[number]
    if not word.text[0].isupper() or word.bare in FUNCTION_WORDS or word.bare in MONTHS or word.bare in WEEKDAYS:
        return False
    if len(word.bare) < 2 or not begins_sentence(own, number):
        return len(word.bare) >= 2
    follows = own[number + 1] if number + 1 < len(own) else None
    if word.text[1:2].isupper() or word.lower.endswith("'s"):
        return True
    if follows is None or re.search(r"(?:ly|ing|ed|[^s]s)$", word.lower):
        return False
    if follows.text[0].isupper() and follows.lower not in FUNCTION_WORDS:
        return True
    return bool(_FINITE.fullmatch(follows.lower))


def _same(pair: Correspondence, one: range, other: range, i: int, j: int) -> bool:
    """Whether two names, of which word i and word j differ, may still be those of the same thing."""
    a, b = pair.left[i].bare, pair.right[j].bare
    if a in _TITLES or b in _TITLES or are_antonyms(a, b):
        return True
    if any(a in alias.split() and b in alias.split() for alias in _ALIASES):
        return True
    if _derived(a, b) or _derived(b, a) or SequenceMatcher(None, a, b, autojunk=False).ratio() >= _SPELLING:
        return True
    whole = [[side[n].bare for n in run] for side, run in ((pair.left, one), (pair.right, other))]
    return _acronym(whole[0], whole[1]) or _acronym(whole[1], whole[0])


def _derived(name: str, form: str) -> bool:
    """Whether one is made of the other by an ending, as "Chinese" of "China"."""
    common = next((n for n, (a, b) in enumerate(zip(name, form, strict=False)) if a != b), min(len(name), len(form)))
    return common >= 3 and len(name) - common <= 2 + 2 * name.endswith("land") and bool(_DEMONYM.fullmatch(form[common:] or "s"))


def _acronym(short: list[str], long: list[str]) -> bool:
    """Whether the letters of one name are the initials of the other."""
    letters = "".join(word for word in short if word.isalnum())
    initials = "".join(word[0] for word in long if word.isalnum() and word not in _JOINERS)
    return len(letters) <= 6 and len(initials) >= 2 and (letters == initials or letters == "".join(w[0] for w in long if w.isalnum()))
