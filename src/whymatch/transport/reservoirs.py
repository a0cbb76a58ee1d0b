"""Every constraint as one transport problem: masses for the spans, and a reservoir on each side for what stays alone.

This is the paper's construction with its points merged: k replicas of a span are a span of mass k, and d dummies are
one reservoir of mass d. The entropic plan is the same.
"""

from typing import Any, NamedTuple

import numpy as np
import torch

from whymatch.transport.batch import Batch, DeviceBatch
from whymatch.transport.constraints import Constraint
from whymatch.transport.masses import device_masses, one_side, total, weigh


class Reservoirs(NamedTuple):
    """Masses (batch, 1 + spans) in links, the reservoir first.

    Also how many of them move between spans (-1: any number), the mass of one, and whether they make sense.
    """

    left: Any  # arrays on the CPU, tensors on a GPU
    right: Any
    target: Any
    share: Any
    valid: Any


def reservoirs(batch: Batch, constraint: Constraint, mass: tuple[Any, Any] | None = None) -> Reservoirs:
    """The masses under which the transport problem's plans are the constraint's plans."""
    count = len(batch.cost)
    inside = [np.arange(batch.cost.shape[1 + side]) < batch.sizes[:, side, None] for side in (0, 1)]
    if constraint.takes_masses:
        valid = np.full(count, True)
        if mass is None:
            masses = [spans / np.maximum(batch.sizes[:, side, None], 1) for side, spans in enumerate(inside)]
        else:
            masses = [one_side(batch, side, mass[side]) for side in (0, 1)]
            totals, valid = weigh(*masses)
            masses[1] = masses[1] * np.divide(totals[0], totals[1], out=np.ones(count), where=valid)[:, None]
        left, right = (np.pad(spans, ((0, 0), (1, 0))) for spans in masses)
        return Reservoirs(left, right, total(left), np.ones(count), valid)
    dummies, replicas = (numbers(*batch.sizes.T) for numbers in (constraint.dummies, constraint.per_span))
    sides = [
        np.column_stack([np.maximum(alone, 0), spans * copies[:, None]]).astype(float)
        for spans, alone, copies in zip(inside, dummies, replicas, strict=True)
    ]
    share = constraint.mass(*batch.sizes.T)
    target = np.full(count, -1.0) if constraint.thresholded else 1 / share
    return Reservoirs(sides[0], sides[1], target, share, np.full(count, True))


def device_reservoirs(batch: DeviceBatch, constraint: Constraint, mass: tuple[Any, Any] | None = None) -> Reservoirs:
    """The same on a GPU; `valid` also says whether the sizes admit the constraint."""
    spans = batch.spans()
    inside = [
        torch.arange(size, device=spans.device) < spans[:, i, None] for i, size in enumerate(batch.cost.shape[1:])
    ]
    if constraint.takes_masses:
        masses = [there.double() / spans[:, side, None].clamp(min=1) for side, there in enumerate(inside)]
        fits = spans.amin(dim=1) >= 1
        if mass is not None:
            masses, totals, fits = device_masses(batch, mass)
            masses[1] = masses[1] * torch.where(fits, totals[0] / totals[1], 1.0)[:, None]
        left, right = (torch.nn.functional.pad(side, (1, 0)) for side in masses)
        return Reservoirs(left, right, left.sum(dim=1), torch.ones_like(left[:, 0]), fits)
    n, m = spans.unbind(dim=1)
    dummies, replicas = (numbers(n, m) for numbers in (constraint.dummies, constraint.per_span))
    sides = [
        torch.cat([alone.clamp(min=0)[:, None], there * copies[:, None]], dim=1).double()
        for there, alone, copies in zip(inside, dummies, replicas, strict=True)
    ]
    links = constraint.full(n, m).double()
    target = torch.full_like(links, -1.0) if constraint.thresholded else links
    return Reservoirs(sides[0], sides[1], target, 1 / links, constraint.admits(n, m))
