"""Every constraint as one transport problem: masses for the spans, and a reservoir on each side for what stays alone.

This is the paper's construction with its points merged: k replicas of a span are a span of mass k, and d dummies are
one reservoir of mass d. The entropic plan is the same.
"""

from typing import Any, NamedTuple

import numpy as np

from whymatch.transport.batch import Batch
from whymatch.transport.constraints import Balanced, Constraint, UpTo
from whymatch.transport.masses import one_side, total, weigh


class Reservoirs(NamedTuple):
    """Masses (batch, 1 + spans) in links, the reservoir first.

    Also how many of them move between spans (-1: any number), the mass of one, and whether they make sense.
    """

    left: np.ndarray
    right: np.ndarray
    target: np.ndarray
    share: np.ndarray
    valid: np.ndarray


def reservoirs(batch: Batch, constraint: Constraint, mass: tuple[Any, Any] | None = None) -> Reservoirs:
    """The masses under which the transport problem's plans are the constraint's plans."""
    count = len(batch.cost)
    inside = [np.arange(batch.cost.shape[1 + side]) < batch.sizes[:, side, None] for side in (0, 1)]
    if isinstance(constraint, Balanced):
        valid = np.full(count, True)
        if mass is None:
            masses = [spans / np.maximum(batch.sizes[:, side, None], 1) for side, spans in enumerate(inside)]
        else:
            masses = [one_side(batch, side, mass[side]) for side in (0, 1)]
            totals, valid = weigh(*masses)
            masses[1] = masses[1] * np.divide(totals[0], totals[1], out=np.ones(count), where=valid)[:, None]
        left, right = (np.pad(spans, ((0, 0), (1, 0))) for spans in masses)
        return Reservoirs(left, right, total(left), np.ones(count), valid)
    replicas, beside_shorter, beside_longer = constraint.construction(batch.shorter, batch.longer)
    sides = []
    for side, spans in enumerate(inside):
        shorter = batch.sizes[:, side] < batch.sizes[:, 1 - side] + (side == 0)  # the left one where both are equal
        reservoir = np.maximum(np.where(shorter, beside_shorter, beside_longer), 0)
        sides.append(np.column_stack([reservoir, spans * np.where(shorter, replicas, 1)[:, None]]).astype(float))
    share = constraint.mass(batch.shorter, batch.longer)
    target = np.full(count, -1.0) if isinstance(constraint, UpTo) else 1 / share
    return Reservoirs(sides[0], sides[1], target, share, np.full(count, True))
