"""Negations put in and taken out."""

import random
import re

from experiments.edits.lexicon import Lexicon
from experiments.edits.text import WORD, any_of, listed, lower_start, replaced_one, upper_start

_AUXILIARIES = listed("is are was were has have had does do did will would can could should must may might shall")
_AUXILIARY = re.compile(rf"\b(?:{'|'.join(_AUXILIARIES)})\b(?! not\b|n't|\?)", re.IGNORECASE)
_SHORT = {
    "is": "isn't",
    "are": "aren't",
    "was": "wasn't",
    "were": "weren't",
    "has": "hasn't",
    "have": "haven't",
    "had": "hadn't",
    "does": "doesn't",
    "do": "don't",
    "did": "didn't",
    "will": "won't",
    "would": "wouldn't",
    "can": "can't",
    "could": "couldn't",
    "should": "shouldn't",
    "must": "mustn't",
}
_LONG = {short: base for base, short in _SHORT.items()} | {"cannot": "can", "can not": "can"}
_NEGATED = any_of([*_LONG])
_NOT = re.compile(r"(?<=\w) (?:not|n't|never|no longer)(?= \w)")
_NO = re.compile(r"\b(?:no|without)(?= [a-z]+)", re.IGNORECASE)
_SOME = re.compile(r"(?<=\bis )an?\b|(?<=\bare )some\b|\bwith\b|(?<=\bhas )an?\b|(?<=\bhave )(?:an?|some)\b")
_PERFECT = {"has", "have", "had", "do", "does", "did"}
_IMPERATIVES = listed(
    "take use press click open close add remove install run check call avoid apply keep store wash turn set select "
    "enter restart send pay read give put move start stop try wait return contact replace insert drink mix stir heat "
    "cook serve place cut follow"
)
_IMPERATIVE = re.compile(rf"^(?:Please )?(?:{'|'.join(_IMPERATIVES)})\b(?! (?:is|was|are))", re.IGNORECASE)


def negation(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """A negation taken out where there is one, or put in."""
    if rng.random() < 0.7 and (without := _taken_out(sentence, rng)):
        return without
    ways = [_of_auxiliary, _of_verb, _of_imperative, _of_existence]
    weights = [6, 3, 6, 1]
    order = sorted(range(len(ways)), key=lambda i: rng.random() ** (1 / weights[i]), reverse=True)
    return next(filter(None, (ways[i](sentence, rng, lexicon) for i in order)), None)


def _taken_out(sentence: str, rng: random.Random) -> str | None:
    without = (
        replaced_one(sentence, _NEGATED, lambda match: _LONG[match.group().lower()], rng)
        or replaced_one(sentence, _NOT, lambda match: "", rng)
        or replaced_one(sentence, _NO, lambda match: {"no": "some", "without": "with"}[match.group().lower()], rng)
    )
    if without is None:
        begins = re.match(r"(?:Do not|Don't|Never) (\w.*)", sentence, re.DOTALL)
        return upper_start(begins.group(1)) if begins else None
    return without


def _of_auxiliary(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """ "is" becomes "is not", "isn't" or "is never"."""

    def new(match: re.Match[str]) -> str | None:
        word = match.group()
        following = WORD.match(sentence, match.end() + 1)
        if word.lower() in _PERFECT and not (following and _participle(following.group(), lexicon)):
            return None
        if word.lower() in _SHORT and rng.random() < 0.4:
            return _SHORT[word.lower()]
        return f"{word} {'never' if rng.random() < 0.15 else 'not'}"

    return replaced_one(sentence, _AUXILIARY, new, rng)


def _participle(word: str, lexicon: Lexicon) -> bool:
    return word.lower() in lexicon.wordnet.verbs or word in ("been", "had", "done", "gone", "made")


def _of_verb(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """ "walks" becomes "does not walk" and "walked" "did not walk"; "never walked"."""

    def new(match: re.Match[str]) -> str | None:
        word = match.group()
        base = lexicon.wordnet.verbs.get(word)
        before = WORD.findall(sentence[: match.start()])[-1:]
        if base is None or not before or base == word or word.endswith("ing"):
            return None
        if before[0].lower() in _NOT_SUBJECTS or before[0].lower().endswith("ly"):
            return None
        if rng.random() < 0.2:
            return f"never {word}"
        auxiliary = "does" if word.endswith("s") else "did"
        return f"{auxiliary + ' not' if rng.random() < 0.6 else _SHORT[auxiliary]} {base}"

    return replaced_one(sentence, WORD, new, rng)


_NOT_SUBJECTS = {
    *_AUXILIARIES,
    *listed(
        "be been being a an the of by in on at with for to and or as get gets got not never more most very so too "
        "than from into"
    ),
    *listed(
        "his her its their our your my this that these those which is 's which were was when if when while well newly"
    ),
}


def _of_imperative(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    del lexicon
    if not _IMPERATIVE.match(sentence):
        return None
    bare = re.sub(r"^Please ", "", sentence)
    return rng.choice(("Do not ", "Don't ", "Never ")) + bare[:1].lower() + bare[1:]


def _of_existence(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """ "There is a" becomes "There is no", "with" becomes "without"; now and then the whole sentence is denied."""
    del lexicon
    if rng.random() < 0.1 and sentence[:1].isupper():
        denial = rng.choice(("It is not true that", "It is false that", "It is not the case that"))
        return f"{denial} {lower_start(sentence)}"
    return replaced_one(sentence, _SOME, lambda match: "without" if match.group() == "with" else "no", rng)
