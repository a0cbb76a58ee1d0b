"""Appendix D of the paper: permutations inside a plan, and noise that makes the optimum unique."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from whymatch.transport import Balanced, Temperature, margin, sinkhorn, solve
from whymatch.transport.paper import decompose, perturb


def mixture(n: int, count: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(count, generator=generator, dtype=torch.float64)
    permutations = torch.stack([torch.randperm(n, generator=generator) for _ in range(count)])
    matrices = torch.nn.functional.one_hot(permutations, n).double()
    return ((weights / weights.sum())[:, None, None] * matrices).sum(dim=0) / n


def degenerate(n: int, seed: int) -> torch.Tensor:
    """Few distinct whole costs: many optima, and a second best that costs at least 1/n more."""
    return torch.randint(0, 3, (n, n), generator=torch.Generator().manual_seed(seed)).double()


@given(n=st.integers(1, 9), count=st.integers(1, 12), seed=st.integers(0, 1000))
def test_the_permutations_rebuild_the_plan(n: int, count: int, seed: int) -> None:
    plan = mixture(n, count, seed)
    parts = decompose(plan)
    assert torch.allclose(parts.plan(), plan, atol=1e-8)
    assert (parts.weights > 0).all()
    assert float(parts.weights.sum()) == pytest.approx(1)
    assert len(parts.weights) <= (n - 1) ** 2 + 1
    for permutation in parts.permutations:
        assert sorted(permutation.tolist()) == list(range(n))


@given(n=st.integers(2, 7), seed=st.integers(0, 1000))
def test_every_permutation_of_a_degenerate_optimum_is_optimal(n: int, seed: int) -> None:
    cost = degenerate(n, seed)
    best = float(solve(cost, Balanced()).cost)
    spread_out = sinkhorn(cost, Balanced(), Temperature(1e-3), tolerance=1e-9, max_iterations=100_000)
    parts = decompose(spread_out.plan, tolerance=1e-4)  # what entropy leaves elsewhere is far below
    for permutation in parts.permutations:
        assert float(cost[torch.arange(n), permutation].mean()) == pytest.approx(best)


def test_a_tie_has_more_than_one_permutation() -> None:
    assert len(decompose(sinkhorn(torch.zeros(4, 4).double(), Balanced()).plan).weights) == 4


@given(n=st.integers(2, 7), seed=st.integers(0, 1000), noise=st.sampled_from([1e-6, 1e-3, 0.1, 1.0]))
def test_noise_costs_at_most_itself_and_leaves_one_permutation(n: int, seed: int, noise: float) -> None:
    cost = degenerate(n, seed)
    disturbed = perturb(cost, noise, torch.Generator().manual_seed(seed))
    assert (disturbed >= cost).all()
    assert (disturbed <= cost + noise).all()
    solution = solve(disturbed, Balanced())
    assert (solution.plan > 0).sum() == n  # a permutation
    assert margin(disturbed, Balanced(), solution) > 1e-13 * noise  # the only one
    more = float((cost * solution.plan).sum() - solve(cost, Balanced()).cost)
    assert -1e-12 <= more <= noise + 1e-12  # part 1 of the theorem
    if noise < 1 / n:  # the corollary: costs are whole numbers, so the second best is 1/n away
        assert more == pytest.approx(0, abs=1e-12)


def test_what_is_no_doubly_stochastic_plan_is_refused() -> None:
    with pytest.raises(ValueError, match="square"):
        decompose(torch.ones(2, 3) / 6)
    with pytest.raises(ValueError, match="add up"):
        decompose(torch.tensor([[0.5, 0.5], [0.0, 0.0]]))
    with pytest.raises(ValueError, match="positive"):
        perturb(torch.ones(2, 2), 0.0)
