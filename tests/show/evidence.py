"""Alignments with evidence that need no model: letters are counted, and sentences are made of a few words."""

import random
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np

import whymatch as wm
from whymatch.cost import Background

NOUNS = ["rain", "sun", "dog", "cat", "house", "river", "train", "bread", "wine", "paper", "stone", "glass", "garden"]
VERBS = ["opens", "closes", "breaks", "runs", "sleeps", "falls", "rises", "sings", "burns", "grows", "moves", "stops"]
WORDS = [*NOUNS, *VERBS, "quickly", "slowly", "never", "the", "light", "winter", "summer"]
LEFT = ["The river rises quickly.", "Paper burns.", "A dog sleeps in the garden.", "Nobody sings."]
RIGHT = ["In the garden a dog sleeps.", "Quickly the river rises.", "Glass breaks."]
UNRELATED = ["Zzz xyz.", "Qq jj vv."]


class Letters:
    """Spans as counts of their letters and pairs of letters."""

    name, contextual = "letters", False

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[wm.Span]]) -> list[np.ndarray]:
        return [
            np.array([_counted(text[start:end]) for start, end in own]).reshape(-1, 257)
            for text, own in zip(texts, spans, strict=True)
        ]


def _counted(piece: str) -> list[float]:
    letters = [letter for letter in piece.lower() if letter.isalpha()]
    counts = [0.0] * 256 + [0.01]
    for letter in letters:
        counts[ord(letter) % 32] += 1
    for first, second in pairwise(letters):
        counts[32 + (31 * ord(first) + ord(second)) % 224] += 1
    return counts


@cache
def aligner(name: str = "made-up sentences") -> wm.Aligner:
    """Judges against sentences of random words, under this name."""
    draw = random.Random(0)
    texts = [[f"{' '.join(draw.choices(WORDS, k=4))}." for _ in range(5)] for _ in range(80)]
    plain = wm.Aligner("line", Letters(), "cosine")
    return wm.Aligner("line", Letters(), "evidence", background=Background.of(texts, plain, name))


def matching(constraint: wm.Constraint | None = None) -> wm.Alignment:
    """Two significant links: 2-0 and 0-1."""
    return aligner().align(LEFT, RIGHT, constraint)


def unrelated() -> wm.Alignment:
    return aligner().align(LEFT, UNRELATED)
