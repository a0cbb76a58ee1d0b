"""Edits after which a sentence says the same: punctuation, case, forms of numbers, contractions, order, synonyms.

Each takes a sentence, a source of randomness and a lexicon, and gives the edited sentence, or None where it does not
apply.
"""

import random
import re
from collections.abc import Callable

from experiments.edits.lexicon import MONTHS, Lexicon
from experiments.edits.text import (
    NUMBER_WORDS,
    WORD,
    any_of,
    listed,
    lower_start,
    number_in_words,
    replaced_one,
    upper_start,
)

_CONTRACTIONS = {
    "do not": "don't",
    "does not": "doesn't",
    "did not": "didn't",
    "is not": "isn't",
    "are not": "aren't",
    "was not": "wasn't",
    "were not": "weren't",
    "cannot": "can't",
    "will not": "won't",
    "would not": "wouldn't",
    "should not": "shouldn't",
    "could not": "couldn't",
    "have not": "haven't",
    "has not": "hasn't",
    "had not": "hadn't",
    "it is": "it's",
    "i am": "I'm",
    "they are": "they're",
    "we are": "we're",
    "you are": "you're",
    "he is": "he's",
    "she is": "she's",
    "i have": "I've",
    "we have": "we've",
    "they have": "they've",
    "i will": "I'll",
    "we will": "we'll",
    "that is": "that's",
    "there is": "there's",
    "let us": "let's",
}
_EXPANSIONS = {short.lower(): long for long, short in _CONTRACTIONS.items()} | {
    "i'm": "I am",
    "i've": "I have",
    "i'll": "I will",
}
_CONTRACTION = any_of([*_CONTRACTIONS, *_EXPANSIONS])
_UNITS = {
    "mg": "milligrams",
    "kg": "kilograms",
    "km": "kilometres",
    "cm": "centimetres",
    "ml": "millilitres",
    "GB": "gigabytes",
    "MB": "megabytes",
    "min": "minutes",
    "hrs": "hours",
    "lbs": "pounds",
    "ft": "feet",
    "m": "metres",
    "g": "grams",
}
_UNIT = re.compile(rf"(?<=\d) ?(?:{'|'.join([*_UNITS, *_UNITS.values()])})\b")
_UNIT_NAMES = {name: unit for unit, name in _UNITS.items()}
_THOUSANDS = re.compile(
    r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.,:/])(?!1[5-9]\d\d\b|20\d\d\b)\d{4,6}(?![\w,.:/-])"
)
_SMALL = re.compile(r"(?<![\w.,:/$€£#-])\d{1,2}(?= [a-z]{2})(?! (?:am|pm|a\.m|p\.m|percent|per cent))")
_NUMBER_WORD = any_of([*NUMBER_WORDS])
_PERCENT = re.compile(r"(?<=\d) ?(?:%|percent|per cent)")
_MONEY = re.compile(r"\$(\d+(?:,\d{3})*)(?![\d.,]| (?:million|billion|thousand))|\b(\d+(?:,\d{3})*) dollars\b")
_DATE = re.compile(
    rf"\b(?:(\d{{1,2}}) ({'|'.join(MONTHS)})|({'|'.join(MONTHS)}) (\d{{1,2}}))\b(?!,? ?\d{{1,3}}\b(?!\d))"
)
_FIRST_CLAUSE = re.compile(
    r"^((?:When|While|If|Because|Although|Though|After|Before|Since|Until|Unless|Once|In|On|During|At|From|By|For|Despite|"
    r"Under|Without) [^,]{4,90}) ?, ([^,;:]{8,}?)( ?[.!])?$"
)
_LAST_CLAUSE = re.compile(
    r"^([^,;:]{8,90}?),? ((?:when|while|if|because|although|though|until|unless|whenever) [^,;:]{8,90}?)( ?[.!])?$"
)
_COORDINATED = re.compile(
    r"^((?:The|A|An|He|She|It|They|We|I|You) [^,;:]{8,90}?) ?,? and "
    r"((?:the|a|an|he|she|it|they|we|I|you) [^,;:]{8,90}?)( ?[.!])?$"
)
_LISTED = re.compile(
    r"\b((?:[A-Z][a-z]+|(?:the|a|an) [a-z]+|[a-z]+ing)) and ((?:[A-Z][a-z]+|(?:the|a|an) [a-z]+|[a-z]+ing))(?= ?[.,]|$)"
)
_SPELLINGS = dict(
    pair.split("/")
    for pair in listed(
        "colour/color favour/favor favourite/favorite centre/center theatre/theater metre/meter litre/liter grey/gray "
        "organise/organize realise/realize recognise/recognize analyse/analyze travelled/traveled cancelled/canceled "
        "behaviour/behavior neighbour/neighbor labour/labor honour/honor defence/defense licence/license "
        "catalogue/catalog programme/program jewellery/jewelry tyre/tire"
    )
)
_SPELLING = any_of([*_SPELLINGS, *_SPELLINGS.values()])


def punctuation(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """Blanks before punctuation put in or taken out, no full stop at the end, other quotation marks and hyphens."""
    del lexicon
    ways: list[Callable[[str], str]] = [
        lambda text: re.sub(r"(?<=\w)([.,;:!?])(?=\s|$)", r" \1", text),
        lambda text: re.sub(r"(?<=\w) +([.,;:!?])(?=\s|$)", r"\1", text),
        lambda text: re.sub(r" ?\.$", "", text),
        lambda text: text if text.endswith((".", "!", "?")) else f"{text}.",
        lambda text: (
            text.replace("``", '"').replace("''", '"') if "``" in text else re.sub(r'"([^"]*)"', r"'\1'", text)
        ),
        lambda text: re.sub(r"(?<=[a-z])-(?=[a-z])", " ", text),
        lambda text: re.sub(r"\.$", "!", text),
        lambda text: text.replace("-- ", "– ") if "-- " in text else text.replace(" - ", ", "),
        lambda text: re.sub(r"(?<=\w) (?=\w)", "  ", text, count=1),
    ]
    return next((edited for way in rng.sample(ways, len(ways)) if (edited := way(sentence)) != sentence), None)


def case(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    del lexicon
    edited = rng.choice((str.lower, str.lower, str.upper, str.title, upper_start))(sentence)
    return edited if edited != sentence else None


def number_form(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """The same number otherwise: 2,000 and 2000, 24 and twenty-four, 5% and 5 percent, $5 and 5 dollars, 5 mg, 5mg."""
    del lexicon

    def thousands(match: re.Match[str]) -> str:
        return match.group().replace(",", "") if "," in match.group() else f"{int(match.group()):,}"

    def percent(match: re.Match[str]) -> str:
        return rng.choice((" percent", " per cent") if "%" in match.group() else ("%", " %"))

    def money(match: re.Match[str]) -> str:
        return f"{match.group(1)} dollars" if match.group(1) else f"${match.group(2)}"

    def unit(match: re.Match[str]) -> str:
        word = match.group().strip()
        long, short = _UNITS.get(word, word), _UNIT_NAMES.get(word, word)
        return rng.choice([form for form in (f" {long}", f" {short}", short) if form != match.group()])

    def date(match: re.Match[str]) -> str:
        day, month, other_month, other_day = match.groups()
        return f"{month} {day}" if day else f"{other_day} {other_month}"

    ways = [
        (_THOUSANDS, thousands),
        (_SMALL, lambda match: number_in_words(int(match.group()))),
        (_NUMBER_WORD, lambda match: str(NUMBER_WORDS[match.group().lower()])),
        (_PERCENT, percent),
        (_MONEY, money),
        (_UNIT, unit),
        (_DATE, date),
    ]
    rng.shuffle(ways)
    return next(filter(None, (replaced_one(sentence, pattern, new, rng) for pattern, new in ways)), None)


def contraction(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """ "do not" and "don't"."""
    del lexicon
    table = _CONTRACTIONS | _EXPANSIONS
    return replaced_one(sentence, _CONTRACTION, lambda match: table[match.group().lower()], rng)


def spelling(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """British and American."""
    del lexicon
    table = _SPELLINGS | {american: british for british, american in _SPELLINGS.items()}
    return replaced_one(sentence, _SPELLING, lambda match: table[match.group().lower()], rng)


def reordering(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """Clauses, or the members of a list, in another order."""
    del lexicon
    if match := _FIRST_CLAUSE.match(sentence):
        first, main, end = match.groups()
        if len(main.split()) > 3:
            return f"{upper_start(main.strip())} {first[:1].lower()}{first[1:]}{end or ''}"
    if match := _LAST_CLAUSE.match(sentence):
        main, last, end = match.groups()
        return f"{upper_start(last)}, {lower_start(main)}{end or ''}"
    if match := _COORDINATED.match(sentence):
        first, second, end = match.groups()
        if second.split()[0] not in ("he", "she", "it", "they"):
            return f"{upper_start(second)}, and {lower_start(first)}{end or ''}"

    def swapped(match: re.Match[str]) -> str | None:
        first, second = match.groups()
        joined = re.search(r"(?:between|both) $", sentence[: match.start()]) is None
        return f"{second} and {first}" if joined else None

    return replaced_one(sentence, _LISTED, swapped, rng)


def synonym(sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """A word replaced by one that means the same."""

    def new(match: re.Match[str]) -> str | None:
        word = match.group()
        known = word[0].islower() and word in lexicon.synonyms and word not in ("being", "person", "after")
        return rng.choice(lexicon.synonyms[word]) if known else None

    return replaced_one(sentence, WORD, new, rng)
