"""Agreement with human rationales, against scikit-learn."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from whymatch.evaluation.rationales import auprc, f1, iou_f1, mean_f1
from whymatch.text.spans import Span

sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
tokens = st.sets(st.integers(0, 9))


@given(tokens, tokens)
def test_f1_is_that_of_scikit_learn(predicted: set[int], gold: set[int]) -> None:
    marks = [[int(number in chosen) for number in range(10)] for chosen in (gold, predicted)]
    assert f1(predicted, gold) == pytest.approx(sklearn.f1_score(*marks, zero_division=0))


@given(st.lists(st.tuples(st.integers(-3, 3).map(float), st.booleans()), min_size=1, max_size=10))
def test_auprc_is_that_of_scikit_learn_by_trapezoids(tokens: list[tuple[float, bool]]) -> None:
    gold = {number for number, (_, marked) in enumerate(tokens) if marked}
    assume(gold)
    marks, scores = [marked for _, marked in tokens], [score for score, _ in tokens]
    precision, recall, _ = sklearn.precision_recall_curve(marks, scores)
    assert auprc(scores, gold) == pytest.approx(sklearn.auc(recall, precision))


def test_spans_count_where_they_overlap_by_half() -> None:
    text = "a b c d e f"
    gold = [Span(0, 7)]  # a b c d
    assert iou_f1([Span(0, 3)], gold, text) == (1.0, 1.0)
    assert iou_f1([Span(0, 1)], gold, text) == (0.0, 0.0)
    assert iou_f1([Span(0, 7), Span(8, 9)], gold, text) == (0.5, 1.0)
    assert iou_f1([], gold, text) == (None, 0.0)
    assert iou_f1([Span(0, 3)], [], text) == (0.0, None)
    assert iou_f1([Span(1, 2)], [Span(1, 2)], text) == (0.0, 0.0)  # no token in it
    assert mean_f1([(0.5, 1.0), (0.0, 0.0)]) == pytest.approx(2 * 0.25 * 0.5 / 0.75)
    assert mean_f1([(0.5, 1.0), (None, 0.0)]) == pytest.approx(0.5)
    assert mean_f1([(0.0, 0.0)]) == 0
