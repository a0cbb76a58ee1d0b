"""Terms that read the texts of spans: rare words say more than frequent ones, and contradictions say no."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf, log
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from array_api_compat import device

from whymatch.arrays import array_namespace
from whymatch.cost.term import Array, PaddedPairs, Term, non_negative
from whymatch.text.document import Document
from whymatch.text.spans import words

MAX_CACHED_TEXTS = 2**18
MAX_WORDS_PER_PRODUCT = 2**12


class _SpanWords(NamedTuple):
    """The words of a text's spans, each once per span: numbers of spans and of words, and the words' shares."""

    spans: np.ndarray
    words: np.ndarray
    shares: np.ndarray

    def matrix(self, spans: int, words: np.ndarray) -> np.ndarray:
        """(spans, words): the shares of the given words, whose numbers are sorted."""
        places = np.searchsorted(words, self.words).clip(max=len(words) - 1)
        inside = words[places] == self.words
        shares = np.zeros((spans, len(words)), np.float32)
        shares[self.spans[inside], places[inside]] = self.shares[inside]
        return shares


class WordCounts:
    """In how many of `texts` texts each word is, whatever its case, and what that makes spans worth.

    A word is worth 0 if every text has it, and 1 if none has. What was computed for a document is cached.

    >>> import whymatch as wm
    >>> from whymatch.text.document import joined
    >>> counts = wm.cost.WordCounts.of(["the cat", "the dog"])
    >>> print(counts.rarity(joined(["the", "dog", "owl"])).round(2))
    [0.   0.37 1.  ]
    >>> print(counts.shared(joined(["the dog"]), joined(["the cat", "a dog"])).round(2))
    [[0.   0.52]]
    """

    def __init__(self, counts: Mapping[str, int], texts: int) -> None:
        if not all(type(number) is int and number >= 0 for number in (texts, *counts.values())):
            raise ValueError("WordCounts takes whole numbers of texts, 0 or more, for all texts and for each word.")
        self.counts, self.texts = dict(counts), texts
        self._rarity: dict[Document, np.ndarray]
        self._span_words: dict[Document, _SpanWords]
        self._numbers: defaultdict[str, int]
        self.forget()

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Counts the words of texts."""
        distinct = [{text[start:end].casefold() for start, end in words(text)} for text in texts]
        return cls(Counter(word for text_words in distinct for word in text_words), len(distinct))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordCounts) and (self.texts, self.counts) == (other.texts, other.counts)

    def __hash__(self) -> int:
        return hash((self.texts, len(self.counts)))

    def forget(self) -> None:
        """Drops what is cached of texts that it has seen."""
        self._rarity, self._span_words, self._numbers = {}, {}, defaultdict(count().__next__)

    @property
    def cached_texts(self) -> int:
        """How many texts have something in the cache."""
        return len(self._rarity.keys() | self._span_words.keys())

    def of_word(self, word: str) -> float:
        """How rare a word is, from 0 to 1; case-folded."""
        return max(0.0, 1 - log(1 + self.counts.get(word, 0)) / log(1 + self.texts)) if self.texts else 1.0

    def rarity(self, text: Document) -> np.ndarray:
        """(spans): the mean of the words of each span; 0 for a span without a letter or digit."""
        if (rarity := self._rarity.get(text)) is None:
            rarity = np.array([self._of_piece(piece) for piece in text.pieces], np.float32)
            if len(self._rarity) < MAX_CACHED_TEXTS:
                self._rarity[text] = rarity
        return rarity

    def shared(self, left: Document, right: Document) -> np.ndarray:
        """(left spans, right spans): the cosine of the words of two spans, which count by their rarity."""
        sides = self._words_of(left), self._words_of(right)
        common = np.intersect1d(sides[0].words, sides[1].words)
        cosines = np.zeros((len(left), len(right)), np.float32)
        for start in range(0, len(common), MAX_WORDS_PER_PRODUCT):
            chunk = common[start : start + MAX_WORDS_PER_PRODUCT]
            cosines += sides[0].matrix(len(left), chunk) @ sides[1].matrix(len(right), chunk).T
        return cosines

    def _words_of(self, text: Document) -> _SpanWords:
        if (span_words := self._span_words.get(text)) is None:
            rows: list[tuple[int, int, float]] = []
            for number, piece in enumerate(text.pieces):
                rare = {word: self.of_word(word) for word in _spoken(piece)}
                whole = sum(rare.values())
                rows += [(number, self._numbers[word], (value / whole) ** 0.5) for word, value in rare.items() if value]
            spans, numbers, shares = zip(*rows, strict=True) if rows else ((), (), ())
            span_words = _SpanWords(np.array(spans, int), np.array(numbers, int), np.array(shares, np.float32))
            if len(self._span_words) < MAX_CACHED_TEXTS:
                self._span_words[text] = span_words
        return span_words

    def _of_piece(self, piece: str) -> float:
        rare = [self.of_word(word) for word in _spoken(piece)]
        return sum(rare) / len(rare) if rare else 0.0


def _spoken(piece: str) -> list[str]:
    """The words of a text that have a letter or a digit, whatever their case."""
    pieces = (piece[start:end].casefold() for start, end in words(piece))
    return [word for word in pieces if any(map(str.isalnum, word))]


@dataclass(frozen=True)
class WordTerm(Term):
    """A term with a weight, which reads words and their counts.

    >>> import whymatch as wm
    >>> counts = wm.cost.WordCounts.of(["the cat slept", "the dog ran"])
    >>> wm.cost.SharedWords.from_value(0.5, counts), wm.cost.RareWords(0.5, counts).to_dict()
    (SharedWords(weight=0.5), {'rare_words': 0.5})
    """

    weight: float
    counts: WordCounts = field(repr=False)
    least = -inf

    def __post_init__(self) -> None:
        non_negative(self)

    @classmethod
    def from_value(cls, value: Any, counts: WordCounts | None = None) -> Self:
        if counts is None:
            raise ValueError(f"The cost term {cls.name} weighs words by how many texts have them: give WordCounts.")
        return cls(**value, counts=counts) if isinstance(value, dict) else cls(value, counts)


@dataclass(frozen=True)
class RareWords(WordTerm):
    """Makes links of rare words cheaper, by `weight` times what the two spans are worth together.

    >>> import whymatch as wm
    >>> counts = wm.cost.WordCounts.of(["the cat slept", "the dog ran"])
    >>> vectors = wm.Precomputed({"the": [1.0], "owl": [1.0]})
    >>> aligner = wm.Aligner("word", vectors, wm.Cost(wm.cost.Cosine(), wm.cost.RareWords(0.5, counts)))
    >>> aligner.align("the owl", "the owl", wm.Exactly(1)).links[0].texts
    ('owl', 'owl')
    """

    name, contextual = "rare_words", False

    def changed(self, cost: Array, pairs: PaddedPairs) -> Array:
        worth = [np.zeros(cost.shape[:2], np.float32), np.zeros(cost.shape[::2], np.float32)]
        for row, texts in enumerate(pairs.documents(self)):
            for side, text in enumerate(texts):
                worth[side][row, : len(text)] = self.weight * self.counts.rarity(text)
        left, right = (_like(cost, values) for values in worth)
        return cost - left[:, :, None] - right[:, None, :]


@dataclass(frozen=True)
class SharedWords(WordTerm):
    """Makes links cheaper by the rare words that two spans share: by `weight` where they have the same words.

    >>> import whymatch as wm
    >>> counts = wm.cost.WordCounts.of(["the cat slept", "the dog ran"])
    >>> vectors = wm.Precomputed({"a cat": [1.0], "the dog": [1.0], "my dog": [1.0]})
    >>> aligner = wm.Aligner("line", vectors, wm.Cost(wm.cost.Cosine(), wm.cost.SharedWords(0.5, counts)))
    >>> aligner.align(["my dog"], ["a cat", "the dog"], wm.Exactly(1)).links[0].texts
    ('my dog', 'the dog')
    """

    name, contextual = "shared_words", False

    def changed(self, cost: Array, pairs: PaddedPairs) -> Array:
        common = np.zeros(cost.shape, np.float32)
        for row, (left, right) in enumerate(pairs.documents(self)):
            common[row, : len(left), : len(right)] = self.weight * self.counts.shared(left, right)
        return cost - _like(cost, common)


class ReadsContradictions(Protocol):
    """What says how probable it is that two texts contradict each other."""

    def contradiction(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """(pairs,): the probability for the left and the right text of each pair."""


@dataclass(frozen=True)
class Relations(Term):
    """Makes links of spans that contradict each other dearer: by `weight` where that is certain.

    After evidence, the weight is in bits. Every pair of spans is read twice, so this is for short texts. An aligner
    gives the reader that ships with whymatch, for English texts, unless one is given here.

    >>> import whymatch as wm
    >>> cost = wm.Cost(wm.cost.Cosine(), wm.cost.Evidence(), wm.cost.Relations(10.0))
    >>> why = wm.Aligner(cost=cost).align("Take 5 mg a day.", "Take 50 mg a day. Take 5 mg daily.")
    >>> [link.texts[1] for link in why.links]
    ['Take 5 mg daily.']
    """

    weight: float
    reader: ReadsContradictions | None = field(default=None, repr=False, compare=False)
    name, contextual, reads_pairs = "relations", False, True

    def __post_init__(self) -> None:
        non_negative(self)

    def read_by(self, reader: ReadsContradictions) -> "Relations":
        """The same term with this reader."""
        return replace(self, reader=reader)

    def changed(self, cost: Array, pairs: PaddedPairs) -> Array:
        if self.reader is None:
            raise ValueError("Relations takes what reads them: give Relations(weight, reader), or use an Aligner.")
        documents = pairs.documents(self)
        texts = [(one, other) for left, right in documents for one in left.pieces for other in right.pieces]
        distinct = [*dict.fromkeys(texts)]
        known = dict(zip(distinct, self.reader.contradiction(distinct).tolist(), strict=True)) if distinct else {}
        price = np.zeros(cost.shape)
        for row, (left, right) in enumerate(documents):
            read = [[known[one, other] for other in right.pieces] for one in left.pieces]
            price[row, : len(left), : len(right)] = self.weight * np.array(read).reshape(len(left), len(right))
        return cost + _like(cost, price)


def _like(cost: Array, values: np.ndarray) -> Array:
    xp = array_namespace(cost)
    return xp.asarray(values, dtype=cost.dtype, device=device(cost))
