"""Attention as plans."""

from typing import Any

import pytest
import torch

from whymatch import Exactly, solve
from whymatch.matching.attention import active, attention, count_active, entmax15, max_sim, sparsemax

NORMALISERS = [torch.softmax, sparsemax, entmax15]
SIZES = torch.tensor([[4, 6], [2, 3], [1, 6], [0, 2]])


def costs() -> torch.Tensor:
    return torch.randn(4, 4, 6, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("normaliser", NORMALISERS, ids=lambda f: f.__name__)
def test_weights_add_up_in_each_direction_and_padding_gets_none(normaliser: Any) -> None:
    cost = costs()
    for b, (n, m) in enumerate(SIZES.tolist()):
        cost[b, n:], cost[b, :, m:] = torch.nan, torch.nan
    both = attention(cost, normaliser=normaliser, sizes=SIZES)
    for b, (n, m) in enumerate(SIZES.tolist()):
        assert torch.allclose(both.to_right[b].sum(dim=1), torch.tensor([1.0] * n + [0.0] * (4 - n)))
        assert torch.allclose(both.to_left[b].sum(dim=0), torch.tensor([1.0 * (n > 0)] * m + [0.0] * (6 - m)))
        assert not both.to_right[b, n:].any()
        assert not both.to_left[b, :, m:].any()
        if n:
            alone = attention(cost[b, :n, :m], normaliser=normaliser)
            assert torch.allclose(both.to_right[b, :n, :m], alone.to_right, atol=1e-6)
            assert torch.allclose(both.to_left[b, :n, :m], alone.to_left, atol=1e-6)


@pytest.mark.parametrize("normaliser", NORMALISERS, ids=lambda f: f.__name__)
def test_swapping_the_texts_swaps_the_directions(normaliser: Any) -> None:
    cost = costs()
    here, there = attention(cost, normaliser=normaliser), attention(cost.mT, normaliser=normaliser)
    assert torch.allclose(here.to_right, there.to_left.mT)
    assert torch.allclose(here.to_left, there.to_right.mT)


@pytest.mark.parametrize("normaliser", NORMALISERS, ids=lambda f: f.__name__)
def test_a_forbidden_pair_gets_no_weight_and_no_gradient_is_lost(normaliser: Any) -> None:
    cost = costs()
    cost[0, 1], cost[1, 0, 0] = torch.inf, torch.inf
    cost.requires_grad_()
    both = attention(cost, temperature=0.1, normaliser=normaliser)
    assert not both.to_right[0, 1].any()
    assert both.to_left[1, 0, 0] == 0
    gradient = torch.autograd.grad((both.to_right * costs()).sum() + both.to_left.square().sum(), cost)[0]
    assert gradient.isfinite().all()


def test_a_low_temperature_comes_down_to_the_best_pair_and_a_high_one_to_all() -> None:
    cost = costs()
    assert torch.equal(attention(cost, temperature=1e-4).to_right.round(), max_sim(cost) * 4)
    assert torch.allclose(attention(cost, temperature=1e6).to_right, torch.full_like(cost, 1 / 6), atol=1e-5)
    with pytest.raises(ValueError, match="positive"):
        attention(cost, temperature=0.0)


def test_sparse_attention_is_sparser_than_softmax() -> None:
    cost = costs()
    counts = [
        int(count_active(*attention(cost, normaliser=f)).number.sum()) for f in (sparsemax, entmax15, torch.softmax)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[2] == cost.numel()


def test_late_interaction_links_each_left_span_to_its_cheapest_partner() -> None:
    cost = costs()
    plan = max_sim(cost, sizes=SIZES)
    assert torch.allclose(plan.sum(dim=(1, 2)), torch.tensor([1.0, 1.0, 1.0, 0.0]))
    assert ((plan[0] > 0).int().argmax(dim=1) == cost[0].argmin(dim=1)).all()
    assert not plan[1, 2:].any()
    score = (-(cost[0] * plan[0])).sum()
    assert score.item() == pytest.approx((-cost[0]).amax(dim=1).mean().item(), rel=1e-6)


def test_a_left_span_without_partners_keeps_its_mass_to_itself() -> None:
    assert max_sim(torch.tensor([[torch.inf, torch.inf], [0.0, 2.0]])).tolist() == [[0, 0], [0.5, 0]]


def test_a_cost_that_is_not_a_number_is_not_hidden() -> None:
    assert attention(torch.tensor([[torch.nan, 1.0], [0.0, 2.0]])).to_right[0].isnan().any()


def test_active_alignments_are_those_above_the_papers_threshold() -> None:
    plan = torch.zeros(1, 5, 10)
    plan[0, 0, :3] = torch.tensor([0.5, 0.01 / 50 * 1.01, 0.01 / 50 * 0.99])
    assert active(plan).sum() == 2
    assert count_active(plan).percentage.item() == pytest.approx(4.0)
    assert active(plan, sizes=torch.tensor([[2, 4]])).sum() == 1
    exact = solve(torch.rand(5, 10), Exactly(3)).plan
    assert count_active(exact).number == 3


def test_the_union_of_both_directions_counts_a_pair_once() -> None:
    both = attention(costs(), temperature=0.05)
    right, left, union = (count_active(*plans).number for plans in ((both.to_right,), (both.to_left,), both))
    assert (union >= torch.maximum(right, left)).all()
    assert (union <= right + left).all()
