"""Costs at the ends of the floating-point range: the right number, or a status that says that there is none."""

import sys
from fractions import Fraction
from math import inf, isfinite

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.problems import by_fractions, extreme_costs, keeps_its_promise
from tests.transport.on_device import path_there, solve_there
from whymatch.transport import (
    Balanced,
    Constraint,
    Each,
    Exactly,
    OneTo,
    Solution,
    Status,
    UpTo,
    margin,
    path,
    sinkhorn,
    solve,
)

PRECISIONS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
LARGEST = sys.float_info.max


@st.composite
def problems(draw: st.DrawFn) -> tuple[torch.Tensor, Constraint]:
    dtype = draw(st.sampled_from([torch.float64, *PRECISIONS]))
    limits = torch.finfo(dtype)
    cost = draw(extreme_costs(dtype))
    k = draw(st.integers(1, 2))
    below = draw(st.sampled_from([0.0, 1.0, limits.max, -limits.max * 0.75, limits.max / 2, limits.tiny * 4]))
    five: list[Constraint] = [Balanced(), OneTo(k), UpTo(k, below=below), Exactly(k), Each(k, below=below)]
    return cost, draw(st.sampled_from(five))


def range_of(cost: torch.Tensor, constraint: Constraint) -> Fraction:
    """The range of the costs that can be linked, which the tolerance is relative to."""
    below = constraint.zero(inf)
    allowed = [Fraction(value) for value in cost.double().flatten().tolist() if value < below]
    if not allowed:
        return Fraction(0)
    return (Fraction(below) if isfinite(below) else max(allowed)) - min(allowed)


def agrees(found: torch.Tensor, expected: Fraction, spread: Fraction) -> bool:
    """Whether a result is the exact one, rounded to its precision; ±inf where that is beyond it."""
    limits = torch.finfo(found.dtype)
    value, largest, eps = float(found), Fraction(limits.max), Fraction(limits.eps)
    if abs(expected) > largest * (1 + eps / 2):
        return value == (inf if expected > 0 else -inf)
    slack = spread / 10**11 + abs(expected) * max(eps, Fraction(1, 2**50)) + Fraction(limits.tiny) * eps
    return isfinite(value) and abs(Fraction(value) - expected) <= slack


def obeys_the_law(cost: torch.Tensor, constraint: Constraint, solution: Solution) -> None:
    """The solution against exact arithmetic over every alignment."""
    objectives = by_fractions(cost, constraint)
    if not objectives:
        assert solution.status == Status.INFEASIBLE
        return
    spread = range_of(cost, constraint)
    assert agrees(solution.cost, objectives[0], spread)
    assert solution.status == (Status.OK if solution.cost.isfinite() else Status.OUT_OF_RANGE)
    assert keeps_its_promise(solution.plan, cost, constraint)
    assert agrees(solution.gap, Fraction(0), spread)


@settings(max_examples=400)
@given(problem=problems())
def test_the_optimal_cost_is_right_wherever_it_can_be_written_down(problem: tuple[torch.Tensor, Constraint]) -> None:
    cost, constraint = problem
    obeys_the_law(cost, constraint, solve(cost, constraint, strict=False))


@settings(max_examples=200)
@given(cost=st.sampled_from([torch.float64, *PRECISIONS]).flatmap(extreme_costs))
def test_every_k_of_a_path_is_right_wherever_it_can_be_written_down(cost: torch.Tensor) -> None:
    steps = path(cost)
    spread = range_of(cost, Exactly(1))
    before = Fraction(0)
    for k in range(1, min(cost.shape) + 1):
        objectives = by_fractions(cost, Exactly(k))
        if not objectives:
            assert (steps.status[k - 1 :] == Status.INFEASIBLE).all()
            break
        total = objectives[0] * k
        assert agrees(steps.cost[k - 1], total, k * spread)
        assert agrees(steps.increments[k - 1], total - before, k * spread)
        assert agrees(steps.gap[k - 1], Fraction(0), k * spread)
        in_range = bool(steps.cost[k - 1].isfinite() & steps.increments[k - 1].isfinite())
        assert steps.status[k - 1] == (Status.OK if in_range else Status.OUT_OF_RANGE)
        assert (steps.partner[k - 1] >= 0).sum() == k
        before = total


@settings(max_examples=200)
@given(problem=problems())
def test_a_margin_is_right_or_the_largest_number(problem: tuple[torch.Tensor, Constraint]) -> None:
    cost, constraint = problem
    if constraint != OneTo(1) and not isinstance(constraint, Exactly):
        return  # other constraints come to the same alignment in several ways
    objectives = by_fractions(cost, constraint)
    found = margin(cost, constraint, solve(cost, constraint, strict=False))
    if len(objectives) < 2:
        assert found == inf if objectives else found.isnan()
        return
    step = min(objectives[1] - objectives[0], Fraction(torch.finfo(cost.dtype).max))
    assert agrees(found, step, 2 * range_of(cost, constraint))


@settings(max_examples=100)
@given(problem=problems())
def test_an_entropic_plan_of_such_costs_has_a_cost_or_says_that_it_has_none(
    problem: tuple[torch.Tensor, Constraint],
) -> None:
    cost, constraint = problem
    if constraint.shares_right:
        return  # it has no smooth mode
    found = sinkhorn(cost, constraint, strict=False)
    if found.status in (Status.OK, Status.OUT_OF_RANGE):
        assert found.plan.isfinite().all()
        assert (found.status == Status.OK) == bool(found.cost.isfinite())
        assert found.status == Status.OK or isinstance(constraint, UpTo)  # a mean is never out of range


@pytest.mark.parametrize("dtype", PRECISIONS, ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_mean_of_the_largest_number_is_the_largest_number(dtype: torch.dtype, sign: int) -> None:
    largest = sign * torch.finfo(dtype).max
    for shape in ((3, 3), (7, 5), (5, 49)):
        cost = torch.full(shape, largest, dtype=dtype)
        for constraint in (Balanced(), OneTo(1), Exactly(3), Exactly(5)):
            if constraint.admits(*shape):
                assert float(solve(cost, constraint).cost) == pytest.approx(largest, rel=1e-14)
                assert float(sinkhorn(cost, constraint).cost) == pytest.approx(largest, rel=1e-4)


def test_an_objective_out_of_range_raises_for_one_matrix_and_marks_one_of_a_batch() -> None:
    cost = torch.tensor([[-LARGEST, 0.0], [0.0, -LARGEST]], dtype=torch.float64)
    constraint = UpTo(1, below=LARGEST)
    with pytest.raises(ValueError, match=r"out of the range of torch.float64.*power of two"):
        solve(cost, constraint)
    batch = solve(torch.stack([cost, cost / 4]), UpTo(1, below=LARGEST / 4))
    assert batch.status.tolist() == [Status.OUT_OF_RANGE, Status.OK]
    assert batch.cost.tolist() == [-inf, -LARGEST / 2]
    assert (batch.plan > 0).tolist() == [[[True, False], [False, True]]] * 2


def test_masses_that_the_precision_cannot_hold_are_out_of_range() -> None:
    cost = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    for mass in (1e39, 1e-50):
        masses = torch.full((2,), mass, dtype=torch.float64)
        assert solve(cost, Balanced(), mass=(masses, masses), strict=False).status == Status.OUT_OF_RANGE
        assert solve(cost.double(), Balanced(), mass=(masses, masses)).plan.tolist() == [[mass, 0], [0, mass]]


def test_a_sum_of_large_masses_and_costs_that_cancel_is_right() -> None:
    cost = torch.tensor([[1e200, LARGEST], [LARGEST, -1e200]], dtype=torch.float64)
    masses = torch.full((2,), 1e150, dtype=torch.float64)  # each term is beyond the range, and their sum is 0
    assert solve(cost, Balanced(), mass=(masses, masses)).cost == 0


def test_gradients_of_such_costs_are_plans() -> None:
    cost = torch.tensor([[LARGEST, -LARGEST], [0.0, 1e300]], dtype=torch.float64, requires_grad=True)
    assert sinkhorn(cost, UpTo(1, below=LARGEST / 2)).cost.isfinite()
    for constraint in (Balanced(), OneTo(1), Exactly(1)):
        exact = solve(cost, constraint)
        assert torch.equal(torch.autograd.grad(exact.cost, cost)[0], exact.plan)
        entropic = sinkhorn(cost, constraint)
        assert entropic.cost.isfinite()
        assert torch.autograd.grad(entropic.cost, cost)[0].isfinite().all()


@settings(max_examples=40)
@given(problem=problems())
def test_the_kernels_for_gpus_obey_the_same_law_in_double_precision(problem: tuple[torch.Tensor, Constraint]) -> None:
    pytest.importorskip("triton")
    cost, constraint = problem
    if cost.dtype == torch.float64:
        obeys_the_law(cost, constraint, solve_there(cost, constraint, strict=False))
        here, there = path(cost), path_there(cost)
        assert here.status.tolist() == there.status.tolist()
        assert torch.allclose(here.cost, there.cost, rtol=1e-12)
        assert torch.allclose(here.increments, there.increments, rtol=1e-12)
