"""The path: every `Exactly(k)` at once."""

import pytest
import torch
from hypothesis import given

from tests.problems import costs, spread_of
from whymatch.transport import Exactly, Status, margin, pad, path, solve
from whymatch.transport.solution import TOLERANCE


@given(cost=costs())
def test_every_k_equals_its_own_solve(cost: torch.Tensor) -> None:
    whole = path(cost)
    spread = spread_of(cost, Exactly(1))
    for k in range(1, min(cost.shape) + 1):
        alone = solve(cost, Exactly(k), strict=False)
        assert whole.status[k - 1] in (alone.status, Status.OUT_OF_RANGE)  # a total may be where a mean is not
        if alone.status != Status.OK:
            assert whole.cost[k - 1] == torch.inf
            continue
        mean = float((cost[whole.partner[k - 1] >= 0, whole.partner[k - 1][whole.partner[k - 1] >= 0]] / k).sum())
        assert mean == pytest.approx(float(alone.cost), rel=1e-12, abs=1e-12 * spread)
        assert abs(float(whole.gap[k - 1]) / k) <= TOLERANCE * spread
        if margin(cost, Exactly(k), alone) > 1e-6 * spread:
            linked = torch.nonzero(alone.plan)
            assert whole.partner[k - 1][linked[:, 0]].tolist() == linked[:, 1].tolist()


@given(cost=costs())
def test_a_further_link_never_adds_less_than_the_last(cost: torch.Tensor) -> None:
    steps = path(cost)
    increments = steps.increments[steps.increments.isfinite()]
    assert (increments.diff() >= 0).all()
    assert not steps.increments.isnan().any()
    total = increments.cumsum(dim=0)
    slack = 1e-12 * len(total) * (spread_of(cost, Exactly(1)) + float(cost.abs().nan_to_num(posinf=0).max()))
    assert torch.allclose(total, steps.cost[: len(total)], rtol=1e-9, atol=slack) or total.isinf().any()


def test_links_may_change_from_k_to_k_plus_one() -> None:
    cost = torch.tensor([[0.0, 1.0], [1.0, 5.0]])
    assert path(cost).partner.tolist() == [[0, -1], [1, 0]]
    assert path(cost).cost.tolist() == [0.0, 2.0]
    assert path(cost).increments.tolist() == [0.0, 2.0]


def test_a_ragged_batch_with_a_bad_problem_equals_single_paths() -> None:
    alone = [torch.randn(n, m, generator=torch.Generator().manual_seed(n)) for n, m in ((3, 7), (9, 5), (1, 1), (6, 6))]
    batch, sizes = pad([*alone, torch.full((2, 2), torch.nan)])
    together = path(batch, 6, sizes=sizes)
    assert (together.status[-1] == Status.INVALID).all()
    assert together.cost[-1].isnan().all()
    for b, cost in enumerate(alone):
        k = min(cost.shape)
        assert torch.equal(together.cost[b, :k], path(cost).cost)
        assert torch.equal(together.partner[b, :k, : len(cost)], path(cost).partner)
        assert (together.cost[b, k:] == torch.inf).all()
        assert (together.partner[b, k:] == -1).all()
        assert (together.status[b, k:] == Status.INFEASIBLE).all()


def test_an_empty_text_has_an_empty_path() -> None:
    assert path(torch.empty(0, 4)).cost.shape == (0,)
    assert path(torch.empty(0, 4), 2).cost.shape == (0,)


@pytest.mark.parametrize("max_k", [1, 2, 3, 4, 10**12, 10**30])
def test_a_path_is_never_longer_than_the_texts_allow(max_k: int) -> None:
    batch, sizes = pad([torch.rand(3, 7), torch.rand(9, 2)])
    for k, whole in zip(path(batch, max_k, sizes=sizes), path(batch, sizes=sizes), strict=True):
        assert torch.equal(k.nan_to_num(-1), whole[:, : min(max_k, 3)].nan_to_num(-1))
    assert len(path(batch[0], max_k, sizes=sizes[0]).cost) == min(max_k, 3)
