"""The order of an epoch: batches of items of similar size, by a seed."""

from collections.abc import Sequence

import torch

NEIGHBOURS = 32  # batches among which items of similar size are brought together


def batches(sizes: Sequence[int], batch: int, seed: int) -> list[list[int]]:
    """Every row once, in batches; the seed decides which, and in which order.

    >>> sorted(row for rows in batches([5, 1, 9, 2, 7], 2, seed=0) for row in rows)
    [0, 1, 2, 3, 4]
    """
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(sizes), generator=generator).tolist()
    found = []
    for start in range(0, len(order), batch * NEIGHBOURS):
        some = sorted(order[start : start + batch * NEIGHBOURS], key=lambda row: sizes[row])
        found += [some[i : i + batch] for i in range(0, len(some), batch)]
    return [found[number] for number in torch.randperm(len(found), generator=generator).tolist()]


def pieces(rows: Sequence[int], sizes: Sequence[int], most: int) -> list[list[int]]:
    """A batch in pieces that fit in memory: the rows of a piece times the largest of them stay within `most`.

    >>> pieces([0, 1, 2, 3], [2, 2, 3, 9], most=6)
    [[0, 1], [2], [3]]
    """
    found: list[list[int]] = []
    widest = 0
    for row in rows:
        widest = max(widest, sizes[row])
        if not found or (len(found[-1]) + 1) * widest > most:
            found.append([])
            widest = sizes[row]
        found[-1].append(row)
    return found
