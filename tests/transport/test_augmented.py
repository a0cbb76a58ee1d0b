"""The paper's construction, and what its code breaks."""

import pytest
import torch
from hypothesis import given
from scipy.optimize import linear_sum_assignment

from tests.problems import costs
from whymatch.transport import Balanced, Exactly, OneTo, UpTo, augmented, solve


def links_of(problem: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> int:
    rows, columns = linear_sum_assignment(problem[0].numpy())
    return int(((problem[1][rows] >= 0) & (problem[2][columns] >= 0)).sum())


@pytest.mark.parametrize(
    ("constraint", "replicas", "left_dummies", "right_dummies"),
    [(OneTo(2), 2, 9 - 2 * 4, 0), (UpTo(2), 2, 9, 2 * 4), (Exactly(3), 1, 9 - 3, 4 - 3)],
    ids=repr,
)
def test_it_has_the_replicas_and_dummies_of_the_papers_table(
    constraint: OneTo | UpTo | Exactly, replicas: int, left_dummies: int, right_dummies: int
) -> None:
    problem = augmented(torch.randn(4, 9), constraint)
    assert problem.cost.shape[0] == problem.cost.shape[1] == 4 * replicas + left_dummies == 9 + right_dummies
    assert (problem.left == -1).sum() == left_dummies
    assert (problem.right == -1).sum() == right_dummies
    turned = augmented(torch.randn(9, 4), constraint)
    assert (turned.right == -1).sum() == left_dummies


@given(cost=costs())
def test_exactly_k_links_for_costs_of_every_sign(cost: torch.Tensor) -> None:
    if cost.isinf().any() or cost.abs().max() > 1e100:
        return
    for k in range(1, min(cost.shape) + 1):
        assert links_of(augmented(cost, Exactly(k))) == k


def test_as_published_breaks_the_promise_for_negative_costs() -> None:
    cost = -torch.rand(6, 8, generator=torch.Generator().manual_seed(0)).double()
    assert links_of(augmented(cost, Exactly(2), as_published=True)) == 6
    assert links_of(augmented(cost, Exactly(2))) == 2
    assert (solve(cost, Exactly(2)).plan > 0).sum() == 2


def test_balanced_needs_no_construction() -> None:
    with pytest.raises(ValueError, match="neither replicas nor dummies"):
        augmented(torch.rand(2, 2), Balanced())
    with pytest.raises(ValueError, match="5 or more spans"):
        augmented(torch.rand(2, 2), Exactly(5))
