"""Agreement of rationales with what people marked: by hand, against scikit-learn, and by laws of thresholds."""

from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whymatch.evaluation.rationales import Judged, agreement, best_threshold, f1, tokens_in
from whymatch.text.spans import Span, lines, words


def by_words(text: str, chosen: str, marked: str, selection: tuple[float, ...] | None = None) -> Judged:
    """A text of one-letter words that are its spans, and letters that are chosen and marked."""
    spans = tuple(words(text))
    picked, gold = (tuple(span for span in spans if text[span.start] in letters) for letters in (chosen, marked))
    return Judged(text, spans, picked, gold, selection or tuple(float(span in picked) for span in spans))


def test_f1_is_a_mean_over_texts_and_micro_f1_is_over_tokens() -> None:
    judged = [
        by_words("a b c d", "ab", "abc"),  # 2 of 2 are right, 2 of 3 are measures: 0.8
        by_words("a b c d e f", "a", "b"),  # 0
        by_words("a b", "", "ab"),  # nothing is chosen: 0
    ]
    measures = agreement(judged)
    assert measures["F1"]["mean"] == pytest.approx(0.8 / 3)
    assert measures["micro F1"]["mean"] == pytest.approx(2 * 2 / (3 + 6))
    assert measures["% of tokens"]["mean"] == pytest.approx(100 * 3 / 12)
    for name in ("F1", "micro F1", "% of tokens", "IoU F1", "AUPRC"):
        assert measures[name]["low"] <= measures[name]["mean"] <= measures[name]["high"]


def test_a_text_in_which_nothing_is_marked_counts_as_zero() -> None:
    good = by_words("a b c", "a", "a")
    assert agreement([good])["F1"]["mean"] == 1
    for chosen in ("ab", ""):
        measures = agreement([good, by_words("a b c d", chosen, "")])
        assert measures["F1"]["mean"] == 0.5
        assert measures["micro F1"]["mean"] == pytest.approx(2 / (2 + len(chosen)))
        assert measures["AUPRC"]["mean"] == 1  # which is not defined there


def test_without_any_mark_there_is_no_area_and_no_agreement() -> None:
    measures = agreement([by_words("a b", "a", "")])
    assert [measures[name]["mean"] for name in ("F1", "micro F1", "IoU F1")] == [0, 0, 0]
    assert "AUPRC" not in measures
    assert agreement([by_words("a b", "", "")])["micro F1"]["mean"] == 0


def test_spans_agree_by_erasers_mean_precision_and_mean_recall() -> None:
    text = "a b c d\ne f g h\ni j"
    first, second, third = lines(text)
    half = Span(first.start, first.start + 3)  # a b: half of a line
    one = Judged(text, (first, second, third), (first, second), (half,), (1, 1, 0))  # precision 1/2, recall 1
    two = Judged(text, (first, second, third), (third,), (first, third), (0, 0, 1))  # precision 1, recall 1/2
    none = Judged(text, (first, second, third), (), (second,), (0, 0, 0))  # no precision, recall 0
    assert agreement([one, two])["IoU F1"]["mean"] == pytest.approx(0.75)
    precision, recall = 0.75, 0.5
    assert agreement([one, two, none])["IoU F1"]["mean"] == pytest.approx(2 * precision * recall / (precision + recall))
    assert agreement([none])["IoU F1"]["mean"] == 0


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.booleans()), min_size=1, max_size=12, unique_by=lambda one: one[0]))
def test_the_area_is_that_of_scikit_learn(tokens: list[tuple[int, bool]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    text = " ".join("abcdefghijkl"[: len(tokens)])
    marks, scores = [marked for _, marked in tokens], tuple(score / 10**6 for score, _ in tokens)
    letters = "".join(letter for letter, marked in zip(text.split(), marks, strict=True) if marked)
    measures = agreement([by_words(text, "", letters, scores)])
    if letters:
        precision, recall, _ = metrics.precision_recall_curve(marks, scores)
        assert measures["AUPRC"]["mean"] == pytest.approx(metrics.auc(recall, precision))
    else:
        assert "AUPRC" not in measures


def test_the_area_is_a_mean_over_texts_with_marks() -> None:
    best, worst = (by_words("a b", "a", "a", scores) for scores in ((0.9, 0.1), (0.1, 0.9)))
    low = agreement([worst])["AUPRC"]["mean"]
    assert low < 1
    assert agreement([best, worst])["AUPRC"]["mean"] == pytest.approx((1 + low) / 2)


def test_a_token_is_selected_as_its_strongest_span_and_one_outside_as_zero() -> None:
    text = "a bc d e"
    judged = Judged(text, (Span(0, 3), Span(3, 4), Span(5, 6)), (), (), (0.25, 0.75, 0.5))  # b and c share a token
    assert judged.scores.tolist() == [0.25, 0.75, 0.5, 0]


def test_what_is_selected_exactly_as_strongly_as_the_threshold_is_left_out() -> None:
    judged = by_words("a b c d", "", "cd", (0.125, 0.25, 0.5, 0.5))
    for threshold, share, expected in ((0.5, 0, 0), (0.25, 50, 1), (0.125, 75, 0.8), (0.0, 100, 2 / 3)):
        measures = agreement([judged], threshold)
        assert measures["δ"] == threshold
        assert measures["% of tokens above δ"]["mean"] == share
        assert measures["F1 above δ"]["mean"] == pytest.approx(expected)
        assert measures["micro F1 above δ"]["mean"] == pytest.approx(expected)
    assert not [name for name in agreement([judged]) if "above" in name]


selections = st.lists(
    st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=8), min_size=1, max_size=6
)


def judged_by(rows: list[list[tuple[int, bool]]]) -> list[Judged]:
    measures = []
    for row in rows:
        text = " ".join("abcdefgh"[: len(row)])
        marked = "".join(letter for letter, (_, mark) in zip(text.split(), row, strict=True) if mark)
        measures.append(by_words(text, "", marked, tuple(score / 8 for score, _ in row)))
    return measures


def f1_above(judged: list[Judged], threshold: float) -> float:
    """The mean F1 of what is selected more strongly than the threshold."""
    above = [{token for token, score in enumerate(text.scores) if score > threshold} for text in judged]
    return fmean(f1(tokens, text.gold) for tokens, text in zip(above, judged, strict=True))


@given(selections)
def test_the_best_threshold_is_no_worse_than_any_other(rows: list[list[tuple[int, bool]]]) -> None:
    judged = judged_by(rows)
    best = f1_above(judged, best_threshold(judged))
    scores = sorted({score / 8 for row in rows for score, _ in row})
    others = [-1.0, *scores, *((a + b) / 2 for a, b in pairwise(scores)), 2.0]
    assert all(best >= f1_above(judged, other) - 1e-12 for other in others)


def test_the_best_threshold_finds_one_token_in_a_thousand() -> None:
    text = " ".join(f"w{number}" for number in range(1000))
    spans = tuple(words(text))
    rare = Judged(text, spans, (), spans[-1:], tuple(number / 1000 for number in range(1000)))
    assert f1_above([rare], best_threshold([rare])) == 1


texts = st.text(alphabet="ab \n", max_size=12)


@st.composite
def some_judged(draw: st.DrawFn) -> Judged:
    text = draw(texts)

    def spans() -> tuple[Span, ...]:
        edges = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6, unique=True)))
        return tuple(Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False))

    selected = spans()
    return Judged(text, selected, spans(), spans(), tuple(draw(st.floats(0, 1)) for _ in selected))


@given(some_judged(), some_judged())
def test_two_texts_as_one_have_the_tokens_of_both(left: Judged, right: Judged) -> None:
    both, shift = left.joined(right), len(left.text.split())

    def union(of_left: set[int], of_right: set[int]) -> set[int]:
        return of_left | {token + shift for token in of_right}

    assert both.text.split() == left.text.split() + right.text.split()
    assert both.gold == union(left.gold, right.gold)
    assert tokens_in(both.text, both.chosen) == union(*(tokens_in(one.text, one.chosen) for one in (left, right)))
    assert both.scores.tolist() == [*left.scores, *right.scores]
    assert [both.text[a:b] for a, b in both.spans] == [one.text[a:b] for one in (left, right) for a, b in one.spans]
