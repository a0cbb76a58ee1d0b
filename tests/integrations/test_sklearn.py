"""scikit-learn: its own checks of estimators, pipelines and grid searches, on pairs of texts."""

import hashlib
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted, validate_data

import whymatch as wm
from whymatch.sklearn import PairAligner

ANCHOR, SIZE = "anchor", 16
LEFT = ["The cat slept.", "It rained all day.", "The bus was late.", "He plays chess.", "Lunch is at noon."]
RIGHT = ["A cat was asleep.", "Rain fell.", "The bus came late.", "Chess is his game.", "We eat at noon."]
PAIRS = [*zip(LEFT, RIGHT, strict=True), *zip(LEFT, RIGHT[1:] + RIGHT[:1], strict=True)]
LABELS = np.array([1] * 5 + [0] * 5)


def vectors(texts: list[str]) -> np.ndarray:
    """Numbers as vectors that are the closer to that of the anchor the larger they are; other texts anywhere."""
    rows = np.zeros((len(texts), SIZE))
    for row, text in zip(rows, texts, strict=True):
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])
        elsewhere = np.random.default_rng(seed).normal(size=SIZE)
        try:
            closeness = 0.5 + 0.5 * np.tanh(float(text))
        except ValueError:
            row[:] = np.eye(SIZE)[0] if text == ANCHOR else elsewhere
        else:
            row[1:] = np.sqrt(1 - closeness**2) * elsewhere[1:] / np.linalg.norm(elsewhere[1:])
            row[0] = closeness
    return rows.astype(np.float32)


class NumbersAsPairs(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Rows of numbers as pairs of texts: the anchor, and how far a row lies towards the second class."""

    def fit(self, X: Any, y: Any) -> "NumbersAsPairs":  # noqa: N803
        X, y = validate_data(self, X, y, dtype=np.float64)  # noqa: N806
        labels, places = np.unique(y, return_inverse=True)
        self.centre_, self.direction_ = X.mean(axis=0), np.zeros(X.shape[1])
        if len(labels) == 2:
            means = [X[places == place].mean(axis=0) for place in (0, 1)]
            self.centre_ = (means[0] + means[1]) / 2
            inside = np.cov((X - np.stack(means)[places]).T).reshape(X.shape[1], X.shape[1])
            self.direction_ = np.linalg.solve(inside + 1e-3 * np.eye(len(inside)), means[1] - means[0])
        return self

    def transform(self, X: Any) -> np.ndarray:  # noqa: N803
        check_is_fitted(self)
        values = (validate_data(self, X, dtype=np.float64, reset=False) - self.centre_) * self.direction_
        return np.array([(ANCHOR, f"{value:.6f}") for value in values.sum(axis=1)], dtype=object)


def of_numbers() -> Pipeline:
    """The classifier behind a step that makes pairs of texts of the numbers that scikit-learn's checks draw."""
    background = tuple("\n".join(f"word {number} {line}" for line in range(10)) for number in range(20))
    return make_pipeline(NumbersAsPairs(), PairAligner("line", vectors, background=background))


NUMBERS = "rows of numbers are no pairs of texts: checked behind a step that makes pairs of them"
ONLY_OF_TEXTS = dict.fromkeys(
    (
        "check_fit_score_takes_y",
        "check_estimators_overwrite_params",
        "check_dont_overwrite_parameters",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_estimators_dtypes",
        "check_dtype_object",
        "check_pipeline_consistency",
        "check_estimators_nan_inf",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_classifier_data_not_an_array",
        "check_classifiers_classes",
        "check_classifiers_train",
        "check_supervised_y_2d",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_dict_unchanged",
        "check_fit_idempotent",
        "check_fit_check_is_fitted",
        "check_n_features_in",
        "check_fit2d_predict1d",
    ),
    NUMBERS,
)


OF_PIPELINES = {
    "check_estimators_overwrite_params": "a pipeline fits its steps, which are its parameters",
    "check_dont_overwrite_parameters": "a pipeline fits its steps, which are its parameters",
    "check_fit2d_1feature": "three of its ten labels are of one kind, and five are needed",
}


CHECKS = [
    *estimator_checks_generator(PairAligner(), expected_failed_checks=ONLY_OF_TEXTS, mark="xfail"),
    *estimator_checks_generator(of_numbers(), expected_failed_checks=OF_PIPELINES, mark="xfail"),
]


def name_of(value: Any) -> str:
    """The name of a check or an estimator: the same in every process, unlike scikit-learn's own names of tests."""
    return getattr(getattr(value, "func", value), "__name__", type(value).__name__)


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=name_of)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.fixture(scope="module")
def fitted(minilm: object) -> PairAligner:
    return PairAligner().fit(PAIRS, LABELS)


def test_pairs_come_as_a_list_an_array_or_a_frame(fitted: PairAligner) -> None:
    expected = fitted.predict_proba(PAIRS)
    columns = dict(zip(("left", "right"), map(list, zip(*PAIRS, strict=True)), strict=True))
    for rows in (np.array(PAIRS), np.array(PAIRS, dtype=object)):
        assert np.array_equal(fitted.predict_proba(rows), expected)
    for make in (pd.DataFrame, pl.DataFrame):
        model = clone(fitted).fit(make(columns), LABELS)
        assert model.feature_names_in_.tolist() == ["left", "right"]
        assert np.array_equal(model.predict_proba(make(columns)), expected)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(make({"right": columns["right"], "left": columns["left"]}))


def test_probabilities_are_those_of_the_aligner_with_this_calibration(fitted: PairAligner) -> None:
    aligner = wm.Aligner()
    calibration = aligner.calibrate(PAIRS, LABELS.astype(bool).tolist())
    expected = [why.probability for why in wm.Aligner(calibration=calibration).align_many(PAIRS, links_only=True)]
    probabilities = fitted.predict_proba(PAIRS)
    assert probabilities[:, 1].tolist() == expected
    assert np.array_equal(probabilities.sum(axis=1), np.ones(len(PAIRS)))
    assert fitted.predict(PAIRS).tolist() == LABELS.tolist()
    assert [link.texts for link in fitted.explain(PAIRS[:1])[0].links] == [PAIRS[0]]


def test_labels_may_be_of_any_kind_and_the_second_is_that_of_a_match(minilm: object) -> None:
    model = PairAligner().fit(PAIRS, ["duplicate" if label else "different" for label in LABELS])
    assert model.classes_.tolist() == ["different", "duplicate"]
    assert model.predict(PAIRS[4:6]).tolist() == ["duplicate", "different"]


def test_fitting_sets_no_parameter_and_nothing_without_an_underscore(fitted: PairAligner) -> None:
    assert fitted.get_params() == PairAligner().get_params()
    assert all(name.endswith("_") for name in vars(fitted).keys() - fitted.get_params().keys())


def test_a_fitted_model_can_be_pickled(fitted: PairAligner) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(PAIRS), fitted.predict_proba(PAIRS))


def test_a_prediction_does_not_depend_on_the_pairs_beside_it(minilm: object) -> None:
    """Not even where the pairs are many: of many texts, `align_many` makes a background."""
    many = [
        (f"Item {n} is blue. It costs {n} euros. It is heavy. It is old.", f"A blue item. {n}.") for n in range(150)
    ]
    model = PairAligner(encode=words).fit(PAIRS, LABELS)
    assert np.array_equal(model.predict_proba([*PAIRS, *many])[: len(PAIRS)], model.predict_proba(PAIRS))


def words(texts: list[str]) -> np.ndarray:
    """Counts of words by their hashes."""
    rows = np.zeros((len(texts), 256), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in text.lower().strip(".").split():
            row[int.from_bytes(hashlib.sha256(word.encode()).digest()[:1])] += 1
    return rows


def test_a_grid_search_over_a_pipeline_chooses_and_cross_validation_predicts(minilm: object) -> None:
    pipeline = Pipeline([("lower", FunctionTransformer(lower)), ("aligner", PairAligner())])
    pairs, labels = PAIRS * 2, np.concatenate([LABELS, LABELS])
    search = GridSearchCV(pipeline, {"aligner__share": [None, 0.2], "aligner__cost": [None, "evidence"]}, cv=2)
    assert search.fit(np.array(pairs), labels).best_score_ == 1
    probabilities = cross_val_predict(PairAligner(), pairs, labels, cv=2, method="predict_proba")
    assert ((probabilities[:, 1] > 0.5) == labels).all()


def lower(rows: np.ndarray) -> np.ndarray:
    return np.char.lower(rows)


@pytest.mark.parametrize(
    ("pairs", "labels", "message"),
    [
        (PAIRS, [0, 1, 2] * 3 + [0], "Only binary classification is supported"),
        (PAIRS, [1] * 10, "y has one class"),
        (PAIRS[2:], LABELS[2:], "5 pairs or more of each kind"),
        ([(*pair, "more") for pair in PAIRS], LABELS, "two columns, one per text; got 3 feature"),
        ([(left, None) for left, _ in PAIRS], LABELS, "The second column of row 0 of X is to be a text, got None"),
        ([(left, float("nan")) for left, _ in PAIRS], LABELS, "is to be a text, got nan"),
        ([pair[::-1] for pair in PAIRS], 1 - LABELS, "no more evidence"),
    ],
)
def test_what_cannot_be_fitted_says_why(minilm: object, pairs: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PairAligner().fit(pairs, labels)


def test_costs_without_evidence_are_refused(minilm: object) -> None:
    with pytest.raises(ValueError, match="cosine distance has none"):
        PairAligner(cost="cosine").fit(PAIRS, LABELS)


def test_what_cannot_be_predicted_says_its_row(fitted: PairAligner) -> None:
    with pytest.raises(ValueError, match=r"Row 1 of X: .* cannot read the right text"):
        fitted.predict([PAIRS[0], ("The cat slept.", "猫が寝ていた。")])
    with pytest.raises(ValueError, match=r"Row 0 of X has no probability: .*German"):
        fitted.predict([("Die Katze hat den ganzen Tag geschlafen, und es regnete.", "The cat slept.")])
    with pytest.raises(NotFittedError):
        PairAligner().predict(PAIRS)
