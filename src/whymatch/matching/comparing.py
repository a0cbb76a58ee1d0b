"""Vectors in, costs out: the costs of many pairs of texts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from whymatch.batching import Size, size_sorted, stacked
from whymatch.cost import Cost, PaddedPairs
from whymatch.text.encoders import Pair, Vectors

_MAX_CELLS_PER_BATCH = 2**16  # pairs of spans whose costs are changed together, padding included


def compare(
    cost: Cost,
    pairs: Sequence[Pair],
    vectors: Sequence[Vectors],
    tails: Sequence[Vectors] | None = None,
    searched: np.ndarray | None = None,
) -> list[np.ndarray]:
    """The cost (n, m) of every pair of spans, in double precision, for each pair of texts with these vectors.

    A pair has the same costs, to the bit, alone and among others. Evidence takes the `tails` (n, 2) and (m, 2) of the
    spans, and the numbers of spans (pairs, 2) that were `searched`, where these are a part of them.
    """
    distinct = {id(rows): rows for both in vectors for rows in both}
    prepared = dict(zip(distinct, cost.prepared([*distinct.values()]), strict=True))
    plain = [cost.base.compared(prepared[id(left)], prepared[id(right)]) for left, right in vectors]
    if not cost.terms:
        return plain
    costs: dict[int, np.ndarray] = {}
    for batch in _batches(cost, plain):
        costs_before, sizes = stacked([plain[number] for number in batch])
        both = None
        if tails is not None:
            left, right = zip(*(tails[number] for number in batch), strict=True)
            both = stacked(left)[0], stacked(right)[0]
        trials = None if searched is None else searched[batch]
        known = PaddedPairs(sizes, [pairs[number] for number in batch], None, cost.before_evidence, both, trials)
        changed = cost.changed(costs_before, known)
        costs |= {number: own[:n, :m] for number, own, (n, m) in zip(batch, changed, sizes.tolist(), strict=True)}
    return [costs[number] for number in range(len(pairs))]


def _batches(cost: Cost, matrices: Sequence[np.ndarray]) -> Iterator[list[int]]:
    """The numbers of matrices (n, m) that are changed together: of similar sizes.

    They have the same size where costs depend on more than two spans, since sums over a padded text are rounded
    otherwise.
    """
    sizes = [Size(1, *matrix.shape) for matrix in matrices]
    groups: dict[object, list[int]] = defaultdict(list)
    for number, size in enumerate(sizes):
        groups[size if cost.contextual else None].append(number)
    for numbers in groups.values():
        yield from size_sorted(numbers, sizes, _MAX_CELLS_PER_BATCH)
