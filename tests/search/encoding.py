"""An encoder that loads at once: texts that share words are near."""

import hashlib
from collections.abc import Sequence
from functools import cache

import numpy as np

from whymatch.matching.aligner import Aligner
from whymatch.text.spans import Span, words

SIZE = 64


@cache
def of_word(word: str, salt: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.blake2b(f"{salt}{word}".encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(SIZE).astype(np.float32)


class WordSums:
    """A span is the direction of the sum of its words; `salt` makes another encoder of the same name."""

    name, contextual, size = "sums of words", False, SIZE

    def __init__(self, salt: str = "") -> None:
        self.salt = salt

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        return [
            np.array([self.of(text[start:end]) for start, end in some], np.float32).reshape(-1, SIZE)
            for text, some in zip(texts, spans, strict=True)
        ]

    def of(self, piece: str) -> np.ndarray:
        total = np.sum([of_word(piece[start:end].lower(), self.salt) for start, end in words(piece)], axis=0)
        return np.asarray(total / np.linalg.norm(total))


def aligner(salt: str = "") -> Aligner:
    return Aligner("line", WordSums(salt))


NOUNS = ["cat", "dog", "rain", "wine", "car", "disk", "kernel", "tree", "river", "stone", "bread", "song"]
VERBS = ["sleeps", "runs", "falls", "breaks", "grows", "sings", "burns", "moves", "stops", "shines"]


def post(number: int, lines: int = 4) -> str:
    """A text of a few lines that is like no other."""
    draw = np.random.default_rng(number)
    return "\n".join(
        f"The {draw.choice(NOUNS)} {draw.choice(VERBS)} near the {draw.choice(NOUNS)} {draw.integers(1000)}"
        for _ in range(lines)
    )


def posts(count: int, first: int = 0) -> dict[str, str]:
    return {f"post-{number}": post(number) for number in range(first, first + count)}
