"""Does a prediction rest on its rationale? Text is deleted, and what is left is encoded and aligned again."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from whymatch.text.document import Document

Predict = Callable[[Sequence[tuple[Document, Document]]], list[float]]


class Faithfulness(NamedTuple):
    """ERASER's two measures, each a mean over pairs of how far the probability of the predicted label falls."""

    comprehensiveness: float
    """When the rationale is deleted: high is good."""
    sufficiency: float
    """When all but the rationale is deleted: low is good."""


def faithfulness(
    pairs: Sequence[tuple[Document, Document]],
    kept: Sequence[tuple[Sequence[int], Sequence[int]]],
    predict: Predict,
) -> Faithfulness:
    """Measures a prediction against its rationale: the numbers of the left and right spans that it used.

    `predict` gives the probability of each pair's originally predicted label.
    """
    if not pairs:
        raise ValueError("There is nothing to measure: no pairs.")
    before = predict(pairs)
    alone = [(left.keep(a), right.keep(b)) for (left, right), (a, b) in zip(pairs, kept, strict=True)]
    without = [
        (left.keep(others(left, a)), right.keep(others(right, b)))
        for (left, right), (a, b) in zip(pairs, kept, strict=True)
    ]
    fall = [
        sum(p - q for p, q in zip(before, predict(changed), strict=True)) / len(pairs) for changed in (without, alone)
    ]
    return Faithfulness(*fall)


def others(text: Document, numbers: Sequence[int]) -> list[int]:
    return sorted(set(range(len(text))) - set(numbers))
