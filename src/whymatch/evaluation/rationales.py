"""Rationales by ERASER's measures (DeYoung et al. 2020): do they agree with people, do predictions rest on them?

Agreement is counted in tokens between blanks, which ERASER marks.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from whymatch.evaluation.intervals import bootstrap
from whymatch.evaluation.ranking import ties
from whymatch.text.document import Document
from whymatch.text.spans import Span, token_ranges

TextPair: TypeAlias = tuple[Document, Document]


def tokens_in(text: str, spans: Iterable[Span]) -> set[int]:
    """The numbers of the tokens that are in any of the spans, wholly or in part.

    >>> sorted(tokens_in("the cat sat on the mat", [Span(4, 11)]))
    [1, 2]
    """
    return {token for first, last in token_ranges(text, spans) for token in range(first, last)}


def f1(predicted: Set[object], gold: Set[object]) -> float:
    """The harmonic mean of precision and recall; 0 where nothing is predicted or nothing is gold.

    >>> f1({1, 2, 3}, {2, 3, 4, 5})
    0.5714285714285714
    """
    return 2 * len(predicted & gold) / (len(predicted) + len(gold)) if predicted and gold else 0.0


def iou_f1(
    predicted: Sequence[Span], gold: Sequence[Span], text: str, least: float = 0.5
) -> tuple[float | None, float | None]:
    """ERASER's precision and recall of spans: one counts where it overlaps a gold one by `least` of their union.

    Spans are compared as sets of tokens, each set once. Precision is None where nothing is predicted, recall where
    nothing is gold. Several predictions can match one gold span; where ERASER's recall would then exceed 1, ours is 1.

    >>> iou_f1([Span(0, 7), Span(12, 14)], [Span(0, 11)], "the cat sat on")
    (0.5, 1.0)
    """
    chosen, marked = ({frozenset(tokens_in(text, [span])) for span in spans} for spans in (predicted, gold))
    hits = sum(max((len(a & b) / max(len(a | b), 1) for b in marked), default=0.0) >= least for a in chosen)
    return hits / len(chosen) if chosen else None, min(1.0, hits / len(marked)) if marked else None


def mean_f1(values: Sequence[tuple[float | None, float | None]] | np.ndarray) -> float:
    """The F1 of the mean precision and the mean recall, from rows of both, (instances, 2).

    Each mean is over the instances where it is defined; None and NaN say that it is not. 0 where it is for none.

    >>> mean_f1([(1.0, 0.5), (None, 0.0)])
    0.4
    """
    defined = [column[~np.isnan(column)] for column in np.asarray(values, dtype=float).T]
    precision, recall = (float(column.mean()) if len(column) else 0.0 for column in defined)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def auprc(scores: Sequence[float], gold: Set[int]) -> float:
    """The area under the precision-recall curve of the tokens' scores, by trapezoids, as ERASER measures it.

    >>> auprc([0.9, 0.1, 0.8], {0, 2})
    1.0
    """
    seen = hits = 0
    area, recall_before, precision_before = 0.0, 0.0, 1.0
    for good, size in ties(scores, [token in gold for token in range(len(scores))]):
        seen, hits = seen + size, hits + good
        recall, precision = hits / len(gold), hits / seen
        area += (recall - recall_before) * (precision + precision_before) / 2
        recall_before, precision_before = recall, precision
    return area


@dataclass(frozen=True)
class Judged:
    """One text, the spans that were chosen in it, those that people marked, and how strongly each span was selected."""

    text: str
    spans: tuple[Span, ...]
    chosen: tuple[Span, ...]
    marked: tuple[Span, ...]
    selection: tuple[float, ...]

    @property
    def scores(self) -> np.ndarray:
        """How strongly each token is selected, (tokens,): as the strongest span that it is in, 0 if it is in none."""
        scores = np.zeros(len(self.text.split()))
        for (first, last), score in zip(token_ranges(self.text, self.spans), self.selection, strict=True):
            scores[first:last] = np.maximum(scores[first:last], score)
        return scores

    @property
    def gold(self) -> set[int]:
        """The numbers of the tokens that people marked."""
        return tokens_in(self.text, self.marked)

    def joined(self, other: "Judged") -> "Judged":
        """Two texts as one."""
        shift = len(self.text) + 1
        moved = [
            tuple(Span(start + shift, end + shift) for start, end in spans)
            for spans in (other.spans, other.chosen, other.marked)
        ]
        return Judged(
            f"{self.text}\n{other.text}",
            self.spans + moved[0],
            self.chosen + moved[1],
            self.marked + moved[2],
            self.selection + other.selection,
        )


def agreement(judged: Sequence[Judged], threshold: float | None = None) -> dict[str, Any]:
    """Agreement over texts by metric: the mean and its confidence interval, as `bootstrap` has them.

    Token F1 (the mean over texts, 0 where nothing is marked; and micro), ERASER's IoU F1 and AUPRC, and the percentage
    of tokens that are chosen. With a threshold δ, also F1 and percentage of the tokens selected more strongly than δ.
    """
    gold = [text.gold for text in judged]
    values = _token_measures(judged, [tokens_in(text.text, text.chosen) for text in judged], gold)
    overlaps = np.array([iou_f1(text.chosen, text.marked, text.text) for text in judged], dtype=float)  # None is NaN
    values["IoU F1"] = bootstrap(overlaps, mean_f1)._asdict()
    areas = [auprc(text.scores.tolist(), tokens) for text, tokens in zip(judged, gold, strict=True) if tokens]
    if areas:
        values["AUPRC"] = bootstrap(areas)._asdict()
    if threshold is not None:
        above = [set(np.flatnonzero(text.scores > threshold).tolist()) for text in judged]
        values |= {"δ": threshold}
        values |= {f"{name} above δ": value for name, value in _token_measures(judged, above, gold).items()}
    return values


def _token_measures(judged: Sequence[Judged], chosen: Sequence[set[int]], gold: Sequence[set[int]]) -> dict[str, Any]:
    def ratio(part: float, whole: float) -> float:
        return float(part / max(1, whole))

    counts = [  # shared, chosen, marked and all tokens of each text
        (len(a & b), len(a), len(b), len(text.text.split())) for text, a, b in zip(judged, chosen, gold, strict=True)
    ]
    return {
        "F1": bootstrap([f1(a, b) for a, b in zip(chosen, gold, strict=True)])._asdict(),
        "micro F1": bootstrap(counts, lambda rows: ratio(2 * rows[:, 0].sum(), rows[:, 1:3].sum()))._asdict(),
        "% of tokens": bootstrap(counts, lambda rows: ratio(100 * rows[:, 1].sum(), rows[:, 3].sum()))._asdict(),
    }


def best_threshold(judged: Sequence[Judged], candidates: int = 1000) -> float:
    """The threshold on how strongly a token is selected above which the mean F1 is largest; -1 selects everything.

    It is one of the scores, or of so many quantiles of them, closer to each other where little is selected.
    """
    scores, gold = [text.scores for text in judged], [text.gold for text in judged]
    thresholds = np.unique(np.concatenate([[-1.0], *scores]))
    if len(thresholds) > candidates:
        shares = [*np.linspace(0, 1, candidates // 2), *(1 - np.logspace(-2, -7, candidates // 2))]
        thresholds = np.unique([-1.0, *np.quantile(np.concatenate(scores), shares)])
    total = np.zeros(len(thresholds))
    for values, marked in zip(scores, gold, strict=True):
        if marked:
            above = values[None] > thresholds[:, None]  # (thresholds, tokens)
            shared = above[:, sorted(marked)].sum(axis=1)
            total += 2 * shared / (above.sum(axis=1) + len(marked))
    return float(thresholds[total.argmax()])


class Faithfulness(NamedTuple):
    """ERASER's two measures for each pair: how far the probability of the predicted label falls."""

    comprehensiveness: list[float]
    """When the rationale is deleted: high is good."""
    sufficiency: list[float]
    """When all but the rationale is deleted: low is good."""


def faithfulness(
    pairs: Sequence[TextPair],
    kept: Sequence[tuple[Sequence[int], Sequence[int]]],
    before: Sequence[float],
    predict: Callable[[Sequence[TextPair]], list[float]],
) -> Faithfulness:
    """Measures predictions against their rationales; what is left of a text is encoded and aligned again.

    Args:
        pairs: the texts.
        kept: the rationale of each pair, as the numbers of its left and of its right spans.
        before: the probability of each pair's predicted label.
        predict: the probabilities of the same labels for pairs of which something is deleted.
    """
    if not pairs:
        raise ValueError("There is nothing to measure: no pairs.")
    alone = [(left.keep(a), right.keep(b)) for (left, right), (a, b) in zip(pairs, kept, strict=True)]
    without = [(_without(left, a), _without(right, b)) for (left, right), (a, b) in zip(pairs, kept, strict=True)]
    falls = [[p - q for p, q in zip(before, predict(changed), strict=True)] for changed in (without, alone)]
    return Faithfulness(*falls)


def _without(text: Document, numbers: Sequence[int]) -> Document:
    return text.keep(sorted(set(range(len(text))) - set(numbers)))
