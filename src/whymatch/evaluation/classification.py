"""How well labels are predicted."""

from collections.abc import Hashable, Sequence

import numpy as np


def macro_f1(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> float:
    """The mean over labels of their F1; a label counts if it occurs among the predicted or the gold ones.

    Raises:
        ValueError: if there are not as many predictions as gold labels, or none.

    >>> macro_f1(["yes", "no", "no"], ["yes", "yes", "no"])
    0.6666666666666666
    """
    if len(predicted) != len(gold) or not gold:
        raise ValueError(
            f"Every prediction needs its label, and there must be one, got {len(predicted)} and {len(gold)}."
        )
    number = {label: place for place, label in enumerate(dict.fromkeys([*predicted, *gold]))}
    return macro_f1_of(np.array([[number[a], number[b]] for a, b in zip(predicted, gold, strict=True)]))


def macro_f1_of(pairs: np.ndarray) -> float:
    """The same from numbers of labels, (instances, 2): the predicted and the gold one.

    >>> macro_f1_of(np.array([[0, 0], [1, 0], [1, 1]]))
    0.6666666666666666
    """
    labels = np.unique(pairs)
    hits = [(pairs == label).all(axis=1).sum() for label in labels]
    return float(np.mean([2 * hit / (pairs == label).sum() for hit, label in zip(hits, labels, strict=True)]))
