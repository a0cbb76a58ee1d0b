"""The dynamic program that links contiguous groups of spans in the order of both texts, some rows at a time.

`values[i, j]` is the least cost of the first spans of both texts, up to node (i, j). A node is reached from the one
above (a left span is left out), from the one before (a right span is left out), or by a link of groups that end there.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from whymatch.transport.kernels.cpu.compiling import Kernel
from whymatch.transport.kernels.cpu.steps import INF, Floats, Ints

Choices: TypeAlias = NDArray[np.uint8]

NO_LEFT, NO_RIGHT, FIRST_LINK = 0, 1, 2  # a choice is one of these, or FIRST_LINK + a · most + b for sizes a + 1, b + 1


@Kernel
def fill(
    costs: Floats, column: int, row: int, lows: Ints, highs: Ints, values: Floats, choices: Choices,
    left_rest: Floats, right_rest: Floats, edge: Ints,
) -> float:  # fmt: skip
    """Fills one row of `values` for each row of `costs`, and gives a lower bound on paths that leave the band there.

    Args:
        costs: (rows, columns, most, most), of groups that end with the left span and the right span of this place.
        column: the right span of the first column of `costs`.
        row: the row of `values` of the first row of `costs`; the `most` rows before it are known.
        lows, highs: (rows,) the first and the last node of each row that is in the band.
        values, choices: (most + rows of the block, m + 1), and how each node is reached.
        left_rest, right_rest: (rows,) and (m + 1,) the most that the spans behind a node can gain.
        edge: (rows,) the nodes before it are those from which a path may leave the band below.
    """
    outside = INF
    most, last = costs.shape[2], values.shape[1] - 1
    for r in range(costs.shape[0]):
        here = row + r
        for j in range(lows[r], highs[r] + 1):
            best, choice = values[here - 1, j], NO_LEFT
            if j > lows[r] and values[here, j - 1] < best:
                best, choice = values[here, j - 1], NO_RIGHT
            for a in range(most):
                for b in range(min(most, j)):
                    total = values[here - 1 - a, j - 1 - b] + costs[r, j - 1 - column, a, b]
                    if total < best:
                        best, choice = total, FIRST_LINK + a * most + b
            values[here, j] = best
            choices[here, j] = choice
            if j < edge[r] or (highs[r] < last and j > highs[r] - most):
                outside = min(outside, best - min(left_rest[r], right_rest[j]))
    return outside
