"""Problems that are hard to get right, problems whose answers are known, and checks of what a solution promises."""

from fractions import Fraction
from itertools import combinations, permutations, product
from math import inf, lcm
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, linprog
from torch import Tensor

from whymatch.transport import Balanced, Constraint, Each, Exactly, OneTo, Solution, UpTo, augmented
from whymatch.transport.solution import TOLERANCE

Array = NDArray[Any]


def gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


def positive(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(0.1, 2, shape)


def negative(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return -rng.uniform(0.1, 2, shape)


def constant(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(rng.choice([-1.0, 0.0, 0.3, 1.0], (shape[0], 1, 1)), shape).copy()


def tied(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.integers(-1, 2, shape).astype(float)


def duplicated(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Few distinct spans on either side, as when a sentence comes twice."""
    b, n, m = shape
    few = rng.standard_normal((b, 3, 3))
    return few[np.arange(b)[:, None, None], rng.integers(0, 3, (b, n, 1)), rng.integers(0, 3, (b, 1, m))]


def nearly_equal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Costs that differ far less than they measure: the reason to work relative to their range."""
    scale = rng.choice([1e-4, 1e-9, 1e-13], (shape[0], 1, 1))
    return 1 + scale * rng.standard_normal(shape)


def wide(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-12, 13, shape)


def enormous(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(-1, 1, shape) * 1.7e308


def minute(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape) * 1e-300


def rank_one(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Costs x_i + y_j: every assignment costs the same, but for rounding."""
    b, n, m = shape
    return rng.standard_normal((b, n, 1)) + rng.standard_normal((b, 1, m))


def products(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Costs (i + 1)(j + 1), for which shortest augmenting paths are as long as they can be."""
    _, n, m = shape
    return np.broadcast_to(np.outer(np.arange(1.0, n + 1), np.arange(1.0, m + 1)), shape).copy()


def forbidden(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Gaussian costs with some pairs forbidden, at times so many that nothing is left."""
    share = rng.choice([0.1, 0.5, 0.9], (shape[0], 1, 1))
    return np.where(rng.random(shape) < share, np.inf, rng.standard_normal(shape))


FAMILIES = (
    gaussian, positive, negative, constant, tied, duplicated, nearly_equal, wide, enormous, minute, rank_one, products,
    forbidden,
)  # fmt: skip


@st.composite
def costs(draw: st.DrawFn, max_side: int = 9) -> Tensor:
    """One adversarial matrix with at least one span on both sides."""
    family = draw(st.sampled_from(FAMILIES))
    n, m = draw(st.integers(1, max_side)), draw(st.integers(1, max_side))
    return torch.from_numpy(family(np.random.default_rng(draw(st.integers(0, 2**32))), (1, n, m))[0])


@st.composite
def extreme_costs(draw: st.DrawFn, dtype: torch.dtype) -> Tensor:
    """A small matrix of costs at the ends of a precision's range, beside ordinary ones, minute ones and +inf."""
    limits = torch.finfo(dtype)
    ends = [limits.max, -limits.max, limits.max * 0.6, -limits.max * 0.6, limits.max / 3]
    others = [limits.tiny, -limits.tiny, limits.tiny * 3, 0.0, 1.0, -2.0, inf]
    n, m = draw(st.sampled_from([(1, 1), (1, 3), (2, 2), (2, 3), (3, 2), (3, 3), (2, 4)]))
    values = draw(st.lists(st.sampled_from([*ends, *ends, *others]), min_size=n * m, max_size=n * m))
    return torch.tensor(values, dtype=torch.float64).to(dtype).reshape(n, m)


def constraints() -> st.SearchStrategy[Constraint]:
    return st.one_of(of_the_paper(), st.builds(Each, st.integers(1, 4), st.sampled_from([0.0, 0.5, -0.7])))


def of_the_paper() -> st.SearchStrategy[Constraint]:
    """Those that have the paper's construction, so that there is a smooth mode; texts can be swapped under them."""
    k = st.integers(1, 4)
    return st.one_of(
        st.just(Balanced()),
        st.builds(OneTo, k),
        st.builds(UpTo, k, st.sampled_from([0.0, 0.5, -0.7])),
        st.builds(Exactly, k),
    )


def spread_of(cost: Tensor, constraint: Constraint) -> float:
    """The range of costs that the tolerance is relative to."""
    below = constraint.zero(torch.inf)
    allowed = cost[cost < below].double()
    if not len(allowed):
        return 0.0
    high = torch.tensor(below, dtype=torch.float64) if below < torch.inf else allowed.max()
    return float(high / 4 - allowed.min() / 4) * 4


def broken_promises(plan: torch.Tensor, cost: torch.Tensor, constraint: Constraint) -> NDArray[np.bool_]:
    """Which problems of a batch, all of one size, break their constraint's promise."""
    _, n, m = plan.shape
    links = plan > 0
    rows, columns, total = links.sum(dim=2), links.sum(dim=1), links.sum(dim=(1, 2))
    of_shorter, of_longer = (rows, columns) if n <= m else (columns, rows)
    broken = (plan < 0).any(2).any(1) | (links & cost.isinf()).any(2).any(1)
    if isinstance(constraint, Balanced):
        atol = 1e-6 if plan.dtype == torch.float32 else 1e-12
        broken |= ((plan.sum(dim=2) - 1 / n).abs() > atol).any(1) | ((plan.sum(dim=1) - 1 / m).abs() > atol).any(1)
        broken |= total > n + m - 1
        if n == m:
            broken |= total != n
        return broken.numpy()
    mass = plan.new_tensor(float(constraint.mass(n, m)))
    broken |= (links & (plan != mass)).any(2).any(1)
    if isinstance(constraint, Each):
        return (broken | (rows > constraint.k).any(1) | (links & (cost >= constraint.zero(0.0))).any(2).any(1)).numpy()
    broken |= (of_longer > 1).any(1)
    if isinstance(constraint, OneTo):
        broken |= (of_shorter != constraint.k).any(1)
    elif isinstance(constraint, UpTo):
        broken |= (of_shorter > constraint.k).any(1) | (links & (cost >= constraint.zero(0.0))).any(2).any(1)
    else:
        assert isinstance(constraint, Exactly)
        broken |= (of_shorter > 1).any(1) | (total != constraint.k)
    return broken.numpy()


def keeps_its_promise(plan: Tensor, cost: Tensor, constraint: Constraint) -> bool:
    return not broken_promises(plan[None], cost[None], constraint).any()


def within_tolerance(solution: Solution, cost: Tensor, constraint: Constraint) -> bool:
    return abs(float(solution.gap)) <= TOLERANCE * spread_of(cost, constraint)


def by_assignment(cost: Tensor, constraint: Constraint) -> float | None:
    """The optimal cost by scipy, through the paper's augmented problem; None if there is no solution."""
    square = augmented(cost.double(), constraint)
    try:
        rows, columns = linear_sum_assignment(square.cost.numpy())
    except ValueError:
        return None
    spans = (square.left[rows] >= 0) & (square.right[columns] >= 0)
    assert not isinstance(constraint, Balanced)
    mass = float(constraint.mass(*cost.shape))
    return float((square.cost[rows, columns][spans] * mass).sum())


def by_program(cost: Tensor, constraint: Constraint) -> float | None:
    """The optimal cost by a linear program (HiGHS) written from the constraint's promise; None if it is infeasible."""
    n, m = cost.shape
    shift = constraint.zero(0.0)
    values = cost.double().numpy().ravel() - shift
    allowed = np.isfinite(values) & ((values < 0) | (not constraint.thresholded))
    of_row, of_column = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    shorter, longer = (of_row, of_column) if n <= m else (of_column, of_row)
    at_most: list[tuple[Array, Array]] = []
    equal: list[tuple[Array, Array]] = []
    mass = 1.0
    if isinstance(constraint, Balanced):
        equal = [(of_row, np.full(n, 1 / n)), (of_column, np.full(m, 1 / m))]
    elif isinstance(constraint, Each):
        mass = float(constraint.mass(n, m))
        at_most = [(of_row, np.full(n, constraint.k)), (np.eye(n * m), np.ones(n * m))]
    else:
        mass = float(constraint.mass(n, m))
        at_most = [(longer, np.ones(len(longer)))]
        if isinstance(constraint, Exactly):
            at_most.append((shorter, np.ones(len(shorter))))
            equal = [(np.ones((1, n * m)), np.array([float(constraint.k)]))]
        else:
            assert isinstance(constraint, OneTo | UpTo)
            (equal if isinstance(constraint, OneTo) else at_most).append((shorter, np.full(len(shorter), constraint.k)))
    tables = {}
    for name, parts in (("ub", at_most), ("eq", equal)):
        if parts:
            tables[f"A_{name}"] = np.vstack([a for a, _ in parts])
            tables[f"b_{name}"] = np.concatenate([b for _, b in parts])
    objective = np.where(allowed, values, 0.0)
    scale = 2.0**-1010 if np.abs(objective).max() > 1e290 else 1.0  # HiGHS gives up on larger numbers
    bounds = [(0, None if ok else 0) for ok in allowed]
    result = linprog(objective * scale, **tables, bounds=bounds, method="highs")
    return None if result.status == 2 else float(result.fun * mass) / scale


def by_fractions(cost: Tensor, constraint: Constraint) -> list[Fraction]:
    """The objective of every alignment that keeps the constraint, in exact arithmetic, the best first."""
    n, m = cost.shape
    shorter, longer = min(n, m), max(n, m)
    rows = [[None if value == inf else Fraction(value) for value in row] for row in cost.double().tolist()]
    rows = rows if n <= m or isinstance(constraint, Each) else [list(column) for column in zip(*rows, strict=True)]
    if isinstance(constraint, UpTo):
        ways = up_to_ways(shorter, longer, constraint.k)
    elif isinstance(constraint, Each):
        ways = each_ways(n, m, constraint.k)
    elif isinstance(constraint, Exactly):
        ways = [
            list(zip(left, right, strict=True))
            for left in combinations(range(shorter), constraint.k)
            for right in permutations(range(longer), constraint.k)
        ]
    else:  # replicas of spans, each of which has one link
        replicas = constraint.k if isinstance(constraint, OneTo) else lcm(n, m) // shorter
        columns = 1 if isinstance(constraint, OneTo) else lcm(n, m) // longer
        left = [i for i in range(shorter) for _ in range(replicas)]
        right = [j for j in range(longer) for _ in range(columns)]
        ways = [list(zip(left, chosen, strict=True)) for chosen in set(permutations(right, len(left)))]
    below = Fraction(constraint.zero(0.0)) if constraint.thresholded else None
    objectives = []
    for links in ways:
        costs = [rows[i][j] for i, j in links]
        if any(value is None or (below is not None and value >= below) for value in costs):
            continue
        total = sum((value - (below or 0) for value in costs if value is not None), Fraction(0))
        objectives.append(total / (constraint.full(n, m) if constraint.thresholded else len(links)))
    return sorted(objectives)


def up_to_ways(shorter: int, longer: int, k: int) -> list[list[tuple[int, int]]]:
    """Every way to link spans of the longer text to at most one of the shorter's, which has at most k links."""
    owners = product(range(-1, shorter), repeat=longer)
    return [
        [(i, j) for j, i in enumerate(chosen) if i >= 0]
        for chosen in owners
        if all(chosen.count(i) <= k for i in range(shorter))
    ]


def each_ways(left: int, right: int, k: int) -> list[list[tuple[int, int]]]:
    """Every way to link each left span to at most k right spans."""
    choices = [chosen for size in range(min(k, right) + 1) for chosen in combinations(range(right), size)]
    return [
        [(i, j) for i, chosen in enumerate(chosen_by_all) for j in chosen]
        for chosen_by_all in product(choices, repeat=left)
    ]
