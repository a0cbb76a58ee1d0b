"""What edits share: matches replaced inside a sentence, numbers in words and digits, articles, capitals."""

import random
import re
from collections.abc import Callable, Sequence


def listed(text: str) -> list[str]:
    """The entries of a list: separated by commas, or by blanks where there is no comma."""
    return [" ".join(entry.split()) for entry in (text.split(",") if "," in text else text.split()) if entry.strip()]


_ONES = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*")


def number_in_words(number: int) -> str:
    """A number from 0 to 999,999 in words.

    >>> [number_in_words(number) for number in (7, 24, 300, 1915, 40000)]
    ['seven', 'twenty-four', 'three hundred', 'one thousand nine hundred and fifteen', 'forty thousand']
    """
    if number < 20:
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")
    size, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    count, rest = divmod(number, size)
    joined = " and " if size == 100 or rest < 100 else " "
    return f"{number_in_words(count)} {name}" + (f"{joined}{number_in_words(rest)}" if rest else "")


NUMBER_WORDS = {number_in_words(number): number for number in range(2, 100)}
"""Two to ninety-nine; "one" is more often a pronoun."""


def replaced(sentence: str, match: re.Match[str], text: str) -> str:
    """A sentence with other text in place of a match: capitals are kept, and a or an before it is put right."""
    old, before = match.group(), sentence[: match.start()]
    if old[:1].isupper() and old[1:2] != old[1:2].upper():
        text = text[:1].upper() + text[1:]
    article = re.search(r"\b([Aa])n?(?= $)", before)
    if article and text[:1].isalpha() and old[:1].isalpha():
        n = "n" if text[0].lower() in "aeiou" and not text.lower().startswith(("uni", "use", "one", "euro")) else ""
        before = f"{before[: article.start()]}{article.group(1)}{n} "
    return f"{before}{text}{sentence[match.end() :]}"


def replaced_one(
    sentence: str, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str | None], rng: random.Random
) -> str | None:
    """A sentence with one match of a pattern replaced, drawn among those for which `new` gives other text; or None."""
    matches = list(pattern.finditer(sentence))
    rng.shuffle(matches)
    for match in matches:
        text = new(match)
        if text is not None and text != match.group():
            return replaced(sentence, match, text)
    return None


def any_of(words: Sequence[str]) -> re.Pattern[str]:
    """Whole words or phrases, the longest first, in capitals or not."""
    alternatives = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<![\w'-])(?:{alternatives})(?![\w'-])", re.IGNORECASE)


def other(choices: Sequence[str], word: str, rng: random.Random) -> str | None:
    """One of the choices, but not the word itself; None where there is no other."""
    rest = [choice for choice in choices if choice.lower() != word.lower()]
    return rng.choice(rest) if rest else None


def lower_start(text: str) -> str:
    """A clause as it is inside a sentence: a small first letter unless the first word is a name or "I"."""
    first = re.match(r"[\w']+", text)
    common = first and first.group().lower() in _STARTS
    return text[:1].lower() + text[1:] if common else text


def upper_start(text: str) -> str:
    return text[:1].upper() + text[1:]


_STARTS = {
    *listed(
        "a an the this that these those he she it they we you there here his her its their our your my one two three"
    ),
    *listed(
        "some any all most many few no each every both people men women children in on at by from with for to of as"
    ),
    *listed(
        "when while if because although though after before since until unless during despite under over near between"
    ),
}
