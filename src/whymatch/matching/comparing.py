"""Vectors in, costs out: the costs of many pairs of texts, those of the same sizes in one product."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from whymatch.cost import Cost
from whymatch.text.encoders import Pair, Vectors

MAX_SPANS_PER_PRODUCT = 2**13  # spans of texts whose vectors are stacked


def compare(
    cost: Cost,
    pairs: Sequence[Pair],
    vectors: Sequence[Vectors],
    tails: Sequence[Vectors] | None = None,
    searched: np.ndarray | None = None,
) -> list[np.ndarray]:
    """The cost (n, m) of every pair of spans, in double precision, for each pair of texts with these vectors.

    A pair has the same costs, to the bit, alone and among others: nothing is padded. Evidence takes the `tails` (n, 2)
    and (m, 2) of the spans, and the numbers of spans (pairs, 2) that were `searched`, where these are a part of them.
    """
    groups: dict[tuple[tuple[int, ...], ...], list[int]] = defaultdict(list)
    for number, (left, right) in enumerate(vectors):
        groups[left.shape, right.shape].append(number)
    costs: dict[int, np.ndarray] = {}
    for ((n, *_), (m, *_)), numbers in groups.items():
        size = max(1, MAX_SPANS_PER_PRODUCT // max(1, n + m))
        for batch in (numbers[start : start + size] for start in range(0, len(numbers), size)):
            left, right = (np.stack([vectors[i][side] for i in batch]).astype(np.float64) for side in (0, 1))
            both = None
            if tails is not None:
                both = np.stack([tails[i][0] for i in batch]), np.stack([tails[i][1] for i in batch])
            trials = None if searched is None else searched[batch]
            computed = cost(left, right, texts=[pairs[i] for i in batch], tails=both, searched=trials)
            costs |= zip(batch, computed, strict=True)
    return [costs[number] for number in range(len(pairs))]
