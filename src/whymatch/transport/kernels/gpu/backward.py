"""The implicit rule on the GPU: one program per problem, one launch.

`gradients.pull_back` states the rule. The system for beta is solved by conjugate gradients, scaled by the columns' sums
and with the same small ridge: a step is one pass over the plan.
"""

import triton
import triton.language as tl

RIDGE = tl.constexpr(1e-12)
DONE = tl.constexpr(1e-26)  # of the residual's square at the start


@triton.jit
def _start(
    plan: tl.tensor, gradient: tl.tensor, share: tl.tensor, columns: tl.tensor, N: tl.tensor, M: tl.tensor, AT_ONCE:
    tl.constexpr, COLUMNS: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:  # fmt: skip
    """The sums of the columns, and the right-hand side."""
    sums, right = tl.zeros((COLUMNS,), tl.float64), tl.zeros((COLUMNS,), tl.float64)
    first = tl.full((), 0, tl.int32)
    while first <= N:
        for t in tl.static_range(AT_ONCE):
            p, w, of_row = _row_of(plan, gradient, share, first + t, columns, N, M)
            sums += p
            right += w - p * (tl.sum(w, axis=0) / of_row)
        first += AT_ONCE
    return sums, right


@triton.jit
def _row_of(
    plan: tl.tensor, gradient: tl.tensor, share: tl.tensor, i: tl.tensor, columns: tl.tensor, N: tl.tensor, M: tl.tensor
) -> tuple[tl.tensor, tl.tensor, tl.tensor]:
    """Row i of the plan, of the plan times the gradient, which reservoirs do not have, and the row's sum (1 for 0)."""
    p = tl.load(plan + i * (M + 1) + columns, mask=columns <= tl.where(i <= N, M, -1), other=0.0)
    spans = (columns >= 1) & (columns <= tl.where((i >= 1) & (i <= N), M, 0))
    g = tl.load(gradient + (i - 1) * M + columns - 1, mask=spans, other=0.0).to(tl.float64)
    total = tl.sum(p, axis=0)
    return p, p * g * share, tl.where(total > 0, total, 1.0)


@triton.jit
def _apply(
    plan: tl.tensor, x: tl.tensor, sums: tl.tensor, columns: tl.tensor, N: tl.tensor, M: tl.tensor, AT_ONCE:
    tl.constexpr,
) -> tl.tensor:  # fmt: skip
    """The system's matrix times x."""
    y = sums * x * (1 + RIDGE)
    first = tl.full((), 0, tl.int32)
    while first <= N:
        for t in tl.static_range(AT_ONCE):
            i = first + t
            p = tl.load(plan + i * (M + 1) + columns, mask=columns <= tl.where(i <= N, M, -1), other=0.0)
            total = tl.sum(p, axis=0)
            y -= p * (tl.sum(p * x, axis=0) / tl.where(total > 0, total, 1.0))
        first += AT_ONCE
    return y


@triton.jit(do_not_specialize=["N", "M"])
def solve_backward(
    plan: tl.tensor, gradient: tl.tensor, shares: tl.tensor, epsilons: tl.tensor, result: tl.tensor, N: tl.tensor, M:
    tl.tensor, AT_ONCE: tl.constexpr, COLUMNS: tl.constexpr, REAL: tl.constexpr,
) -> None:  # fmt: skip
    """The gradient with respect to the costs, from one with respect to the plan."""
    b = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, COLUMNS)
    plan += b * (N + 1) * (M + 1)
    gradient += b * N * M
    result += b * N * M
    share, epsilon = tl.load(shares + b), tl.load(epsilons + b)
    sums, residual = _start(plan, gradient, share, columns, N, M, AT_ONCE, COLUMNS)
    there = sums > 0
    inverse = tl.where(there, 1.0 / tl.where(there, sums, 1.0), 0.0)
    beta = tl.zeros((COLUMNS,), tl.float64)
    direction = residual * inverse
    size = tl.sum(residual * direction, axis=0)
    enough = size * DONE
    turns = tl.full((), 0, tl.int32)
    while (size > enough) & (turns <= 8 * M + 50):
        moved = _apply(plan, direction, sums, columns, N, M, AT_ONCE)
        along = tl.sum(direction * moved, axis=0)
        step = tl.where(along > 0, size / along, 0.0)
        beta += step * direction
        residual -= step * moved
        scaled = residual * inverse
        new_size = tl.where(along > 0, tl.sum(residual * scaled, axis=0), 0.0)
        direction = scaled + direction * (new_size / size)
        size = new_size
        turns += 1
    i = tl.full((), 1, tl.int32)
    while i <= N:
        p, w, of_row = _row_of(plan, gradient, share, i, columns, N, M)
        alpha = (tl.sum(w, axis=0) - tl.sum(p * beta, axis=0)) / of_row
        row = (p * (alpha + beta) - w) / epsilon
        tl.store(result + (i - 1) * M + columns - 1, row.to(REAL), mask=(columns >= 1) & (columns <= M))
        i += 1
