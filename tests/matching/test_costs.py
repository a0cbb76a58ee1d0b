"""Laws of costs between spans."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import whymatch as wm
from whymatch.matching.costs import (
    Cost,
    blended,
    calibrated,
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


MIXES = [(0.5, 0.0), (0.0, 0.7), (0.3, 0.4)]


def by_hand(texts: torch.Tensor, neighbours: float, whole: float) -> torch.Tensor:
    """The vectors of one text with those around them mixed in, one after another."""
    rows = []
    for number in range(len(texts)):
        row = texts[number] + whole * sum(texts) / len(texts)
        for beside in (number - 1, number + 1):
            if 0 <= beside < len(texts):
                row = row + neighbours * texts[beside]
        rows.append(row)
    return torch.stack(rows) if rows else texts


@pytest.mark.parametrize("cost", [*ALL, calibrated()], ids=lambda cost: cost.name)
def test_nothing_mixed_in_is_the_same_cost(cost: Cost) -> None:
    assert blended(cost) is cost
    assert blended(cost, neighbours=0.0, whole=0.0) is cost


@pytest.mark.parametrize("cost", [*ALL, calibrated()], ids=lambda cost: cost.name)
@given(n=st.integers(0, 6), m=st.integers(0, 6), mix=st.tuples(st.floats(0, 2), st.floats(0, 2)))
def test_a_blended_cost_is_that_of_vectors_mixed_one_by_one(
    cost: Cost, n: int, m: int, mix: tuple[float, float]
) -> None:
    left, right = vectors(n, 4), vectors(m, 4, seed=1)
    found = blended(cost, *mix)(left, right)
    assert found.shape == (n, m)
    torch.testing.assert_close(found, cost(by_hand(left, *mix), by_hand(right, *mix)))


@pytest.mark.parametrize("mix", MIXES, ids=str)
@pytest.mark.parametrize("cost", ALL, ids=lambda cost: cost.name)
def test_zeros_behind_a_text_and_other_pairs_change_nothing(cost: Cost, mix: tuple[float, float]) -> None:
    left, right, sizes = vectors(4, 6, 5), vectors(4, 7, 5, seed=1), [(6, 7), (2, 3), (1, 7), (4, 1)]
    for b, (n, m) in enumerate(sizes):
        left[b, n:], right[b, m:] = 0, 0
    together = blended(cost, *mix)(left, right)
    for b, (n, m) in enumerate(sizes):
        alone = blended(cost, *mix)(left[b, :n], right[b, :m])
        torch.testing.assert_close(together[b, :n, :m], alone, atol=1e-12, rtol=1e-12)
        torch.testing.assert_close(blended(cost, *mix)(right[b, :m], left[b, :n]).mT, alone)


@pytest.mark.parametrize("cost", ALL, ids=lambda cost: cost.name)
def test_a_text_of_one_span_has_no_neighbours(cost: Cost) -> None:
    left, right = vectors(1, 5), vectors(1, 5, seed=1)
    assert torch.equal(blended(cost, neighbours=0.8)(left, right), cost(left, right))
    only_left = blended(cost, neighbours=0.8)(left, vectors(4, 5, seed=1))
    torch.testing.assert_close(only_left, cost(left, by_hand(vectors(4, 5, seed=1), 0.8, 0.0)))


@pytest.mark.parametrize("mix", MIXES, ids=str)
def test_gradients_reach_what_was_mixed_in(mix: tuple[float, float]) -> None:
    left, right = vectors(3, 4).requires_grad_(), vectors(2, 4, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(blended(cosine_distance, *mix), (left, right))
    (gradient,) = torch.autograd.grad(blended(cosine_distance, *mix)(left, right)[0].sum(), left)
    assert gradient[1].any()


@pytest.mark.parametrize("mix", MIXES, ids=str)
def test_a_blended_cost_says_so_wherever_it_is_used(mix: tuple[float, float]) -> None:
    cost = blended(cosine_distance, *mix)
    assert ("neighbours (" in cost.name, "the whole text (" in cost.name) == (mix[0] > 0, mix[1] > 0)
    assert all(f"({value:g})" in cost.name for value in mix if value)
    assert (cost.neutral, cost.least, cost.mixes) == (1.0, 0.0, mix)
    names = [f"piece {number}" for number in range(9)]
    encoder = wm.Precomputed(dict(zip(names, vectors(9, 6), strict=True)))
    plain, mixed = (wm.Aligner("line", encoder, some) for some in (cosine_distance, cost))
    assert (plain.contextual, mixed.contextual) == (False, True)
    why = mixed.align(names[:4], names[4:], wm.Exactly(2))
    assert why.cost == cost.name
    checked = why.verify()
    assert checked.contextual
    assert not checked.score_holds
    assert "The costs look at the deleted text too." in str(checked)
    assert plain.align(names[:4], names[4:], wm.Exactly(2)).verify().holds
