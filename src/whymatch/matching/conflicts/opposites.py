"""Negations on one side only, and words of opposite meaning in the same place."""

import re

from whymatch.matching.conflicts.correspondence import Conflict, Correspondence, Word
from whymatch.text.antonyms import are_antonyms

_NEGATORS = frozenset(
    """not n't never no none nobody nothing nowhere neither nor without cannot hardly scarcely barely
    dont doesnt didnt isnt arent wasnt werent wont wouldnt cant couldnt shouldnt hasnt havent hadnt""".split()
)
# A negator in these expressions denies nothing, or not the sentence.
_IDIOMS = re.compile(
    r"""\bnot\ (?:only|just|merely|simply|solely|least|to\ mention|necessarily)\b|\bno\ (?:doubt|matter|sooner|wonder)\b
    |\b(?:whether|or|if|why)\ not\b|\bnothing\ but\b|\bno\.?\s*\d|\bwithout\ (?:a\ )?doubt\b|^\W*no\s*,|\bno\ one\ (?:but|except)\b
    |\b(?:can|could)(?:\ ?not|n['’]t|\ n['’]t)\ help\b|,\ (?:is|are|was|were|do|does|did|has|have|ca|wo|would|could)\ ?n['’]t\b[^.]{1,6}\?
    |^\W*(?:is|are|was|were|do|does|did|has|have|ca|wo|would|could|should)\ ?n['’]t\b(?=.*\?\W*$)""",
    re.IGNORECASE | re.VERBOSE,
)
# Words that deny without a negator: where only one text has one of them, a negator of the other may say the same.
_IMPLICIT = frozenset(
    """fail refuse deny reject lack avoid prevent prohibit forbid ban stop cease halt unable impossible absent absence miss
    missing neglect decline exclude except exception unless rarely seldom few fewer little less least most maximum minimum only
    rather instead free former formerly oppose opposition disagree doubt false wrong unlikely ignore exempt block bar yet until
    before otherwise contrary cancel drop quit lose loss lost hard difficult beyond empty within latest exceed still remain
    reluctant object objection rule void zero nil but although despite however abandon give impede hinder keep withhold rule
    against too minus independent regardless irrespective away suspend lest stall defy contradict dismiss hidden secret""".split()
)
_IMPLICIT_FORM = re.compile(r"(?:un|dis|im|non|ir)[a-z]{4,}|[a-z]{3,}less(?:ly|ness)?")
_MIN_SHARED_NEGATION = 0.75
_MIN_SHARED_ANTONYM = 0.6
_CLAUSE_ENDS = frozenset(", ; : . ! ? and but or because that which who".split())
_CONVERSES = frozenset("buy sell borrow lend give take send receive teach learn import export win lose before after".split())


def opposite_conflicts(pair: Correspondence) -> list[Conflict]:
    """Negations and antonyms; one of each about the same word cancel out: "not cheap" and "expensive"."""
    opposites = _antonyms(pair)
    negations = _negations(pair)
    kept = list[Conflict]()
    for side, number in negations:
        own = (pair.left, pair.right)[side]
        near = {(i, j) for i, j in opposites if 0 < (i, j)[side] - number <= 3}
        opposites -= near
        if not near:
            span = (own[number].span,)
            kept.append(Conflict("negation", span, ()) if side == 0 else Conflict("negation", (), span))
    return kept + [Conflict("antonym", (pair.left[i].span,), (pair.right[j].span,)) for i, j in sorted(opposites)]


def _negations(pair: Correspondence) -> list[tuple[int, int]]:
    """The negators, by side and number of the word, that have no counterpart in a text that says the same otherwise."""
    cues = [_cues(pair.texts[side], own) for side, own in enumerate((pair.left, pair.right))]
    if len(cues[0]) == len(cues[1]) or pair.shared < _MIN_SHARED_NEGATION or _implicit(pair):
        return []
    side = int(len(cues[1]) > len(cues[0]))
    own = (pair.left, pair.right)[side]
    flipped = {pair_[::-1] for pair_ in pair.links | pair.equal} if side else pair.links | pair.equal
    extra = list(cues[side])
    for cue in cues[1 - side]:
        partner = next((one for one in extra if (one, cue) in flipped), None)
        partner = extra[0] if partner is None else partner
        extra.remove(partner)
    anchored = {i for i, _ in flipped}
    extra = [cue for cue in extra if _target_is_shared(own, cue, anchored)]
    doubled = len(extra) == 2 and not any(word.lower in _CLAUSE_ENDS for word in own[extra[0] : extra[1]])
    return [] if doubled else [(side, cue) for cue in extra]


def _cues(text: str, own: list[Word]) -> list[int]:
    """The numbers of the words of a text that negate."""
    idioms = [match.span() for match in _IDIOMS.finditer(text)]
    cues = list[int]()
    for number, word in enumerate(own):
        negates = word.lower in _NEGATORS or word.lower.endswith("n't")
        repeats = word.lower == "nor" and cues
        if negates and not repeats and not any(start < word.span.end and word.span.start < end for start, end in idioms):
            cues.append(number)
    return cues


def _implicit(pair: Correspondence) -> bool:
    """Whether a word that denies without a negator stands in one text only."""
    for own, other in ((pair.left, pair.right), (pair.right, pair.left)):
        present = frozenset(lemma for word in other for lemma in word.lemmas)
        for word in own:
            if (word.lemmas & _IMPLICIT or _IMPLICIT_FORM.fullmatch(word.lower)) and not word.lemmas & present:
                return True
    return False


def _target_is_shared(own: list[Word], cue: int, anchored: set[int]) -> bool:
    """Whether the word that a negator denies, the next one with meaning, has a counterpart in the other text."""
    after = [number for number in range(cue + 1, min(cue + 6, len(own))) if own[number].carries_meaning]
    return not after or any(number in anchored for number in after[:2])


def _antonyms(pair: Correspondence) -> set[tuple[int, int]]:
    """The numbers of words of opposite meaning that stand in the same place, neither of them in the other text."""
    if pair.shared < _MIN_SHARED_ANTONYM:
        return set()
    opposites = set[tuple[int, int]]()
    for i, j in pair.links | pair.replaced:
        one, other = pair.left[i], pair.right[j]
        if one.lemmas & pair_lemmas(pair.right) or other.lemmas & pair_lemmas(pair.left):
            continue
        if are_antonyms(one.lower, other.lower) and pair.context(range(i, i + 1), range(j, j + 1)) >= 1:
            opposites.add((i, j))
    return opposites


def pair_lemmas(words: list[Word]) -> frozenset[str]:
    return frozenset(lemma for word in words for lemma in word.lemmas)
