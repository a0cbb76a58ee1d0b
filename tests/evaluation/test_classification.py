"""Labels, against scikit-learn; and intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.evaluation.classification import macro_f1
from whymatch.evaluation.intervals import bootstrap

sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
labels = st.sampled_from("abc")


@given(st.lists(st.tuples(labels, labels), min_size=1))
def test_macro_f1_is_that_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    predicted, gold = [a for a, _ in pairs], [b for _, b in pairs]
    assert macro_f1(predicted, gold) == pytest.approx(sklearn.f1_score(gold, predicted, average="macro"))


def test_nothing_has_no_metric() -> None:
    with pytest.raises(ValueError, match="got 0 and 0"):
        macro_f1([], [])
    with pytest.raises(ValueError, match="got 1 and 2"):
        macro_f1(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="no values"):
        bootstrap([])


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_an_interval_holds_its_mean_and_shrinks_with_data(values: list[float]) -> None:
    mean, low, high = bootstrap(values, resamples=200)
    assert min(values) - 1e-12 <= low <= high <= max(values) + 1e-12
    wide, narrow = bootstrap(values, resamples=200), bootstrap(values * 50, resamples=200)
    assert narrow.high - narrow.low <= wide.high - wide.low + 1e-12
    assert mean == pytest.approx(sum(values) / len(values), abs=1e-12)
    assert bootstrap(values, resamples=200) == wide
