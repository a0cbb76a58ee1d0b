"""How well the rationales of a whole split agree with what people marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whymatch.evaluation.intervals import bootstrap
from whymatch.evaluation.rationales import auprc, f1, iou_f1, tokens_in
from whymatch.text.spans import Span, token_ranges


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
        """How strongly each token is selected: as the strongest span that it is in, 0 if it is in none."""
        scores = np.zeros(len(self.text.split()))
        for (first, last), score in zip(token_ranges(self.text, self.spans), self.selection, strict=True):
            scores[first:last] = np.maximum(scores[first:last], score)
        return scores

    def joined(self, other: "Judged") -> "Judged":
        """Two texts as one."""
        shift = len(self.text) + 1

        def moved(spans: tuple[Span, ...]) -> tuple[Span, ...]:
            return tuple(Span(start + shift, end + shift) for start, end in spans)

        return Judged(
            f"{self.text}\n{other.text}",
            self.spans + moved(other.spans),
            self.chosen + moved(other.chosen),
            self.marked + moved(other.marked),
            self.selection + other.selection,
        )

    @property
    def gold(self) -> set[int]:
        return tokens_in(self.text, self.marked)


def agreement(judged: Sequence[Judged], threshold: float | None = None) -> dict[str, Any]:
    """Token F1 (mean over texts, 0 where nothing is marked; and micro), ERASER's IoU F1 and AUPRC, how much is chosen.

    With a threshold δ, also the F1 and the share of the tokens that are selected more strongly than that.
    """
    gold = [one.gold for one in judged]
    found = measures(judged, [tokens_in(one.text, one.chosen) for one in judged], gold)
    spans = np.array([iou_f1(one.chosen, one.marked, one.text) for one in judged], dtype=float)  # None becomes NaN
    found["IoU F1"] = bootstrap(spans, f1_of_means)._asdict()
    areas = [auprc(one.scores.tolist(), tokens) for one, tokens in zip(judged, gold, strict=True) if tokens]
    if areas:
        found["AUPRC"] = bootstrap(areas)._asdict()
    if threshold is not None:
        above = [set(np.flatnonzero(one.scores > threshold).tolist()) for one in judged]
        found |= {"δ": threshold}
        found |= {f"{name} above δ": value for name, value in measures(judged, above, gold).items()}
    return found


def measures(judged: Sequence[Judged], chosen: Sequence[set[int]], gold: Sequence[set[int]]) -> dict[str, Any]:
    counts = [
        (len(a & b), len(a), len(b), len(one.text.split())) for one, a, b in zip(judged, chosen, gold, strict=True)
    ]
    return {
        "F1": bootstrap([f1(a, b) for a, b in zip(chosen, gold, strict=True)])._asdict(),
        "micro F1": bootstrap(counts, micro_f1)._asdict(),
        "% of tokens": bootstrap(counts, share_chosen)._asdict(),
    }


def micro_f1(counts: np.ndarray) -> float:
    """From rows of shared, chosen, marked and all tokens."""
    shared, chosen, marked, _ = counts.sum(axis=0)
    return float(2 * shared / max(1, chosen + marked))


def share_chosen(counts: np.ndarray) -> float:
    _, chosen, _, tokens = counts.sum(axis=0)
    return float(100 * chosen / max(1, tokens))


def f1_of_means(sides: np.ndarray) -> float:
    """As `mean_f1`, from rows of precision and recall, NaN where one is not defined; 0 where there is none at all."""
    defined = [side[~np.isnan(side)] for side in sides.T]
    precision, recall = (side.mean() if len(side) else 0.0 for side in defined)
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def best_threshold(judged: Sequence[Judged], candidates: int = 1000) -> float:
    """The threshold on how strongly a token is selected above which the mean F1 is largest; -1 selects everything.

    It is one of the scores, or of so many quantiles of them, closer to each other where little is selected.
    """
    scores, gold = [one.scores for one in judged], [one.gold for one in judged]
    tried = np.unique(np.concatenate([[-1.0], *scores]))
    if len(tried) > candidates:
        shares = [*np.linspace(0, 1, candidates // 2), *(1 - np.logspace(-2, -7, candidates // 2))]
        tried = np.unique([-1.0, *np.quantile(np.concatenate(scores), shares)])
    total = np.zeros(len(tried))
    for values, marked in zip(scores, gold, strict=True):
        if marked:
            above = values[None] > tried[:, None]
            shared = above[:, sorted(marked)].sum(axis=1)
            total += 2 * shared / (above.sum(axis=1) + len(marked))
    return float(tried[total.argmax()])
