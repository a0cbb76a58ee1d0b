"""How well labels are predicted."""

from collections.abc import Hashable, Sequence


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


def check(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> None:
    if len(predicted) != len(gold) or not gold:
        raise ValueError(
            f"Every prediction needs its label, and there must be one, got {len(predicted)} and {len(gold)}."
        )
