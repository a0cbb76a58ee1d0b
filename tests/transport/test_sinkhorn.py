"""Laws of entropic plans."""

from math import log

import numpy as np
import ot
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.problems import costs, of_the_paper, spread_of
from whymatch.transport import (
    Balanced,
    Constraint,
    Exactly,
    OneTo,
    Status,
    Temperature,
    UpTo,
    augmented,
    pad,
    sinkhorn,
    solve,
)

FOUR: list[Constraint] = [Balanced(), OneTo(2), UpTo(2, below=0.1), Exactly(3)]


def carries_its_masses(plan: torch.Tensor, constraint: Constraint) -> bool:
    """Whether a dense plan is in the convex hull of the constraint's plans."""
    n, m = plan.shape
    rows, columns = plan.sum(dim=1), plan.sum(dim=0)
    if isinstance(constraint, Balanced):
        return bool(((rows - 1 / n).abs() < 1e-9).all() and ((columns - 1 / m).abs() < 1e-9).all())
    unit = float(constraint.mass(n, m))
    of_shorter, of_longer = (rows / unit, columns / unit) if n <= m else (columns / unit, rows / unit)
    k = constraint.k if isinstance(constraint, OneTo | UpTo) else 1
    within = (of_shorter < k + 1e-9).all() and (of_longer < 1 + 1e-9).all()
    fewest, most = constraint.links(n, m)
    return bool(within and fewest - 1e-9 < float(plan.sum()) / unit < most + 1e-9)


@given(cost=costs(), constraint=of_the_paper(), epsilon=st.sampled_from([1.0, 0.1, 0.01]))
def test_a_plan_carries_its_masses_and_costs_no_more_than_entropy_explains(
    cost: torch.Tensor, constraint: Constraint, epsilon: float
) -> None:
    exact = solve(cost, constraint, strict=False)
    smooth = sinkhorn(cost, constraint, Temperature(epsilon), strict=False)
    assert smooth.status == exact.status
    if exact.status != Status.OK:
        assert smooth.cost.isnan()
        assert not smooth.plan.any()
        return
    if cost.isinf().any():  # what is missing cannot always be moved into place
        assert not smooth.plan[cost.isinf()].any()
        unit = 1.0 if isinstance(constraint, Balanced) else float(constraint.mass(*cost.shape))
        fewest = 1.0 if isinstance(constraint, Balanced) else constraint.links(*cost.shape)[0] * unit
        assert float(smooth.plan.sum()) >= fewest * (1 - (sum(cost.shape) + 1) * float(smooth.error)) - 1e-9
        return
    assert (smooth.plan >= 0).all()
    assert carries_its_masses(smooth.plan, constraint)
    spread = spread_of(cost, constraint)
    if isinstance(constraint, UpTo):  # the smooth mode forbids nothing, so that costs above `below` count too
        spread = max(spread, float((cost - constraint.zero(0.0)).abs().max()))
    n, m = cost.shape
    mass = 1 if isinstance(constraint, Balanced) else float(constraint.mass(n, m)) * (n + m) * 4
    bound = epsilon * spread * mass * log((n + 1) * (m + 1) + 1)
    slack = 1e-5 * spread + 1e-12 * float(cost.abs().max())
    assert float(exact.cost) - slack <= float(smooth.cost) <= float(exact.cost) + bound + slack


@pytest.mark.parametrize("constraint", FOUR, ids=repr)
def test_the_cost_meets_the_exact_one_as_epsilon_goes_to_zero(constraint: Constraint) -> None:
    cost = torch.randn(20, 5, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    exact = solve(cost, constraint).cost
    excess = [
        (sinkhorn(cost, constraint, Temperature(epsilon), max_iterations=200_000).cost - exact).max().item()
        for epsilon in (1.0, 0.1, 0.01, 1e-3, 1e-4)
    ]
    assert excess == sorted(excess, reverse=True)
    assert -1e-9 < excess[-1] < 1e-4


@pytest.mark.parametrize("epsilon", [0.5, 0.05])
def test_balanced_agrees_with_pot(epsilon: float) -> None:
    rng = np.random.default_rng(1)
    cost = rng.standard_normal((7, 11))
    left, right = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(11))
    expected = ot.sinkhorn(left, right, cost, epsilon, method="sinkhorn_log", stopThr=1e-13, numItermax=100_000)
    mass = torch.from_numpy(left), torch.from_numpy(right)
    found = sinkhorn(
        torch.from_numpy(cost), Balanced(), Temperature(epsilon, relative=False), mass=mass, tolerance=1e-13
    )
    np.testing.assert_allclose(found.plan, expected, atol=1e-10)


@pytest.mark.parametrize("constraint", [OneTo(2), UpTo(2, below=0.1), Exactly(3)], ids=repr)
def test_reservoirs_give_the_plan_of_the_papers_replicas_and_dummies(constraint: OneTo | UpTo | Exactly) -> None:
    cost = torch.randn(4, 9, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    problem = augmented(cost, constraint)
    square = problem.cost.numpy()
    if isinstance(constraint, UpTo):  # the smooth mode forbids nothing, or its plan would jump at `below`
        square = square.copy()
        square[:8, :9] = (cost - constraint.zero(0.0)).repeat_interleave(2, dim=0).numpy()
    size = len(square)
    uniform = np.full(size, 1.0)
    square = np.where(np.isinf(square), 1e6, square)
    dense = ot.sinkhorn(uniform, uniform, square, 0.2, method="sinkhorn_log", stopThr=1e-13, numItermax=100_000)
    expected = np.zeros(cost.shape)
    for point, span in enumerate(problem.left.tolist()):
        if span >= 0:
            expected[span] += dense[point, :9]
    found = sinkhorn(cost, constraint, Temperature(0.2, relative=False), tolerance=1e-13)
    np.testing.assert_allclose(found.plan / float(constraint.mass(4, 9)), expected, atol=1e-9)


@pytest.mark.parametrize("constraint", FOUR, ids=repr)
def test_padding_and_neighbours_change_nothing(constraint: Constraint) -> None:
    generator = torch.Generator().manual_seed(3)
    sides = torch.randint(3, 20, (40, 2), generator=generator).tolist()
    alone = [torch.randn(n, m, generator=generator, dtype=torch.float64) for n, m in sides]
    alone[5][0, 0] = torch.nan
    batch, sizes = pad(alone)
    together = sinkhorn(batch, constraint, sizes=sizes)
    for b, cost in enumerate(alone):
        single = sinkhorn(cost, constraint, strict=False)
        assert torch.equal(together.plan[b, : len(cost), : cost.shape[1]], single.plan)
        assert together.iterations[b] == single.iterations
        assert torch.equal(together.error[b].nan_to_num(-1), single.error.nan_to_num(-1))
        assert torch.equal(together.cost[b].nan_to_num(-1), single.cost.nan_to_num(-1))
    assert together.status[5] == Status.INVALID


def test_a_problem_that_does_not_converge_says_so() -> None:
    cost = torch.randn(32, 32, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    hurried = sinkhorn(cost, Balanced(), Temperature(0.02), max_iterations=5)
    patient = sinkhorn(cost, Balanced(), Temperature(0.02), max_iterations=100_000)
    assert hurried.error > 1e-4
    assert patient.error <= 1e-6
    assert hurried.iterations < patient.iterations
    assert carries_its_masses(hurried.plan, Balanced())


def test_stages_reach_a_small_epsilon_that_one_stage_would_not() -> None:
    cost = torch.rand(20, 24, 24, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
    assert sinkhorn(cost, Balanced(), Temperature(1e-4), max_iterations=300).error.max() < 0.02


def test_epsilon_is_relative_unless_told_otherwise() -> None:
    cost = torch.rand(6, 8, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    spread = float(cost.max() - cost.min())
    small, large = sinkhorn(cost, Exactly(2)).plan, sinkhorn(1000 * cost - 50, Exactly(2)).plan
    assert torch.allclose(small, large, atol=1e-9)
    assert torch.allclose(small, sinkhorn(cost, Exactly(2), Temperature(0.1 * spread, relative=False)).plan, atol=1e-9)


def test_an_iteration_has_to_be_allowed_to_start() -> None:
    for wrong in ({"max_iterations": 0}, {"tolerance": -1.0}):
        with pytest.raises(ValueError, match="positive"):
            sinkhorn(torch.rand(2, 2), Balanced(), **wrong)


def test_a_temperature_must_be_positive() -> None:
    for epsilon in (0.0, -1.0, torch.inf, torch.nan):
        with pytest.raises(ValueError, match="positive"):
            Temperature(epsilon)
