"""Batches of problems of similar sizes, so that padding stays small and a batch fits in memory."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

MAX_CELLS_PER_PASS = 2**19  # pairs of spans that a model compares at once, padding included


class Size(NamedTuple):
    """What an item takes in memory: a number of pairs of texts, of up to n and m spans."""

    pairs: int = 1
    n: int = 1
    m: int = 1

    @property
    def cells(self) -> int:
        """Pairs of spans."""
        return self.pairs * self.n * self.m


Sizes: TypeAlias = Sequence[Size] | Mapping[int, Size]


def size_sorted(rows: Sequence[int], sizes: Sizes, max_cells: int) -> list[list[int]]:
    """Rows in batches of similar sizes, of up to `max_cells` pairs of spans with their padding.

    >>> size_sorted([0, 1, 2], [Size(n=3, m=3), Size(n=1, m=2), Size(n=2, m=2)], max_cells=8)
    [[1, 2], [0]]
    """
    return pieces(sorted(rows, key=lambda row: sizes[row]), sizes, max_cells)


def pieces(rows: Sequence[int], sizes: Sizes, max_cells: int) -> list[list[int]]:
    """Rows in their order, in batches of up to `max_cells` pairs of spans with their padding, or of one row.

    >>> pieces([0, 1, 2, 3], [Size(n=2), Size(n=2), Size(n=3), Size(n=9)], max_cells=6)
    [[0, 1], [2], [3]]
    """
    batches: list[list[int]] = []
    widest = Size(0, 0, 0)
    for row in rows:
        size = sizes[row]
        padded = Size(widest.pairs + size.pairs, max(widest.n, size.n), max(widest.m, size.m))
        if not batches or padded.cells > max_cells:
            batches.append([])
            padded = size
        batches[-1].append(row)
        widest = padded
    return batches


def padded(
    sequences: Sequence[Sequence[int] | np.ndarray], length: int, fill: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of numbers as rows (sequences, length), and their padding mask: true where a number stands.

    >>> padded([[5, 6], [7]], length=3)[0].tolist()
    [[5, 6, 0], [7, 0, 0]]
    """
    mask = np.arange(length) < np.array([len(sequence) for sequence in sequences])[:, None]
    rows = np.full(mask.shape, fill, dtype=np.int64)
    rows[mask] = np.concatenate(sequences)
    return rows, mask


def stacked(matrices: Sequence[np.ndarray], fill: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Matrices as one array (matrices, rows, columns), with `fill` behind smaller ones, and their sizes; one or more.

    >>> stack, sizes = stacked([np.ones((2, 1)), np.ones((1, 2))])
    >>> stack.tolist(), sizes.tolist()
    ([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]], [[2, 1], [1, 2]])
    """
    sizes = np.array([matrix.shape for matrix in matrices], np.int64)
    if len({matrix.shape for matrix in matrices}) == 1:
        return np.stack(matrices), sizes
    rows, columns = sizes.max(axis=0).tolist()
    inside = (np.arange(rows) < sizes[:, :1])[:, :, None] & (np.arange(columns) < sizes[:, 1:])[:, None, :]
    stack = np.full(inside.shape, fill, np.result_type(*{matrix.dtype for matrix in matrices}))
    stack[inside] = np.concatenate([matrix.ravel() for matrix in matrices])
    return stack, sizes
