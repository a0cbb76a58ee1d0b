"""Rare words say more than frequent ones: a price for links of words that every text has."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import count
from math import inf, log
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from whymatch.text.document import Document
from whymatch.text.spans import words

MOST = 2**18  # texts whose spans are remembered
AT_ONCE = 2**12  # words that are compared in one product


class Listed(NamedTuple):
    """The words of a text's spans, each once a span: the numbers of spans and of words, and the words' shares."""

    spans: np.ndarray
    words: np.ndarray
    shares: np.ndarray

    def matrix(self, spans: int, words: np.ndarray) -> np.ndarray:
        """(spans, words): the shares of some words, which are sorted."""
        places = np.searchsorted(words, self.words).clip(max=len(words) - 1)
        inside = words[places] == self.words
        found = np.zeros((spans, len(words)), np.float32)
        found[self.spans[inside], places[inside]] = self.shares[inside]
        return found


class Rarity:
    """How rare the words of a span are among some texts, and how much a link of rare ones is worth.

    A word is worth 0 if every text has it, and `weight` if none has; a span is worth the mean of its words, and nothing
    if it has no letter or digit. What two spans have in common is worth `shared` if they have the same words, and less
    the rarer the words are that only one has.

    >>> from whymatch.text.document import joined
    >>> rarity = Rarity.of_texts(["the cat", "the dog"], weight=1.0, shared=1.0)
    >>> rarity.of(joined(["the", "dog", "owl"]))
    tensor([0.0000, 0.3691, 1.0000])
    >>> rarity.between(joined(["the dog"]), joined(["the cat", "a dog"]))
    tensor([[0.0000, 0.5192]])
    """

    def __init__(self, counts: Mapping[str, int], texts: int, weight: float, shared: float = 0.0) -> None:
        if not (0 <= weight < inf and 0 <= shared < inf):
            raise ValueError(f"Rarity(weight={weight}, shared={shared}) takes numbers that are 0 or more.")
        self.counts, self.texts, self.weight, self.shared = dict(counts), texts, weight, shared
        self.known: dict[Document, Tensor]
        self.listed: dict[Document, Listed]
        self.numbers: defaultdict[str, int]
        self.forget()

    @classmethod
    def of_texts(cls, texts: Iterable[str], weight: float, shared: float = 0.0) -> Self:
        """Counts in how many texts each word is."""
        found = [{text[start:end].casefold() for start, end in words(text)} for text in texts]
        return cls(Counter(word for some in found for word in some), len(found), weight, shared)

    def forget(self) -> None:
        """Drops what it keeps of texts that it has seen."""
        self.known, self.listed, self.numbers = {}, {}, defaultdict(count().__next__)

    def of(self, text: Document) -> Tensor:
        """(spans): what each is worth."""
        if (found := self.known.get(text)) is None:
            found = torch.tensor([self.of_piece(piece) for piece in text.pieces], dtype=torch.float32)
            if len(self.known) < MOST:
                self.known[text] = found
        return found

    def between(self, left: Document, right: Document) -> Tensor:
        """(left spans, right spans): what each pair has in common, a cosine of the words that count by their rarity."""
        sides = self.list_words(left), self.list_words(right)
        common = np.intersect1d(sides[0].words, sides[1].words)
        found = np.zeros((len(left), len(right)), np.float32)
        for start in range(0, len(common), AT_ONCE):
            some = common[start : start + AT_ONCE]
            of_left, of_right = (side.matrix(len(text), some) for text, side in zip((left, right), sides, strict=True))
            found += of_left @ of_right.T
        return torch.from_numpy(self.shared * found)

    def list_words(self, text: Document) -> Listed:
        if (found := self.listed.get(text)) is None:
            rows: list[tuple[int, int, float]] = []
            for number, piece in enumerate(text.pieces):
                rare = {word: self.of_word(word) for word in spoken(piece)}
                whole = sum(rare.values())
                rows += [(number, self.numbers[word], (value / whole) ** 0.5) for word, value in rare.items() if value]
            spans, numbers, shares = zip(*rows, strict=True) if rows else ((), (), ())
            found = Listed(np.array(spans, np.int64), np.array(numbers, np.int64), np.array(shares, np.float32))
            if len(self.listed) < MOST:
                self.listed[text] = found
        return found

    def of_piece(self, piece: str) -> float:
        rare = [self.of_word(word) for word in spoken(piece)]
        return self.weight * sum(rare) / len(rare) if rare else 0.0

    def of_word(self, word: str) -> float:
        return max(0.0, 1 - log(1 + self.counts.get(word, 0)) / log(1 + self.texts)) if self.texts else 1.0


def spoken(piece: str) -> list[str]:
    """The words of a text that have a letter or a digit, whatever their case."""
    found = (piece[start:end].casefold() for start, end in words(piece))
    return [word for word in found if any(map(str.isalnum, word))]
