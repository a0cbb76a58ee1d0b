"""Metrics of probabilities: does what is called 80% probable come true in 80% of all cases?

Judged pairs are rows of a probability and a label, 1 for a match, (pairs, 2).
"""

import numpy as np

from whymatch.matching.significance import Calibration

BINS = 10
"""Of equal widths, by probability."""
FOLDS = 5


def held_out_probabilities(p_values: np.ndarray, matches: np.ndarray, sizes: np.ndarray | None = None) -> np.ndarray:
    """(pairs): the probability of each pair by a calibration that is fitted to the other folds of labelled pairs.

    `sizes` (pairs, 2) are given where they count.

    The folds are drawn by a seed, and have pairs of both kinds in the same shares.

    Raises:
        ValueError: if the other folds of a fold do not tell matches from others.
    """
    order = np.random.default_rng(0).permutation(len(matches))
    fold = np.zeros(len(matches), int)
    for kind in (True, False):
        own = order[matches[order] == kind]
        fold[own] = np.arange(len(own)) % FOLDS
    surprise, probabilities = -np.log2(p_values), np.zeros(len(matches))
    for number in range(FOLDS):
        others = fold != number
        own, rest = (None, None) if sizes is None else (sizes[~others], sizes[others])
        calibration = Calibration.fit(p_values[others], matches[others], "other folds", sizes=rest)
        probabilities[~others] = calibration.probability(surprise[~others], own)
    return probabilities


def reliability(judged: np.ndarray) -> np.ndarray:
    """(bins with pairs, 3): the number, the mean probability and the share of matches of judged pairs."""
    probability, match = judged.T
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    total, summed, matched = (
        np.bincount(bins, values, minlength=BINS) for values in (np.ones_like(match), probability, match)
    )
    filled = total > 0
    return np.stack([total[filled], summed[filled] / total[filled], matched[filled] / total[filled]], axis=1)


def calibration_error(judged: np.ndarray) -> float:
    """The expected calibration error (Guo et al. 2017): how far the shares of matches are from the probabilities.

    >>> calibration_error(np.array([[0.25, 0.0], [0.25, 0.0], [0.75, 1.0]]))
    0.25
    """
    number, probability, share = reliability(judged).T
    return float((number * np.abs(probability - share)).sum() / number.sum())


def brier_score(judged: np.ndarray) -> float:
    """The mean square of probability minus label (Brier 1950).

    >>> brier_score(np.array([[0.5, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]))
    0.3125
    """
    probability, match = judged.T
    return float(np.mean((probability - match) ** 2))
