"""Which words of one text stand where which words of the other stand: by their alignment, and by what is equal."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

from whymatch.text.amounts import Amount, amounts
from whymatch.text.antonyms import lemmas
from whymatch.text.measures import Quantity
from whymatch.text.spans import Span, overlaps, words

Kind: TypeAlias = Literal["number", "date", "name", "negation", "antonym", "role"]

_MIN_EQUAL = 0.7  # of the words of two texts that are mostly equal

FUNCTION_WORDS = frozenset(
    str.split(
        """a an the this that these those it its he him his she her hers they them their theirs we us our ours you your
    yours i me my mine who whom whose which what where when why how there here be is are was were been being am 's
    're 'm 've 'd 'll s t has have had having do does did doing done will would shall should can could may might
    must ought not n't no nor and or but if then than so as of at by for with about against between into through
    during before after above below to from up down in out on off over under again further once because until while
    although though since whether either neither both each few more most other some such only own same too very just
    also yet still however therefore thus even ever much many any all every another one ones else rather quite let
    lets per via upon within without among across toward towards onto never nobody nothing none nowhere cannot
    hardly dont doesnt didnt isnt arent wasnt werent wont wouldnt cant couldnt shouldnt hasnt havent hadnt"""
    )
)


@dataclass(frozen=True)
class Conflict:
    """Words of two texts that contradict each other.

    Args:
        kind: number, date, name, negation, antonym or role.
        left, right: the words' spans in each text. A negation has them on one side only; a role has two on each.
    """

    kind: Kind
    left: tuple[Span, ...]
    right: tuple[Span, ...]

    def moved(self, left: int, right: int) -> "Conflict":
        """The same words in texts in which the two that were compared begin at these places."""
        sides = [
            tuple(Span(start + by, end + by) for start, end in side)
            for side, by in ((self.left, left), (self.right, right))
        ]
        return Conflict(self.kind, *sides)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], left: int, right: int) -> "Conflict":
        """The conflict that `kind`, `left` and `right` describe, in texts of these lengths.

        Raises:
            ValueError: if its kind is unknown, or its words are not inside the texts.
        """
        if values["kind"] not in get_args(Kind):
            raise ValueError(f"a conflict of the kind {values['kind']!r:.40}")
        sides = [tuple(Span(int(start), int(end)) for start, end in values[side]) for side in ("left", "right")]
        for spans, length in zip(sides, (left, right), strict=True):
            if not all(0 <= start <= end <= length for start, end in spans):
                raise ValueError("a conflict whose words are outside of the text")
        return cls(values["kind"], *sides)


@dataclass(frozen=True)
class Word:
    """A word of a text, or another character that shows."""

    text: str
    span: Span

    @cached_property
    def lower(self) -> str:
        return self.text.lower().replace("’", "'")

    @cached_property
    def bare(self) -> str:
        """In lower case, without a possessive ending."""
        return re.sub(r"'s?$", "", self.lower) or self.lower

    @cached_property
    def carries_meaning(self) -> bool:
        """Whether it is neither punctuation nor a function word."""
        return self.lower[:1].isalnum() and self.lower not in FUNCTION_WORDS and not self.lower.endswith("n't")

    @cached_property
    def lemmas(self) -> frozenset[str]:
        return lemmas(self.lower)


@dataclass(frozen=True)
class Place:
    """An amount, and the numbers of its words in its text.

    Args:
        amount: a quantity or a date.
        words: those of the amount itself.
        phrase: those of the amount with its hedge: "no more than 5 mg".
    """

    amount: Amount
    words: range
    phrase: range


class Correspondence:
    """The words of two texts and what links them.

    Args:
        left, right: the two texts.
        links: spans of words of the left and the right text that stand in the same place, by a word aligner.
        same: those of the links whose words mean the same; all of them by default.
    """

    def __init__(
        self,
        left: str,
        right: str,
        links: Iterable[tuple[Span, Span]],
        same: Iterable[tuple[Span, Span]] | None = None,
    ) -> None:
        self.texts = left, right
        self.left, self.right = (
            [Word(text[span.start : span.end], span) for span in words(text)] for text in self.texts
        )
        self.links = self._numbered([*links])
        """The numbers of words that are aligned."""
        self.same = self.links if same is None else self._numbered([*same])
        """The numbers of those that mean the same."""
        matcher = SequenceMatcher(None, [w.lower for w in self.left], [w.lower for w in self.right], autojunk=False)
        self.blocks = [(tag, range(a, b), range(c, d)) for tag, a, b, c, d in matcher.get_opcodes()]
        """What makes the left text the right one: runs of words that are equal, replaced, deleted or inserted."""

    def _numbered(self, pairs: Sequence[tuple[Span, Span]]) -> set[tuple[int, int]]:
        """The numbers of the words of pairs of spans."""
        own, other = self.numbers(0, (a for a, _ in pairs)), self.numbers(1, (b for _, b in pairs))
        both = zip(own, other, strict=True)
        return {(i, j) for left_words, right_words in both for i in left_words for j in right_words}

    def numbers(self, side: int, spans: Iterable[Span]) -> list[range]:
        """The numbers of the words of one text that overlap each span."""
        own = (self.left, self.right)[side]
        return overlaps([word.span for word in own], spans)

    @cached_property
    def amounts(self) -> tuple[list[Place], list[Place]]:
        """The amounts of each text. They alone are judged by what they say, not by their words."""
        left, right = self._places(0), self._places(1)
        return left, right

    def _places(self, side: int) -> list[Place]:
        own = amounts(self.texts[side])
        words = self.numbers(side, (amount.span for amount in own))
        phrases = self.numbers(side, (_phrase(amount) for amount in own))
        return [Place(*one) for one in zip(own, words, phrases, strict=True)]

    @cached_property
    def measured(self) -> tuple[frozenset[int], frozenset[int]]:
        """The numbers of the words of each text that belong to amounts and their hedges."""
        left, right = (frozenset(n for place in side for n in place.phrase) for side in self.amounts)
        return left, right

    def judged_by_amount(self, i: int, j: int) -> bool:
        """Whether what two words say is part of two amounts, so that no other rule looks at them."""
        return i in self.measured[0] and j in self.measured[1]

    @cached_property
    def equal(self) -> set[tuple[int, int]]:
        """The numbers of equal words, whatever their case, in the same order in both texts."""
        return {pair for tag, own, other in self.blocks if tag == "equal" for pair in zip(own, other, strict=True)}

    @cached_property
    def substituted(self) -> set[tuple[int, int]]:
        """The numbers of words in short runs that replace each other in texts that are mostly equal, word by word."""
        if 2 * len(self.equal) < _MIN_EQUAL * (len(self.left) + len(self.right)):
            return set()
        runs = [(own, other) for tag, own, other in self.blocks if tag == "replace"]
        return {(i, j) for own, other in runs if max(len(own), len(other)) <= 4 for i in own for j in other}

    def exclusive(self, i: int, j: int) -> bool:
        """Whether each of two words stands in its own text only, or if they are substituted, more often in its own."""
        one, other = self.left[i].bare, self.right[j].bare
        left, right = self._counts
        if (i, j) in self.substituted:
            return left[one] > right[one] and right[other] > left[other]
        return not (right[one] or left[other])

    @cached_property
    def _counts(self) -> tuple[Counter[str], Counter[str]]:
        return Counter(word.bare for word in self.left), Counter(word.bare for word in self.right)

    @cached_property
    def replaced(self) -> set[tuple[int, int]]:
        """The numbers of words in runs that replace each other, with equal words around them."""
        runs = [(own, other) for tag, own, other in self.blocks if tag == "replace"]
        return {(i, j) for own, other in runs if max(len(own), len(other)) <= 6 for i in own for j in other}

    def anchored(self, i: int, j: int) -> bool:
        """Whether two words are the same one in both texts: aligned or equal, or the beginning or end of both."""
        if i < 0 or j < 0 or i >= len(self.left) or j >= len(self.right):
            return (i < 0 and j < 0) or (i >= len(self.left) and j >= len(self.right))
        return (i, j) in self.links or (i, j) in self.equal

    def context(self, own: range, other: range) -> int:
        """How many of the two neighbours of a run of words of each text are the same: 0, 1 or 2."""
        return self.anchored(own[0] - 1, other[0] - 1) + self.anchored(own[-1] + 1, other[-1] + 1)

    def linked(self, own: Sequence[int], other: Sequence[int]) -> bool:
        """Whether some word of one is aligned with some word of the other, or replaces it."""
        pairs = {(i, j) for i in own for j in other}
        return bool(pairs & self.links or pairs & self.replaced)

    @cached_property
    def lemmas(self) -> tuple[frozenset[str], frozenset[str]]:
        """What the words of each text may be inflected forms of."""
        left, right = (frozenset(lemma for word in own for lemma in word.lemmas) for own in (self.left, self.right))
        return left, right

    def shared(self, but_left: Iterable[int] = (), but_right: Iterable[int] = ()) -> float:
        """The share of the words with meaning that the other text has too, in the text that has more words of its own.

        The words of these numbers are not counted.
        """
        return min(self.shared_of(0, but_left), self.shared_of(1, but_right))

    def shared_of(self, side: int, but: Iterable[int] = ()) -> float:
        """The share of the words with meaning of one text that the other has too, without those of these numbers."""
        own, left_out = (self.left, self.right)[side], {*but}
        aligned = {pair[side] for pair in self.same | self.equal}
        numbers = [number for number, word in enumerate(own) if word.carries_meaning and number not in left_out]
        same = [n for n in numbers if n in aligned or own[n].lemmas & self.lemmas[1 - side]]
        return len(same) / len(numbers) if numbers else 1.0


def _phrase(amount: Amount) -> Span:
    """The span of an amount with its hedge."""
    return (isinstance(amount, Quantity) and amount.phrase) or amount.span
