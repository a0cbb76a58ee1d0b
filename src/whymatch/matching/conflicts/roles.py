"""Words that change places around others: who does it, and to whom."""

from collections import Counter
from collections.abc import Iterator

from whymatch.matching.conflicts.correspondence import FUNCTION_WORDS, Conflict, Correspondence, Word
from whymatch.text.spans import Span

_COORDINATORS = frozenset(str.split(", ; / & and or nor"))
_SYMMETRIC = frozenset(
    str.split(
        """meet meets met marry marries married equal equals resemble resembles with and or near beside versus vs"""
    )
)
_PREPOSITIONS = frozenset(
    str.split(
        """to from than over after before under above behind in on of by into at for inside onto against through
        across off"""
    )
)
_OTHER_PIVOTS = frozenset(str.split("as has have had having does did"))  # function words around which roles can change
_BE = frozenset(str.split("is are was were be been being got gets"))
_DETERMINERS = frozenset(str.split("the a an his her its their our my your this that"))
_MAX_WORDS = 6
_SAME_BETWEEN = 0.5  # of the words around which two runs change places
_SAME_WORDS = 0.95  # of the words: then two of the four neighbours are enough to say that two runs changed places


def role_conflicts(pair: Correspondence) -> list[Conflict]:
    """Two runs of words that have changed places around words that have not: "Alice beat Bob", "Bob beat Alice"."""
    runs = [_trimmed(pair.left, *run) for run in _whole_exchange(pair) or _runs(pair)]
    runs = [run for run in runs if any(pair.left[number].carries_meaning for number in run[0])]
    exchanged = list[Conflict]()
    for own_x, other_x in runs:
        for own_y, other_y in runs:
            if own_x[-1] < own_y[0] and other_y[-1] < other_x[0] and _exchanged(pair, own_x, own_y, other_x, other_y):
                left = _span(pair.left, own_x), _span(pair.left, own_y)
                exchanged.append(Conflict("role", left, (_span(pair.right, other_y), _span(pair.right, other_x))))
    return exchanged or _passive_conflicts(pair)


def _passive_conflicts(pair: Correspondence) -> list[Conflict]:
    """The same order of words, but one text in the passive: "Alice beat Bob", "Alice was beaten by Bob"."""
    for side, (own, other) in enumerate(((pair.left, pair.right), (pair.right, pair.left))):
        same = {(i, j) if side == 0 else (j, i) for i, j in pair.links | pair.equal}
        for doer, verb, target in _passives(own):
            partners = [[j for i, j in same if i == number] for number in (doer, verb, target)]
            if not all(partners):
                continue
            x, v, y = (min(own_partners) for own_partners in partners)
            active = v - x in (1, 2) and not {word.lower for word in other[x:v]} & _BE and v < y
            direct = {word.lower for word in other[v + 1 : y]} <= _DETERMINERS
            if active and direct and own[doer].bare == other[x].bare and own[target].bare == other[y].bare:
                spans = (own[doer].span, own[target].span), (other[x].span, other[y].span)
                return [Conflict("role", *(spans if side == 0 else spans[::-1]))]
    return []


def _passives(own: list[Word]) -> Iterator[tuple[int, int, int]]:
    """The numbers of subject, participle and agent of what may be a passive clause."""
    for by in (number for number, word in enumerate(own) if word.lower == "by" and number >= 3):
        be = next((n for n in range(by - 2, max(by - 5, 0), -1) if own[n].lower in _BE), None)
        verb = next((n for n in range(by - 1, be or by, -1) if own[n].carries_meaning), None)
        subject = next((n for n in range((be or 0) - 1, -1, -1) if own[n].carries_meaning), None)
        agent = next((n for n in range(by + 1, min(by + 4, len(own))) if own[n].carries_meaning), None)
        if be is not None and verb is not None and subject is not None and agent is not None:
            yield subject, verb, agent


def _span(words: list[Word], run: range) -> Span:
    return Span(words[run[0]].span.start, words[run[-1]].span.end)


def _whole_exchange(pair: Correspondence) -> list[tuple[range, range]]:
    """The two runs of words whose exchange alone makes the left text the right one; none if more differs."""
    left, right = [word.bare for word in pair.left], [word.bare for word in pair.right]
    if len(left) != len(right) or left == right:
        return []
    differing = [number for number, (one, other) in enumerate(zip(left, right, strict=True)) if one != other]
    first, last = differing[0], differing[-1] + 1
    for x in range(1, min(_MAX_WORDS, last - first - 1) + 1):
        for y in range(1, min(_MAX_WORDS, last - first - x) + 1):
            exchanged = left[last - y : last] + left[first + x : last - y] + left[first : first + x]
            if exchanged == right[first:last]:
                return [
                    (range(first, first + x), range(last - x, last)),
                    (range(last - y, last), range(first, first + y)),
                ]
    return []


def _runs(pair: Correspondence) -> list[tuple[range, range]]:
    """The runs of equal words of both texts that hold a word with meaning which each text has once."""
    left, right = [word.bare for word in pair.left], [word.bare for word in pair.right]
    counts = Counter(left), Counter(right)
    places = {form: number for number, form in enumerate(right)}
    runs = set[tuple[range, range]]()
    for i, form in enumerate(left):
        if not pair.left[i].carries_meaning or counts[0][form] != 1 or counts[1][form] != 1:
            continue
        j, before, after = places[form], 0, 1
        while i > before and j > before and left[i - before - 1] == right[j - before - 1]:
            before += 1
        while i + after < len(left) and j + after < len(right) and left[i + after] == right[j + after]:
            after += 1
        runs.add((range(i - before, i + after), range(j - before, j + after)))
    return sorted((run for run in runs if len(run[0]) <= _MAX_WORDS), key=lambda run: run[0][0])


def _trimmed(words: list[Word], own: range, other: range) -> tuple[range, range]:
    """A run of words in both texts without the punctuation and conjunctions at its ends."""
    start, end = 0, len(own)
    while start < end and (words[own[start]].lower in _COORDINATORS or not words[own[start]].text[0].isalnum()):
        start += 1
    while end > start and (words[own[end - 1]].lower in _COORDINATORS or not words[own[end - 1]].text[0].isalnum()):
        end -= 1
    return own[start:end], other[start:end]


def _exchanged(pair: Correspondence, own_x: range, own_y: range, other_x: range, other_y: range) -> bool:
    """Whether x and y have each other's place in the other text, around the same words."""
    at_x = _same(pair, own_x[0] - 1, other_y[0] - 1) + _same(pair, own_x[-1] + 1, other_y[-1] + 1)
    at_y = _same(pair, own_y[0] - 1, other_x[0] - 1) + _same(pair, own_y[-1] + 1, other_x[-1] + 1)
    own, other = range(own_x[-1] + 1, own_y[0]), range(other_y[-1] + 1, other_x[0])
    enough = at_x + at_y >= 3 or (at_x == at_y == 1 and pair.shared() >= _SAME_WORDS)
    if not (enough and own and other) or _passive(pair.left, own) != _passive(pair.right, other):
        return False
    left = [word.bare for word in pair.left]
    if left[own_x[0]] in _PREPOSITIONS or left[own_y[0]] in _PREPOSITIONS:
        return False  # a preposition that moves with its words keeps their role
    if left[own_x[-1]].endswith("ly") or left[own_y[-1]].endswith("ly"):
        return False  # adverbs
    between, other_between = [left[number] for number in own], [pair.right[number].bare for number in other]
    common = sum((Counter(between) & Counter(other_between)).values())
    if common < _SAME_BETWEEN * max(len(between), len(other_between)):
        return False
    if _coordinated(between, left[own_y[-1] + 1 :], left[max(0, own_x[0] - 1) : own_x[0]]):
        return False
    return any(_pivots(pair.left[i]) and (i, j) in pair.links | pair.equal for i in own for j in other) or (
        between == other_between and any(_pivots(pair.left[i]) for i in own)
    )


def _passive(words: list[Word], between: range) -> bool:
    """Whether a verb among these words is in the passive, and its agent follows."""
    forms = [words[number].lower for number in between]
    return "by" in forms and bool(_BE & set(forms[: forms.index("by")]))


def _pivots(word: Word) -> bool:
    """Whether the order of what stands around a word matters."""
    return word.bare not in _SYMMETRIC and (word.carries_meaning or word.bare in _PREPOSITIONS | _OTHER_PIVOTS)


def _same(pair: Correspondence, i: int, j: int) -> bool:
    """Whether two places hold the same word, or both are the beginning or the end."""
    if pair.anchored(i, j):
        return True
    inside = 0 <= i < len(pair.left) and 0 <= j < len(pair.right)
    return inside and pair.left[i].bare == pair.right[j].bare


def _coordinated(between: list[str], after: list[str], before: list[str]) -> bool:
    """Whether the order of two runs says nothing: they are items of a list, or have the same words beside them.

    Such are "in the one or in the other", "in 1923 in Boston" and "the Highland League and the Grampian League".
    """
    if {"known", "aka", "alias"} & set(between):
        return True
    if not between or (between[0] in _COORDINATORS and between[-1] in _COORDINATORS):
        return True
    if between == before and between[0] in _PREPOSITIONS:
        return True
    place = next((number for number, form in enumerate(between) if form in _COORDINATORS), None)
    if place is None:
        return False
    shared = between[:place]
    plain = all(form in FUNCTION_WORDS or form in _COORDINATORS for form in between)
    return plain or (bool(shared) and after[:place] == shared)
