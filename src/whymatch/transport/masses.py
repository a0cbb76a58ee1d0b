"""What spans carry: the masses of `Balanced()` in whole units, and every constraint as one transport problem.

Written against the array API, for arrays of numpy and for tensors on a GPU, which nothing here waits for: where the API
would make a tensor of a number (`maximum`), `larger` takes its place.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from array_api_compat import device

from whymatch.transport.batch import Array, Batch
from whymatch.transport.constraints import Constraint, larger
from whymatch.transport.solution import Status

_UNITS_IN_TOTAL = 2.0**50  # given masses are rounded to the total divided by this
_MIN_TOTAL = 1e-280  # a total whose units can still be told from 0
_TOTALS_AGREE_TO = 1e-5  # totals that differ by less than this share are taken as equal


class Masses(NamedTuple):
    """Units on each side, since whole units can be moved without loss; what a unit weighs."""

    supply: Array
    """(batch, n) units of the left spans."""
    demand: Array
    """(batch, m) units of the right spans, as many in all."""
    unit: Array
    crumb: Array
    """A link of this many units or less comes from rounding."""
    valid: Array | None
    """Which problems have masses that make sense; None where all have."""


def units(batch: Batch, mass: Sequence[Any] | None) -> Masses:
    """The masses that the caller gave, or the same for every span of a text: 1/n and 1/m, exactly."""
    xp, (n, m) = batch.xp, batch.spans
    if mass is None:
        step = larger(xp.gcd(n, m), 1)
        supply, demand = (
            (other // step)[:, None] + xp.zeros((1, spans), dtype=xp.int64, device=device(batch.costs))
            for other, spans in zip((m, n), batch.costs.shape[1:], strict=True)
        )
        unit = xp.astype(step, xp.float64) / xp.astype(larger(n * m, 1), xp.float64)
        return Masses(supply, demand, unit, crumb=xp.zeros_like(n), valid=None)
    sides, totals, valid = given(batch, mass)
    counts = (totals[0] == totals[1]) & (totals[0] <= _UNITS_IN_TOTAL)  # whole numbers are units already
    for masses in sides:
        counts = counts & xp.all(masses == xp.floor(masses), axis=1)
    grid = xp.where(valid, xp.where(counts, totals[0], _UNITS_IN_TOTAL), 0.0)
    supply, demand = (_whole(batch, *side, grid, valid) for side in zip(sides, totals, strict=True))
    unit, crumb = xp.where(counts, 1.0, totals[0] / _UNITS_IN_TOTAL), xp.where(counts, 0, n + m)
    return Masses(supply, demand, unit, crumb, valid)


def given(batch: Batch, mass: Sequence[Any]) -> tuple[list[Array], list[Array], Array]:
    """The caller's masses (batch, spans), nothing on the padding; their totals; which problems' make sense."""
    xp, sides = batch.xp, []
    for side, (name, values) in enumerate(zip(("left", "right"), mass, strict=True)):
        masses = batch.masses(f"The {name} mass", values)
        expected = (len(batch.costs), batch.costs.shape[1 + side])
        if tuple(masses.shape) != expected[batch.single :]:
            shapes = f"shape {expected[batch.single :]} for these costs, got {tuple(masses.shape)}"
            raise ValueError(f"The {name} mass must have {shapes}.")
        sides.append(xp.where(batch.inside(side), xp.reshape(masses, expected), 0.0))
    totals = [_total(batch, masses) for masses in sides]
    low, high = xp.minimum(*totals), xp.maximum(*totals)
    valid = (low > _MIN_TOTAL) & (high < float("inf")) & (low >= high * (1 - _TOTALS_AGREE_TO))
    return sides, totals, valid & xp.all(sides[0] >= 0, axis=1) & xp.all(sides[1] >= 0, axis=1)


def _total(batch: Batch, masses: Array) -> Array:
    """Sums of rows; on the CPU in the order of the spans, since numpy's own depends on how much padding follows."""
    xp = batch.xp
    return xp.sum(xp.cumulative_sum(masses, axis=1)[:, -1:] if batch.on_host else masses, axis=1)


def _whole(batch: Batch, masses: Array, totals: Array, grid: Array, valid: Array) -> Array:
    """Masses rounded to `grid` units in all; the largest takes up what rounding leaves, so that they add up."""
    xp = batch.xp
    shares = xp.where(valid[:, None], masses, 0.0) / xp.where(valid, totals, 1.0)[:, None]
    rounded = xp.astype(xp.round(shares * grid[:, None]), xp.int64)
    if not rounded.shape[1]:
        return rounded
    rest = xp.astype(grid, xp.int64) - xp.sum(rounded, axis=1)
    places = xp.arange(rounded.shape[1], device=device(rounded))
    return rounded + xp.where(places[None, :] == xp.argmax(rounded, axis=1)[:, None], rest[:, None], 0)


class Reservoirs(NamedTuple):
    """The paper's construction with its points merged: k replicas of a span are a span of mass k, d dummies are one
    reservoir of mass d. The entropic plan is the same."""

    left: Array
    """(batch, 1 + n) masses in links, the reservoir's first."""
    right: Array
    target: Array
    """How many links move between spans (-1: any number)."""
    share: Array
    """The mass of a link."""
    valid: Array | None


def reservoirs(batch: Batch, constraint: Constraint, mass: Sequence[Any] | None = None) -> Reservoirs:
    """The masses under which the transport problem's plans are the constraint's plans."""
    xp, (n, m) = batch.xp, batch.spans
    valid = None
    if constraint.takes_masses:
        if mass is None:
            sides = [
                xp.astype(batch.inside(side), xp.float64) / xp.astype(larger(spans, 1), xp.float64)[:, None]
                for side, spans in enumerate((n, m))
            ]
        else:
            sides, totals, valid = given(batch, mass)
            factor = xp.where(valid, totals[0], 1.0) / xp.where(valid, totals[1], 1.0)
            sides[1] = sides[1] * factor[:, None]
        nothing = xp.zeros((len(batch.costs), 1), dtype=xp.float64, device=device(batch.costs))
        left, right = (xp.concat([nothing, masses], axis=1) for masses in sides)
        target = _total(batch, left)
        return Reservoirs(left, right, target, xp.ones_like(target), valid)
    left, right = (
        xp.astype(xp.concat([larger(alone, 0)[:, None], batch.inside(side) * copies[:, None]], axis=1), xp.float64)
        for side, (alone, copies) in enumerate(zip(constraint.dummies(n, m), constraint.per_span(n, m), strict=True))
    )
    links = xp.astype(constraint.full(n, m), xp.float64)
    target = xp.full_like(links, -1.0) if constraint.thresholded else links
    return Reservoirs(left, right, target, 1 / links, valid)


def first_status(batch: Batch, constraint: Constraint, valid: Array | None) -> Array:
    """The status of problems before they are solved: some are of sizes that a constraint does not admit, or invalid."""
    xp = batch.xp
    admitted = xp.where(constraint.admits(*batch.spans), int(Status.OK), int(Status.INFEASIBLE))
    return admitted if valid is None else xp.where(valid, admitted, int(Status.INVALID))
