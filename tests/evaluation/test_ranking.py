"""Ranking metrics, against scikit-learn and against every order of ties."""

from collections.abc import Callable, Sequence
from itertools import permutations
from statistics import fmean

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from whymatch.evaluation.ranking import auc, average_precision, precision_at_1, reciprocal_rank

sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
Metric = Callable[[Sequence[float], Sequence[bool]], float]
queries = st.lists(st.tuples(st.integers(-3, 3).map(float), st.booleans()), min_size=2, max_size=12)


@given(queries)
def test_auc_and_average_precision_are_those_of_scikit_learn(query: list[tuple[float, bool]]) -> None:
    scores, relevant = [s for s, _ in query], [r for _, r in query]
    assume(any(relevant) and not all(relevant))
    assert auc(scores, relevant) == pytest.approx(sklearn.roc_auc_score(relevant, scores))
    assert average_precision(scores, relevant) == pytest.approx(sklearn.average_precision_score(relevant, scores))


@pytest.mark.parametrize("metric", [reciprocal_rank, precision_at_1])
@given(query=st.lists(st.tuples(st.integers(-1, 1).map(float), st.booleans()), min_size=1, max_size=5))
def test_ties_count_as_the_mean_over_their_orders(metric: Metric, query: list[tuple[float, bool]]) -> None:
    assume(any(relevant for _, relevant in query))
    values = []
    for order in permutations(query):
        ranked = [relevant for _, relevant in sorted(order, key=lambda pair: -pair[0])]
        first = ranked.index(True)
        values.append(1 / (first + 1) if metric is reciprocal_rank else float(first == 0))
    assert metric([s for s, _ in query], [r for _, r in query]) == pytest.approx(fmean(values))


@pytest.mark.parametrize("metric", [auc, average_precision, reciprocal_rank, precision_at_1])
@given(query=queries, shift=st.integers(-100, 100))
def test_only_the_order_of_scores_counts(metric: Metric, query: list[tuple[float, bool]], shift: int) -> None:
    scores, relevant = [s for s, _ in query], [r for _, r in query]
    assume(any(relevant) and not all(relevant))
    assert metric([3 * s + shift for s in scores], relevant) == pytest.approx(metric(scores, relevant))
    assert 0 <= metric(scores, relevant) <= 1


@pytest.mark.parametrize("metric", [auc, average_precision, reciprocal_rank, precision_at_1])
def test_what_is_not_defined_raises(metric: Metric) -> None:
    with pytest.raises(ValueError, match="No document is relevant"):
        metric([1.0, 2.0], [False, False])
    with pytest.raises(ValueError, match="1 scores and 2 marks"):
        metric([1.0], [True, False])
    with pytest.raises(ValueError, match="NaN"):
        metric([float("nan"), 1.0], [True, False])
    with pytest.raises(ValueError, match="every document is relevant"):
        auc([1.0, 2.0], [True, True])
