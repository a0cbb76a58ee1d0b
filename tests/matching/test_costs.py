"""Laws of costs between spans."""

import pytest
import torch
from scipy.spatial.distance import cdist

from whymatch.matching.costs import (
    Cost,
    cosine_distance,
    dot,
    euclidean,
    negative_cosine,
    out_of_order,
    scaled_dot,
    squared_euclidean,
)

ALL = [cosine_distance, negative_cosine, dot, scaled_dot, euclidean, squared_euclidean]


def vectors(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(
    ("cost", "metric"),
    [(cosine_distance, "cosine"), (euclidean, "euclidean"), (squared_euclidean, "sqeuclidean")],
    ids=lambda value: getattr(value, "name", value),
)
def test_distances_agree_with_scipy(cost: Cost, metric: str) -> None:
    left, right = vectors(5, 7), vectors(4, 7, seed=1)
    assert torch.allclose(cost(left, right), torch.from_numpy(cdist(left, right, metric)))


def test_products_are_negated_so_that_low_is_good() -> None:
    left, right = vectors(5, 9), vectors(4, 9, seed=1)
    assert torch.allclose(dot(left, right), -torch.einsum("id,jd->ij", left, right))
    assert torch.allclose(scaled_dot(left, right), dot(left, right) / 3)
    assert torch.allclose(negative_cosine(left, right), cosine_distance(left, right) - 1)


@pytest.mark.parametrize("cost", ALL, ids=lambda cost: cost.name)
def test_spans_with_nothing_in_common_cost_the_neutral_value(cost: Cost) -> None:
    basis = torch.eye(3, dtype=torch.float64)
    assert torch.allclose(cost(basis[:1], basis[1:]), torch.full((1, 2), cost.neutral, dtype=torch.float64))


@pytest.mark.parametrize("cost", ALL, ids=lambda cost: cost.name)
def test_a_batch_equals_its_problems_and_swapping_transposes(cost: Cost) -> None:
    left, right = vectors(3, 5, 8), vectors(3, 4, 8, seed=1)
    together = cost(left, right)
    assert torch.allclose(together[1], cost(left[1], right[1]))
    assert torch.allclose(together.mT, cost(right, left))


@pytest.mark.parametrize("cost", ALL, ids=lambda cost: cost.name)
def test_gradients_are_right_and_finite_at_zero_and_equal_vectors(cost: Cost) -> None:
    left, right = vectors(3, 4).requires_grad_(), vectors(2, 4, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(cost, (left, right))
    degenerate = torch.tensor([[0.0, 0.0], [1.0, 2.0], [1.0, 2.0], [1e-30, 0.0]], requires_grad=True)
    values = cost(degenerate, degenerate)
    gradient = torch.autograd.grad(values[:3, :3].sum(), degenerate)[0]
    assert gradient.isfinite().all()


def test_the_zero_vector_has_nothing_in_common_with_anything() -> None:
    zero, other = torch.zeros(1, 3), torch.randn(2, 3)
    assert (cosine_distance(zero, other) == 1).all()
    assert (negative_cosine(zero, zero) == 0).all()


def test_cosine_does_not_depend_on_length_however_extreme() -> None:
    left, right = torch.tensor([[3.0, 4.0]]), torch.tensor([[4.0, 3.0]])
    for scale in (1e-30, 1.0, 1e30):
        assert cosine_distance(left * scale, right).item() == pytest.approx(0.04, abs=1e-6)


def test_order_is_counted_in_each_problems_own_length() -> None:
    sizes = torch.tensor([[4, 2], [2, 2]])
    apart = out_of_order(4, 2, sizes)
    assert torch.equal(apart[0], out_of_order(4, 2))
    assert torch.equal(apart[1, :2], out_of_order(2, 2))
    assert out_of_order(50, 40).max() < 1


def test_vectors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="same d"):
        cosine_distance(torch.rand(2, 3), torch.rand(2, 4))
    with pytest.raises(ValueError, match="same d"):
        cosine_distance(torch.rand(3), torch.rand(3))
