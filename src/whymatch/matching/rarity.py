"""Rare words say more than frequent ones: a price for links of words that every text has."""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import log
from typing import Self

import torch
from torch import Tensor

from whymatch.text.document import Document
from whymatch.text.spans import words

MOST = 2**18  # texts whose spans are remembered


class Rarity:
    """How rare the words of a span are among some texts, and how much a link of rare ones is worth.

    A word is worth 0 if every text has it, and `weight` if none has; a span is worth the mean of its words, and nothing
    if it has no letter or digit.

    >>> from whymatch.text.document import joined
    >>> Rarity.of_texts(["the cat", "the dog"], weight=1.0).of(joined(["the", "dog", "owl"]))
    tensor([0.0000, 0.3691, 1.0000])
    """

    def __init__(self, counts: Mapping[str, int], texts: int, weight: float) -> None:
        self.counts, self.texts, self.weight = dict(counts), texts, weight
        self.known: dict[Document, Tensor] = {}

    @classmethod
    def of_texts(cls, texts: Iterable[str], weight: float) -> Self:
        """Counts in how many texts each word is."""
        found = [{text[start:end].casefold() for start, end in words(text)} for text in texts]
        return cls(Counter(word for some in found for word in some), len(found), weight)

    def of(self, text: Document) -> Tensor:
        """(spans): what each is worth."""
        if (found := self.known.get(text)) is None:
            found = torch.tensor([self.of_piece(piece) for piece in text.pieces], dtype=torch.float32)
            if len(self.known) < MOST:
                self.known[text] = found
        return found

    def of_piece(self, piece: str) -> float:
        rare = [
            self.of_word(piece[start:end].casefold())
            for start, end in words(piece)
            if any(map(str.isalnum, piece[start:end]))
        ]
        return self.weight * sum(rare) / len(rare) if rare else 0.0

    def of_word(self, word: str) -> float:
        return 1 - log(1 + self.counts.get(word, 0)) / log(1 + self.texts) if self.texts else 1.0
