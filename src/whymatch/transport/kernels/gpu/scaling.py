"""Entropic transport on the GPU: the plan exp((f[i] + g[j] - c[i, j]) / epsilon) whose rows and columns carry masses.

One program per problem, one pass over its costs per iteration. The rows' potentials f follow from the columns' g, so
that only g is kept: row by row, the pass normalises exp((g - c) / epsilon) to the row's mass and adds it to the
columns' sums, which say how to change g. Potentials are in double precision, since they are divided by epsilon;
exponentials are in that of the costs.
"""

from typing import NamedTuple

import triton
import triton.language as tl

from whymatch.transport.solution import Status

SHRINK_EPSILON = tl.constexpr(0.25)  # of epsilon, from one stage to the next
EARLY_TOLERANCE = tl.constexpr(1e-2)  # the error at which an early stage is good enough
EARLY_ITERATIONS = tl.constexpr(100)  # the most iterations of an early stage
HUGE = tl.constexpr(1e290)  # larger costs are divided by 2^32 first, so that differences of them stay finite
MIN_SUM = tl.constexpr(1e-35)  # what a column's sum counts as where it has run out of range
OK = tl.constexpr(int(Status.OK))
INVALID = tl.constexpr(int(Status.INVALID))
INFEASIBLE = tl.constexpr(int(Status.INFEASIBLE))


class _Smooth(NamedTuple):
    """One problem: costs become (cost · `scale` - `zero`) · `unit`, and reservoirs cost `meeting` where they meet."""

    costs: tl.tensor  # where they start
    n: tl.tensor
    m: tl.tensor
    wide: tl.tensor  # from one row to the next in memory
    scale: tl.tensor
    zero: tl.tensor
    unit: tl.tensor
    meeting: tl.tensor


@triton.jit
def _with_reservoir(p: _Smooth, i: tl.tensor, columns: tl.tensor) -> tl.tensor:
    """Row i of the costs, where row and column 0 are the reservoirs: they cost 0, and `meeting` where they meet."""
    last = tl.where((i >= 1) & (i <= p.n), p.m, 0)
    spans = (columns >= 1) & (columns <= last)
    x = tl.load(p.costs + (i - 1) * p.wide + columns - 1, mask=spans, other=float("inf")).to(tl.float64)
    beside = tl.where(columns == 0, tl.where(i == 0, p.meeting, 0.0), tl.where(i == 0, 0.0, float("inf")))
    c = tl.where(spans, (x * p.scale - p.zero) * p.unit, beside)
    return tl.where(columns <= tl.where(i <= p.n, p.m, -1), c, float("inf"))


@triton.jit
def _span_costs(
    costs: tl.tensor, left: tl.tensor, columns: tl.tensor, b: tl.tensor, n: tl.tensor, m: tl.tensor, M: tl.tensor,
    COLUMNS: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor, tl.tensor]:  # fmt: skip
    """Whether the costs are valid, the smallest and the largest, the columns a row can reach, and the mass in all."""
    wrong, open_to = tl.zeros((COLUMNS,), tl.int32), tl.zeros((COLUMNS,), tl.int32)
    low = tl.full((COLUMNS,), float("inf"), tl.float64)
    high = tl.full((COLUMNS,), -float("inf"), tl.float64)
    everything = tl.load(left)
    i = tl.full((), 1, tl.int32)
    while i <= n:
        spans = (columns >= 1) & (columns <= m)
        x = tl.load(costs + (i - 1) * M + columns - 1, mask=spans, other=float("inf")).to(tl.float64)
        mass = tl.load(left + i)
        wrong |= (x > -float("inf")).to(tl.int32) ^ 1
        low = tl.where(x < low, x, low)
        high = tl.where((x < float("inf")) & (x > high), x, high)
        open_to |= tl.where(x < float("inf"), tl.where(mass > 0, 1, 0), 0)
        everything += mass
        i += 1
    return tl.max(wrong, axis=0) == 0, tl.min(low, axis=0), tl.max(high, axis=0), open_to, everything


@triton.jit
def _to_mass(c: tl.tensor, g: tl.tensor, mass: tl.tensor, sharpness: tl.tensor, REAL: tl.constexpr) -> tl.tensor:
    """A row of the plan: exp((g - c) * sharpness), normalised to the row's mass."""
    x = g - c
    top = tl.max(x, axis=0)
    top = tl.where(top > -float("inf"), top, 0.0)
    y = tl.exp(((x - top) * sharpness).to(REAL))  # rounded after the difference: before, it could be any size
    total = tl.sum(y, axis=0)
    return y * tl.where(total > 0, mass.to(REAL) / total, 0.0)


@triton.jit
def _one_pass(
    p: _Smooth, left: tl.tensor, columns: tl.tensor, g: tl.tensor, sharpness: tl.tensor, AT_ONCE: tl.constexpr, COLUMNS:
    tl.constexpr, REAL: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    """What the columns carry when every row carries its mass."""
    sums = tl.zeros((COLUMNS,), tl.float64)
    start = tl.full((), 0, tl.int32)
    while start <= p.n:
        for t in tl.static_range(AT_ONCE):
            c = _with_reservoir(p, start + t, columns)
            mass = tl.load(left + start + t, mask=start + t <= p.n, other=0.0)
            sums += _to_mass(c, g, mass, sharpness, REAL).to(tl.float64)
        start += AT_ONCE
    return sums


@triton.jit(do_not_specialize=["tolerance", "limit", "N", "M"])
def solve_smooth(
    costs: tl.tensor, sizes: tl.tensor, below: tl.tensor, left: tl.tensor, right: tl.tensor, epsilons: tl.tensor, plan:
    tl.tensor, error: tl.tensor, iterations: tl.tensor, status: tl.tensor, tolerance: tl.tensor, limit: tl.tensor, N:
    tl.tensor, M: tl.tensor, RELATIVE: tl.constexpr, MEET: tl.constexpr, AT_ONCE: tl.constexpr, COLUMNS: tl.constexpr,
    REAL: tl.constexpr,
) -> None:  # fmt: skip
    """The entropic plan of each problem whose status is ok, with the reservoirs in row and column 0.

    `epsilons` come in relative to the range of the costs, or absolute, and leave absolute. Where reservoirs MEET, they
    compete with every pair, and `below` is what costs nothing.
    """
    b = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, COLUMNS)
    n, m = tl.load(sizes + 2 * b).to(tl.int32), tl.load(sizes + 2 * b + 1).to(tl.int32)
    costs, left, right, plan = costs + b * N * M, left + b * (N + 1), right + b * (M + 1), plan + b * (N + 1) * (M + 1)
    valid, low, high, open_to, everything = _span_costs(costs, left, columns, b, n, m, M, COLUMNS)
    n = tl.where(tl.load(status + b) == OK, n, -1)  # nothing to do
    large = (low < -HUGE) | (high > HUGE)
    threshold = tl.full((), 0.0, tl.float64)
    if MEET:
        threshold = tl.load(below).to(tl.float64)
        large = large | (tl.abs(threshold) > HUGE)
    scale = tl.where(large, 2.0**-32, 1.0).to(tl.float64)
    low, high = low * scale, high * scale
    zero = tl.where(low < float("inf"), low, 0.0)
    meeting = tl.full((), float("inf"), tl.float64)
    if MEET:
        zero = threshold * scale
        low, high = tl.minimum(low, zero), tl.maximum(high, zero)
        meeting = tl.full((), 0.0, tl.float64)
    spread = tl.where(high > low, high - low, 1.0)
    p = _Smooth(costs, n, m, M, scale, zero, 1.0 / tl.maximum(spread, 1e-300), meeting)
    given = tl.load(epsilons + b)
    final = given
    if not RELATIVE:
        final = given * scale / spread
    taken = tl.load(right + columns, mask=columns <= tl.where(n >= 0, m, -1), other=0.0)
    first_row = _with_reservoir(p, n * 0, columns)
    open_to |= tl.where(first_row < float("inf"), tl.where(tl.load(left) > 0, 1, 0), 0)
    stuck = tl.max(tl.where((open_to == 0) & (taken > 0) & (columns > 0), 1, 0), axis=0)
    i = tl.full((), 0, tl.int32)
    while i <= n:  # a row with mass needs a column with mass
        c = _with_reservoir(p, i, columns)
        reached = tl.max(tl.where((c < float("inf")) & (taken > 0), 1, 0), axis=0)
        stuck = tl.where((reached == 0) & (tl.load(left + i) > 0), 1, stuck)
        i += 1
    runs = (n >= 0) & valid & (stuck == 0)
    g = tl.where(taken > 0, 0.0, -float("inf")).to(tl.float64)
    stage, off = tl.full((), 1.0, tl.float64), tl.full((), 0.0, tl.float64)
    epsilon = final
    done, going = tl.full((), 0, tl.int32), tl.where(runs, 1, 0)
    while going > 0:
        epsilon = tl.maximum(stage, final)
        going = tl.where(stage > final, 1, 0)
        enough = tl.where(going > 0, EARLY_TOLERANCE, tolerance).to(tl.float64) * everything
        most = tl.where(going > 0, EARLY_ITERATIONS, limit)
        count = tl.full((), 0, tl.int32)
        off = tl.full((), float("inf"), tl.float64)
        while (off > enough) & (count < most):
            sums = _one_pass(p, left, columns, g, 1.0 / epsilon, AT_ONCE, COLUMNS, REAL)
            off = tl.sum(tl.where(taken > 0, tl.abs(sums - taken), 0.0), axis=0)
            change = epsilon * tl.log(tl.where(taken > 0, taken, 1.0) / tl.where(sums > MIN_SUM, sums, MIN_SUM))
            g = tl.where((taken > 0) & (columns < tl.where(off > enough, COLUMNS, 0)), g + change, g)
            count += 1
        done += count
        stage *= SHRINK_EPSILON
    _write_smooth(p, left, columns, N, g, 1.0 / epsilon, plan, runs, COLUMNS, REAL)
    tl.store(epsilons + b, tl.where(runs, final * spread / scale, given))
    misplaced = off / tl.where(everything > 0, everything, 1.0)
    tl.store(error + b, tl.where(runs, misplaced, float("nan")))
    tl.store(iterations + b, done)
    if valid == 0:
        tl.store(status + b, INVALID)
    elif (n >= 0) & (runs == 0):
        tl.store(status + b, INFEASIBLE)


@triton.jit
def _write_smooth(
    p: _Smooth, left: tl.tensor, columns: tl.tensor, N: tl.tensor, g: tl.tensor, sharpness: tl.tensor, plan: tl.tensor,
    runs: tl.tensor, COLUMNS: tl.constexpr, REAL: tl.constexpr,
) -> None:  # fmt: skip
    """Writes every entry of a plan once, 0 where there is none."""
    i = tl.full((), 0, tl.int32)
    while i <= N:
        c = _with_reservoir(p, i, columns)
        mass = tl.load(left + i, mask=i <= tl.where(runs, p.n, -1), other=0.0)
        row = tl.where(columns <= tl.where(runs, p.m, -1), _to_mass(c, g, mass, sharpness, REAL).to(tl.float64), 0.0)
        tl.store(plan + i * (p.wide + 1) + columns, row, mask=columns <= p.wide)
        i += 1
