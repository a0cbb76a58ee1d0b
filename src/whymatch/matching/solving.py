"""Pairs of texts as problems of transport: costs in, optimal plans and their proofs out, batched by size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, prod
from typing import TypeAlias

import numpy as np

from whymatch.interruption import interruption_point
from whymatch.matching.parts import Step
from whymatch.text.encoders import Pair, Vectors
from whymatch.transport.batch import pad
from whymatch.transport.constraints import Constraint, UpTo
from whymatch.transport.exact import margin, path, solve
from whymatch.transport.solution import OptimalPath, Solution, Status

Proof: TypeAlias = tuple[float | None, tuple[Step, ...]]
"""By how much the next best alignment scores less, None where that was not computed, and the optimum for each k."""
NO_PROOF: Proof = (None, ())
MAX_STEPS = 32  # links, in the path that the slider shows
MAX_MARGIN_WORK = 10**8  # links × pairs of spans, beyond which the margin is not computed
MAX_PAIRS = 2**26  # pairs of spans of two texts
SIGNIFICANT = UpTo(1, below=0.0)  # every link with evidence


@dataclass(frozen=True)
class Problem:
    """Two texts to be aligned, and the constraint that suits their sizes."""

    texts: Pair
    constraint: Constraint
    clipped: bool
    """Whether k was made smaller to suit a short text."""
    by_default: bool
    """Whether nobody asked for the constraint."""


@dataclass(frozen=True, eq=False)
class Solved:
    """The optimal plan (n, m) of a problem with costs (n, m), proven optimal to within `gap`."""

    problem: Problem
    cost: np.ndarray
    plan: np.ndarray
    gap: float
    score: float
    """What the links are worth together: Σ mass · (zero − cost), or Σ (zero − cost) where costs are evidence."""
    bits: float = 0.0
    """Where costs are evidence: what all significant links are worth, or the best pair where none is."""
    tails: Vectors | None = None
    """Where costs are evidence: intercepts and slopes (n, 2) and (m, 2) of the spans."""


def fit_problem(pair: Pair, constraint: Constraint, clip: bool, *, by_default: bool) -> Problem | ValueError:
    """Two texts with the constraint that fits them, or why there is none."""
    sizes = len(pair[0]), len(pair[1])
    if prod(sizes) > MAX_PAIRS:
        pairs = f"{sizes[0]:,} × {sizes[1]:,} pairs of spans"
        return ValueError(f"{pairs} are more than {MAX_PAIRS:,}, and would not fit in memory. Use larger spans.")
    if not clip and not constraint.admits(*sizes):
        return ValueError(constraint.advice(*sizes))
    fitted = constraint.fitted(*sizes)
    return Problem(pair, fitted or constraint, clipped=fitted != constraint, by_default=by_default)


def solve_batch(
    problems: Sequence[Problem],
    costs: Sequence[np.ndarray],
    neutral: float,
    tails: Sequence[Vectors] | None = None,
    without_evidence: np.ndarray | None = None,
) -> list[Solved | ValueError]:
    """The optimal plans of problems with one constraint, or why there is none; with tails, costs are evidence.

    `without_evidence` is as `significant_bits` takes it.
    """
    constraint = problems[0].constraint
    padded, sizes = pad(costs)
    solution = solve(padded, constraint, sizes=sizes, strict=False)
    zero = constraint.zero(neutral)
    plans = solution.plan if constraint == SIGNIFICANT else None
    bits = None if tails is None else significant_bits(padded, sizes, plans, without_evidence)
    solved: list[Solved | ValueError] = []
    for b, (problem, cost) in enumerate(zip(problems, costs, strict=True)):
        plan = np.array(solution.plan[b, : cost.shape[0], : cost.shape[1]])
        if solution.status[b] == Status.OK:
            linked = plan != 0
            score = float((plan[linked] * (zero - cost[linked])).sum())
            if tails is None or bits is None:
                solved.append(Solved(problem, cost, plan, float(solution.gap[b]), score))
            else:
                unit = link_mass(constraint, cost.shape)
                proven = float(solution.gap[b]) / unit
                solved.append(Solved(problem, cost, plan, proven, score / unit, float(bits[b]), tails[b]))
        elif 0 in cost.shape:
            solved.append(Solved(problem, cost, plan, 0.0, 0.0, tails=None if tails is None else tails[b]))
        else:
            solved.append(ValueError("The costs are no numbers, or forbid so many pairs that nothing is left."))
    return solved


@lru_cache(maxsize=4096)
def link_mass(constraint: Constraint, sizes: tuple[int, ...]) -> float:
    """The mass of a link, by which sums over plans become sums over links; of a whole one where links differ."""
    mass = constraint.mass(*sizes)
    return 1 / max(1, min(sizes)) if mass is None else float(mass)


def significant_bits(
    costs: np.ndarray,
    sizes: np.ndarray,
    plans: np.ndarray | None = None,
    without_evidence: np.ndarray | None = None,
) -> np.ndarray:
    """(batch): the evidence of all significant links of padded problems, or of the best pair where no link is.

    The costs (batch, n, m) are minus bits, with +inf as padding; `plans` are the plans of `SIGNIFICANT`, where the
    caller has them, and `without_evidence` (batch, n, m) what pairs without evidence cost more than that.
    """
    if not costs.size:
        return np.zeros(len(costs))
    closest = costs if without_evidence is None else costs + without_evidence
    least = closest.reshape(len(costs), -1).min(axis=1)
    if plans is None:
        plans = solve(costs, SIGNIFICANT, sizes=sizes, strict=False).plan
    linked = np.nonzero(plans)
    total = np.bincount(linked[0], -costs[linked], len(costs))  # in the order of links, whatever the padding
    return np.where(least < 0, total, np.where(np.isfinite(least), -least, 0.0)) + 0.0  # not minus 0


def prove_batch(solved: Sequence[Solved], neutral: float) -> list[Proof]:
    """The margin, None where it would take too long, and the path of each problem; all have one constraint."""
    constraint = solved[0].problem.constraint
    costs, sizes = pad([one.cost for one in solved])
    plans = np.zeros_like(costs)
    for plan, one in zip(plans, solved, strict=True):
        plan[: len(one.plan), : one.plan.shape[1]] = one.plan
    work = (plans > 0).sum(axis=(1, 2)) * sizes.prod(axis=1)
    affordable = np.flatnonzero(work <= (MAX_MARGIN_WORK // 10 if constraint.takes_masses else MAX_MARGIN_WORK))
    unused = np.zeros(len(affordable))
    chosen = Solution(plans[affordable], unused, unused, unused)
    gaps_to_next = margin(costs[affordable], constraint, chosen, sizes=sizes[affordable])
    margins: list[float | None] = [None] * len(solved)
    for b, value in zip(affordable.tolist(), gaps_to_next.tolist(), strict=True):
        margins[b] = value if solved[b].tails is None else value / link_mass(constraint, solved[b].cost.shape)
    interruption_point()
    paths = path(costs, min(MAX_STEPS, int(sizes.min(axis=1).max())) or 1, sizes=sizes)
    steps = [tuple(_steps(one, paths, b, neutral)) for b, one in enumerate(solved)]
    return list(zip(margins, steps, strict=True))


def _steps(solved: Solved, paths: OptimalPath, b: int, neutral: float) -> Iterator[Step]:
    """The optimum of problem b of a batch for k = 1, 2, …; evidence is summed, other scores are means of the links."""
    cost = solved.cost
    totals, increments, gaps = (values[b].tolist() for values in (paths.cost, paths.increments, paths.gap))
    for k in range(1, min(len(totals), *cost.shape) + 1):
        if totals[k - 1] == inf:
            return  # +inf forbids so many pairs that there are no k links
        linked = enumerate(paths.partner[b, k - 1, : len(cost)].tolist())
        links = tuple((i, j, float(cost[i, j])) for i, j in linked if j >= 0)
        score = neutral - totals[k - 1] / k if solved.tails is None else k * neutral - totals[k - 1]
        yield Step(k, score, neutral - increments[k - 1], gaps[k - 1], links)
