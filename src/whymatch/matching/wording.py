"""Two texts in the same wording: spelling that does not change what they say is made equal before a network reads them.

Contractions, quotation marks, blanks, hyphens and the mark at the end are written in one way. An amount that stands
in both texts in two forms, such as "2,000" and "two thousand" or "24 months" and "two years", is written as in one.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

from whymatch.text.amounts import Amount, amounts, exact_values

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
    (re.compile(r"\s+"), " "),
    (re.compile(r" (?=[.,;:!?)])|(?<=\() "), ""),
    (re.compile(r"(?<![.!])[.!]+$"), ""),
]


def same_wording(left: str, right: str) -> tuple[str, str]:
    """Both texts without differences in spelling alone; the other order of the texts gives the same two.

    >>> same_wording("You can't cancel for twenty-four (24) months.", "You cannot cancel for two years")
    ('You can not cancel for 24 months', 'You can not cancel for 24 months')
    """
    texts = [_plain(left), _plain(right)]
    if texts[0] == texts[1]:
        return texts[0], texts[1]
    changes: list[list[tuple[int, int, str]]] = [[], []]
    for own, other in _pairs(*(amounts(text) for text in texts)):
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
    for one, following in pairwise(amounts(text) if "(" in text else []):
        bracketed = text[one.span.end : following.span.start] == " (" and text.startswith(")", following.span.end)
        if bracketed and exact_values(one) & exact_values(following):
            repeated.append((one.span.start, following.span.end + 1, text[following.span.start : following.span.end]))
    return _replaced(text, repeated)


def _pairs(left: Sequence[Amount], right: Sequence[Amount]) -> list[tuple[Amount, Amount]]:
    """The amounts of the left text with equal ones of the right text, each once, in the order of the texts."""
    free, pairs = defaultdict[Hashable, deque[int]](deque), []
    for number, other in enumerate(right):
        for value in exact_values(other):
            free[value].append(number)
    used = set[int]()
    for one in left:
        own = [free[value] for value in exact_values(one) if value in free]
        for queue in own:
            while queue and queue[0] in used:
                queue.popleft()
        if first := [queue[0] for queue in own if queue]:
            used.add(min(first))
            pairs.append((one, right[min(first)]))
    return pairs


def _replaced(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """The text with other words in place of these pieces; of those that overlap, only of the first."""
    pieces, place = list[str](), 0
    for start, end, words in sorted(changes):
        if start >= place:
            pieces += [text[place:start], words]
            place = end
    return "".join([*pieces, text[place:]])
