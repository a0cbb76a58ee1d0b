"""Laws of costs between spans."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import whymatch as wm
from whymatch.cost import (
    Base,
    Calibrated,
    Cosine,
    Cost,
    Dot,
    Euclidean,
    NegativeCosine,
    Neighbours,
    Novelty,
    Order,
    PaddedPairs,
    RareWords,
    Refined,
    Relations,
    ScaledDot,
    SharedWords,
    SquaredEuclidean,
    Term,
    WholeText,
    WordCounts,
)
from whymatch.text.document import joined

cosine_distance, negative_cosine, dot, scaled_dot, euclidean, squared_euclidean = ALL = [
    Cost(base()) for base in (Cosine, NegativeCosine, Dot, ScaledDot, Euclidean, SquaredEuclidean)
]


def blended(cost: Cost, neighbours: float = 0.0, whole: float = 0.0) -> Cost:
    """A cost with both terms that mix vectors."""
    return Cost(cost.base, Neighbours(neighbours), WholeText(whole), *cost.terms)


def calibrated() -> Cost:
    return Cost(Cosine(), Calibrated())


def out_of_order(n: int, m: int, sizes: torch.Tensor | None = None) -> torch.Tensor:
    sizes = torch.tensor([[n, m]]) if sizes is None else sizes
    apart = Order(1.0).changed(torch.zeros(len(sizes), n, m), PaddedPairs(sizes.numpy()))
    return apart[0] if len(sizes) == 1 else apart


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
    assert cost.name == f"cosine distance with neighbours ({mix[0]:g}) and whole text ({mix[1]:g})"
    assert (cost.neutral, cost.least) == (1.0, 0.0)
    names = [f"piece {number}" for number in range(9)]
    encoder = wm.Precomputed(dict(zip(names, vectors(9, 6), strict=True)))
    plain, mixed = (wm.Aligner("line", encoder, some) for some in (cosine_distance, cost))
    assert (plain.contextual, mixed.contextual) == (False, True)
    why = mixed.align(names[:4], names[4:], wm.Exactly(2))
    assert why.cost == cost.name
    checked = why.verify(mixed)
    assert checked.contextual
    assert not checked.score_holds
    assert "The costs look at the deleted text too." in str(checked)
    assert plain.align(names[:4], names[4:], wm.Exactly(2)).verify(plain).holds


COUNTS = WordCounts.of(["the cat sat", "the dog ran"])


def scattered() -> Refined:
    """A refinement whose weights are all far from 0."""
    refined, generator = Refined(4), torch.Generator().manual_seed(1)
    for weight in refined.module.parameters():
        torch.nn.init.normal_(weight, std=0.1, generator=generator)
    refined.module.eval()
    return refined


class Unequal:
    """A reader to whom texts contradict each other the more, the fewer of their characters are the same."""

    def contradiction(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        return np.array([1 - len({*left} & {*right}) / len({*left} | {*right}) for left, right in pairs])


TERMS = [
    (),
    (Neighbours(0.4),),
    (WholeText(0.3), Neighbours(0.2)),
    (Novelty(1.5),),
    (Order(0.4),),
    (Calibrated(0.1),),
    (Calibrated(0.1), Order(0.4)),
    (SharedWords(0.5, COUNTS), Novelty(0.5), Neighbours(0.1)),
    (RareWords(0.5, COUNTS), SharedWords(0.2, COUNTS)),
    (Relations(2.0, Unequal()), Order(0.1)),
    (scattered(), Order(0.1)),
]


@pytest.mark.parametrize("base", [cost.base for cost in ALL], ids=lambda base: base.name)
@pytest.mark.parametrize("terms", TERMS, ids=lambda terms: " ".join(map(str, terms)) or "plain")
def test_numpy_and_torch_give_the_same_costs_each_in_its_own_kind(base: Base, terms: tuple[Term, ...]) -> None:
    cost, texts = Cost(base, *terms), [(joined(["the cat", "a dog"]), joined(["the dog", "it sat", "a cat"]))]
    left, right = vectors(2, 5), vectors(3, 5, seed=1)
    by_torch, by_numpy = cost(left, right, texts=texts), cost(left.numpy(), right.numpy(), texts=texts)
    assert isinstance(by_numpy, np.ndarray)
    assert isinstance(by_torch, torch.Tensor)
    assert by_numpy.dtype == np.float64
    np.testing.assert_allclose(by_numpy, by_torch.detach().numpy(), atol=1e-6 if cost.trains else 1e-12)


SIZES = np.array([[4, 5], [2, 3], [1, 5], [4, 1], [0, 3], [2, 0]])
PIECES = ["the cat", "a dog", "it sat", "the dog ran", "a cat"]


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("terms", TERMS, ids=lambda terms: " ".join(map(str, terms)) or "plain")
def test_a_problem_in_a_padded_batch_costs_what_it_costs_alone(terms: tuple[Term, ...], kind: str) -> None:
    cost = Cost(Cosine(), *terms)
    left, right = vectors(6, 4, 5), vectors(6, 5, 5, seed=1)
    for b, (n, m) in enumerate(SIZES):
        left[b, n:], right[b, m:] = 0, 0
    texts = [(joined(PIECES[:n]), joined(PIECES[:m])) for n, m in SIZES]
    x, y = (left, right) if kind == "torch" else (left.numpy(), right.numpy())
    together = np.asarray(torch.as_tensor(cost(x, y, sizes=SIZES, texts=texts)).detach())
    for b, (n, m) in enumerate(SIZES):
        alone = cost(left[b, :n].numpy(), right[b, :m].numpy(), texts=texts[b : b + 1])
        np.testing.assert_allclose(together[b, :n, :m], alone, atol=1e-5 if cost.trains else 1e-12)


@pytest.mark.parametrize("junk", [-5.0, 40.0, np.nan, np.inf])
@pytest.mark.parametrize(
    "term", [term for terms in TERMS for term in terms if type(term).changed is not Term.changed], ids=str
)
def test_whatever_stands_in_the_padding_a_term_changes_nothing_else(term: Term, junk: float) -> None:
    texts = [(joined(PIECES[:n]), joined(PIECES[:m])) for n, m in SIZES]
    plain = np.random.default_rng(0).random((6, 4, 5))
    filled = plain.copy()
    for cost, (n, m) in zip(filled, SIZES, strict=True):
        cost[n:], cost[:, m:] = junk, junk
    with np.errstate(invalid="ignore"):
        expected, changed = (term.changed(cost, PaddedPairs(SIZES, texts)) for cost in (plain, filled))
    for b, (n, m) in enumerate(SIZES):
        assert np.array_equal(changed[b, :n, :m], expected[b, :n, :m])


@pytest.mark.parametrize("terms", [(Calibrated(0.5),), (Novelty(0.7),), (Order(0.4), Calibrated(0.5))], ids=str)
def test_gradients_of_terms_that_change_costs_are_right(terms: tuple[Term, ...]) -> None:
    left, right = vectors(3, 4).requires_grad_(), vectors(2, 4, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(Cost(Cosine(), *terms), (left, right))


@pytest.mark.parametrize("terms", TERMS, ids=lambda terms: " ".join(map(str, terms)) or "plain")
@pytest.mark.parametrize("base", [cost.base for cost in ALL], ids=lambda base: base.name)
def test_a_cost_comes_back_from_its_list(base: Base, terms: tuple[Term, ...]) -> None:
    cost = Cost(base, *terms)
    assert Cost.from_list(cost.to_list(), COUNTS) == cost
    assert hash(Cost.from_list(cost.to_list(), COUNTS)) == hash(cost)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["nearness"], "got 'nearness'"),
        ([{"neighbours": 0.4}, "cosine"], "got 'cosine'"),
        ([{"neighbors": 0.4}], "neighbors"),
        ([{"neighbours": 0.4, "order": 1}], "neighbours"),
        ([{"neighbours": -0.4}], "0 or more"),
        ([{"neighbours": "much"}], "0 or more"),
        ([{"neighbours": True}], "0 or more"),
        ([{"order": inf}], "0 or more"),
        ([{"order": 10**400}], "0 or more"),
        ({"order": 1}, "cost is a list"),
        (None, "cost is a list"),
        ([{"order": 1}, {"order": 2}], "has a term once"),
        ([{"calibrated": 0}], "above 0"),
        ([{"refined": 0}], "from 1 to"),
        ([{"refined": 1.5}], "from 1 to"),
        ([{"order": {"height": 2}}], "order"),
        ([{"shared_words": 0.5}], "WordCounts"),
        ([3], "got 3"),
    ],
)
def test_lists_that_are_no_cost_are_refused_in_words(values: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Cost.from_list(values)  # type: ignore[arg-type]


def test_what_is_no_base_or_term_is_refused() -> None:
    with pytest.raises(TypeError, match="A cost is Cost"):
        Cost("cosine")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="A cost is Cost"):
        Cost(Cosine(), 0.4)  # type: ignore[arg-type]


def test_a_term_stands_once_and_words_are_counted_once() -> None:
    with pytest.raises(ValueError, match="A cost has a term once, got order"):
        Cost(Cosine(), Order(0.1), Neighbours(0.2), Order(0.3))
    with pytest.raises(ValueError, match="share one WordCounts"):
        Cost(Cosine(), RareWords(0.5, COUNTS), SharedWords(0.5, WordCounts.of(["another"])))
    one, other = (Cost(Cosine(), RareWords(0.5, counts)) for counts in (COUNTS, WordCounts.of(["another"])))
    assert one != other
    assert one == Cost(Cosine(), RareWords(0.5, WordCounts(COUNTS.counts, COUNTS.texts)))


def test_a_batch_takes_as_many_sizes_and_texts_as_it_has_pairs() -> None:
    cost, texts = Cost(Cosine(), SharedWords(1.0, COUNTS)), [(joined(PIECES[:1]), joined(PIECES[:1]))]
    with pytest.raises(ValueError, match=r"A batch of 2 takes .* 1 pairs of texts"):
        cost(vectors(2, 1, 3), vectors(2, 1, 3), texts=texts)
    with pytest.raises(ValueError, match=r"got sizes \(1, 2\)"):
        Cost()(vectors(2, 1, 3), vectors(2, 1, 3), sizes=np.array([[1, 1]]))


def test_the_parameters_that_are_given_out_are_copies() -> None:
    given = Constant(0.25).parameters
    given["amount"] = 9.0
    assert Constant(0.25).to_dict() == {"constant": 0.25}


def test_a_table_of_parameters_is_as_good_as_a_number() -> None:
    assert Cost.from_list([{"neighbours": {"share": 0.4}}]) == Cost(Cosine(), Neighbours(0.4))
    table = Cost.from_list([{"shared_words": {"weight": 0.5}}], COUNTS)
    assert table == Cost(Cosine(), SharedWords(0.5, COUNTS))


def test_a_subclass_without_a_name_takes_no_place_and_a_name_is_taken_once() -> None:
    class Nearer(Neighbours):
        """A subclass that does not name itself."""

    assert type(Cost.from_list([{"neighbours": 0.4}]).terms[0]) is Neighbours

    class Again(Nearer):
        name = "again"

    class Impostor(Nearer):
        name = "again"

    assert Cost.from_list(["cosine", {"neighbours": 0.4}])  # others are not concerned
    with pytest.raises(ValueError, match=r"Again and .*Impostor are both called again"):
        Cost.from_list([{"again": 0.4}])


def test_a_class_that_is_defined_again_takes_the_place_of_the_first() -> None:
    def define() -> type[Term]:
        @dataclass(frozen=True)
        class Notebook(Term):
            amount: float
            name = "notebook"

        return Notebook

    first, last = define(), define()
    assert first is not last
    assert type(Cost.from_list([{"notebook": 1.0}]).terms[0]) is last


def test_terms_that_read_words_ask_for_texts() -> None:
    with pytest.raises(ValueError, match="shared_words reads words: give texts"):
        Cost(Cosine(), SharedWords(0.5, COUNTS))(vectors(2, 3), vectors(3, 3))


@dataclass(frozen=True)
class Constant(Term):
    """A term as a user would write one."""

    amount: float
    name = "constant"
    contextual = False

    def changed(self, cost: torch.Tensor, pairs: PaddedPairs) -> torch.Tensor:
        return cost + self.amount


def test_a_term_of_ones_own_is_one_class() -> None:
    cost = Cost(Cosine(), Constant(0.25))
    left, right = vectors(2, 3), vectors(3, 3)
    assert torch.equal(cost(left, right), cosine_distance(left, right) + 0.25)
    assert cost.name == "cosine distance with constant (0.25)"
    assert not cost.contextual
    assert Cost.from_list(cost.to_list()) == cost


@pytest.mark.parametrize("base", [Cosine, NegativeCosine, Dot, ScaledDot, Euclidean, SquaredEuclidean])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
@given(seed=st.integers(0, 2**32 - 1), d=st.sampled_from([1, 3, 16, 384]), beside=st.integers(0, 40), data=st.data())
def test_the_cost_of_two_vectors_does_not_depend_on_what_stands_beside_them(
    base: type[Base], kind: str, seed: int, d: int, beside: int, data: st.DataObject
) -> None:
    """To the bit, and in both orders, for lengths of every size."""
    draw = np.random.default_rng(seed)
    left, right = draw.normal(size=(2, d)) * 10.0 ** data.draw(st.integers(-120, 120))
    others = draw.normal(size=(2, beside + 1, d))
    places = [data.draw(st.integers(0, beside)) for _ in range(2)]
    for own, place, row in zip(others, places, (left, right), strict=True):
        own[place] = row
    sides = [left[None], right[None], *others]
    if kind == "torch":
        sides = [torch.from_numpy(side) for side in sides]
    cost = Cost(base())
    alone, together = cost(sides[0], sides[1])[0, 0], cost(sides[2], sides[3])[places[0], places[1]]
    assert float(alone) == float(together) == float(cost(sides[3], sides[2])[places[1], places[0]])


def test_a_cost_of_vectors_that_are_not_finite_is_not_finite() -> None:
    for value in (np.nan, np.inf):
        with np.errstate(invalid="ignore"):
            assert not np.isfinite(Cost(Cosine())(np.array([[1.0, value]]), np.ones((1, 2)))).any()
