"""How well labels are predicted."""

from collections.abc import Hashable, Sequence

import numpy as np


def accuracy(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> float:
    """The share of labels that are right.

    >>> accuracy(["yes", "no"], ["yes", "yes"])
    0.5
    """
    check(predicted, gold)
    return sum(a == b for a, b in zip(predicted, gold, strict=True)) / len(gold)


def macro_f1(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> float:
    """The mean F1 of the labels that occur, predicted or gold.

    >>> macro_f1(["yes", "no", "no"], ["yes", "yes", "no"])
    0.6666666666666666
    """
    check(predicted, gold)
    scores = []
    for label in dict.fromkeys([*predicted, *gold]):
        right = sum(a == b == label for a, b in zip(predicted, gold, strict=True))
        scores.append(2 * right / (sum(a == label for a in predicted) + sum(b == label for b in gold)))
    return sum(scores) / len(scores)


def macro_f1_of(pairs: np.ndarray) -> float:
    """The same from rows of two numbers, the predicted and the gold label.

    >>> macro_f1_of(np.array([[0, 0], [1, 0], [1, 1]]))
    0.6666666666666666
    """
    labels = np.unique(pairs)
    right = [((pairs[:, 0] == label) & (pairs[:, 1] == label)).sum() for label in labels]
    return float(np.mean([2 * hits / (pairs == label).sum() for hits, label in zip(right, labels, strict=True)]))


def check(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> None:
    if len(predicted) != len(gold) or not gold:
        raise ValueError(
            f"Every prediction needs its label, and there must be one, got {len(predicted)} and {len(gold)}."
        )
