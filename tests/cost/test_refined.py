"""What is refined: a cost by those around it, whatever else is in the batch."""

import random
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import whymatch as wm
from whymatch.cost import COSTS, Cosine, Cost, Novelty, PaddedPairs, Refined, Term
from whymatch.cost.refinement import Refinement
from whymatch.datasets.records import Pair
from whymatch.evaluation.rationales import f1
from whymatch.learning import Attend, Projected, Transport
from whymatch.learning.fit import Fitting, Schedule
from whymatch.learning.tasks import ClassifyTask
from whymatch.text.document import joined
from whymatch.transport import Temperature

SIZES = torch.tensor([[6, 7], [3, 4], [2, 6], [1, 1], [6, 2], [0, 3], [2, 0]])
NAMES = [f"piece {number}" for number in range(24)]
VECTORS = wm.Precomputed(dict(zip(NAMES, torch.randn(24, 6, generator=torch.Generator().manual_seed(0)), strict=True)))
PAIRS = [
    (joined(NAMES[:3]), joined(NAMES[3:10])),
    (joined(NAMES[10:11]), joined(NAMES[11:14])),
    (joined(NAMES[5:9]), joined(NAMES[14:16])),
    (joined(NAMES[16:20]), joined(NAMES[20:24])),
]


def costs(seed: int = 0, high: float = 2.0) -> torch.Tensor:
    return high * torch.rand(len(SIZES), 6, 7, generator=torch.Generator().manual_seed(seed))


def scattered(hidden: int = 8) -> Refined:
    """A refinement with weights and biases that are all far from 0."""
    torch.manual_seed(1)
    refined = Refined(hidden)
    for weight in refined.module.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    refined.module.eval()
    return refined


def terms(hidden: int = 0, novelty: float = 0.0) -> list[Term]:
    return [*([Novelty(novelty)] if novelty else []), *([scattered(hidden)] if hidden else [])]


def changed(cost: torch.Tensor, sizes: torch.Tensor, *chosen: Term) -> torch.Tensor:
    for term in chosen:
        cost = term.changed(cost, PaddedPairs(sizes.numpy()))
    return cost


def test_before_it_has_learned_a_network_adds_exactly_nothing() -> None:
    for refinement in (Refinement(8), Refinement(8).eval()):
        assert torch.equal(refinement(costs(), SIZES), costs())
    assert not torch.equal(scattered().module(costs(), SIZES), costs())


@pytest.mark.parametrize(("hidden", "novelty"), [(8, 0.0), (0, 0.7), (8, 0.7)])
def test_padding_and_neighbours_change_nothing(hidden: int, novelty: float) -> None:
    chosen = terms(hidden, novelty)
    with torch.no_grad():
        together = changed(costs(), SIZES, *chosen)
        for junk in (-5.0, 0.0, 1.0, 40.0):
            filled = costs()
            for cost, (n, m) in zip(filled, SIZES.tolist(), strict=True):
                cost[n:], cost[:, m:] = junk, junk
            again = changed(filled, SIZES, *chosen)
            for b, (n, m) in enumerate(SIZES.tolist()):
                assert torch.equal(together[b, :n, :m], again[b, :n, :m])
        for b, (n, m) in enumerate(SIZES.tolist()):
            alone = changed(costs()[b : b + 1, :n, :m], SIZES[b : b + 1], *chosen)[0]
            torch.testing.assert_close(together[b, :n, :m], alone, atol=1e-5, rtol=1e-5)


@given(novelty=st.floats(0.1, 3), seed=st.integers(0, 50), high=st.sampled_from([0.5, 3.0]))
def test_novelty_takes_off_what_the_best_counterpart_costs(novelty: float, seed: int, high: float) -> None:
    given = 1.1 + costs(seed, high)  # all above what padding costs
    for some, (n, m) in zip(given, SIZES.tolist(), strict=True):
        some[n:], some[:, m:] = 1.0, 1.0
    found = changed(given, SIZES, Novelty(novelty))
    for b, (n, m) in enumerate(SIZES.tolist()):
        for i in range(n):
            for j in range(m):
                best = min(given[b, row, j].item() for row in range(n))
                assert found[b, i, j].item() == pytest.approx(given[b, i, j].item() - novelty * best, abs=1e-5)


def test_all_weights_and_all_costs_of_a_pair_have_a_gradient() -> None:
    refined, cost = scattered(), costs().requires_grad_()
    refined.module.train()
    loss = changed(cost, SIZES, Novelty(0.5), refined)[0].square().sum()
    of_cost, *of_weights = torch.autograd.grad(loss, [cost, *refined.module.parameters()])
    assert (of_cost[0] != 0).all()
    assert not of_cost[1:].any()
    assert all(gradient.isfinite().all() and gradient.any() for gradient in of_weights)
    untrained = Refinement(8)
    untrained(cost, SIZES).sum().backward()
    assert any(weight.grad is not None and weight.grad.any() for weight in untrained.parameters())


@pytest.mark.parametrize(("hidden", "novelty"), [(8, 0.0), (0, 0.7), (8, 0.7)])
@pytest.mark.parametrize("name", ["cosine", "dot", "euclidean"])
def test_one_pair_of_texts_is_refined_as_in_a_batch_and_at_rest(hidden: int, novelty: float, name: str) -> None:
    cost = Cost(COSTS[name].base, *terms(hidden, novelty))
    module = next((module for term in cost.terms if (module := term.module) is not None), None)
    if module is not None:
        module.train()
    generator = torch.Generator().manual_seed(2)
    left, right = torch.randn(7, 6, 5, generator=generator), torch.randn(7, 7, 5, generator=generator)
    for b, (n, m) in enumerate(SIZES.tolist()):
        left[b, n:], right[b, m:] = 0, 0
    alone = [
        cost(left[b, :n].double().numpy(), right[b, :m].double().numpy()) for b, (n, m) in enumerate(SIZES.tolist())
    ]
    if module is not None:
        assert module.training
        module.eval()
    with torch.no_grad():
        together = cost(left, right, sizes=SIZES.numpy())
    for b, (n, m) in enumerate(SIZES.tolist()):
        assert alone[b].dtype == np.float64
        np.testing.assert_allclose(alone[b], together[b, :n, :m].numpy(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("junk", [torch.nan, torch.inf, -torch.inf])
def test_a_pair_that_is_not_a_number_leaves_its_neighbours_as_they_were(junk: float) -> None:
    chosen, good, bad = terms(8, 0.5), costs(), costs()
    bad[0], bad[2, 1, 3] = junk, junk
    with torch.no_grad():
        expected, found = changed(good, SIZES, *chosen), changed(bad, SIZES, *chosen)
    for b in (1, 3, 4, 5, 6):
        assert torch.equal(found[b], expected[b])
    assert not found[0].isfinite().any()


def classifier(rule: Transport | Attend, *chosen: Term) -> wm.Classifier:
    torch.manual_seed(0)
    aligner = wm.Aligner("line", Projected(VECTORS, 6), Cost(Cosine(), *chosen))
    return wm.Classifier(aligner, rule, ["no", "yes"])


@pytest.mark.parametrize(("hidden", "novelty"), [(8, 0.0), (0, 0.7), (8, 0.7)])
@pytest.mark.parametrize("rule", [Transport(wm.Exactly(2)), Transport(wm.OneTo(1)), Attend(0.5)], ids=str)
def test_what_is_learned_is_what_predicts(rule: Transport | Attend, hidden: int, novelty: float) -> None:
    model = classifier(rule, *terms(hidden, novelty)).eval()
    with torch.no_grad():
        logits, matched = model.logits(PAIRS)
    found = [[*one.probabilities.values()] for one in model.predict(PAIRS)]
    torch.testing.assert_close(torch.tensor(found), logits.softmax(dim=1), atol=1e-5, rtol=1e-5)
    for cost, (n, m), alone in zip(matched.cost, matched.sizes.tolist(), model.aligner.costs(PAIRS), strict=True):
        np.testing.assert_allclose(cost[:n, :m].numpy(), alone, atol=1e-5, rtol=1e-5)
    assert [[*one.probabilities.values()] for one in model.train().predict(PAIRS)] == found


def test_a_refined_ranker_ranks_by_the_score_that_it_learns_in_any_mode() -> None:
    cost = Cost(Cosine(), *terms(8, 0.3))
    model = wm.Ranker(wm.Aligner("line", Projected(VECTORS, 6), cost), wm.Exactly(2))
    query, documents = NAMES[:3], [NAMES[3:10], NAMES[11:13], NAMES[14:20]]
    found = model.train().rank(query, documents)
    assert model.eval().rank(query, documents) == found
    with torch.no_grad():
        scores = model([(joined(query), joined(text)) for text in documents]).score
    expected = [scores[row["corpus_id"]].item() for row in found]
    assert [row["score"] for row in found] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("hidden", "novelty"), [(8, 0.0), (0, 0.7)])
def test_an_empty_text_has_nothing_to_refine(hidden: int, novelty: float) -> None:
    model = classifier(Transport(wm.Exactly(2)), *terms(hidden, novelty))
    pairs: list[tuple[list[str], list[str]]] = [([], NAMES[:2]), (NAMES[:2], []), ([], []), (NAMES[:2], NAMES[2:5])]
    found = model.predict(pairs)
    assert [len(one.alignment.links) for one in found if one.alignment] == [0, 0, 0, 2]
    (alone,) = model.predict(pairs[3:])
    assert found[3].probabilities == pytest.approx(alone.probabilities)


def test_a_refined_alignment_says_that_it_looked_at_the_text_around() -> None:
    model = classifier(Transport(wm.Exactly(2)), *terms(8, 0.7))
    assert model.aligner.contextual
    checked = model.aligner.align(*PAIRS[0], wm.Exactly(2)).verify(model.aligner)
    assert checked.contextual
    assert not checked.score_holds
    assert "The costs look at the deleted text too." in str(checked)


@pytest.mark.parametrize(("hidden", "novelty"), [(8, 0.0), (0, 0.7), (4, 0.25)])
def test_a_refined_model_comes_back_from_its_folder(hidden: int, novelty: float, tmp_path: Path) -> None:
    model = classifier(Transport(wm.Exactly(2)), *terms(hidden, novelty)).eval()
    model.save_pretrained(tmp_path)
    again = wm.Classifier.from_pretrained(tmp_path, encoder=VECTORS)
    assert again.aligner.cost == model.aligner.cost
    assert [one.probabilities for one in again.predict(PAIRS)] == [one.probabilities for one in model.predict(PAIRS)]


def marked_after_the_nearest(count: int) -> tuple[list[Pair], wm.Precomputed]:
    """Pairs of one span and seven, of which one is near it; what people marked is the one after that."""
    chance, generator = random.Random(0), torch.Generator().manual_seed(0)
    pairs: list[Pair] = []
    vectors: dict[str, torch.Tensor] = {}
    for number in range(count):
        left, right, near = torch.randn(16, generator=generator), torch.randn(7, 16, generator=generator), number % 6
        right[near] = left + 0.3 * right[near]
        names = [f"{number}.{row}" for row in range(8)]
        vectors.update(zip(names, [left, *right], strict=True))
        text = joined(names[1:])
        marks = (text.spans[near + 1],)
        pairs.append(Pair(str(number), joined(names[:1]), text, chance.choice(["no", "yes"]), right_rationale=marks))
    return pairs, wm.Precomputed(vectors)


def chosen(model: wm.Classifier, pairs: Sequence[Pair]) -> float:
    alignments = model.aligner.align_many([(pair.left, pair.right) for pair in pairs], wm.Exactly(1))
    return fmean(
        f1({link.right for link in why.links}, {*(pair.right_rationale or ())})
        for why, pair in zip(alignments, pairs, strict=True)
    )


@pytest.mark.parametrize("refined", [True, False])
def test_only_what_reads_the_costs_around_learns_to_choose_the_span_after_the_nearest(refined: bool) -> None:
    pairs, encoder = marked_after_the_nearest(220)
    train, validation, test = pairs[:140], pairs[140:180], pairs[180:]
    torch.manual_seed(0)
    projected = Projected(encoder, 16, learned=not refined)
    cost = Cost(Cosine(), *([Refined(8)] if refined else []))
    rule = Transport(wm.Exactly(1), Temperature(0.1))
    model = wm.Classifier(wm.Aligner("line", projected, cost), rule, ["no", "yes"], hidden=8)
    assert chosen(model, test) < 0.1

    class ByLinks(ClassifyTask):
        def score(self) -> float:
            return chosen(model, validation)

    Fitting[Pair](ByLinks(model, validation, alpha=0.05), Schedule(25, batch=20, rate=0.02, patience=25)).run(train)
    agreement = chosen(model, test)
    assert agreement >= 0.9 if refined else agreement < 0.6
