"""How far a number measured on a sample of instances can be trusted."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Interval(NamedTuple):
    """A statistic of all instances, called their mean, and the bounds of its confidence interval."""

    mean: float
    low: float
    high: float


def bootstrap(
    values: ArrayLike,
    of: Callable[[np.ndarray], float] = np.mean,
    *,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """The mean over instances, or another statistic of them, with its percentile bootstrap interval (Efron 1979).

    Args:
        values: one number per instance, (instances,), or one row per instance, (instances, numbers), for a statistic
            of several numbers.
        of: the statistic of an array of that shape.
        level: the share of the resamples whose statistic lies in the interval.
        seed: the same seed gives the same interval.

    Raises:
        ValueError: if there are no values.

    >>> bootstrap([0.0, 1.0, 1.0, 1.0])
    Interval(mean=0.75, low=0.25, high=1.0)
    """
    array = np.asarray(values, dtype=float)
    if not len(array):
        raise ValueError("There is no mean of no values.")
    generator = np.random.default_rng(seed)
    statistics = [of(array[generator.integers(0, len(array), len(array))]) for _ in range(resamples)]
    low, high = np.quantile(statistics, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(of(array)), float(low), float(high))
