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
    return Masses(supply, demand, unit=step / np.maximum(n * m, 1), valid=np.full(len(n), True))


def given(batch: Batch, left: Any, right: Any) -> Masses:
    """The caller's masses; the right ones are scaled to the left total."""
    sides = one_side(batch, "left", 0, left), one_side(batch, "right", 1, right)
    totals = np.stack([masses.sum(axis=1) for masses in sides])
    low, high = totals.min(axis=0), totals.max(axis=0)
    valid = (low > 0) & (high < np.inf) & (low >= high * (1 - AGREE))
    valid &= (sides[0] >= 0).all(axis=1) & (sides[1] >= 0).all(axis=1)
    supply, demand = (whole(masses, total, valid) for masses, total in zip(sides, totals, strict=True))
    return Masses(supply, demand, unit=totals[0] / GRID, valid=valid)


def one_side(batch: Batch, name: str, side: int, masses: Any) -> np.ndarray:
    """The masses of one side, checked, as (batch, spans) with nothing on the padding."""
    count, spans = len(batch.cost), batch.cost.shape[1 + side]
    expected = (spans,) if batch.single else (count, spans)
    values = torch.as_tensor(masses).detach().cpu().double().numpy()
    if values.shape != expected:
        raise ValueError(f"The {name} mass must have shape {expected} for these costs, got {values.shape}.")
    padding = np.arange(spans) >= batch.sizes[:, side, None]
    return np.where(padding, 0.0, values.reshape(count, spans))


def whole(masses: np.ndarray, total: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """Rounded to units; the largest takes up what rounding leaves, so that the units add up."""
    shares = np.divide(masses, total[:, None], out=np.zeros_like(masses), where=valid[:, None])
    units = np.rint(shares * GRID).astype(np.int64)
    if units.shape[1]:
        units[np.arange(len(units)), units.argmax(axis=1)] += np.where(valid, int(GRID) - units.sum(axis=1), 0)
    return units
