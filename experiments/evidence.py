"""The evidence of pairs of a corpus, measured against a background: what the benchmark and the calibration share."""

import random
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from experiments.corpora import Corpus
from whymatch.batching import Size, size_sorted
from whymatch.cost import Background
from whymatch.cost.background import pieces_of, sample
from whymatch.matching.aligner import Aligner
from whymatch.matching.comparing import compare
from whymatch.matching.significance import Scale, counted_sizes
from whymatch.matching.solving import significant_bits
from whymatch.transport.batch import pad

_MAX_PAIRS_PER_BATCH = 2**20  # pairs of spans, padding included
NumberPairs = Sequence[tuple[int, int]]


def own_background(corpus: Corpus, encoder: str, name: str | None = None) -> Background:
    """A background of a corpus's own distinct texts."""
    by_text = dict(zip(corpus.documents, corpus.vectors, strict=True))
    texts, rows = [*by_text], [*by_text.values()]
    sampled = sample(texts)
    vectors = np.concatenate([rows[number][part] for number, part in sampled]).astype(np.float32)
    return Background(name or corpus.name, encoder, pieces_of(texts, sampled), vectors)


class Measured:
    """A corpus with the tails of all its spans against a background."""

    def __init__(self, corpus: Corpus, aligner: Aligner, background: Background | None = None) -> None:
        self.corpus, self.aligner = corpus, aligner
        self.scale: Scale = aligner.judge.scale_of(background or own_background(corpus, aligner.encoder.name))

    @cached_property
    def tails(self) -> list[np.ndarray]:
        """The tails (spans, 2) of every text."""
        return self.aligner.judge.tails_of(self.scale, self.corpus.documents, self.corpus.vectors)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The numbers of spans of the texts."""
        return np.array([len(text) for text in self.corpus.documents])

    def bits(self, pairs: NumberPairs) -> np.ndarray:
        """The evidence of pairs of texts, by their numbers."""
        bits = np.zeros(len(pairs))
        sizes = [Size(1, int(self.sizes[left]), int(self.sizes[right])) for left, right in pairs]
        for batch in size_sorted([*range(len(pairs))], sizes, _MAX_PAIRS_PER_BATCH):
            chosen = [pairs[number] for number in batch]
            documents, vectors = self.corpus.documents, self.corpus.vectors
            texts = [(documents[left], documents[right]) for left, right in chosen]
            rows, tails = ([(v[left], v[right]) for left, right in chosen] for v in (vectors, self.tails))
            bits[batch] = significant_bits(*pad(compare(self.aligner.cost, texts, rows, tails)))
        return bits

    def surprise(self, pairs: NumberPairs) -> np.ndarray:
        """−log2 of the p-values of pairs of texts."""
        return self.scale.chance.surprise(self.bits(pairs), self.counted(pairs))

    def counted(self, pairs: NumberPairs) -> np.ndarray:
        """(pairs, 2): how many spans of both texts carry evidence."""
        return counted_sizes(self.scale.cost, [(self.tails[left], self.tails[right]) for left, right in pairs])


def random_pairs(corpus: Corpus, number: int, seed: int) -> list[tuple[int, int]]:
    """Random pairs of texts that are not known to match, and not the same text."""
    draw, known = random.Random(seed), {frozenset(pair) for pair in corpus.matches}
    pairs = list[tuple[int, int]]()
    clusters = len(set(corpus.groups)) > 100  # of articles on one event: those match
    while len(pairs) < number:
        left, right = draw.sample(range(len(corpus.documents)), 2)
        together = clusters and corpus.groups[left] == corpus.groups[right]
        same = corpus.documents[left] == corpus.documents[right]
        if not (together or same or frozenset((left, right)) in known):
            pairs.append((left, right))
    return pairs
