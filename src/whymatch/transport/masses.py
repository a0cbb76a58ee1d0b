"""The masses of `Balanced()` as whole units, since whole units can be moved without loss."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from whymatch.transport.batch import Batch, DeviceBatch
from whymatch.transport.inputs import converted, numbers

GRID = 2.0**50  # given masses are rounded to the total divided by this
TINY = 1e-280  # a total whose units can still be told from 0
AGREE = 1e-5  # totals that differ by less than this share are taken as equal


class Masses(NamedTuple):
    """Units on each side, what a unit weighs, and whether the masses of a problem make sense."""

    supply: Any  # arrays on the CPU, tensors on a GPU
    demand: Any
    unit: Any
    crumb: Any  # a link of this many units or less comes from rounding
    valid: Any


def even(batch: Batch) -> Masses:
    """The same mass for every span of a text: 1/n and 1/m, exactly."""
    n, m = batch.sizes.T
    step = np.maximum(np.gcd(n, m), 1)
    supply = np.repeat((m // step)[:, None], batch.cost.shape[1], axis=1)
    demand = np.repeat((n // step)[:, None], batch.cost.shape[2], axis=1)
    unit = step / np.maximum(n * m, 1)
    return Masses(supply, demand, unit, crumb=np.zeros_like(n), valid=np.full(len(n), True))


def given(batch: Batch, left: Any, right: Any) -> Masses:
    """The caller's masses; the right ones are scaled to the left total."""
    sides = one_side(batch, 0, left), one_side(batch, 1, right)
    totals, valid = weigh(*sides)
    counts = (totals[0] == totals[1]) & (totals[0] <= GRID)  # whole numbers are units already
    for masses in sides:
        counts &= (masses == np.floor(masses)).all(axis=1)
    grid = np.where(counts, totals[0], GRID)
    supply, demand = (whole(masses, of_side, grid, valid) for masses, of_side in zip(sides, totals, strict=True))
    unit, crumb = np.where(counts, 1.0, totals[0] / GRID), np.where(counts, 0, batch.sizes.sum(axis=1))
    return Masses(supply, demand, unit, crumb, valid)


def weigh(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The totals of both sides, and which problems have masses that make sense."""
    totals = np.stack([total(left), total(right)])
    low, high = totals.min(axis=0), totals.max(axis=0)
    agree = (low > TINY) & (high < np.inf) & (low >= high * (1 - AGREE))
    return totals, agree & (left >= 0).all(axis=1) & (right >= 0).all(axis=1)


def total(masses: np.ndarray) -> np.ndarray:
    """Sums of rows in the order of the spans: numpy's own order would depend on how much padding follows."""
    return masses.cumsum(axis=1)[:, -1:].sum(axis=1)


def one_side(batch: Batch, side: int, masses: Any) -> np.ndarray:
    """The masses of the left (0) or right (1) side as (batch, spans), with nothing on the padding."""
    count, spans = len(batch.cost), batch.cost.shape[1 + side]
    expected = (spans,) if batch.single else (count, spans)
    what = f"The {('left', 'right')[side]} mass"
    values = converted(numbers(what, masses).detach().cpu().resolve_neg(), torch.float64).numpy()
    if values.shape != expected:
        raise ValueError(f"{what} must have shape {expected} for these costs, got {values.shape}.")
    padding = np.arange(spans) >= batch.sizes[:, side, None]
    return np.where(padding, 0.0, values.reshape(count, spans))


def whole(masses: np.ndarray, totals: np.ndarray, grid: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """Rounded to `grid` units in all; the largest takes up what rounding leaves, so that they add up."""
    shares = np.divide(masses, totals[:, None], out=np.zeros_like(masses), where=valid[:, None])
    units = np.rint(shares * np.where(valid, grid, 0)[:, None]).astype(np.int64)
    if units.shape[1]:
        rest = np.where(valid, grid, 0).astype(np.int64) - units.sum(axis=1)
        units[np.arange(len(units)), units.argmax(axis=1)] += rest
    return units


def device_units(batch: DeviceBatch, mass: tuple[Any, Any] | None) -> Masses:
    """The same units on a GPU, without waiting for it."""
    spans = batch.spans()
    n, m = spans.unbind(dim=1)
    if mass is None:
        step = torch.gcd(n, m).clamp(min=1)
        supply, demand = (m // step)[:, None].expand(-1, batch.cost.shape[1]), (n // step)[:, None]
        demand = demand.expand(-1, batch.cost.shape[2])
        unit = step / (n * m).clamp(min=1).double()
        return Masses(supply.contiguous(), demand.contiguous(), unit, torch.zeros_like(n), torch.ones_like(n).bool())
    sides, totals, valid = device_masses(batch, mass)
    counts = (totals[0] == totals[1]) & (totals[0] <= GRID)  # whole numbers are units already
    for masses in sides:
        counts &= (masses == masses.floor()).all(dim=1)
    grid = torch.where(valid, torch.where(counts, totals[0], GRID), 0.0)
    units = []
    for masses, of_side in zip(sides, totals, strict=True):
        whole_units = torch.where(valid[:, None], masses / of_side[:, None] * grid[:, None], 0.0).round().long()
        if whole_units.shape[1]:
            rest = grid.long() - whole_units.sum(dim=1)
            largest = whole_units.argmax(dim=1, keepdim=True)
            whole_units = whole_units.scatter_add(1, largest, rest[:, None])
        units.append(whole_units)
    unit, crumb = torch.where(counts, 1.0, totals[0] / GRID), torch.where(counts, 0, n + m)
    return Masses(units[0], units[1], unit, crumb, valid)


def device_masses(batch: DeviceBatch, mass: tuple[Any, Any]) -> tuple[list[Tensor], Tensor, Tensor]:
    """The caller's masses on a GPU, nothing on the padding; their totals, and which problems' make sense."""
    sides = []
    for side, given_mass in enumerate(mass):
        what = f"The {('left', 'right')[side]} mass"
        values = numbers(what, given_mass).detach().to(batch.cost.device, torch.float64)
        count, spans = len(batch.cost), batch.cost.shape[1 + side]
        expected = (spans,) if batch.single else (count, spans)
        if values.shape != expected:
            raise ValueError(f"{what} must have shape {expected} for these costs, got {tuple(values.shape)}.")
        inside = torch.arange(spans, device=values.device) < batch.spans()[:, side, None]
        sides.append(torch.where(inside, values.reshape(count, spans), 0.0))
    totals = torch.stack([values.sum(dim=1) for values in sides])
    low, high = totals.amin(dim=0), totals.amax(dim=0)
    valid = (low > TINY) & (high < torch.inf) & (low >= high * (1 - AGREE))
    return sides, totals, valid & (sides[0] >= 0).all(dim=1) & (sides[1] >= 0).all(dim=1)
