"""What it gains to link some sentences that follow one another with some of their translation."""

from collections.abc import Callable, Sequence

import numpy as np

from whymatch.text.document import Document
from whymatch.text.encoders import Encoder, check_finite
from whymatch.text.spans import Span

FROM = 0.15
"""The likeness above which a link gains: nine of ten pairs of sentences that are no translations are below it."""
LENGTH_WEIGHT = 0.004
"""What a squared difference of lengths costs, in characters, divided by the mean of both lengths."""
SIZE_POWER = 0.35
"""A link of groups gains by this power of their mean number of sentences: less than its parts, if those fit as well."""
_PRIOR = 10  # sentences whose mean is 0, beside those of a text: the mean of few says little
_GROUPS_AT_ONCE = 512
_ROWS_AT_ONCE = 512


class Groups:
    """The vectors and lengths of all groups of up to `most` sentences of a text that follow one another.

    Args:
        text: the text with its sentences, n of them.
        encoder: reads the characters from the first to the last sentence of each group.
        most: sentences of a group.
        report: is called with the number of sentences, as a share of n, that are read.
    """

    def __init__(self, text: Document, encoder: Encoder, most: int, report: Callable[[int], None]) -> None:
        spans = text.spans
        places = [(last, size) for size in range(min(most, len(spans))) for last in range(size, len(spans))]
        pieces = [text.text[spans[last - size].start : spans[last].end] for last, size in places]
        rows = list[np.ndarray]()
        for start in range(0, len(pieces), _GROUPS_AT_ONCE):
            part = pieces[start : start + _GROUPS_AT_ONCE]
            rows += encoder.encode(part, [[Span(0, len(piece))] for piece in part])
            report(len(rows) * len(spans) // len(pieces))
        encoded = np.array([row[0] for row in rows], np.float32).reshape(len(pieces), -1)
        check_finite(encoder.name, text, encoded)
        mean = encoded[: len(spans)].sum(axis=0) / (len(spans) + _PRIOR)
        encoded -= mean
        encoded /= np.maximum(np.linalg.norm(encoded, axis=1, keepdims=True), 1e-9)
        self.vectors = np.zeros((len(spans), most, encoded.shape[1]), np.float32)
        """(n, most, dimensions): at [i, a] the a + 1 sentences that end with the i-th, of length 1."""
        self.lengths = np.zeros((len(spans), most), np.float32)
        """(n, most): their characters."""
        characters = np.cumsum([0, *(end - start for start, end in spans)])
        for (last, size), row in zip(places, encoded, strict=True):
            self.vectors[last, size] = row
            self.lengths[last, size] = characters[last + 1] - characters[last - size]

    def __len__(self) -> int:
        return len(self.vectors)


class TranslationCosts:
    """Costs of groups for `in_order`: minus what their likeness gains above a threshold, and what their lengths cost.

    A left and a right group of a and b sentences gain ((a + b) / 2)^0.35 · (likeness − 0.15), less 0.004 times
    (left − right)² / ((left + right) / 2) of their lengths in characters, as Gale and Church have it. Lengths are
    scaled so that both texts have as many characters for the same words.

    Args:
        left, right: all groups of both texts.
    """

    def __init__(self, left: Groups, right: Groups) -> None:
        self._left, self._right = left, right
        ratio = _length_ratio(left, right)
        self._lengths = left.lengths * np.sqrt(ratio), right.lengths / np.sqrt(ratio)
        sizes = np.arange(1, left.vectors.shape[1] + 1)
        self._weights = (((sizes[:, None] + sizes) / 2) ** SIZE_POWER).astype(np.float32)[None, :, None, :]

    def __call__(self, rows: range, columns: range, least: float = FROM) -> np.ndarray:
        """(rows, columns, most, most), where links gain by their likeness above `least`."""
        costs = least - self._likeness(rows, columns)
        costs *= self._weights
        left = self._lengths[0][rows.start : rows.stop, :, None, None]
        right = self._lengths[1][None, None, columns.start : columns.stop]
        differences = left - right
        differences *= differences
        differences /= np.maximum(left + right, 1) / (2 * LENGTH_WEIGHT)
        costs += differences
        return costs.transpose(0, 2, 1, 3).astype(np.float64)

    def likeness(self, left: Sequence[int], right: Sequence[int]) -> float:
        """The cosine of two groups of sentences, whose vectors are centred on the mean of their texts."""
        return float(self._left.vectors[left[-1], len(left) - 1] @ self._right.vectors[right[-1], len(right) - 1])

    def _likeness(self, rows: range, columns: range) -> np.ndarray:
        """(rows, most, columns, most)."""
        own, other = self._left.vectors[rows.start : rows.stop], self._right.vectors[columns.start : columns.stop]
        flat = own.reshape(-1, own.shape[2]) @ other.reshape(-1, other.shape[2]).T
        return flat.reshape(*own.shape[:2], *other.shape[:2])


def nearest(left: np.ndarray, right: np.ndarray) -> list[tuple[int, int, float]]:
    """The rows of (n, dimensions) and (m, dimensions) that are nearest to each other, and their product, in left order.

    Memory grows with n + m.
    """
    best = np.full(len(left), -np.inf), np.full(len(right), -np.inf)
    where = np.zeros(len(left), np.int64), np.zeros(len(right), np.int64)
    for start in range(0, len(left) if len(right) else 0, _ROWS_AT_ONCE):
        part = left[start : start + _ROWS_AT_ONCE] @ right.T
        stop = start + len(part)
        where[0][start:stop], best[0][start:stop] = part.argmax(axis=1), part.max(axis=1)
        higher = part.max(axis=0) > best[1]
        where[1][higher], best[1][higher] = part.argmax(axis=0)[higher] + start, part.max(axis=0)[higher]
    pairs = ((i, int(j), float(best[0][i])) for i, j in enumerate(where[0]))
    return [(i, j, product) for i, j, product in pairs if len(right) and where[1][j] == i]


def _length_ratio(left: Groups, right: Groups) -> float:
    """How many right characters a left one becomes: the median of sentences that are nearest to each other."""
    pairs = nearest(left.vectors[:, 0], right.vectors[:, 0])
    ratios = [right.lengths[j, 0] / left.lengths[i, 0] for i, j, likeness in pairs if likeness > FROM]
    return float(np.median(ratios)) if ratios else 1.0
