"""The steps that the kernels share: one number out of a vector, one row of a matrix, one pass over all of it.

A program sees its problem through a pointer and two strides, and nothing is copied. Vectors live in registers, a power
of two long and at least as long as a warp is wide, since a warp compares whole numbers of 32 bits in one instruction.

Numbers that a loop changes start as tensors of their type: a plain 0.0 would be single precision whatever is added.
"""

from typing import NamedTuple

import triton
import triton.language as tl

MIN_VECTOR = 32  # the shortest vector: a warp's width
SIGN, LARGEST = tl.constexpr(-(2**31)), tl.constexpr(2**31 - 1)  # of whole numbers of 32 bits
ROUNDING = tl.constexpr(1e-12)  # the share by which rounding may carry a sum beyond the largest number
ROWS_AT_ONCE = {32: 8, 64: 4, 128: 2, 256: 2}  # rows of each length that a pass over a matrix reads at the same time


class Problem(NamedTuple):
    """One problem: rows are the shorter text's spans and columns the longer one's, or the other way for masses."""

    costs: tl.tensor  # where they start
    across: tl.tensor  # from one row to the next in memory
    along: tl.tensor  # from one column to the next
    n: tl.tensor  # how many rows
    m: tl.tensor
    below: tl.tensor  # a pair that does not cost less is forbidden
    low: tl.tensor  # the smallest cost, times `scale`
    scale: tl.tensor  # by which costs are multiplied


@triton.jit
def least(x: tl.tensor) -> tl.tensor:
    """The smallest of numbers that are not negative; such floats have the order of their bits."""
    if x.dtype == tl.float32:
        smallest = tl.min(x.to(tl.int32, bitcast=True), axis=0).to(tl.float32, bitcast=True)
    else:  # the upper half decides, then the lower, whose highest bit is no sign
        bits = x.to(tl.int64, bitcast=True)
        upper = (bits >> 32).to(tl.int32)
        top = tl.min(upper, axis=0)
        lower = tl.min(tl.where(upper == top, bits.to(tl.int32) ^ SIGN, LARGEST), axis=0) ^ SIGN
        smallest = ((top.to(tl.int64) << 32) | (lower.to(tl.int64) & 0xFFFFFFFF)).to(tl.float64, bitcast=True)
    return smallest


@triton.jit
def at(x: tl.tensor, index: tl.tensor, i: tl.tensor) -> tl.tensor:
    """x[i], where `index` counts the elements of x."""
    if x.dtype == tl.float32:
        bits = tl.where(index == i, x.to(tl.int32, bitcast=True), 0)
        element = tl.sum(bits, axis=0).to(tl.float32, bitcast=True)
    else:
        element = tl.sum(tl.where(index == i, x, 0), axis=0)
    return element


@triton.jit
def first(wanted: tl.tensor, index: tl.tensor, none: tl.constexpr) -> tl.tensor:
    """The first place where `wanted` holds, or `none`."""
    return tl.min(tl.where(wanted, index, none), axis=0)


@triton.jit
def one_row(p: Problem, i: tl.tensor, columns: tl.tensor, REAL: tl.constexpr) -> tl.tensor:
    """Row i of the costs above the smallest; +inf where a pair is forbidden or is none."""
    x = tl.load(p.costs + i * p.across + columns * p.along, mask=columns < p.m, other=float("inf")).to(REAL)
    return tl.where(x < p.below, x * p.scale - p.low, float("inf"))


@triton.jit
def resized(p: Problem, n: tl.tensor, m: tl.tensor) -> Problem:
    """The same problem with other numbers of rows and columns."""
    return Problem(p.costs, p.across, p.along, n, m, p.below, p.low, p.scale)


@triton.jit
def transposed(p: Problem) -> Problem:
    return Problem(p.costs, p.along, p.across, p.m, p.n, p.below, p.low, p.scale)


@triton.jit
def in_double(p: Problem) -> Problem:
    """The same problem with its numbers in double precision."""
    below, low, scale = p.below.to(tl.float64), p.low.to(tl.float64), p.scale.to(tl.float64)
    return Problem(p.costs, p.across, p.along, p.n, p.m, below, low, scale)


@triton.jit
def measure(
    costs: tl.tensor, across: tl.tensor, along: tl.tensor, n: tl.tensor, m: tl.tensor, HUGE: tl.constexpr, AT_ONCE:
    tl.constexpr, COLUMNS: tl.constexpr, REAL: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:  # fmt: skip
    """Whether every cost is a number or +inf, the smallest, and whether one that is not +inf is above `HUGE`."""
    columns = tl.arange(0, COLUMNS)
    wrong, wide = tl.zeros((COLUMNS,), tl.int32), tl.zeros((COLUMNS,), tl.int32)
    lowest = tl.full((COLUMNS,), float("inf"), REAL)
    start = tl.full((), 0, tl.int32)
    while start < n:
        for t in tl.static_range(AT_ONCE):  # all are on their way from memory at the same time
            there = columns < tl.where(start + t < n, m, 0)
            at_row = costs + (start + t) * across
            x = tl.load(at_row + columns * along, mask=there, other=float("inf")).to(REAL)
            wrong |= (x > -float("inf")).to(tl.int32) ^ 1
            wide |= ((x > HUGE) & (x < float("inf"))).to(tl.int32)
            lowest = tl.where(x < lowest, x, lowest)
        start += AT_ONCE
    valid = tl.max(wrong, axis=0) == 0
    low = tl.min(lowest, axis=0)
    low = tl.where(valid & (low < float("inf")), low, 0.0)
    return valid, low.to(REAL), tl.max(wide, axis=0) > 0


@triton.jit
def in_range(total: tl.tensor, scaled: tl.tensor, scale: tl.tensor, LIMIT: tl.constexpr) -> tl.tensor:
    """A sum of costs, or what `scaled` says it is where `total` overflowed on the way; ±inf if it is beyond LIMIT."""
    limit = tl.full((), LIMIT, tl.float64)
    near = tl.abs(scaled) / (1 + ROUNDING) <= limit * scale
    cut = tl.minimum(tl.maximum(scaled / scale, -limit), limit)
    beyond = tl.where(scaled > 0, float("inf"), -float("inf")).to(tl.float64)
    return tl.where(tl.abs(total) <= limit, total, tl.where(near, cut, beyond))


@triton.jit
def nearest(distance: tl.tensor, owner: tl.tensor, columns: tl.tensor, COLUMNS: tl.constexpr) -> tuple[
    tl.tensor, tl.tensor, tl.tensor
]:  # fmt: skip
    """The smallest distance, the first column that has it, a free one where there is one, and that column's owner."""
    best = least(distance)
    rank = tl.where(owner < 0, columns, columns + COLUMNS)
    code = tl.min(tl.where(distance == best, rank * (2 * COLUMNS) + owner + 1, 4 * COLUMNS * COLUMNS), axis=0)
    return best, (code // (2 * COLUMNS)) % COLUMNS, code % (2 * COLUMNS) - 1


@triton.jit
def hand_on(
    j: tl.tensor, via: tl.tensor, owner: tl.tensor, columns: tl.tensor, COLUMNS: tl.constexpr
) -> tuple[tl.tensor, tl.tensor]:
    """Gives column j to the row before it, that row's old column to the row before that, and so on; the last row too.

    `via` holds, for each column, the row before it and the column through which that row was reached, in one number.
    """
    source = tl.full((), -1, tl.int32)
    turns = tl.full((), 0, tl.int32)
    while (j >= 0) & (turns <= COLUMNS):
        code = at(via, columns, j)
        source = code // (2 * COLUMNS)
        owner = tl.where(columns == j, source, owner)
        j = code % (2 * COLUMNS) - 1
        turns += 1
    return owner, source
