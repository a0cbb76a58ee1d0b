"""Words with which a source says less than a claim: conditions, denials and doubts that the claim leaves out."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from whymatch.checking.evidence import stem
from whymatch.checking.structure import Place
from whymatch.matching.conflicts.correspondence import FUNCTION_WORDS
from whymatch.text.antonyms import are_antonyms, lemmas
from whymatch.text.spans import words


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CONDITIONS = _set("if unless provided")
_DOUBTS = _set("whether unclear alleged allegedly allegation rumour rumor hypothesis doubt doubtful unlikely")
_NEGATORS = _set("not never no cannot neither nor without hardly nobody none nothing nowhere")
_DENIALS = _set(
    """deny reject refuse fail stop cease drop end discontinue cancel prevent prohibit forbid ban lose withdraw revoke
    abolish suspend disprove refute"""
)
_PREFIX = re.compile(r"(?:un|dis|im|in|non|ir)(?=[a-z]{3})|less$")
_BE = frozenset(str.split("is are was were be been being"))
_PAST, _PRESENT = _set("was were had"), _set("is are has have")
_BOUNDS = _set("above over below under exceeding than least most from")
_MOST_BOUNDED = 5  # words from "for" to the bound of an amount
_ONLY = _set("only exclusively solely")
_AS_ONLY = _ONLY | _NEGATORS | _set("alone just sole restricted limited reserved except unless none nobody")
_ALL = _set("all every always each entire everyone everything")
_SOME = _set("some many most several few sometimes often usually mostly partly half nearly almost")
_PART_ENDS = re.compile(r"[;:]\s|,?\s+(?:and|but|while|whereas|although|though)\s|[.!?]\s|\n|\s[–—]\s|[()]")
_SAME_BEGINNING = 5  # letters with which "returned" and "returnable" begin alike
_NEAR = 2  # words with meaning after a word that denies, which it may deny


class _Word(NamedTuple):
    """A word of a text in lower case, or a punctuation mark."""

    form: str
    stem: str
    lemmas: frozenset[str]
    """What it may be an inflected form of."""

    @property
    def carries_meaning(self) -> bool:
        return self.form[:1].isalnum() and self.form not in FUNCTION_WORDS and not self.form.endswith("n't")


def limits(claim: str, text: str) -> list[str]:
    """The words that make a claim more than what a text says, though the text may have all other words of it.

    Of the text: a condition, a negation, a denial or a doubt in the part of it that has words of the claim, where the
    claim has none; and the opposite of a word of the claim beside the words that follow it in the claim. Of the claim:
    "only", and "all" where the text has "some".

    >>> limits("The drug cures cancer.", "The study examined whether the drug cures cancer.")
    ['whether']
    >>> limits("The shop is open on Sundays.", "The shop is open on weekdays and closed on Sundays.")
    ['closed']
    >>> limits("The drug cures cancer.", "The drug cures cancer. It is unclear whether it is safe.")
    []
    """
    own, other = _words(claim), _words(text)
    said, there = (frozenset[str]().union(*(word.lemmas for word in side)) for side in (own, other))
    limiting = [word.form for word in own if word.lemmas & _ONLY and not there & _AS_ONLY]
    if there & _SOME and not there & _ALL and not said & _SOME:
        limiting += [word.form for word in own if word.lemmas & _ALL]
    content = {word.stem for word in own if word.carries_meaning}
    denies = said & (_DENIALS | _NEGATORS) or any(map(_denies_itself, own))
    one_line = re.sub(r"(?<!\s)\s+", lambda run: "\n" if "\n" in run[0] else " ", text)
    for part in map(_words, _PART_ENDS.split(one_line)):
        places = [number for number, word in enumerate(part) if word.stem in content]
        for number, word in enumerate(part if places else ()):
            condition = (
                word.lemmas & _CONDITIONS and not said & _CONDITIONS and _leaves_out(part[number + 1 :], content)
            )
            bound = _bounds(part, number, own) and _leaves_out(part[number + 1 :], content)
            doubt = word.lemmas & _DOUBTS and not said & _DOUBTS and places[-1] > number
            if condition or bound or doubt or (not denies and _denied(part, number, places)):
                limiting.append(word.form)
    return list(dict.fromkeys([*limiting, *_opposites(own, other)]))


def cells_to_interpret(claim: str, place: Place) -> list[str]:
    """The cells of a row that only say yes or no, in columns that a claim may speak of.

    What such a cell affirms or denies depends on how its header is meant, so it supports nothing.
    """
    content = {word.form[:_SAME_BEGINNING] for word in _words(claim) if word.carries_meaning}
    return [
        cell
        for head, cell in place.yes_or_no
        if not head or content & {word.form[:_SAME_BEGINNING] for word in _words(head)}
    ]


def _denies_itself(word: _Word) -> bool:
    """Whether a word ends in "n't", or is the opposite of what it is without its prefix or ending: "unable"."""
    return word.form.endswith("n't") or are_antonyms(word.form, _PREFIX.sub("", word.form, count=1))


def _words(text: str) -> list[_Word]:
    forms = (text[start:end].lower().replace("’", "'") for start, end in words(text))
    return [_Word(form, stem(form), lemmas(form)) for form in forms]


def _leaves_out(condition: Sequence[_Word], content: set[str]) -> bool:
    """Whether a claim with these words says nothing of a condition, which ends at the next comma."""
    end = next((number for number, word in enumerate(condition) if word.form == ","), len(condition))
    stems = {word.stem for word in condition[:end] if word.carries_meaning}
    return bool(stems) and not stems & content


def _bounds(part: Sequence[_Word], number: int, claim: Sequence[_Word]) -> bool:
    """Whether a word says for what amounts, or until when what is past, something holds that a claim says at large.

    "For orders above 50 euros", and "until 2024" after "was" where the claim has "is".
    """
    after = [word.form for word in part[number + 1 : number + 2 + _MOST_BOUNDED]]
    if part[number].form == "for":
        bounds = [place for place, form in enumerate(after) if form in _BOUNDS]
        return bool(bounds) and any(form[:1].isdigit() for form in after[bounds[0] + 1 : bounds[0] + 3])
    past = part[number].form in ("until", "till") and any(word.form in _PAST for word in part[:number])
    tenses, said = {word.form for word in claim}, {word.stem for word in part}
    all_said = all(word.stem in said for word in claim if word.carries_meaning)
    return past and all_said and bool(tenses & _PRESENT) and not tenses & (_PAST | {"until", "till"})


def _denied(part: Sequence[_Word], number: int, places: Sequence[int]) -> bool:
    """Whether a word denies one of these places of its part: one soon after it, or in the passive one before it."""
    word = part[number]
    denial = word.lemmas & _DENIALS
    if not (denial or word.lemmas & _NEGATORS or word.form.endswith("n't")):
        return False
    if denial and {before.form for before in part[max(0, number - 2) : number]} & _BE:
        return places[0] < number
    after = [place for place in range(number + 1, len(part)) if part[place].carries_meaning][:_NEAR]
    return bool({*after} & {*places})


def _opposites(own: Sequence[_Word], other: Sequence[_Word]) -> Iterator[str]:
    """Words of the text (`other`) that are opposite to a word of the claim (`own`) and stand nearer to what follows it.

    In "open on weekdays and closed on Sundays", "closed" stands nearer to "Sundays" than "open" does.
    """
    for number, word in enumerate(own):
        following = next((one.stem for one in own[number + 1 :] if one.carries_meaning), None)
        end = next((place for place, one in enumerate(other) if one.stem == following), 0)
        same = next((place for place in reversed(range(end)) if other[place].stem == word.stem), None)
        if word.carries_meaning and same is not None:
            between = [one.form for one in other[same + 1 : end] if are_antonyms(word.form, one.form)]
            yield from between[-1:]
