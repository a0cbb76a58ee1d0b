"""The order of an epoch: batches of items of similar size, by a seed, in pieces that fit in memory."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

NEIGHBOURS = 32  # batches among which items of similar size are brought together


class Size(NamedTuple):
    """What an item takes in memory: so many pairs of texts, of up to n and m spans."""

    pairs: int = 1
    n: int = 1
    m: int = 1

    @property
    def cells(self) -> int:
        return self.pairs * self.n * self.m


def batches(sizes: Sequence[Size], batch: int, seed: int) -> list[list[int]]:
    """Every row once, in batches; the seed decides which, and in which order.

    >>> sorted(row for rows in batches([Size(n=n) for n in (5, 1, 9, 2, 7)], 2, seed=0) for row in rows)
    [0, 1, 2, 3, 4]
    """
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(sizes), generator=generator).tolist()
    found = []
    for start in range(0, len(order), batch * NEIGHBOURS):
        some = sorted(order[start : start + batch * NEIGHBOURS], key=lambda row: sizes[row].cells)
        found += [some[i : i + batch] for i in range(0, len(some), batch)]
    return [found[number] for number in torch.randperm(len(found), generator=generator).tolist()]


def pieces(rows: Sequence[int], sizes: Sequence[Size], most: int) -> list[list[int]]:
    """Rows in pieces of up to `most` cells with their padding, or of one row.

    >>> pieces([0, 1, 2, 3], [Size(n=2), Size(n=2), Size(n=3), Size(n=9)], most=6)
    [[0, 1], [2], [3]]
    """
    found: list[list[int]] = []
    widest = Size(0, 0, 0)
    for row in rows:
        one = sizes[row]
        padded = Size(widest.pairs + one.pairs, max(widest.n, one.n), max(widest.m, one.m))
        if not found or padded.cells > most:
            found.append([])
            padded = one
        found[-1].append(row)
        widest = padded
    return found
