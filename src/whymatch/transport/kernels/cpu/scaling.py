"""Entropic transport: the plan exp((f[i] + g[j] - c[i, j]) / epsilon) whose rows and columns carry given masses.

Sinkhorn's iteration, on scalings of a kernel matrix that are folded into the potentials f and g before they grow out of
range, while epsilon shrinks step by step to its final value. Costs are divided by their range first.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from whymatch.transport.kernels.cpu.batches import (
    HUGE_COST,
    INFEASIBLE,
    INVALID,
    OK,
    OUT_OF_RANGE,
    SHRINK_LINKS,
    Costs,
    in_range,
    measure,
    scale_for,
)  # fmt: skip
from whymatch.transport.kernels.cpu.compiling import Kernel, step
from whymatch.transport.kernels.cpu.steps import INF, Floats, Ints

SHRINK_EPSILON = 0.25  # of epsilon, from one stage to the next
EARLY_TOLERANCE = 1e-2  # the error at which an early stage is good enough
EARLY_ITERATIONS = 100  # the most iterations of an early stage
MAX_SCALING = 1e100  # scalings beyond this are folded into the potentials


class _Scaling(NamedTuple):
    """One problem: rows are the left spans and one reservoir for what stays without a partner, columns likewise."""

    c: Floats
    c_turned: Floats  # with columns as rows, so that every loop runs along memory
    k: Floats  # exp((f + g - c) / epsilon)
    k_turned: Floats
    rows: Floats  # f, x, and the sums of rows
    columns: Floats  # g, y, and the sums of columns


POTENTIAL, SCALE, SUMS = 0, 1, 2


@step
def _softmin(c: Floats, others: Floats, epsilon: float, mass: Floats, mine: Floats) -> bool:
    """Potentials that give every row its mass; False if a row with mass has no pair that is allowed."""
    for i in range(c.shape[0]):
        mine[i] = -INF
        if mass[i] > 0:
            top = -INF
            for j in range(c.shape[1]):
                top = max(top, others[j] - c[i, j])
            if top == -INF:
                return False
            total = 0.0
            for j in range(c.shape[1]):
                total += exp((others[j] - c[i, j] - top) / epsilon)
            mine[i] = epsilon * log(mass[i] / total) - top
    return True


@step
def _fold(side: Floats, count: int, epsilon: float) -> None:
    """Moves scalings into potentials."""
    for i in range(count):
        if 0 < side[SCALE, i] < INF:
            side[POTENTIAL, i] += epsilon * log(side[SCALE, i])
        side[SCALE, i] = 1.0


@step
def _refresh(s: _Scaling, epsilon: float, left: Floats, right: Floats) -> bool:
    """Starts over at scalings of 1, from potentials that were improved once; False if there is no plan."""
    _fold(s.rows, left.size, epsilon)
    _fold(s.columns, right.size, epsilon)
    f, g = s.rows[POTENTIAL], s.columns[POTENTIAL]
    if not (_softmin(s.c, g, epsilon, left, f) and _softmin(s.c_turned, f, epsilon, right, g)):
        return False
    for i in range(left.size):
        for j in range(right.size):
            s.k[i, j] = s.k_turned[j, i] = exp((f[i] + g[j] - s.c[i, j]) / epsilon)
    return True


@step
def _rescale(k: Floats, others: Floats, mass: Floats, mine: Floats) -> tuple[float, bool]:
    """Scales the columns of k to their mass, given its rows' scales: how far off they were, and if one is far out."""
    for j in range(mass.size):
        mine[SUMS, j] = 0.0
    for i in range(k.shape[0]):
        scale = others[SCALE, i]
        for j in range(mass.size):
            mine[SUMS, j] += scale * k[i, j]
    off, far = 0.0, False
    for j in range(mass.size):
        off += abs(mine[SCALE, j] * mine[SUMS, j] - mass[j])
        if mass[j] > 0:
            mine[SCALE, j] = mass[j] / mine[SUMS, j] if mine[SUMS, j] > 0 else INF
            far |= not 1 / MAX_SCALING < mine[SCALE, j] < MAX_SCALING
    return off, far


@step
def _iterate(
    s: _Scaling, epsilon: float, left: Floats, right: Floats, tolerance: float, limit: int
) -> tuple[float, int]:
    """Iterates at one epsilon until rows are off by `tolerance` in all: the error (+inf: no plan), the iterations."""
    error, far = INF, True
    for iteration in range(limit):
        if far and not _refresh(s, epsilon, left, right):
            return INF, iteration
        error, far = _rescale(s.k_turned, s.columns, left, s.rows)
        if error <= tolerance:
            return error, iteration
        _, also = _rescale(s.k, s.rows, right, s.columns)
        far |= also
    if far and not _refresh(s, epsilon, left, right):
        return INF, limit
    return error, limit


@step
def _fill(cost: Costs, n: int, m: int, scale: float, zero: float, meeting: float, s: _Scaling) -> float:
    """Copies the costs, with reservoirs that cost 0, and `meeting` where they meet; returns the range it divides by.

    Both the copy and the range are of costs times `scale`.
    """
    low, high = (0.0, 0.0) if meeting == 0 else (INF, -INF)  # where reservoirs may meet, they compete with every pair
    for i in range(n):
        for j in range(m):
            x = cost[i, j] * scale - zero * scale
            s.c[i + 1, j + 1] = x
            low, high = min(low, x), max(high, x if x < INF else -INF)
    spread = high - low if high > low else 1.0
    for i in range(n + 1):
        s.c[i, 0] = 0.0
    for j in range(m + 1):
        s.c[0, j] = 0.0
    s.c[0, 0] = meeting
    for i in range(n + 1):
        for j in range(m + 1):
            s.c[i, j] /= spread
            s.c_turned[j, i] = s.c[i, j]
    return spread


@step
def _cut(side: Floats, mass: Floats) -> None:
    """Turns sums into the factors that bring them down to the mass where they are above it."""
    for i in range(mass.size):
        side[SCALE, i] = mass[i] / side[SUMS, i] if side[SUMS, i] > mass[i] else 1.0


@step
def _add_up(plan: Floats, s: _Scaling) -> float:
    """Sums of the rows and columns of spans; returns the total."""
    total = 0.0
    for j in range(plan.shape[1]):
        s.columns[SUMS, j] = 0.0
    for i in range(1, plan.shape[0]):
        s.rows[SUMS, i] = 0.0
        for j in range(1, plan.shape[1]):
            s.rows[SUMS, i] += plan[i, j]
            s.columns[SUMS, j] += plan[i, j]
        total += s.rows[SUMS, i]
    return total


@step
def _into_place(plan: Floats, left: Floats, right: Floats, target: float, s: _Scaling) -> None:
    """Makes `plan` move no more than it may, and `target` in all (-1: any total): cuts, then adds what is missing.

    What is missing goes to pairs in proportion to the room that both their spans have left, but not to forbidden pairs.
    """
    _add_up(plan, s)
    _cut(s.rows, left)
    for i in range(1, plan.shape[0]):
        for j in range(1, plan.shape[1]):
            plan[i, j] *= s.rows[SCALE, i]
    total = _add_up(plan, s)
    _cut(s.columns, right)
    for i in range(1, plan.shape[0]):
        for j in range(1, plan.shape[1]):
            plan[i, j] *= s.columns[SCALE, j]
    if target < 0:
        return
    total = _add_up(plan, s)
    excess = target / total if total > target else 1.0
    rows = columns = 0.0
    for i in range(1, plan.shape[0]):
        rows += max(left[i] - s.rows[SUMS, i] * excess, 0.0)
    for j in range(1, plan.shape[1]):
        columns += max(right[j] - s.columns[SUMS, j] * excess, 0.0)
    missing = max(target - total * excess, 0.0)
    missing = missing / rows / columns if missing > 0 and rows > 0 and columns > 0 else 0.0
    for i in range(1, plan.shape[0]):
        room = max(left[i] - s.rows[SUMS, i] * excess, 0.0) * missing
        for j in range(1, plan.shape[1]):
            more = room * max(right[j] - s.columns[SUMS, j] * excess, 0.0) if s.c[i, j] < INF else 0.0
            plan[i, j] = plan[i, j] * excess + more


@Kernel
def solve_smooth(
    relative: bool, below: float, tolerance: float, most_iterations: int, limit: float,
    cost: Costs, sizes: Ints, left: Floats, right: Floats, target: Floats, share: Floats, epsilon: Floats,
    plan: Floats, placed: Floats, value: Floats, error: Floats, iterations: Ints, status: Ints,
) -> None:  # fmt: skip
    """The entropic plan of each problem whose status is ok, with the reservoirs in row and column 0.

    `placed` is the same plan with its masses in place, in links of mass `share`. `epsilon` comes in relative to the
    range of the costs, or absolute, and leaves absolute. The error is relative to all the mass there is. Results beyond
    `limit` are ±inf.
    """
    area, longest = plan.shape[1] * plan.shape[2], max(plan.shape[1], plan.shape[2])
    memory, sides = np.empty((4, area)), np.empty((2, 3, longest))
    for b in range(cost.shape[0]):
        n, m = sizes[b]
        valid, low, wide = measure(cost[b], n, m)
        scale = scale_for(low, wide or HUGE_COST < abs(below) < INF, INF, SHRINK_LINKS)  # every pair has some mass
        if not valid:
            status[b] = INVALID
        if status[b] != OK:
            continue
        size, shape, turned = (n + 1) * (m + 1), (n + 1, m + 1), (m + 1, n + 1)
        s = _Scaling(
            memory[0][:size].reshape(shape), memory[1][:size].reshape(turned),
            memory[2][:size].reshape(shape), memory[3][:size].reshape(turned), sides[0], sides[1],
        )  # fmt: skip
        a, c = left[b][: n + 1], right[b][: m + 1]
        everything = 0.0
        for i in range(n + 1):
            everything += a[i]
        spread = _fill(cost[b], n, m, scale, below if below < INF else low, 0.0 if below < INF else INF, s)
        final = epsilon[b] if relative else epsilon[b] * scale / spread
        epsilon[b] = final * spread / scale
        for side in range(2):
            for i in range(longest):
                sides[side, POTENTIAL, i], sides[side, SCALE, i] = 0.0, 1.0
        stage, done, off = 1.0, 0, 0.0
        while stage > final and off < INF:
            off, count = _iterate(s, stage, a, c, everything * EARLY_TOLERANCE, EARLY_ITERATIONS)
            done += count
            _fold(s.rows, n + 1, stage)
            _fold(s.columns, m + 1, stage)
            stage *= SHRINK_EPSILON
        if off < INF:
            off, count = _iterate(s, final, a, c, everything * tolerance, most_iterations)
            done += count
        if off == INF:
            status[b] = INFEASIBLE
            continue
        error[b], iterations[b] = off / everything if everything > 0 else 0.0, done
        for i in range(n + 1):
            for j in range(m + 1):
                plan[b, i, j] = placed[b, i, j] = s.rows[SCALE, i] * s.k[i, j] * s.columns[SCALE, j]
        _into_place(placed[b][: n + 1, : m + 1], a, c, target[b], s)
        zero = below if below < INF else 0.0
        total = scaled = 0.0
        for i in range(n):
            for j in range(m):
                mass = placed[b, i + 1, j + 1] * share[b]
                if mass > 0:
                    total += (cost[b, i, j] - zero) * mass
                    scaled += (cost[b, i, j] * scale - zero * scale) * mass
        value[b] = in_range(total, scaled, scale, limit)
        if abs(value[b]) == INF:
            status[b] = OUT_OF_RANGE
