"""The kernels: each walks over a batch, copies a problem, solves it, certifies it and writes it out.

A problem sees only its own rows and columns, so that neither padding nor a neighbour can change its result by one bit.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from whymatch.transport.constraints import EXACTLY, UP_TO
from whymatch.transport.kernels.cpu.compiling import Kernel, smaller, step
from whymatch.transport.kernels.cpu.flows import GIVEN_UP, IMPOSSIBLE, Flow, transport
from whymatch.transport.kernels.cpu.links import assign, no_links, one_more_link
from whymatch.transport.kernels.cpu.simplex import simplex
from whymatch.transport.kernels.cpu.steps import (
    INF,
    OPEN,
    OWNER,
    SPARE,
    Floats,
    Ints,
    V,
    Work,
    lowest,
    workspace,
)  # fmt: skip
from whymatch.transport.solution import Status

Costs: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

OK, INVALID, INFEASIBLE = int(Status.OK), int(Status.INVALID), int(Status.INFEASIBLE)
OUT_OF_RANGE = int(Status.OUT_OF_RANGE)
SEARCHES_PER_SPAN = 2  # searches for each span, before the simplex method takes over from shortest paths
HUGE_COST = 1e290  # larger costs are scaled down first, so that sums of them stay finite
SHRINK_LINKS = 2.0**-32  # by this where sums run over spans
SHRINK_MASSES = 2.0**-64  # and by this where they run over units of mass, of which there are up to 2^50
ROUNDING = 1e-12  # the share by which rounding may carry a sum beyond the largest number


@step
def measure(cost: Costs, n: int, m: int) -> tuple[bool, float, bool]:
    """Whether every cost is a number or +inf, the smallest, and whether one that is not +inf is above `HUGE_COST`."""
    wrong, wide, low = 0, 0, INF
    for i in range(n):
        row = cost[i][:m]
        for j in range(m):
            x = float(row[j])
            wrong += not x > -INF
            wide += (x > HUGE_COST) & (x < INF)
            low = smaller(low, x)
    if wrong:  # and `low` means nothing
        return False, 0.0, False
    return True, low, wide > 0


@step
def scale_for(low: float, wide: bool, below: float, shrink: float) -> float:
    """`shrink` where sums of costs could overflow, else 1: what is not `below` is in no sum."""
    if low < -HUGE_COST or (wide if below == INF else abs(below) > HUGE_COST):
        return shrink
    return 1.0


@step
def _load(
    cost: Costs, n: int, m: int, turned: bool, below: float, shrink: float, buffer: Floats
) -> tuple[bool, Floats, float, float]:
    """Whether the costs are valid, a clean copy of them, the scale it is in, and the smallest cost.

    `below` becomes 0 and what does not cost less is forbidden; without a `below` (+inf) the smallest cost becomes 0.
    Where `turned`, right spans are the rows.
    """
    valid, low, wide = measure(cost, n, m)
    scale = scale_for(low, wide, below, shrink)
    zero = (below if below < INF else low) * scale
    c = buffer[: n * m].reshape((m, n) if turned else (n, m))
    for i in range(n):
        row = cost[i][:m]
        for j in range(m):
            x = float(row[j])
            x = x * scale - zero if x < below else INF
            if turned:
                c[j, i] = x
            else:
                c[i, j] = x
    return valid, c, scale, low


@step
def in_range(total: float, scaled: float, scale: float, limit: float) -> float:
    """A sum of costs, or what `scaled` says it is where `total` overflowed on the way; ±inf if it is beyond `limit`."""
    if abs(total) <= limit:
        return total
    if abs(scaled) / (1 + ROUNDING) <= limit * scale:
        return min(max(scaled / scale, -limit), limit)
    return INF if scaled > 0 else -INF


@step
def _clear(plan: Costs) -> None:
    """Here and not where it is allocated, so that every thread touches its own part of the memory first."""
    for i in range(plan.shape[0]):
        for j in range(plan.shape[1]):
            plan[i, j] = 0.0


@step
def bound(c: Floats, units: int, ceiling: float, w: Work) -> float:
    """A lower bound on the cost, whatever columns' prices: rows want `units` links each, or fewer at `ceiling` each."""
    v = w.real[OPEN]
    total = 0.0
    for j in range(c.shape[1]):
        v[j] = min(w.real[V, j], 0.0)  # a column may stay empty
        total += v[j]
    for i in range(c.shape[0]):
        total += units * min(lowest(c[i], v), ceiling)
    return total


@step
def bound_exactly(c: Floats, k: int, price: float, w: Work) -> float:
    """The same for k links in all, whatever their `price`: a row gains what its link costs less than that."""
    v = w.real[OPEN]
    total = k * price
    for j in range(c.shape[1]):
        v[j] = min(w.real[V, j], 0.0)
        total += v[j]
    for i in range(c.shape[0]):
        total += min(lowest(c[i], v) - price, 0.0)
    return total


@step
def bound_masses(c: Floats, sent: Ints, taken: Ints, v: Floats) -> float:
    """The same for a transport of whole units, where every column takes all it can."""
    total = 0.0
    for j in range(c.shape[1]):
        total += taken[j] * v[j]
    for i in range(c.shape[0]):
        if sent[i] > 0:
            total += sent[i] * lowest(c[i], v)
    return total


@step
def optimal_links(c: Floats, rule: int, k: int, w: Work) -> tuple[bool, float]:
    """Leaves the optimal links as OWNERs; returns whether there are any, and a lower bound on their cost."""
    if rule == EXACTLY:
        no_links(c, w)
        price = 0.0
        for _ in range(k):
            price = one_more_link(c, price, w)
            if price == INF:
                return False, INF
        return True, bound_exactly(c, k, price, w)
    ceiling = 0.0 if rule == UP_TO else INF
    k = min(k, c.shape[1])  # no row can have more links than there are columns
    return assign(c, k, ceiling, w), bound(c, k, ceiling, w)


@Kernel
def solve_links(
    rule: int, k: int, below: float, limit: float,
    cost: Costs, sizes: Ints, share: Floats, plan: Costs, value: Floats, gap: Floats, status: Ints,
) -> None:  # fmt: skip
    """`OneTo(k)`, `UpTo(k, below)` or `Exactly(k)` for each problem whose status is ok; a link has the mass `share`.

    Results beyond `limit` are ±inf.
    """
    w = workspace(max(cost.shape[1], cost.shape[2]))
    buffer = np.empty(cost.shape[1] * cost.shape[2])
    for b in range(cost.shape[0]):
        n, m = sizes[b]
        turned = n > m
        _clear(plan[b])
        valid, c, scale, low = _load(cost[b], n, m, turned, below, SHRINK_LINKS, buffer)
        if not valid:
            status[b] = INVALID
        if status[b] != OK:
            continue
        feasible, least = optimal_links(c, rule, k, w)
        if not feasible:
            status[b] = INFEASIBLE
            continue
        total = shifted = scaled = 0.0
        for j in range(c.shape[1]):
            i = w.whole[OWNER, j]
            if i >= 0:
                left, right = (j, i) if turned else (i, j)
                plan[b, left, right] = share[b]
                total += (cost[b, left, right] - (below if rule == UP_TO else 0.0)) * share[b]
                shifted += c[i, j]
                scaled += c[i, j] + (0.0 if rule == UP_TO else low * scale)
        value[b] = in_range(total, scaled * share[b], scale, limit)
        gap[b] = (shifted - least) * share[b] / scale
        if abs(value[b]) == INF:
            status[b] = OUT_OF_RANGE


@Kernel
def solve_choices(
    k: int, below: float, limit: float,
    cost: Costs, sizes: Ints, share: Floats, plan: Costs, value: Floats, gap: Floats, status: Ints,
) -> None:  # fmt: skip
    """`Each(k, below)` for each problem whose status is ok: the k cheapest pairs of every row; a link has mass `share`.

    The first of equal costs is taken. A price for the row's links proves it: what the next pair costs, at most `below`.
    Results beyond `limit` are ±inf.
    """
    buffer = np.empty(cost.shape[1] * cost.shape[2])
    for b in range(cost.shape[0]):
        n, m = sizes[b]
        _clear(plan[b])
        valid, c, scale, _ = _load(cost[b], n, m, False, below, SHRINK_LINKS, buffer)
        if not valid:
            status[b] = INVALID
        if status[b] != OK:
            continue
        wanted = min(k, m)
        total = shifted = excess = 0.0
        for i in range(n):
            order = np.argsort(c[i], kind="mergesort")
            links = 0
            for t in range(wanted):
                j = order[t]
                if c[i, j] < INF:
                    links += 1
                    plan[b, i, j] = share[b]
                    total += (cost[b, i, j] - below) * share[b]
                    shifted += c[i, j]
            price = min(c[i, order[wanted]], 0.0) if wanted < m else 0.0
            excess += (links - wanted) * price
            for j in range(m):  # pair by pair, so that nothing is lost to rounding
                above = c[i, j] - price
                excess += (above if plan[b, i, j] > 0 else 0.0) - min(above, 0.0)
        value[b] = in_range(total, shifted * share[b], scale, limit)
        gap[b] = excess * share[b] / scale
        if abs(value[b]) == INF:
            status[b] = OUT_OF_RANGE


@Kernel
def solve_path(
    limit: float,
    cost: Costs, sizes: Ints, partner: Ints, value: Floats, increment: Floats, gap: Floats, status: Ints,
) -> None:  # fmt: skip
    """`Exactly(k)` for every k of each problem, into arrays that say on entry that there are no k links.

    Results beyond `limit` are ±inf.
    """
    w = workspace(max(cost.shape[1], cost.shape[2]))
    buffer = np.empty(cost.shape[1] * cost.shape[2])
    for b in range(cost.shape[0]):
        n, m = sizes[b]
        turned = n > m
        valid, c, scale, low = _load(cost[b], n, m, turned, INF, SHRINK_LINKS, buffer)
        if not valid:
            for k in range(value.shape[1]):
                status[b, k], value[b, k], increment[b, k] = INVALID, np.nan, np.nan
            continue
        no_links(c, w)
        price = 0.0
        for k in range(min(c.shape[0], value.shape[1])):
            price = one_more_link(c, price, w)
            if price == INF:
                break
            total = shifted = scaled = 0.0
            for j in range(c.shape[1]):
                i = w.whole[OWNER, j]
                if i >= 0:
                    left, right = (j, i) if turned else (i, j)
                    partner[b, k, left] = right
                    total += cost[b, left, right]
                    shifted += c[i, j]
                    scaled += c[i, j] + low * scale
            value[b, k] = in_range(total, scaled, scale, limit)
            increment[b, k] = in_range(price / scale + low, price + low * scale, scale, limit)
            gap[b, k] = (shifted - bound_exactly(c, k + 1, price, w)) / scale
            status[b, k] = OUT_OF_RANGE if abs(value[b, k]) == INF or abs(increment[b, k]) == INF else OK


@step
def _ordinary(c: Floats, sent: Ints, taken: Ints) -> bool:
    """Whether no pair is forbidden and no span without mass, as the simplex method wants it."""
    bare = 0
    for i in range(c.shape[0]):
        bare += sent[i] == 0
        for j in range(c.shape[1]):
            bare += c[i, j] == INF
    for j in range(c.shape[1]):
        bare += taken[j] == 0
    return bare == 0


@Kernel
def solve_masses(
    limit: float, cost: Costs, sizes: Ints, supply: Ints, demand: Ints, unit: Floats, crumb: Ints,
    plan: Costs, value: Floats, gap: Floats, status: Ints,
) -> None:  # fmt: skip
    """`Balanced()` for each problem whose status is ok: as many units of mass `unit` on the left as on the right.

    A link of `crumb` units or less comes from rounding the masses, and is dropped. Results beyond `limit` are ±inf.
    """
    area, longest = cost.shape[1] * cost.shape[2], max(cost.shape[1], cost.shape[2])
    w = workspace(longest)
    buffer, units, holders = np.empty(area), np.empty(area, np.int64), np.empty(area, np.int64)
    held, stock = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for b in range(cost.shape[0]):
        n, m = sizes[b]
        turned = n < m  # fewer paths break when the longer side sends
        _clear(plan[b])
        valid, c, scale, low = _load(cost[b], n, m, turned, INF, SHRINK_MASSES, buffer)
        if not valid:
            status[b] = INVALID
        if status[b] != OK:
            continue
        rows, columns = c.shape
        sent, taken = (demand[b], supply[b]) if turned else (supply[b], demand[b])
        for j in range(columns):
            w.whole[SPARE, j] = taken[j]
        for i in range(rows):
            stock[i] = sent[i]
        shape = (columns, rows)
        flow = Flow(units[: n * m].reshape(shape), holders[: n * m].reshape(shape), held[:columns])
        ended = transport(c, stock, flow, w, SEARCHES_PER_SPAN * (rows + columns) if _ordinary(c, sent, taken) else -1)
        if ended == IMPOSSIBLE:
            status[b] = INFEASIBLE
            continue
        if ended == GIVEN_UP:
            simplex(c, sent, taken, flow, w)
        total = shifted = scaled = 0.0
        for j in range(columns):
            for t in range(flow.held[j]):
                i = flow.holders[j, t]
                shifted += c[i, j] * flow.units[j, i]
                scaled += (c[i, j] + low * scale) * flow.units[j, i]
                if flow.units[j, i] > crumb[b]:
                    left, right = (j, i) if turned else (i, j)
                    mass = flow.units[j, i] * unit[b]
                    plan[b, left, right] = mass
                    total += cost[b, left, right] * mass
                    if mass > limit or plan[b, left, right] == 0:
                        status[b] = OUT_OF_RANGE
        value[b] = in_range(total, scaled * unit[b], scale, limit)
        gap[b] = (shifted - bound_masses(c, sent, taken, w.real[V])) * unit[b] / scale
        if abs(value[b]) == INF:
            status[b] = OUT_OF_RANGE
