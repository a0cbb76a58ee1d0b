"""From texts to alignments: what is asked for, what is given back, and nothing from one pair in another."""

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import whymatch as wm
from whymatch.cost import Base, Calibrated, Cosine, Cost, Dot, Evidence, Order, WholeText
from whymatch.matching.aligner import THRESHOLDS
from whymatch.matching.defaults import word_aligner
from whymatch.text.document import joined

NAMES = [f"piece {number}" for number in range(40)]
GENERATOR = torch.Generator().manual_seed(0)
VECTORS = wm.Precomputed({name: torch.randn(6, generator=GENERATOR) for name in NAMES})
ALIGNER = wm.Aligner("line", VECTORS, below=0.7)

texts = st.lists(st.sampled_from(NAMES), min_size=1, max_size=9, unique=True)
constraints = st.one_of(
    st.just(wm.Balanced()),
    st.builds(wm.Exactly, st.integers(1, 9)),
    st.builds(wm.OneTo, st.integers(1, 4)),
    st.builds(wm.UpTo, st.integers(1, 4), st.floats(0.1, 1.5)),
)


@given(left=texts, right=texts, constraint=constraints)
def test_an_alignment_keeps_its_promises(left: list[str], right: list[str], constraint: wm.Constraint) -> None:
    (why,) = ALIGNER.align_many([(left, right)], constraint, clip=True)
    shorter, longer = sorted([len(left), len(right)])
    fewest, most = why.constraint.links(shorter, longer)
    assert fewest <= len(why.links) <= most
    assert why.certificate.links == len(why.links)
    assert why.certificate.clipped == (why.constraint != constraint)
    assert abs(why.certificate.gap) <= 1e-12
    for link in why.links:
        assert link.texts == (left[link.at[0]], right[link.at[1]])
        assert why.left.text[link.left.start : link.left.end] == link.texts[0]
        assert why.right.text[link.right.start : link.right.end] == link.texts[1]
        assert link.share == pytest.approx(link.mass * (why.zero - link.cost))
    assert why.score == pytest.approx(sum(link.share for link in why.links))
    assert [link.share for link in why.links] == sorted((link.share for link in why.links), reverse=True)
    for side, document in (("left", why.left), ("right", why.right)):
        kept, alone = why.sides(side)  # type: ignore[arg-type]
        assert sorted([*kept, *alone]) == list(document.spans)


@given(left=texts, right=texts, constraint=constraints)
def test_links_and_score_hold_on_the_rationale_alone(
    left: list[str], right: list[str], constraint: wm.Constraint
) -> None:
    (why,) = ALIGNER.align_many([(left, right)], constraint, clip=True)
    checked = why.verify(ALIGNER)
    assert checked.holds, checked
    assert checked.on_rationale == pytest.approx(why.score)


@given(left=texts, right=texts, constraint=constraints)
def test_links_alone_are_the_same_links(left: list[str], right: list[str], constraint: wm.Constraint) -> None:
    (why,) = ALIGNER.align_many([(left, right)], constraint, clip=True)
    (alone,) = ALIGNER.align_many([(left, right)], constraint, clip=True, links_only=True)
    assert (alone.links, alone.score, alone.certificate.gap) == (why.links, why.score, why.certificate.gap)
    assert alone.path == ()
    assert alone.certificate.margin in (None, math.inf)


@given(left=texts, right=texts)
def test_the_path_is_exactly_k_for_every_k(left: list[str], right: list[str]) -> None:
    why = ALIGNER.align(left, right)
    assert len(why.path) == min(len(left), len(right))
    for step in why.path:
        exact = ALIGNER.align(left, right, wm.Exactly(step.k))
        assert len(step.links) == step.k
        assert step.score == pytest.approx(exact.score)
    adds = [step.adds for step in why.path]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(adds))


@given(left=texts, right=texts, constraint=constraints)
def test_swapping_the_texts_swaps_the_links(left: list[str], right: list[str], constraint: wm.Constraint) -> None:
    why, turned = ALIGNER.align_many([(left, right), (right, left)], constraint, clip=True)
    same_size = len(left) == len(right)  # then the left text counts as the shorter one
    if not (same_size and isinstance(constraint, wm.UpTo)) and why.certificate.margin > 1e-9:  # type: ignore[operator]
        assert {link.at for link in why.links} == {link.at[::-1] for link in turned.links}
        assert why.score == pytest.approx(turned.score)


@settings(max_examples=30)
@given(pairs=st.lists(st.tuples(texts, texts), max_size=6), constraint=constraints)
def test_a_batch_gives_what_each_pair_gives(
    pairs: list[tuple[list[str], list[str]]], constraint: wm.Constraint
) -> None:
    together = ALIGNER.outcomes(pairs, constraint)
    for pair, found in zip(pairs, together, strict=True):
        (alone,) = ALIGNER.outcomes([pair], constraint)
        assert str(found) == str(alone) if isinstance(found, ValueError) else found == alone


@given(seed=st.integers(0, 10**6), dimensions=st.sampled_from([1, 3, 64, 384]))
def test_many_pairs_are_compared_as_each_alone_to_the_bit(seed: int, dimensions: int) -> None:
    draw = np.random.default_rng(seed)
    aligner = wm.Aligner("line", wm.Precomputed({"a": [1.0]}), Cost(Cosine(), WholeText(1.0), Calibrated(), Order(0.4)))
    texts = [aligner.split(["a", "b", "c", "d"][: draw.integers(5)]) for _ in range(40)]
    pairs = [*pairwise(texts)]
    vectors = [draw.standard_normal((len(text), dimensions)).astype(np.float32) for text in texts]
    together = aligner.compare(pairs, [*pairwise(vectors)])
    for pair, pair_vectors, cost in zip(pairs, pairwise(vectors), together, strict=True):
        (alone,) = aligner.compare([pair], [pair_vectors])
        assert np.array_equal(cost, alone)


def test_a_pair_that_the_constraint_refuses_is_not_encoded() -> None:
    class Refusing(Context):
        def encode(self, texts: list[str], spans: list[list[wm.Span]]) -> list[np.ndarray]:
            raise AssertionError(f"encoded {texts}")

    unused = wm.Aligner("line", Refusing())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs 5 or more spans"):
        unused.align(NAMES[:2], NAMES[:3], wm.Exactly(5))


def test_vectors_of_other_sizes_are_an_error_of_their_pair() -> None:
    texts = [(joined(NAMES[:2]), joined(NAMES[2:4]))] * 2
    vectors = [(np.ones((2, 3)), np.ones((2, 3))), (np.ones((2, 3)), np.ones((2, 4)))]
    good, bad = ALIGNER.solve(texts, vectors, wm.Exactly(1))
    assert not isinstance(good, ValueError)
    assert "3 and 4 dimensions" in str(bad)


def test_a_cost_that_is_given_is_the_cost_that_is_used() -> None:
    given = Cost(Cosine(), Calibrated())
    assert wm.Aligner("word", VECTORS, given).cost == given


def test_verify_refuses_another_aligner() -> None:
    why = ALIGNER.align(NAMES[:5], NAMES[5:9])
    with pytest.raises(ValueError, match="by precomputed with cosine distance"):
        why.verify(wm.Aligner("line", VECTORS, "dot"))


def test_a_pair_that_cannot_be_aligned_leaves_the_others_alone() -> None:
    pairs = [(NAMES[:3], NAMES[3:6]), (NAMES[:1], NAMES[3:6]), ("piece 1\n\ud800", "piece 2"), (NAMES[:2], NAMES[2:4])]
    good, short, broken, other = ALIGNER.outcomes(pairs, wm.Exactly(2))
    assert isinstance(short, ValueError)
    assert "needs 2 or more spans" in str(short)
    assert isinstance(broken, ValueError)
    assert "surrogate" in str(broken)
    assert good == ALIGNER.align(*pairs[0], wm.Exactly(2))
    assert other == ALIGNER.align(*pairs[3], wm.Exactly(2))
    with pytest.raises(ValueError, match=r"Pair 1: .*needs 2"):
        ALIGNER.align_many(pairs, wm.Exactly(2))


def test_k_too_large_raises_unless_it_may_be_clipped() -> None:
    with pytest.raises(ValueError, match=r"Exactly\(k=3\) needs 3 or more spans on both sides, got 2 and 5"):
        ALIGNER.align(NAMES[:2], NAMES[:5], wm.Exactly(3))
    (clipped,) = ALIGNER.align_many([(NAMES[:2], NAMES[:5])], wm.Exactly(3), clip=True)
    assert clipped.constraint == wm.Exactly(2)
    assert clipped.certificate.clipped
    assert "fewer than asked" in str(clipped.certificate)


@pytest.mark.parametrize("constraint", [None, wm.Exactly(2), wm.OneTo(1), wm.Balanced()])
def test_an_empty_text_has_nothing_in_common(constraint: wm.Constraint | None) -> None:
    (why,) = ALIGNER.align_many([("", "piece 1")], constraint, clip=True)
    assert (why.score, why.links, why.path) == (0, (), ())
    assert why.unmatched == ((), why.right.spans)
    assert why.verify(ALIGNER)


def test_without_a_constraint_the_threshold_is_the_aligners_and_it_says_so() -> None:
    why = ALIGNER.align(NAMES[:5], NAMES[5:9])
    assert why.constraint == wm.UpTo(1, below=0.7)
    assert why.by_default
    assert "the default" in str(why)
    assert not ALIGNER.align(NAMES[:5], NAMES[5:9], wm.UpTo(1, below=0.7)).by_default
    with pytest.raises(ValueError, match=r"No threshold is known for precomputed with cosine distance.*below"):
        wm.Aligner("line", VECTORS).align(NAMES[:5], NAMES[5:9])


def test_nothing_in_common_scores_zero_and_the_same_scores_highest() -> None:
    axes = wm.Precomputed({name: torch.eye(4)[i] for i, name in enumerate(NAMES[:4])})
    aligner = wm.Aligner("line", axes)
    assert aligner.align(NAMES[:2], NAMES[2:4], wm.Exactly(2)).score == 0
    assert aligner.align(NAMES[:2], NAMES[:2], wm.Exactly(2)).score == 1
    assert aligner.align(NAMES[:2], NAMES[1:4], wm.UpTo(1, below=0.5)).score == pytest.approx(0.25)


def test_too_many_spans_are_refused_by_the_limit() -> None:
    with pytest.raises(ValueError, match="the limit is 3"):
        wm.Aligner("line", VECTORS, limit=3).align(NAMES[:4], NAMES[:2], wm.Exactly(1))


def test_vectors_with_nan_are_an_error_of_their_pair() -> None:
    vectors = wm.Precomputed({"good": [1.0, 0.0], "fine": [0.5, 1.0], "bad": [math.nan, 1.0]})
    aligner = wm.Aligner("line", vectors)
    good, bad = aligner.outcomes([(["good"], ["fine"]), (["good"], ["bad"])], wm.Exactly(1))
    assert isinstance(good, wm.Alignment)
    assert isinstance(bad, ValueError)


def test_other_things_are_no_constraint() -> None:
    with pytest.raises(TypeError, match="A constraint is"):
        ALIGNER.align(NAMES[:2], NAMES[:2], "exactly:2")  # type: ignore[arg-type]


def test_missing_and_unequal_vectors_are_named() -> None:
    with pytest.raises(ValueError, match="no vector for 'piece 99'"):
        ALIGNER.align(["piece 99"], NAMES[:2], wm.Exactly(1))
    with pytest.raises(ValueError, match="one length"):
        wm.Precomputed({"a": [1.0], "b": [1.0, 2.0]})


def test_calibrated_costs_do_not_let_one_span_attract_all() -> None:
    generator = torch.Generator().manual_seed(1)
    common = torch.randn(8, generator=generator)
    left = torch.randn(4, 8, generator=generator) + common
    right = left + 0.4 * torch.randn(4, 8, generator=generator)
    right = torch.cat([right, (left.mean(dim=0, keepdim=True))])  # like everything on the left
    calibrated = Cost(Cosine(), Calibrated())
    raw, fair = Cost(Cosine())(left, right), calibrated(left, right)
    assert ((raw[:, 4] - raw.diagonal()) < (fair[:, 4] - fair.diagonal())).all()
    torch.testing.assert_close(calibrated(right, left), fair.mT)
    assert ((fair >= 0) & (fair <= 1)).all()


def test_only_costs_and_encoders_that_look_at_a_span_alone_are_faithful_to_text() -> None:
    assert not ALIGNER.contextual
    assert wm.Aligner("line", VECTORS, "calibrated").contextual
    assert wm.Aligner("line", VECTORS, Cost(Cosine(), Order(0.1))).contextual
    by_products = wm.Aligner("line", VECTORS, "dot")
    assert by_products.align(NAMES[:2], NAMES[2:5], wm.Exactly(2)).verify(by_products)


def test_a_cost_that_looks_at_deleted_text_says_what_changed() -> None:
    aligner = wm.Aligner("line", VECTORS, Cost(Cosine(), Calibrated(0.5)))
    checked = aligner.align(NAMES[:7], NAMES[7:15], wm.Exactly(2)).verify(aligner)
    assert not checked
    assert "The costs look at the deleted text too" in str(checked)


def test_order_prefers_links_in_the_order_of_the_texts() -> None:
    same = wm.Precomputed({name: [1.0, 0.0] for name in NAMES})
    why = wm.Aligner("line", same, Cost(Cosine(), Order(0.1))).align(NAMES[:4], NAMES[4:8], wm.OneTo(1))
    assert why.to_pharaoh() == "0-0 1-1 2-2 3-3"


QUESTION = "My wifi drops every few minutes. I use a Dell laptop. I reinstalled the driver. Thanks for any help!"
ANSWER = "Hello everybody. The wireless connection keeps failing. Installing the driver again did not help."


@pytest.fixture(scope="module")
def aligner(minilm: Path) -> wm.Aligner:
    return wm.Aligner()


def test_related_sentences_are_linked_by_default(aligner: wm.Aligner) -> None:
    why = aligner.align(QUESTION, ANSWER)
    assert why.to_pharaoh() == "0-1 2-2"
    assert why.verify()
    assert [why.left.text[a:b] for a, b in why.unmatched.left][-1] == "Thanks for any help!"


def test_zoom_links_the_words_inside_a_link(aligner: wm.Aligner) -> None:
    why = aligner.align(QUESTION, ANSWER, wm.Exactly(1))
    assert why.links[0].texts == ("I reinstalled the driver.", "Installing the driver again did not help.")
    inside = {link.texts for link in why.zoom(0).links}
    assert ("driver", "driver") in inside
    assert ("reinstalled", "Installing") in inside
    assert why.zoom(why.links[0]) == why.zoom(0)


def test_neighbours_do_not_change_links(aligner: wm.Aligner) -> None:
    alone = aligner.align(QUESTION, ANSWER, wm.Exactly(2))
    pairs = [("Short.", "x " * 200), (QUESTION, ANSWER), ("A. B. C.", "D. E. F.")]
    among = aligner.align_many(pairs, wm.Exactly(2), clip=True)[1]
    assert alone.certificate.margin is not None
    assert alone.certificate.margin > 1e-4
    assert [link.at for link in alone.links] == [link.at for link in among.links]
    assert alone.score == pytest.approx(among.score, rel=1e-5)


def test_evidence_needs_no_threshold_and_words_inside_links_have_one_of_their_own(aligner: wm.Aligner) -> None:
    assert aligner.cost == Cost(Cosine(), Evidence())
    assert aligner.resolve(None) == wm.UpTo(1, below=0)
    assert wm.Aligner(below=-3).resolve(wm.UpTo(2)) == wm.UpTo(2, below=-3)
    assert (wm.Aligner("word").cost, wm.Aligner("word").below) == (aligner.cost, 0)
    words = word_aligner()
    assert words.below == THRESHOLDS[words.encoder.name, words.cost]
    assert wm.Aligner(cost="cosine").below is None


def test_a_page_holds_the_words_inside_links(aligner: wm.Aligner, tmp_path: Path) -> None:
    why = aligner.align(QUESTION, ANSWER)
    file = tmp_path / "why.html"
    assert why.to_html(file) == file.read_text(encoding="utf-8")
    at = {tuple(words["at"]) for words in why.picture()["words"]}
    assert {link.at for link in why.links} <= at


class Context:
    """An encoder for which one piece looks different when it stands alone in its text."""

    name, contextual = "context", True

    def encode(self, texts: list[str], spans: list[list[wm.Span]]) -> list[np.ndarray]:
        return [
            np.eye(4, dtype=np.float32)[[0 if len(some) > 1 else len(text) % 3 + 1] * len(some)]
            for text, some in zip(texts, spans, strict=True)
        ]


def test_verify_says_so_where_no_link_is_found_again() -> None:
    in_context = wm.Aligner("line", Context(), "cosine")  # type: ignore[arg-type]
    short = in_context.align("a\nb", "aa", wm.UpTo(1, below=1.5))
    assert short.links
    checked = replace(short, constraint=wm.UpTo(1, below=0.5)).verify(in_context)
    assert not checked
    assert "1 of the links is not found again" in str(checked)


def test_a_large_neighbour_leaves_a_margin_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whymatch.matching.solving.MAX_MARGIN_WORK", 100)
    pair = NAMES[:2], NAMES[2:4]
    alone = ALIGNER.align(*pair, wm.OneTo(1))
    beside, large = ALIGNER.align_many([pair, (NAMES[:20], NAMES[20:40])], wm.OneTo(1))
    assert alone.certificate == beside.certificate
    assert alone.certificate.margin is not None
    assert large.certificate.margin is None


def test_what_is_no_pair_of_texts_loses_no_other() -> None:
    good = NAMES[:2], NAMES[2:4]
    pairs: list[tuple[object, ...]] = [good, (None, "piece 1"), ("piece 1",), (["unknown"], NAMES[:2]), good]
    found = ALIGNER.outcomes(pairs, wm.Exactly(1))  # type: ignore[arg-type]
    assert [isinstance(one, ValueError) for one in found] == [False, True, True, True, False]
    assert "got NoneType" in str(found[1])
    assert "no vector for 'unknown'" in str(found[3])


def test_an_encoder_that_loses_a_row_is_told() -> None:
    class Short(Context):
        def encode(self, texts: list[str], spans: list[list[wm.Span]]) -> list[np.ndarray]:
            return [np.ones((len(some) - 1, 3), np.float32) for some in spans]

    with pytest.raises(TypeError, match=r"context must give one row per span, gave \(1, 3\) for 2 spans"):
        wm.Aligner("line", Short()).align(NAMES[:2], NAMES[:2], wm.Exactly(1))  # type: ignore[arg-type]


def test_parts_can_be_named(minilm: Path) -> None:
    assert wm.Aligner("word", cost="calibrated").cost == Cost(Cosine(), Calibrated(), Order(0.4))
    assert wm.Aligner(cost="dot").cost == Cost(Dot())
    assert wm.Aligner(encode=str(minilm)).encoder.name == minilm.name
    with pytest.raises(ValueError, match="got 'nearness'"):
        wm.Aligner(cost="nearness")


def test_words_that_come_split_are_words_of_a_sentence() -> None:
    words = wm.Aligner("word", VECTORS, "cosine")
    assert words.align(["piece 1", "piece 2"], ["piece 3"], wm.Exactly(1)).left.text == "piece 1 piece 2"
    assert not words.zooms
    assert not ALIGNER.zooms


def test_costs_that_forbid_everything_are_an_error_of_their_pair() -> None:
    class Forbid(Base):
        name, words, neutral = "forbid", "forbidden products", 1.0

        def compared(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
            return np.where(left @ right.mT < 0.5, math.inf, 1 - left @ right.mT)

    forbid = Cost(Forbid())
    vectors = wm.Precomputed({"a": [1.0, 0.0], "b": [1.0, 0.1], "c": [0.0, 1.0]})
    near, far = wm.Aligner("line", vectors, forbid).outcomes([(["a"], ["b"]), (["a"], ["c"])], wm.Exactly(1))
    assert isinstance(near, wm.Alignment)
    assert isinstance(far, ValueError)
    assert len(wm.Aligner("line", vectors, forbid).align(["a", "b"], ["b", "c"], wm.UpTo(1, below=1)).path) == 1
