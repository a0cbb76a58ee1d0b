"""Negations on one side only, and words of opposite meaning in the same place."""

import re
from bisect import bisect_left
from collections.abc import Sequence

from whymatch.matching.conflicts.correspondence import Conflict, Correspondence
from whymatch.text.antonyms import are_antonyms
from whymatch.text.spans import Span

_NEGATORS = frozenset(
    str.split(
        """not n't never no none nobody nothing nowhere neither nor without cannot hardly dont doesnt didnt isnt arent
    wasnt werent wont wouldnt cant couldnt shouldnt hasnt havent hadnt"""
    )
)
# A negator in these expressions denies nothing, or not the sentence.
_IDIOMS = re.compile(
    r"""\bnot\ (?:only|just|merely|simply|solely|least|to\ mention)\b|\bthan\ not\b
    |\bno\ (?:doubt|matter|sooner|wonder)\b|\b(?:whether|or|if)\ not\b|\bnothing\ but\b|\bno\.?\s*\d
    |\bwithout\ (?:a\ )?doubt\b|^\W*no\s*(?:,|(?:you|i|we|it|he|she|they|this|that)\b)
    |\bno\ one\ (?:but|except)\b|\b(?:can|could)(?:\ ?not|\ ?n['’]t)\ help\ (?:but|\w+ing)\b
    |,\ (?:is|are|was|were|do|does|did|has|have|ca|wo|would|could)\ ?n['’]t\b[^.]{1,6}\?""",
    re.IGNORECASE | re.VERBOSE,
)
# Nor does it where a question mark follows on the line.
_IN_QUESTIONS = re.compile(
    r"""(?<!why )(?<!how )\b(?:can|do|did|does|is|are|will|would|could|should)(?: ?n['’]t| ?not)"""
    r""" (?:you|we|they|he|she|it)\b""",
    re.IGNORECASE,
)
_BEGINS_QUESTION = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|has|have|ca|wo|would|could|should) ?n['’]t\b", re.IGNORECASE
)
# Words that deny without a negator: where only one text has one of them, a negator of the other may say the same.
_IMPLICIT = frozenset(
    str.split(
        """fail refuse deny reject lack avoid prevent prohibit forbid ban stop cease halt unable impossible absent
    absence miss missing neglect decline exclude except exception unless rarely seldom few fewer little less least most
    maximum minimum only rather instead free former formerly oppose opposition disagree doubt false wrong unlikely
    ignore exempt block bar yet until before otherwise contrary cancel drop quit lose loss lost hard difficult
    beyond empty within latest exceed still remain reluctant object objection rule void zero nil but although
    despite however abandon give impede hinder keep withhold rule against too minus barely scarcely independent
    regardless irrespective away suspend lest stall defy contradict dismiss hidden secret"""
    )
)
_IMPLICIT_FORM = re.compile(r"(?:un|dis|im|non|ir)[a-z]{4,}|[a-z]{3,}less(?:ly|ness)?")
_MIN_SHARED_NEGATION = 0.85  # of the words with meaning: below, two texts may speak of different things
_MIN_SHARED_ANTONYM = 0.85
_AUXILIARIES = frozenset(
    str.split("is are was were be am do does did has have had can could will would shall should may must")
)
_CLAUSE_ENDS = frozenset(str.split(", ; : . ! ? and but or because that which who"))


def opposite_conflicts(pair: Correspondence, claims: Sequence[int] = ()) -> list[Conflict]:
    """Negations and antonyms; one of each about the same word cancel out: "not cheap" and "expensive".

    `claims` are the sides of texts that the other may say more than, where something else says that both are on one
    matter.
    """
    side, extra = _extra_cues(pair)
    opposites = {(i, j) for i, j in _antonyms(pair, claims) if not any(0 < (i, j)[side] - cue <= 3 for cue in extra)}
    negations = [(pair.left, pair.right)[side][cue].span for cue in extra if _denies(pair, side, cue)]
    if len(extra) == 2 and not any(
        word.lower in _CLAUSE_ENDS for word in (pair.left, pair.right)[side][extra[0] : extra[1]]
    ):
        negations = []  # a double negation
    longer = [
        cue + 1
        for cue in extra
        if [word.lower for word in (pair.left, pair.right)[side][cue + 1 : cue + 2]] == ["longer"]
    ]
    if pair.shared(longer if side == 0 else (), longer if side else ()) < _MIN_SHARED_NEGATION or _implicit(pair):
        negations = []
    negated = [
        Conflict("negation", (span,), ()) if side == 0 else Conflict("negation", (), (span,)) for span in negations
    ]
    return negated + [Conflict("antonym", (pair.left[i].span,), (pair.right[j].span,)) for i, j in sorted(opposites)]


def _extra_cues(pair: Correspondence) -> tuple[int, list[int]]:
    """The side with more negators, and the numbers of those that have no counterpart on the other side."""
    cues = [_cues(pair, side) for side in (0, 1)]
    side = int(len(cues[1]) > len(cues[0]))
    same = pair.links | pair.equal
    extra = list(cues[side])
    for cue in cues[1 - side]:
        partner = next((one for one in extra if ((one, cue) if side == 0 else (cue, one)) in same), extra[0])
        extra.remove(partner)
    return side, extra


def _cues(pair: Correspondence, side: int) -> list[int]:
    """The numbers of the words of a text that negate."""
    own = (pair.left, pair.right)[side]
    harmless = {*pair.measured[side], *(n for run in pair.numbers(side, idioms(pair.texts[side])) for n in run)}
    cues = list[int]()
    for number, word in enumerate(own):
        negates = word.lower in _NEGATORS or word.lower.endswith("n't")
        repeats = word.lower == "nor" and cues
        if negates and not repeats and number not in harmless:
            cues.append(number)
    return cues


def idioms(text: str) -> list[Span]:
    """The expressions of a text whose negator denies nothing."""
    marks = [(match.start(), match[0]) for match in re.finditer(r"[?\n]", text)]
    found = [match.span() for match in _IDIOMS.finditer(text)]
    for match in _IN_QUESTIONS.finditer(text):
        following = marks[bisect_left(marks, (match.end(), "")) :][:1]
        found += [match.span()] if [mark for _, mark in following] == ["?"] else []
    asking = _BEGINS_QUESTION.match(text)
    last = next((place for place in reversed(range(len(text))) if text[place].isalnum()), 0)
    return [Span(*span) for span in [*found, *([asking.span()] if asking and "?" in text[last:] else [])]]


def _implicit(pair: Correspondence) -> bool:
    """Whether a word that denies without a negator, and is no part of an amount, stands in one text only."""
    for side, own in enumerate((pair.left, pair.right)):
        for number, word in enumerate(own):
            denies = word.lemmas & _IMPLICIT or _IMPLICIT_FORM.fullmatch(word.lower)
            if denies and number not in pair.measured[side] and not word.lemmas & pair.lemmas[1 - side]:
                return True
    return False


def _denies(pair: Correspondence, side: int, cue: int) -> bool:
    """Whether the word that a negator denies, the next one with meaning, has a counterpart in the other text."""
    own, other = (pair.left, pair.right) if side == 0 else (pair.right, pair.left)
    after = [number for number in range(cue + 1, min(cue + 6, len(own))) if own[number].carries_meaning][:2]
    if not after:  # "he did not" denies, ", not more" does not
        return (
            own[cue].lower.endswith("n't") or own[cue].lower == "cannot" or own[max(0, cue - 1)].lower in _AUXILIARIES
        )
    if any(own[number].lemmas & pair.lemmas[1 - side] for number in after):
        return True
    partners = [(i, j) if side == 0 else (j, i) for i, j in pair.links]
    aligned = [(own[i], other[j]) for i, j in partners if i in after]
    opposite = any(are_antonyms(one.lower, two.lower) for one, two in aligned)
    return bool(aligned) and not opposite and own[cue].lower != "without"


def _antonyms(pair: Correspondence, claims: Sequence[int]) -> set[tuple[int, int]]:
    """The numbers of words of opposite meaning that stand in the same place, neither of them in the other text."""
    opposites = set[tuple[int, int]]()
    for i, j in pair.links | pair.replaced:
        one, other = pair.left[i], pair.right[j]
        if pair.judged_by_amount(i, j) or not are_antonyms(one.bare, other.bare) or not pair.exclusive(i, j):
            continue
        if (i, j) not in pair.substituted and (one.lemmas & pair.lemmas[1] or other.lemmas & pair.lemmas[0]):
            continue
        needed = 1 if one.carries_meaning and other.carries_meaning else 2
        shared = max([pair.shared([i], [j]), *(pair.shared_of(side, [(i, j)[side]]) for side in claims)])
        if pair.context(range(i, i + 1), range(j, j + 1)) >= needed and shared >= _MIN_SHARED_ANTONYM:
            opposites.add((i, j))
    return opposites
