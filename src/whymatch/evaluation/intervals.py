"""How far a number measured on some instances can be trusted."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Statistic: TypeAlias = Callable[[np.ndarray], float]


class Interval(NamedTuple):
    """A number with the range that holds it in `level` of the resamples."""

    mean: float
    low: float
    high: float


def average(values: np.ndarray) -> float:
    return float(values.mean())


def bootstrap(
    values: Sequence[Any] | np.ndarray,
    of: Statistic = average,
    *,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """The mean over instances, or another statistic of them, and its percentile bootstrap interval.

    An instance is a number, or a row of numbers for a statistic that wants several. The same seed gives the same
    interval.

    >>> bootstrap([0.0, 1.0, 1.0, 1.0])
    Interval(mean=0.75, low=0.25, high=1.0)
    """
    array = np.asarray(values, dtype=float)
    if not len(array):
        raise ValueError("There is no mean of no values.")
    choose = np.random.default_rng(seed)
    found = [of(array[choose.integers(0, len(array), len(array))]) for _ in range(resamples)]
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Interval(of(array), float(low), float(high))
