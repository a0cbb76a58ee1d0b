"""Agreement with human rationales, against scikit-learn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.evaluation.rationales import f1

sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
tokens = st.sets(st.integers(0, 9))


@given(tokens, tokens)
def test_f1_is_that_of_scikit_learn(predicted: set[int], gold: set[int]) -> None:
    marks = [[int(number in chosen) for number in range(10)] for chosen in (gold, predicted)]
    assert f1(predicted, gold) == pytest.approx(sklearn.f1_score(*marks, zero_division=0))
