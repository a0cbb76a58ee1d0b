"""Agreement between annotators: Krippendorff's alpha, computed from its definition.

Klaus Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C (nominal) and D (ordinal).
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np


def alpha(units: Iterable[Sequence[int]], values: Sequence[int], level: Literal["ordinal", "nominal"]) -> float | None:
    """Krippendorff's alpha: 1 is perfect agreement, 0 is what chance would give, below 0 is systematic disagreement.

    A unit lists the values that annotators gave to one thing, in any order; units with fewer than two values do not
    count. `values` are all values that could be given, in ascending order, which is what `ordinal` ranks them by.

    Returns None where alpha is not defined: nothing was judged twice, or only one value was ever given.

    Raises:
        ValueError: if a unit holds a value that is not one of `values`.

    >>> round(alpha([[0, 0], [1, 1], [2, 2], [0, 1]], [0, 1, 2], "nominal"), 3)
    0.667
    >>> alpha([[1, 1], [1, 1]], [0, 1], "nominal") is None
    True
    """
    judged_twice = [list(unit) for unit in units if len(unit) > 1]
    unknown = {value for unit in judged_twice for value in unit} - {*values}
    if unknown:
        raise ValueError(f"Values are {', '.join(map(str, values))}, got {', '.join(map(str, sorted(unknown)))}.")
    counts = np.array([[unit.count(value) for value in values] for unit in judged_twice], dtype=float)
    if not judged_twice or np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    coincidences = _coincidences(counts)
    totals = coincidences.sum(axis=1)
    distances = _ordinal_distances(totals) if level == "ordinal" else 1 - np.eye(len(values))
    observed = (coincidences * distances).sum()
    expected = (np.outer(totals, totals) * distances).sum() / (totals.sum() - 1)
    return float(1 - observed / expected)


def _coincidences(counts: np.ndarray) -> np.ndarray:
    """How often two values meet in a unit, (values, values), from the values of each unit, (units, values).

    A unit of m values has m(m-1) ordered pairs, each of which weighs 1/(m-1): a unit weighs as much as it has values.
    """
    weights = 1 / (counts.sum(axis=1) - 1)
    pairs = counts.T @ (counts * weights[:, None])
    return pairs - np.diag(weights @ counts)  # no value is paired with itself


def _ordinal_distances(totals: np.ndarray) -> np.ndarray:
    """Squared distances of ranks, (values, values): how many values lie between two, counting half of both ends."""
    ranks = np.cumsum(totals) - totals / 2
    return np.subtract.outer(ranks, ranks) ** 2
