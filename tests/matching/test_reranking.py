"""Documents are ranked by a model that aligns, each by itself, and what cannot be aligned comes last."""

from math import log2

import pytest

import whymatch as wm
from whymatch.matching.reranking import Reranker

QUERY = "The cat slept all day. It rained."
TEXTS = ["Prices rose in March.", "A cat was asleep for the whole day.", "猫が寝ていた。", "Rain fell. The cat slept."]


def test_an_aligner_ranks_by_p_values_and_leaves_what_it_cannot_read_for_the_end(minilm: object) -> None:
    ranked = Reranker().rank(QUERY, TEXTS)
    assert [number for number, _ in ranked] == [3, 1, 0, 2]
    for number, one in ranked[:3]:
        why = wm.Aligner().align(QUERY, TEXTS[number])
        assert why.p_value is not None
        assert one.score == -log2(why.p_value)
        assert (one.probability, one.links, one.error) == (why.probability, why.links, None)
    (_, last) = ranked[-1]
    assert last.score is None
    assert "Japanese" in str(last.error)


def test_a_score_does_not_depend_on_the_texts_beside_it_and_the_aligner_stays_as_it_was(minilm: object) -> None:
    aligner = wm.Aligner()
    many = [f"Item {number} costs {number} euros. It is heavy. It is old. It is blue." for number in range(220)]
    alone, together = Reranker(aligner).scored([(QUERY, TEXTS[1])]), Reranker(aligner).rank(QUERY, [*many, TEXTS[1]])
    assert together[0] == (220, alone[0])
    assert aligner.judge.background is None


def test_a_ranker_ranks_as_it_does_itself(minilm: object) -> None:
    texts = [text for text in TEXTS if text.isascii()]
    for rule in (wm.Exactly(1), wm.learning.Attend(1.0)):
        ranker = wm.Ranker(wm.Aligner(cost="cosine"), rule)
        ranker.calibration = 2.0, 0.5
        expected = [(one["corpus_id"], one["score"], one["probability"]) for one in ranker.rank(QUERY, texts)]
        ranked = Reranker(ranker).rank(QUERY, texts)
        assert [number for number, *_ in expected] == [number for number, _ in ranked]
        assert [one.score for _, one in ranked] == pytest.approx([score for _, score, _ in expected], abs=1e-6)
        assert [one.probability for _, one in ranked] == pytest.approx([chance for *_, chance in expected], abs=1e-6)


def test_costs_without_evidence_rank_by_scores_under_a_constraint(minilm: object) -> None:
    aligner = wm.Aligner(cost="cosine")
    with pytest.raises(ValueError, match="No threshold is known"):
        Reranker(aligner)
    for (number, one), score in zip(Reranker(aligner, wm.Exactly(1)).rank(QUERY, TEXTS[:2]), (1, 0), strict=True):
        assert number == score
        assert one.score == aligner.align(QUERY, TEXTS[number], wm.Exactly(1)).score


def test_what_is_no_model_is_refused(minilm: object) -> None:
    with pytest.raises(TypeError, match="an Aligner or a Ranker, got str"):
        Reranker("minilm")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="constraint of its own"):
        Reranker(wm.Ranker(wm.Aligner(cost="cosine"), wm.Exactly(1)), wm.Exactly(1))
