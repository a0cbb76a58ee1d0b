"""How alike two groups of blocks are: the words that both have, above all rare ones, and the cosine of vectors."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from whymatch.matching.conflicts.correspondence import FUNCTION_WORDS
from whymatch.text.encoders import Encoder
from whymatch.text.spans import Span, words

WORD_SHARE = 0.5
"""The part that words have in likeness; the rest is the cosine."""
FROM = 0.4
"""Less likeness than this is no evidence that one block became the other."""
GROUPS_FROM = 0.5
"""The same for groups, which have more ways to be alike."""
_MEMBER_FROM = 0.3  # the share of a block's words, by weight, that the other side of a split has
_FUNCTION_WEIGHT = 0.25  # of a function word, beside another word that is as frequent
_MAX_DIMENSIONS = 1024  # of vectors of words: more words than this share dimensions


@dataclass(frozen=True)
class Features:
    """What is compared of the blocks of one version.

    Args:
        words: (blocks, dimensions) how much of each word a block has, by weight.
        vectors: (blocks, dimensions) of the encoder, of length 1.
        lengths: (blocks,) the numbers of words.
    """

    words: np.ndarray
    vectors: np.ndarray
    lengths: np.ndarray

    def take(self, numbers: Sequence[int]) -> "Features":
        """Those of some blocks."""
        rows = np.array(numbers, np.int64)
        return Features(self.words[rows], self.vectors[rows], self.lengths[rows])

    def combined(self, first: int, stop: int, size: int) -> np.ndarray:
        """(stop − first, dimensions): unit rows for groups of `size` blocks, the group that ends with each block.

        The product of two of them is the likeness of the groups. Groups that begin before the text are zeros.
        """
        shares = (WORD_SHARE, self.words), (1 - WORD_SHARE, self.vectors * self.lengths[:, None])
        return np.concatenate([share**0.5 * _unit(_sums(rows, first, stop, size)) for share, rows in shares], axis=1)

    def group_lengths(self, size: int) -> np.ndarray:
        """(blocks,): the numbers of words of the groups of `size` blocks that end with each block."""
        return _sums(self.lengths[:, None], 0, len(self.lengths), size)[:, 0]


def features(
    left: Sequence[str], right: Sequence[str], corpus: Sequence[Sequence[str]], encoder: Encoder
) -> list[Features]:
    """The features of some blocks of both versions; `corpus` has the words of all blocks, which say how rare one is."""
    bags = [_bag(text[start:end] for start, end in words(text)) for text in [*left, *right]]
    counts = Counter(word for one in corpus for word in {*_bag(one)})
    numbers = {word: number for number, word in enumerate(sorted({word for bag in bags for word in bag}))}
    size = min(max(1, len(numbers)), _MAX_DIMENSIONS)
    matrix = np.zeros((len(bags), size), np.float32)
    for row, bag in zip(matrix, bags, strict=True):
        for word, count in bag.items():
            weight = _FUNCTION_WEIGHT if word in FUNCTION_WORDS else 1.0
            row[numbers[word] % size] += count * weight * log(1 + len(corpus) / max(1, counts[word]))
    texts = [*left, *right]
    encoded = encoder.encode(texts, [[Span(0, len(text))] for text in texts])
    vectors = _unit(np.array([rows[0] for rows in encoded], np.float32).reshape(len(texts), -1))
    lengths = np.array([max(1, bag.total()) for bag in bags], np.float32)
    everything = Features(matrix, vectors, lengths)
    return [everything.take(range(len(left))), everything.take(range(len(left), len(texts)))]


class GroupGains:
    """Costs of groups for `in_order`: minus the words of the shorter group, times its likeness above a threshold.

    One block may become several, or several one; never several others. Each of the several has words of the one.

    Args:
        left, right: the features of the blocks, in order.
        follows: (left blocks,) and (right blocks,), whether a block stands right behind the one before.
        most: blocks of a group.
    """

    def __init__(self, left: Features, right: Features, follows: tuple[np.ndarray, np.ndarray], most: int) -> None:
        self._sides, self._most = (left, right), most
        self._runs = [_run_lengths(one) for one in follows]
        self._lengths = [[side.group_lengths(size) for size in range(1, most + 1)] for side in self._sides]

    @property
    def gains(self) -> tuple[np.ndarray, np.ndarray]:
        """The most that each left and each right block can gain."""
        left, right = ((1 - FROM) * side.lengths * (1 + 1e-5) for side in self._sides)
        return left, right

    def __call__(self, rows: range, columns: range) -> np.ndarray:
        left, right = self._sides
        costs = np.full((len(rows), len(columns), self._most, self._most), np.inf)
        singles = [side.combined(part.start, part.stop, 1) for side, part in ((left, rows), (right, columns))]
        costs[:, :, 0, 0] = self._cost(singles[0] @ singles[1].T, rows, columns, 1, 1)
        for size in range(2, self._most + 1):
            groups = left.combined(rows.start, rows.stop, size) @ singles[1].T
            part = self._cost(groups, rows, columns, size, 1)
            part[self._poor(left, right, rows, columns, size)] = np.inf
            costs[:, :, size - 1, 0] = part
            groups = singles[0] @ right.combined(columns.start, columns.stop, size).T
            part = self._cost(groups, rows, columns, 1, size)
            part[self._poor(right, left, columns, rows, size).T] = np.inf
            costs[:, :, 0, size - 1] = part
        return costs

    def _cost(self, likeness: np.ndarray, rows: range, columns: range, a: int, b: int) -> np.ndarray:
        """Minus what groups of these sizes gain; +inf where they may not be linked."""
        own, other = (
            side[size - 1][part.start : part.stop]
            for side, size, part in zip(self._lengths, (a, b), (rows, columns), strict=True)
        )
        threshold = FROM if a == b == 1 else GROUPS_FROM
        shorter = np.minimum.outer(own, other).astype(np.float64)
        costs = np.where(likeness > threshold, -shorter * (likeness - FROM), np.inf)
        costs[self._runs[0][rows.start : rows.stop] < a] = np.inf
        costs[:, self._runs[1][columns.start : columns.stop] < b] = np.inf
        return costs

    def _poor(self, many: Features, one: Features, rows: range, columns: range, size: int) -> np.ndarray:
        """(rows, columns): whether a block of a group of `size` has too few words of the single block."""
        first = max(0, rows.start - size + 1)
        own, other = many.words[first : rows.stop], one.words[columns.start : columns.stop]
        shares = (own @ (other > 0).T.astype(np.float32)) / np.maximum(own.sum(axis=1), 1e-9)[:, None]
        least = np.full((len(rows), len(columns)), np.inf)
        for back in range(size):
            places = np.arange(rows.start, rows.stop) - back
            known = places >= 0
            least[known] = np.minimum(least[known], shares[places[known] - first])
        return least < _MEMBER_FROM


def _run_lengths(follows: np.ndarray) -> np.ndarray:
    """How many blocks stand one right behind the other, up to each."""
    runs = np.ones(len(follows), np.int64)
    for place in range(1, len(follows)):
        runs[place] = runs[place - 1] + 1 if follows[place] else 1
    return runs


def _sums(rows: np.ndarray, first: int, stop: int, size: int) -> np.ndarray:
    """(stop − first, dimensions): the sums of the `size` rows that end with each; zeros where there are fewer."""
    total = rows[first:stop].copy()
    for back in range(1, size):
        start = min(max(first, back), stop)
        total[start - first :] += rows[start - back : max(stop - back, start - back)]
        total[: start - first] = 0
    return total


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _bag(pieces: Iterable[str]) -> Counter[str]:
    """The words in lower case, without marks."""
    return Counter(piece.lower().replace("’", "'") for piece in pieces if any(map(str.isalnum, piece)))
