"""Two texts in the same wording: spelling that does not change what they say is made equal before a network reads them.

Contractions, quotation marks, blanks, hyphens and the mark at the end are written in one way. An amount that stands
in both texts in two forms, such as "2,000" and "two thousand" or "24 months" and "two years", is written as in one.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

from whymatch.text.dates import Date, dates
from whymatch.text.quantities import Quantity, quantities

_Amount: TypeAlias = Quantity | Date
_IRREGULAR = {"can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not", "let's": "let us"}
_ENDINGS = {"n't": " not", "'re": " are", "'m": " am", "'ve": " have", "'ll": " will"}
_WRITTEN_IN_ONE_WAY: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(r"[’‘`´]"), "'"),
    (re.compile(r"''|[“”„«»]"), '"'),
    (re.compile(r"[–—−]"), "-"),
    (re.compile(rf"\b(?:{'|'.join(_IRREGULAR)})\b", re.IGNORECASE), lambda match: _IRREGULAR[match[0].lower()]),
    (re.compile(rf"(?<=\w)(?:{'|'.join(_ENDINGS)})\b", re.IGNORECASE), lambda match: _ENDINGS[match[0].lower()]),
    (re.compile(r"\b(it|he|she|that|there|here|what|where|who)'s(?= [a-z])", re.IGNORECASE), r"\1 is"),
    (re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])"), " "),
    (re.compile(r"\s+(?=[.,;:!?)])|(?<=\()\s+"), ""),
    (re.compile(r"\s+"), " "),
    (re.compile(r"[.!]+$"), ""),
]


def same_wording(left: str, right: str) -> tuple[str, str]:
    """Both texts without differences in spelling alone; the other order of the texts gives the same two.

    >>> same_wording("You can't cancel for twenty-four (24) months.", "You cannot cancel for two years")
    ('You can not cancel for 24 months', 'You can not cancel for 24 months')
    """
    texts = [_plain(left), _plain(right)]
    if texts[0] == texts[1]:
        return texts[0], texts[1]
    amounts = [_amounts(text) for text in texts]
    changes: list[list[tuple[int, int, str]]] = [[], []]
    for own, other in _pairs(*amounts):
        forms = [text[one.span.start : one.span.end] for text, one in zip(texts, (own, other), strict=True)]
        chosen = min(forms, key=lambda form: (len(form), form))
        for side, one in enumerate((own, other)):
            changes[side].append((*one.span, chosen))
    return _replaced(texts[0], changes[0]), _replaced(texts[1], changes[1])


def _plain(text: str) -> str:
    """A text with contractions, marks and blanks written in one way, and each amount once: "four (4)" is "4"."""
    text = text.strip()
    for pattern, written in _WRITTEN_IN_ONE_WAY:
        text = pattern.sub(written, text)
    repeated = []
    own = _amounts(text) if "(" in text else []
    for one, following in pairwise(own):
        between, after = text[one.span.end : following.span.start], text[following.span.end :]
        if between == " (" and after.startswith(")") and _equal(one, following):
            repeated.append((one.span.start, following.span.end + 1, text[following.span.start : following.span.end]))
    return _replaced(text, repeated)


def _amounts(text: str) -> list[_Amount]:
    own_dates = dates(text)
    return sorted([*own_dates, *quantities(text, [date.span for date in own_dates])], key=lambda amount: amount.span)


def _pairs(left: Sequence[_Amount], right: Sequence[_Amount]) -> list[tuple[_Amount, _Amount]]:
    """The amounts of the left text with equal ones of the right text, each once, in the order of the texts."""
    free, pairs = [*right], []
    for one in left:
        match = next((other for other in free if _equal(one, other)), None)
        if match is not None:
            free.remove(match)
            pairs.append((one, match))
    return pairs


def _equal(one: _Amount, other: _Amount) -> bool:
    """Whether two amounts are the same, to the last digit."""
    if isinstance(one, Date) and isinstance(other, Date):
        return one.kind == other.kind and bool(one.readings & other.readings)
    if not (isinstance(one, Quantity) and isinstance(other, Quantity)) or one.vague or other.vague:
        return False
    if one.hedge != other.hedge or (one.unit and one.unit.dimension) != (other.unit and other.unit.dimension):
        return False
    values = [quantity.unit.base(quantity.value) if quantity.unit else quantity.value for quantity in (one, other)]
    return values[0] == values[1]


def _replaced(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """The text with other words in place of these pieces."""
    for start, end, words in sorted(changes, reverse=True):
        text = text[:start] + words + text[end:]
    return text
