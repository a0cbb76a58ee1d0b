"""For scikit-learn: a classifier of pairs of texts, which works in pipelines, grid searches and cross-validation.

Needs the extra `sklearn`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from whymatch.cost import Background, Cost
from whymatch.matching.aligner import Aligner
from whymatch.matching.alignment import Alignment
from whymatch.matching.frames import Alignments
from whymatch.text.encoders.own import GivenEncoder
from whymatch.text.spans import Splitter


class PairAligner(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Says whether two texts match, with calibrated probabilities, and shows why.

    `X` has a row per pair and a column per text: a list of pairs, an array (pairs, 2), or a data frame of two columns.
    `y` has one of two labels per pair; the second in their order is that of a match, such as 1 of 0 and 1. `fit` learns
    from them how probable a match is by its evidence; what encodes and aligns is not trained. Evidence is measured
    against the texts of the pairs that it was fitted to, if they are many, or else against the background that ships,
    so that a prediction does not depend on which other pairs are predicted.

        >>> from whymatch.sklearn import PairAligner
        >>> left = ["The cat slept.", "It rained all day.", "The bus was late.", "He plays chess.", "Lunch is at noon."]
        >>> right = ["A cat was asleep.", "Rain fell.", "The bus came late.", "Chess is his game.", "We eat at noon."]
        >>> pairs = [*zip(left, right), *zip(left, right[1:] + right[:1])]
        >>> model = PairAligner().fit(pairs, [1] * 5 + [0] * 5)
        >>> model.predict([("My dog barks.", "The dog is barking."), ("My dog barks.", "Prices rose.")]).tolist()
        [1, 0]

    Args:
        spans: as of `whymatch.Aligner`.
        encode: as of `whymatch.Aligner`.
        cost: as of `whymatch.Aligner`; it must be evidence.
        background: as of `whymatch.Aligner`.
        share: the share of all pairs that match where it is used, if it is another than among those it is fitted to.

    Attributes:
        classes_: both labels.
        aligner_: the aligner, with its background and calibration.
        n_features_in_: 2.
        feature_names_in_: the names of the columns, of a data frame.
    """

    def __init__(
        self,
        spans: str | Splitter = "sentence",
        encode: str | Path | GivenEncoder | None = None,
        cost: str | Cost | None = None,
        *,
        background: Background | list[str] | tuple[str, ...] | None = None,
        share: float | None = None,
    ) -> None:
        self.spans = spans
        self.encode = encode
        self.cost = cost
        self.background = background
        self.share = share

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learns how probable a match is by its evidence, from labelled pairs, five or more of each label.

        Raises:
            ValueError: if X has no two texts in a row, y not two labels, a pair cannot be aligned, or pairs that match
                have no more evidence than others.
        """
        X, y = validate_data(self, X, y, dtype=object, ensure_all_finite=False)  # noqa: N806
        check_classification_targets(y)
        self.classes_, places = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            kind = type_of_target(y, input_name="y", raise_unknown=True)
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(self.classes_) < 2:
            raise ValueError(f"Two classes are needed, pairs that match and others; y has one class: {self.classes_}.")
        pairs = _pairs(X)
        aligner = Aligner(self.spans, self.encode, self.cost, background=self.background)
        split = [(aligner.split(left), aligner.split(right)) for left, right in pairs]
        aligner.judge.fix_background(split, "the pairs that it was fitted to")
        name = f"{len(pairs):,} pairs"
        aligner.calibrate(split, [bool(place) for place in places], name, share=self.share)
        self.aligner_ = aligner
        return self

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """(pairs, 2): the probabilities of both labels, in the order of `classes_`.

        Raises:
            ValueError: if a pair cannot be aligned, or has a text in a language that the encoder does not read.
        """
        matches = []
        for row, why in enumerate(self.explain(X)):
            if why.probability is None:
                raise ValueError(f"Row {row} of X has no probability: {' '.join(why.notes) or 'a text has no spans.'}")
            matches.append(why.probability)
        return np.stack([1 - np.array(matches), np.array(matches)], axis=1)

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """(pairs): the label that is more probable."""
        probabilities = self.predict_proba(X)
        return self.classes_[(probabilities[:, 1] > 0.5).astype(int)]

    def explain(self, X: Any) -> Alignments:  # noqa: N803
        """The alignment of each pair: its links, its verdict, and all else that `Aligner.align_many` gives.

        Raises:
            ValueError: if a pair cannot be aligned.
        """
        check_is_fitted(self)
        pairs = _pairs(validate_data(self, X, dtype=object, ensure_all_finite=False, reset=False))
        alignments = list[Alignment]()
        for row, outcome in enumerate(self.aligner_.outcomes(pairs, links_only=True)):
            if isinstance(outcome, ValueError):
                raise ValueError(f"Row {row} of X: {outcome}")
            alignments.append(outcome)
        return Alignments(alignments)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.string = True
        tags.input_tags.allow_nan = False
        return tags


def _pairs(rows: np.ndarray) -> Sequence[tuple[str, str]]:
    """The rows of an array (pairs, 2) as pairs of texts; raises ValueError unless they are."""
    if rows.shape[1] != 2:
        raise ValueError(f"X has a row per pair and two columns, one per text; got {rows.shape[1]} feature(s).")
    for row, pair in enumerate(rows.tolist()):
        for side, text in zip(("first", "second"), pair, strict=True):
            if not isinstance(text, str):
                raise ValueError(f"The {side} column of row {row} of X is to be a text, got {text!r:.40}.")
    return [(left, right) for left, right in rows.tolist()]
