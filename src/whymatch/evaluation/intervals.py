"""How far a mean can be trusted."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """A mean with the range that holds it in `level` of the resamples."""

    mean: float
    low: float
    high: float


def bootstrap(values: Sequence[float], *, level: float = 0.95, resamples: int = 1000, seed: int = 0) -> Interval:
    """The mean of one value an instance, and its percentile bootstrap interval; the same seed gives the same interval.

    >>> bootstrap([0.0, 1.0, 1.0, 1.0])
    Interval(mean=0.75, low=0.25, high=1.0)
    """
    array = np.asarray(values, dtype=float)
    if not len(array):
        raise ValueError("There is no mean of no values.")
    choose = np.random.default_rng(seed)
    means = [array[choose.integers(0, len(array), len(array))].mean() for _ in range(resamples)]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(array.mean()), float(low), float(high))
