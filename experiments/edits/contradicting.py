"""Edits after which a sentence says something that cannot hold together with what it said before.

Each takes a sentence, a source of randomness and a lexicon, and gives the edited sentence, or None where it does not
apply.
"""

import random
import re

from experiments.edits.lexicon import MONTHS, UNITS, WEEKDAYS, Lexicon
from experiments.edits.text import NUMBER_WORDS, WORD, any_of, number_in_words, other, replaced_one

_DIGITS = re.compile(r"(?<![\w.,:/#-])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.,:/#-])\d+(?:\.\d+)?(?![\d:/])(?!,\d)")
_YEAR = re.compile(r"\b(?:1[5-9]\d\d|20[0-4]\d)\b")
_NUMBER_WORD = any_of([*NUMBER_WORDS])
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_ORDINAL = any_of(_ORDINALS[1:])
_TIME = re.compile(r"\b(\d{1,2})(:\d\d)?(?= ?(?:[ap]\.?m\b|o'clock))", re.IGNORECASE)
_DAY = any_of(WEEKDAYS)
_MONTH = re.compile(
    r"\b(?:"
    + "|".join(month for month in MONTHS if month not in ("May", "March"))
    + r"|(?<=in )May|(?<=in )March|(?:May|March)(?= \d))\b"
)
_UNIT_GROUPS = [
    group.split() for group in UNITS.replace("\n", " ").split(",") if "times" not in group and "mille" not in group
]
_UNIT = re.compile(
    r"(?<=\d)( ?)("
    + "|".join(sorted({unit for group in _UNIT_GROUPS for unit in group}, key=len, reverse=True))
    + r")\b"
)
_CURRENCY = re.compile(r"[$€£](?=\d)")
_CAPITALISED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")


def number(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """Another number, in digits or in words. Decimal fractions are for the part test alone."""

    def digits(match: re.Match[str]) -> str | None:
        text = match.group()
        if "." in text and lexicon.part == "train":
            return None
        return _other_number(text, rng)

    def words(match: re.Match[str]) -> str:
        value = NUMBER_WORDS[match.group().lower()]
        changed = value
        while changed == value:
            changed = rng.choice((value + 1, value - 1, value + 2, 2 * value, rng.randint(2, 12), 10 * value))
            changed = changed if 2 <= changed < 1000 else value
        return number_in_words(changed) if rng.random() < 0.8 else str(changed)

    ways = [(_DIGITS, digits), (_NUMBER_WORD, words), (_ORDINAL, lambda match: other(_ORDINALS, match.group(), rng))]
    if rng.random() < 0.3:
        rng.shuffle(ways)
    return next(filter(None, (replaced_one(sentence, pattern, new, rng) for pattern, new in ways)), None)


def _other_number(text: str, rng: random.Random) -> str | None:
    """Another number of a similar form: a digit changed, added or dropped, two digits swapped, or a factor of ten."""
    whole, point, fraction = text.replace(",", "").partition(".")
    value = int(whole)
    if point:
        changed = rng.choice(
            (f"{value + rng.choice((1, 2, 5))}.{fraction}", f"{whole}{fraction}", f"{value}.{int(fraction[0]) + 1}")
        )
        return changed if float(changed) != float(f"{whole}.{fraction}") else None
    position = rng.randrange(len(whole))
    digit = str(rng.randint(1, 9))
    candidates = [
        whole[:position] + digit + whole[position + 1 :],
        whole + "0",
        str(value + rng.randint(1, 9)),
        str(2 * value),
    ]
    candidates += [
        str(max(value - rng.randint(1, 9), 1)),
        whole[:-1] if len(whole) > 1 else whole,
        whole[::-1].lstrip("0"),
    ]
    candidates = [changed for changed in candidates if changed and int(changed) not in (value, 0)]
    if not candidates:
        return None
    changed = rng.choice(candidates)
    grouped = ("," in text and rng.random() < 0.8) or (len(changed) > 4 and rng.random() < 0.3)
    return f"{int(changed):,}" if grouped else changed


def unit(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """Another unit or currency beside a number."""
    del lexicon

    def new(match: re.Match[str]) -> str | None:
        group = rng.choice([group for group in _UNIT_GROUPS if match.group(2) in group])
        chosen = other(group, match.group(2), rng)
        return chosen and match.group(1) + chosen

    def currency(match: re.Match[str]) -> str | None:
        return other("$€£", match.group(), rng)

    return replaced_one(sentence, _UNIT, new, rng) or replaced_one(sentence, _CURRENCY, currency, rng)


def date(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """Another year, month, weekday or time of day."""
    del lexicon

    def year(match: re.Match[str]) -> str:
        return str(int(match.group()) + rng.choice((-100, -20, -10, -3, -2, -1, 1, 2, 4, 10, 25)))

    def hour(match: re.Match[str]) -> str:
        return f"{(int(match.group(1)) + rng.randint(0, 10)) % 12 + 1}{match.group(2) or ''}"

    ways = [
        (_YEAR, year),
        (_DAY, lambda match: other(WEEKDAYS, match.group(), rng)),
        (_MONTH, lambda match: other(MONTHS, match.group(), rng)),
        (_TIME, hour),
    ]
    rng.shuffle(ways)
    return next(filter(None, (replaced_one(sentence, pattern, new, rng) for pattern, new in ways)), None)


def name(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """Another name of the same kind, or another surname or city in place of a name that is not listed."""

    def listed(match: re.Match[str]) -> str | None:
        word = match.group()
        kind = lexicon.kind_of_name.get(word.lower())
        if kind is None or (word[0].islower() and (len(word) < 4 or kind != "drug") and not sentence.islower()):
            return None
        if word.islower() and kind in ("surname", "first name", "organisation"):
            return None
        chosen = other(lexicon.names[kind], word, rng)
        return chosen.lower() if chosen and word.islower() else chosen

    def capitalised(match: re.Match[str]) -> str | None:
        words = match.group().split()
        if len(words) > 3 or set(words) & {*MONTHS, *WEEKDAYS, "I"}:
            return None
        if len(words) == 2:
            return f"{rng.choice(lexicon.names['first name'])} {rng.choice(lexicon.names['surname'])}"
        return rng.choice(lexicon.names[rng.choice(("surname", "city", "organisation"))])

    return replaced_one(sentence, WORD, listed, rng) or replaced_one(sentence, _CAPITALISED, capitalised, rng)


def antonym(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """A word replaced by its opposite, or by another of which only one can hold."""

    def new(match: re.Match[str]) -> str | None:
        word = match.group()
        known = word[0].islower() or match.start() == 0
        return rng.choice(lexicon.antonyms[word.lower()]) if known and word.lower() in lexicon.antonyms else None

    return replaced_one(sentence, WORD, new, rng)


_QUANTIFIERS = {
    "all": ("no", "none of", "few"),
    "every": ("no",),
    "each": ("no",),
    "some": ("no",),
    "most": ("few", "hardly any"),
    "many": ("few", "no"),
    "few": ("many", "most"),
    "several": ("no",),
    "no": ("many", "all"),
    "none": ("all",),
    "always": ("never", "rarely"),
    "never": ("always", "often"),
    "both": ("neither of",),
    "everyone": ("nobody", "no one"),
    "everybody": ("nobody",),
    "nobody": ("everyone",),
    "someone": ("nobody",),
    "everything": ("nothing",),
    "nothing": ("everything",),
    "at least": ("at most", "less than", "fewer than"),
    "at most": ("at least", "more than"),
    "more than": ("less than", "fewer than", "exactly"),
    "less than": ("more than",),
    "fewer than": ("more than",),
    "up to": ("at least", "more than"),
    "usually": ("rarely", "never"),
    "often": ("never", "rarely"),
    "rarely": ("often",),
    "majority": ("minority",),
    "minimum": ("maximum",),
    "maximum": ("minimum",),
    "not more than": ("not less than",),
    "no more than": ("no less than", "more than"),
    "almost all": ("almost none of", "hardly any"),
    "only": ("not only",),
    "any": ("no",),
    "exactly": ("more than",),
    "entire": ("no part of the",),
    "half of": ("all of",),
}
_MODALS = {
    "must": ("must not", "need not", "may", "cannot"),
    "must not": ("must", "may", "can"),
    "shall": ("shall not", "may"),
    "shall not": ("shall", "may"),
    "may": ("may not", "must", "must not", "cannot"),
    "may not": ("may", "must"),
    "can": ("cannot", "can't", "must not"),
    "cannot": ("can", "must"),
    "can't": ("can",),
    "should": ("should not", "shouldn't", "must not"),
    "should not": ("should", "must"),
    "shouldn't": ("should",),
    "has to": ("does not have to", "must not"),
    "have to": ("do not have to", "must not"),
    "is required to": ("is not required to", "is forbidden to"),
    "are required to": ("are not required to", "are allowed to"),
    "is allowed to": ("is not allowed to", "is required to"),
    "are allowed to": ("are not allowed to", "are forbidden to"),
    "could": ("could not", "couldn't"),
    "need to": ("do not need to", "must not"),
    "needs to": ("does not need to",),
    "is able to": ("is unable to",),
    "are able to": ("are unable to",),
}
_QUANTIFIER, _MODAL = any_of([*_QUANTIFIERS]), any_of([*_MODALS])


def quantifier(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """How many or how often: all and none, always and never, at least and at most."""
    del lexicon

    def new(match: re.Match[str]) -> str | None:
        after_article = re.search(r"\b(?:an?|the|at) $", sentence[: match.start()], re.IGNORECASE)
        return None if after_article else rng.choice(_QUANTIFIERS[match.group().lower()])

    return replaced_one(sentence, _QUANTIFIER, new, rng)


def modality(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """What is allowed, required or possible."""
    del lexicon

    def new(match: re.Match[str]) -> str | None:
        before_verb = re.match(r" [a-z]", sentence[match.end() :])
        month = match.start() > 0 and match.group()[0].isupper()
        return rng.choice(_MODALS[match.group().lower()]) if before_verb and not month else None

    return replaced_one(sentence, _MODAL, new, rng)
