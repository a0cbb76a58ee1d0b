"""The masses of `Balanced()` as whole units, since whole units can be moved without loss."""

from typing import Any, NamedTuple

import numpy as np
import torch

from whymatch.transport.batch import Batch

GRID = 2.0**50  # given masses are rounded to the total divided by this
AGREE = 1e-5  # totals that differ by less than this share are taken as equal


class Masses(NamedTuple):
    """Units on each side, what a unit weighs, and whether the masses of a problem make sense."""

    supply: np.ndarray
    demand: np.ndarray
    unit: np.ndarray
    valid: np.ndarray


def even(batch: Batch) -> Masses:
    """The same mass for every span of a text: 1/n and 1/m, exactly."""
    n, m = batch.sizes.T
    step = np.maximum(np.gcd(n, m), 1)
    supply = np.repeat((m // step)[:, None], batch.cost.shape[1], axis=1)
    demand = np.repeat((n // step)[:, None], batch.cost.shape[2], axis=1)
    return Masses(supply, demand, step / np.maximum(n * m, 1), np.full(len(n), True))


def given(batch: Batch, left: Any, right: Any) -> Masses:
    """The caller's masses, rounded to whole units; the right ones scaled to the left total."""
    sides = []
    for name, masses, side in (("left", left, 0), ("right", right, 1)):
        masses = torch.as_tensor(masses).detach().cpu().double().numpy()
        expected = batch.cost.shape[1 + side : 2 + side] if batch.single else batch.cost.shape[: 2 + side : 1 + side]
        if masses.shape != tuple(expected):
            raise ValueError(f"The {name} mass must have shape {tuple(expected)} for these costs, got {masses.shape}.")
        masses = np.atleast_2d(masses)
        padding = np.arange(masses.shape[1]) >= batch.sizes[:, side, None]
        sides.append(np.where(padding, 0.0, masses))
    totals = np.stack([masses.sum(axis=1) for masses in sides])
    positive = np.logical_and.reduce([np.isfinite(masses).all(axis=1) & (masses >= 0).all(axis=1) for masses in sides])
    with np.errstate(invalid="ignore"):
        agree = np.abs(totals[0] - totals[1]) <= AGREE * totals.max(axis=0)
    valid = positive & agree & np.isfinite(totals).all(axis=0) & (totals > 0).all(axis=0)
    units = [whole(masses, total, valid) for masses, total in zip(sides, totals, strict=True)]
    return Masses(*units, unit=totals[0] / GRID, valid=valid)


def whole(masses: np.ndarray, total: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """Rounded to units; the largest takes up what rounding leaves, so that the units add up."""
    shares = np.divide(masses, total[:, None], out=np.zeros_like(masses), where=valid[:, None])
    units = np.rint(shares * GRID).astype(np.int64)
    if units.shape[1]:
        units[np.arange(len(units)), units.argmax(axis=1)] += np.where(valid, int(GRID) - units.sum(axis=1), 0)
    return units
