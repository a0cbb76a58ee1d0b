"""What evidence means: p-values follow from random pairs, probabilities from labelled ones."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from whymatch.matching.significance import RANDOM_PAIRS, Calibration, Chance, logistic, random_pairs

chances = st.builds(
    Chance,
    st.floats(0, 20),
    st.tuples(st.floats(-5, 1), st.floats(-0.5, 0.5), st.floats(-0.5, 0.5)),
    st.floats(0.1, 20),
    st.floats(0.5, 20),
)
sizes = st.integers(1, 60)


@given(chance=chances, left=sizes, right=sizes, bits=st.lists(st.floats(-100, 1e5), min_size=2, max_size=10))
def test_p_values_lie_above_0_and_fall_with_the_evidence(
    chance: Chance, left: int, right: int, bits: list[float]
) -> None:
    values = [chance.p_value(one, left, right) for one in sorted(bits)]
    assert all(0 < value <= 1 for value in values)
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(values))
    assert values == [chance.p_value(one, right, left) for one in sorted(bits)]


@given(chance=chances, left=sizes, right=sizes)
def test_p_values_are_continuous_at_the_threshold(chance: Chance, left: int, right: int) -> None:
    below, at, above = (chance.p_value(chance.threshold + step, left, right) for step in (-1e-9, 0, 1e-9))
    assert below == pytest.approx(at, rel=1e-6)
    assert above == pytest.approx(at, rel=1e-6)


@given(chance=chances)
def test_chance_comes_back_from_its_dictionary(chance: Chance) -> None:
    assert Chance.from_dict(chance.to_dict()) == chance


@pytest.mark.parametrize(
    "values",
    [
        None,
        {},
        {"threshold": float("nan"), "exceeded": [0, 0, 0], "excess": 1, "halving": 1},
        {"threshold": 10**400, "exceeded": [0, 0, 0], "excess": 1, "halving": 1},
        {"threshold": 1, "exceeded": [0, 0], "excess": 1, "halving": 1},
        {"threshold": 1, "exceeded": [0, 0, 0], "excess": 0, "halving": 1},
        {"threshold": 1, "exceeded": [0, 0, 0], "excess": 1, "halving": 0},
        {"threshold": 1, "exceeded": [0, 0, 0], "excess": 1},
    ],
)
def test_what_is_no_chance_is_refused(values: Any) -> None:
    with pytest.raises(ValueError, match=r"What chance gives"):
        Chance.from_dict(values)


@pytest.mark.parametrize(
    "values",
    [
        {"slope": 10**400},
        {"fitted_on": "\ud800"},
        {"slope": None},
        {"offset": float("inf")},
        {"share": 1},
        {"general": "false"},
    ],
)
def test_what_is_no_calibration_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="A calibration has"):
        Calibration.from_dict({"slope": 1.0, "offset": 0.0, "fitted_on": "x", "share": 0.5} | values)


@pytest.mark.parametrize("texts", [0, 1, 4, 20, 65, 200, 5000])
def test_random_pairs_are_drawn_once_each_and_lie_in_a_fold(texts: int) -> None:
    folds = random_pairs(texts)
    pairs = [pair for _, own in folds for pair in own]
    assert len(set(pairs)) == len(pairs) <= 1.5 * RANDOM_PAIRS
    assert all(0 <= left < right < texts for left, right in pairs)
    assert all({left, right} <= {*fold} for fold, own in folds for left, right in own)
    assert all(len(fold) <= -(-texts // 4) for fold, _ in folds), "three quarters are left to measure against"
    assert len(pairs) >= min(RANDOM_PAIRS, texts * (texts - 4) // 8)
    assert folds == random_pairs(texts)


@settings(max_examples=20)
@given(mean=st.floats(0.5, 8), shift=st.floats(0, 20), seed=st.integers(0, 10**6))
def test_a_fit_finds_the_tail_that_samples_were_drawn_from(mean: float, shift: float, seed: int) -> None:
    draw = np.random.default_rng(seed)
    lengths = draw.integers(1, 20, size=(20_000, 2))
    fitted = Chance.fit(shift + draw.exponential(mean, size=20_000), lengths)
    for shorter in (2, 8):
        for p_value in (0.1, 0.01, 1e-4):
            bits = shift - mean * np.log(p_value)
            found = fitted.p_value(bits, shorter, 19)
            assert np.log(found) == pytest.approx(np.log(p_value), rel=0.15, abs=0.15)


def test_p_values_of_random_pairs_are_the_shares_that_reach_them() -> None:
    draw = np.random.default_rng(0)
    lengths = draw.integers(1, 20, size=(RANDOM_PAIRS, 2))
    bits = draw.gumbel(-2, 2, size=RANDOM_PAIRS) + 0.2 * np.log2(lengths.min(axis=1))
    fitted = Chance.fit(bits, lengths)
    p_values = np.exp2(-fitted.surprise(bits, lengths))
    for level in (0.1, 0.03, 0.01):
        assert (p_values <= level).mean() == pytest.approx(level, rel=0.35)


@pytest.mark.parametrize("value", [-3.0, 0.0, 5.0])
def test_evidence_that_all_random_pairs_have_is_no_surprise(value: float) -> None:
    fitted = Chance.fit(np.full(500, value), np.full((500, 2), 3))
    assert fitted.p_value(value, 3, 3) > 0.4
    assert 1e-10 < fitted.p_value(max(0, value) + 10, 3, 3) < 0.05


def test_few_random_pairs_say_little_about_the_tail() -> None:
    draw = np.random.default_rng(0)
    for over in (0.0, 0.02):  # none above the threshold, and one a little above it
        bits = np.append(draw.uniform(-6, -1, size=189), over)
        assert Chance.fit(bits, np.full((190, 2), 3)).p_value(1 + over, 3, 3) > 1e-4


@settings(max_examples=20)
@given(st.floats(1, 8), st.floats(-10, 10), st.integers(0, 10**6))
def test_half_of_all_random_pairs_have_a_p_value_below_one_half(spread: float, shift: float, seed: int) -> None:
    bits = shift + spread * np.random.default_rng(seed).gumbel(size=2000)
    lengths = np.full((2000, 2), 3)
    p_values = np.exp2(-Chance.fit(bits, lengths, -np.inf).surprise(bits, lengths))
    assert (p_values <= 0.5).mean() == pytest.approx(0.5, abs=0.05)


def test_what_no_random_pair_has_is_no_rarer_than_one_in_as_many() -> None:
    fitted = Chance.fit(np.full(499, -3.0), np.full((499, 2), 3))
    assert fitted.p_value(0.0, 3, 3) == pytest.approx(1 / 500, rel=1e-3)


surprises = st.lists(st.floats(0, 1000), min_size=2, max_size=20)


@given(slope=st.floats(0.01, 5), offset=st.floats(-10, 10), surprise=surprises)
def test_probabilities_rise_with_surprise(slope: float, offset: float, surprise: list[float]) -> None:
    found = Calibration(slope, offset, "x").probability(np.array(sorted(surprise)))
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()


@settings(max_examples=20)
@given(slope=st.floats(0.5, 3), centre=st.floats(1, 4), seed=st.integers(0, 10**6))
def test_calibration_recovers_a_known_curve(slope: float, centre: float, seed: int) -> None:
    draw = np.random.default_rng(seed)
    known = Calibration(slope, -slope * centre, "known")
    surprise = draw.uniform(0, 2 * centre, size=20_000) ** 2
    matches = draw.random(20_000) < known.probability(surprise)
    share = float(matches.mean())
    fitted = Calibration.fit(np.exp2(-surprise), matches, "drawn", share=share)
    assert fitted.slope == pytest.approx(slope, rel=0.1)
    np.testing.assert_allclose(fitted.probability(surprise), known.probability(surprise), atol=0.03)
    assert fitted.fitted_on == "drawn"


def test_matches_weigh_as_much_as_is_asked_or_as_many_as_there_are() -> None:
    draw = np.random.default_rng(0)
    few, many = draw.uniform(0, 60, size=100), draw.uniform(0, 20, size=900)
    surprise, matches = np.concatenate([few, many]), np.arange(1000) < 100
    repeated = np.concatenate([np.tile(few, 9), many]), np.arange(1800) < 900
    one = Calibration.fit(np.exp2(-surprise), matches, "x", share=0.5)
    same = Calibration.fit(np.exp2(-repeated[0]), repeated[1], "x")
    weighed = Calibration.fit(np.exp2(-surprise), matches, "x", weights=np.where(matches, 3.0, 0.5), share=0.5)
    as_they_are = Calibration.fit(np.exp2(-surprise), matches, "x")
    assert as_they_are.probability(surprise).mean() == pytest.approx(0.1, abs=0.005)
    assert as_they_are.offset < one.offset
    assert (one.slope, one.offset) == pytest.approx((same.slope, same.offset))
    assert (one.slope, one.offset) == pytest.approx((weighed.slope, weighed.offset))


@pytest.mark.parametrize(
    ("p_values", "matches", "message"),
    [
        ([0.1, 0.2], [True, True], "pairs that match and pairs that do not"),
        ([0.1, 0.2], [False, False], "pairs that match and pairs that do not"),
        ([], [], "pairs that match and pairs that do not"),
        ([0.1, 0.2, 0.3], [True, False], "one label each"),
        ([0.9, 0.001], [True, False], "no more evidence"),
        ([0.5, 0.5], [True, False], "no more evidence"),
    ],
)
def test_pairs_that_say_nothing_are_refused(p_values: list[float], matches: list[bool], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Calibration.fit(np.array(p_values), np.array(matches), "x")


def test_p_values_of_zero_and_separated_pairs_can_be_calibrated() -> None:
    fitted = Calibration.fit(np.array([0.0, 1e-300, 0.5, 1.0]), np.array([True, True, False, False]), "x")
    probabilities = fitted.probability(np.array([0.0, 1000.0]))
    assert probabilities[0] < 0.1
    assert probabilities[1] > 0.9
    assert np.isfinite([fitted.slope, fitted.offset]).all()


@settings(max_examples=30)
@given(rows=st.integers(20, 200), features=st.integers(1, 4), ridge=st.floats(1e-3, 1), seed=st.integers(0, 10**6))
def test_logistic_regression_agrees_with_scikit_learn(rows: int, features: int, ridge: float, seed: int) -> None:
    draw = np.random.default_rng(seed)
    inputs = np.concatenate([np.ones((rows, 1)), draw.standard_normal((rows, features))], axis=1)
    targets = (draw.random(rows) < 0.4).astype(float)
    targets[:2] = 0, 1
    weights = draw.random(rows) + 0.1
    found = logistic(inputs, targets, weights, ridge=ridge)
    # scikit-learn sums the losses where we take their mean, and leaves its own constant without a penalty.
    model = LogisticRegression(C=1 / (ridge * weights.sum()), tol=1e-10, max_iter=1000)
    model.fit(inputs[:, 1:], targets, sample_weight=weights)
    np.testing.assert_allclose(found, [*model.intercept_, *model.coef_[0]], atol=1e-4)
