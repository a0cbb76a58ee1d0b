"""How well scores rank what is relevant.

Every function takes the scores of one query's documents, of which high ones are good, and which of the documents are
relevant. Equal scores are counted as McSherry and Najork (2008) have it, or as scikit-learn does for `auc` and
`average_precision`. All raise ValueError where a metric is not defined: if no document is relevant or a score is NaN.
"""

from collections.abc import Sequence
from itertools import groupby
from math import comb, isnan


def auc(scores: Sequence[float], relevant: Sequence[bool]) -> float:
    """The area under the ROC curve: the chance that a relevant document scores above another one; a tie counts half.

    Raises:
        ValueError: if every document is relevant.

    >>> auc([0.9, 0.1, 0.4], [True, False, True])
    1.0
    """
    groups = ties(scores, relevant)
    positives = sum(good for good, _ in groups)
    negatives = sum(size - good for good, size in groups)
    if not negatives:
        raise ValueError("AUC is not defined where every document is relevant.")
    wins, below = 0.0, negatives
    for good, size in groups:
        below -= size - good
        wins += good * (below + (size - good) / 2)
    return wins / (positives * negatives)


def average_precision(scores: Sequence[float], relevant: Sequence[bool]) -> float:
    """The mean, over relevant documents, of the precision at their rank; documents with equal scores share a rank.

    >>> average_precision([-1.0, -2.0, -3.0], [True, False, True])
    0.8333333333333333
    """
    seen = hits = 0
    total = 0.0
    for good, size in ties(scores, relevant):
        seen, hits = seen + size, hits + good
        total += good * hits / seen
    return total / hits


def reciprocal_rank(scores: Sequence[float], relevant: Sequence[bool]) -> float:
    """1 / the rank of the first relevant document; the mean over all orders of equal scores.

    >>> reciprocal_rank([0.3, 0.7, 0.3], [True, False, False])
    0.41666666666666663
    """
    before = 0
    for good, size in ties(scores, relevant):
        if good:
            chances = [comb(size - place, good - 1) / comb(size, good) for place in range(1, size - good + 2)]
            return sum(chance / (before + place) for place, chance in enumerate(chances, start=1))
        before += size
    raise AssertionError("ties refuses queries without a relevant document")


def precision_at_1(scores: Sequence[float], relevant: Sequence[bool]) -> float:
    """Whether the best document is relevant; where several are best, the share of relevant ones among them.

    >>> precision_at_1([0.7, 0.7, 0.1], [True, False, False])
    0.5
    """
    good, size = ties(scores, relevant)[0]
    return good / size


def ties(scores: Sequence[float], relevant: Sequence[bool]) -> list[tuple[int, int]]:
    """For each distinct score, from the best: how many relevant documents have it, and how many documents."""
    if len(scores) != len(relevant):
        raise ValueError(f"Every document has a score and a mark, got {len(scores)} scores and {len(relevant)} marks.")
    if not any(relevant):
        raise ValueError("No document is relevant: ranking metrics are not defined.")
    if any(map(isnan, scores)):
        raise ValueError("A score is NaN.")
    pairs = sorted(zip(scores, map(bool, relevant), strict=True), key=lambda pair: -pair[0])
    groups = [[good for _, good in group] for _, group in groupby(pairs, key=lambda pair: pair[0])]
    return [(sum(group), len(group)) for group in groups]
