"""Laws of exact solving: promises kept, optimal against references, the same whatever surrounds a problem."""

import numpy as np
import ot
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.problems import (
    by_assignment,
    by_program,
    constraints,
    costs,
    keeps_its_promise,
    of_the_paper,
    spread_of,
    within_tolerance,
)
from whymatch.transport import Balanced, Constraint, Each, Exactly, OneTo, Status, UpTo, margin, pad, solve

FIVE = [Balanced(), OneTo(2), UpTo(2, below=0.1), Exactly(3), Each(2, below=0.1)]
CLEAR = 1e-6  # a margin above this is not rounding, for costs of about 1


@given(cost=costs(), constraint=constraints())
def test_the_promise_is_kept_and_proved_optimal_for_every_kind_of_cost(
    cost: torch.Tensor, constraint: Constraint
) -> None:
    solution = solve(cost, constraint, strict=False)
    if solution.status == Status.OK:
        assert keeps_its_promise(solution.plan, cost, constraint)
        assert within_tolerance(solution, cost, constraint)
    else:
        assert not solution.plan.any()
        assert solution.cost.isnan()
        assert solution.gap.isnan()


@given(cost=costs(), constraint=constraints())
def test_cost_and_feasibility_agree_with_a_linear_program(cost: torch.Tensor, constraint: Constraint) -> None:
    spread = spread_of(cost, constraint)
    if spread and not 1e-6 < spread < 1e6:
        return  # HiGHS works with absolute tolerances
    if not constraint.admits(*cost.shape):
        return
    expected = by_program(cost, constraint)
    solution = solve(cost, constraint, strict=False)
    assert (solution.status == Status.OK) == (expected is not None)
    if expected is not None:
        assert float(solution.cost) == pytest.approx(expected, abs=1e-7 * max(1.0, spread))


@given(cost=costs(), constraint=of_the_paper().filter(lambda c: not isinstance(c, Balanced)))
def test_cost_and_feasibility_agree_with_scipy_on_the_augmented_problem(
    cost: torch.Tensor, constraint: Constraint
) -> None:
    if not constraint.admits(*cost.shape) or spread_of(cost, constraint) > 1e290:
        return
    expected = by_assignment(cost, constraint)
    solution = solve(cost, constraint, strict=False)
    assert (solution.status == Status.OK) == (expected is not None)
    if expected is not None:
        assert float(solution.cost) == pytest.approx(expected, rel=1e-9, abs=1e-9 * spread_of(cost, constraint))


@pytest.mark.parametrize("shape", [(5, 5), (12, 7), (7, 12), (30, 20), (1, 9), (33, 64)])
def test_balanced_agrees_with_pot(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    cost = rng.standard_normal(shape)
    left, right = rng.dirichlet(np.ones(shape[0])), rng.dirichlet(np.ones(shape[1]))
    for mass in (None, (torch.from_numpy(left), torch.from_numpy(right))):
        a, b = (np.full(size, 1 / size) for size in shape) if mass is None else (left, right)
        expected = ot.emd(a, b, cost)
        solution = solve(torch.from_numpy(cost), Balanced(), mass=mass)
        assert np.abs(solution.plan.numpy() - expected).max() < 1e-9
        assert float(solution.cost) == pytest.approx((expected * cost).sum())


@pytest.mark.parametrize("k", [1, 2, 5, 11])
def test_exactly_k_agrees_with_pot(k: int) -> None:
    cost = np.random.default_rng(k).uniform(0, 1, (11, 17))
    expected = ot.partial.partial_wasserstein(np.ones(11), np.ones(17), cost, m=k)
    solution = solve(torch.from_numpy(cost), Exactly(k))
    assert np.abs(solution.plan.numpy() * k - expected).max() < 1e-9


@given(seed=st.integers(0, 1000), n=st.integers(1, 12), extra=st.integers(0, 6))
def test_a_planted_permutation_is_found(seed: int, n: int, extra: int) -> None:
    rng = np.random.default_rng(seed)
    right = rng.permutation(n + extra)[:n]
    potentials = rng.standard_normal((n, 1))
    cost = torch.from_numpy(potentials + rng.uniform(0.01, 1, (n, n + extra)))
    cost[torch.arange(n), right] = torch.from_numpy(potentials[:, 0])
    for constraint in (OneTo(1), Exactly(n)):
        assert solve(cost, constraint).plan.argmax(dim=1).tolist() == right.tolist()


@pytest.mark.parametrize("constraint", FIVE, ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_padding_and_neighbours_change_nothing(constraint: Constraint, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    alone = [
        torch.randn(int(n), int(m), generator=generator).to(dtype)
        for n, m in torch.randint(3, 20, (60, 2), generator=generator)
    ]
    alone[7][1, 1] = torch.nan
    alone[11] = torch.empty(0, 5, dtype=dtype)
    batch, sizes = pad(alone)
    for b, (n, m) in enumerate(sizes.tolist()):
        batch[b, n:], batch[b, :, m:] = torch.nan, -torch.inf
    together = solve(batch, constraint, sizes=sizes)
    assert together.status[7] == Status.INVALID
    for b, cost in enumerate(alone):
        n, m = cost.shape
        single = solve(cost, constraint, strict=False)
        assert torch.equal(together.plan[b, :n, :m], single.plan)
        assert not together.plan[b, n:].any()
        assert not together.plan[b, :, m:].any()
        for left, right in zip(together[1:], single[1:], strict=True):
            assert torch.equal(left[b].nan_to_num(-1), right.nan_to_num(-1))


@given(alone=st.lists(costs(), min_size=1, max_size=6), constraint=constraints())
def test_a_ragged_batch_of_anything_equals_its_problems(alone: list[torch.Tensor], constraint: Constraint) -> None:
    batch, sizes = pad(alone)
    together = solve(batch, constraint, sizes=sizes)
    for b, cost in enumerate(alone):
        single = solve(cost, constraint, strict=False)
        assert torch.equal(together.plan[b, : cost.shape[0], : cost.shape[1]], single.plan)
        assert torch.equal(together.cost[b].nan_to_num(-1), single.cost.nan_to_num(-1))
        assert torch.equal(together.gap[b].nan_to_num(-1), single.gap.nan_to_num(-1))
        assert together.status[b] == single.status


@given(cost=costs(), constraint=of_the_paper())
def test_swapping_the_texts_transposes_a_unique_plan(cost: torch.Tensor, constraint: Constraint) -> None:
    if isinstance(constraint, UpTo) and constraint.k > 1 and cost.shape[0] == cost.shape[1]:
        return  # the left text counts as the shorter one
    here, there = solve(cost, constraint, strict=False), solve(cost.T, constraint, strict=False)
    assert here.status == there.status
    if here.status == Status.OK and margin(cost, constraint, here) > CLEAR * spread_of(cost, constraint):
        assert torch.equal(here.plan, there.plan.T)


@pytest.mark.parametrize("constraint", FIVE, ids=repr)
def test_the_same_input_gives_the_same_plan_on_ties(constraint: Constraint) -> None:
    cost = torch.randint(0, 2, (40, 6, 13), generator=torch.Generator().manual_seed(1)).float()
    plans = [solve(cost, constraint).plan for _ in range(3)]
    assert torch.equal(plans[0], plans[1])
    assert torch.equal(plans[0], plans[2])


@pytest.mark.parametrize("constraint", FIVE, ids=repr)
def test_single_precision_finds_the_links_of_double_precision(constraint: Constraint) -> None:
    cost = torch.randn(200, 9, 20, generator=torch.Generator().manual_seed(2))
    single, double = solve(cost, constraint), solve(cost.double(), constraint)
    assert single.plan.dtype == single.cost.dtype == single.gap.dtype == torch.float32
    assert torch.equal(single.plan, double.plan.float())


def test_half_precision_is_solved_as_it_is() -> None:
    cost = torch.randn(4, 8, 8, generator=torch.Generator().manual_seed(3)).bfloat16()
    assert torch.equal(solve(cost, Exactly(2)).plan, solve(cost.float(), Exactly(2)).plan.bfloat16())


@pytest.mark.parametrize("constraint", FIVE, ids=repr)
def test_a_layout_in_memory_changes_nothing(constraint: Constraint) -> None:
    cost = torch.randn(9, 20, generator=torch.Generator().manual_seed(4))
    strided = torch.stack([cost, cost], dim=-1)[..., 0]
    assert torch.equal(solve(strided, constraint).plan, solve(cost, constraint).plan)


def test_shifting_and_scaling_costs_moves_no_link() -> None:
    cost = torch.randn(100, 7, 9, generator=torch.Generator().manual_seed(5)).double()
    for constraint in (Balanced(), OneTo(1), Exactly(3)):
        assert torch.equal(solve(cost, constraint).plan > 0, solve(cost * 1000 - 7, constraint).plan > 0)


@pytest.mark.parametrize("constraint", [Balanced(), OneTo(1), UpTo(1, below=2.0), Exactly(2), Each(2, 2.0)], ids=repr)
def test_the_certificate_holds_where_costs_are_far_above_the_smallest(constraint: Constraint) -> None:
    cost = 0.9 + 0.1 * torch.rand(700, 700, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    cost[0, 0] = 0
    assert within_tolerance(solve(cost, constraint), cost, constraint)


@pytest.mark.parametrize("constraint", [Balanced(), OneTo(1), UpTo(1), Exactly(5), Each(3)], ids=repr)
def test_the_papers_longest_document_is_solved(constraint: Constraint) -> None:
    vectors = torch.nn.functional.normalize(torch.randn(3200, 32, generator=torch.Generator().manual_seed(6)), dim=1)
    cost = -vectors[:1600] @ vectors[1600:].T
    solution = solve(cost, constraint)
    assert keeps_its_promise(solution.plan, cost, constraint)
    assert within_tolerance(solution, cost, constraint)


@pytest.mark.parametrize("family", ["products", "line", "dot"])
def test_balanced_is_solved_where_shortest_paths_are_slow(family: str) -> None:
    """Texts of 400 and 399 spans: mass splits everywhere, and paths that move one unit at a time would take minutes."""
    x, y = (torch.randn(size, generator=torch.Generator().manual_seed(size)).double() for size in (400, 399))
    if family == "products":
        cost = torch.outer(torch.arange(1.0, 401.0), torch.arange(1.0, 400.0)).double()
    else:
        cost = (x[:, None] - y).abs() if family == "line" else -torch.outer(x, y)
    solution = solve(cost, Balanced())
    assert keeps_its_promise(solution.plan, cost, Balanced())
    assert within_tolerance(solution, cost, Balanced())
    expected = ot.emd2(np.full(400, 1 / 400), np.full(399, 1 / 399), cost.numpy(), numItermax=10**7)
    assert float(solution.cost) == pytest.approx(expected, rel=1e-9)


def test_balanced_with_masses_of_every_size_stays_sparse_and_carries_them() -> None:
    rng = np.random.default_rng(7)
    for _ in range(200):
        n, m = rng.integers(1, 12, 2)
        left, right = rng.dirichlet(np.full(n, 0.1)), rng.dirichlet(np.full(m, 0.1))
        cost = torch.from_numpy(rng.integers(0, 3, (n, m)).astype(float))
        solution = solve(cost, Balanced(), mass=(torch.from_numpy(left), torch.from_numpy(right)))
        assert (solution.plan > 0).sum() <= n + m - 1
        np.testing.assert_allclose(solution.plan.sum(dim=1), left, atol=1e-11)
        np.testing.assert_allclose(solution.plan.sum(dim=0), right, atol=1e-11)
        assert within_tolerance(solution, cost, Balanced())


def test_masses_that_are_counts_are_moved_without_rounding() -> None:
    cost = torch.tensor([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]).double()
    plan = solve(cost, Balanced(), mass=(torch.tensor([2, 3, 5]), torch.tensor([5, 5]))).plan
    assert plan.tolist() == [[2, 0], [3, 0], [0, 5]]


def test_equal_masses_given_as_numbers_leave_no_crumbs() -> None:
    cost = torch.randn(50, 6, 6, generator=torch.Generator().manual_seed(8)).double()
    thirds = torch.full((50, 6), 1 / 6, dtype=torch.float64)
    given_masses, uniform = solve(cost, Balanced(), mass=(thirds, thirds)), solve(cost, Balanced())
    assert torch.equal(given_masses.plan > 0, uniform.plan > 0)
    assert ((uniform.plan > 0).sum(dim=(1, 2)) == 6).all()


@given(cost=costs(), k=st.integers(1, 12), below=st.sampled_from([0.0, 0.5, -0.7]))
def test_each_takes_the_cheapest_pairs_of_every_left_span_and_proves_it_without_rounding(
    cost: torch.Tensor, k: int, below: float
) -> None:
    solution = solve(cost, Each(k, below=below))
    assert solution.gap == 0
    for row, links in zip(cost, solution.plan > 0, strict=True):
        assert row[links].sort().values.tolist() == row[row < below].sort().values[:k].tolist()


def test_each_lets_left_spans_share_a_right_one() -> None:
    plan = solve(torch.tensor([[-1.0, -0.5], [-2.0, 1.0]]), Each(1)).plan
    assert plan.tolist() == [[0.5, 0], [0.5, 0]]
