"""Does a prediction rest on its rationale? Text is deleted, and what is left is encoded and aligned again."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from whymatch.text.document import Document

Predict = Callable[[Sequence[tuple[Document, Document]]], list[float]]


class Faithfulness(NamedTuple):
    """ERASER's two measures for each pair: how far the probability of the predicted label falls."""

    comprehensiveness: list[float]
    """When the rationale is deleted: high is good."""
    sufficiency: list[float]
    """When all but the rationale is deleted: low is good."""


def faithfulness(
    pairs: Sequence[tuple[Document, Document]],
    kept: Sequence[tuple[Sequence[int], Sequence[int]]],
    before: Sequence[float],
    predict: Predict,
) -> Faithfulness:
    """Measures predictions against their rationales: the numbers of the left and right spans that each used.

    `before` is the probability of each pair's predicted label, and `predict` gives that of the same label for a pair of
    which something is deleted.
    """
    if not pairs:
        raise ValueError("There is nothing to measure: no pairs.")
    alone = [(left.keep(a), right.keep(b)) for (left, right), (a, b) in zip(pairs, kept, strict=True)]
    without = [
        (left.keep(others(left, a)), right.keep(others(right, b)))
        for (left, right), (a, b) in zip(pairs, kept, strict=True)
    ]
    falls = [[p - q for p, q in zip(before, predict(changed), strict=True)] for changed in (without, alone)]
    return Faithfulness(*falls)


def others(text: Document, numbers: Sequence[int]) -> list[int]:
    return sorted(set(range(len(text))) - set(numbers))
