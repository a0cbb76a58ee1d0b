"""How well the rationales of a whole split agree with what people marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whymatch.evaluation.intervals import bootstrap
from whymatch.evaluation.rationales import auprc, f1, iou_f1, mean_f1, tokens_in
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

    With a threshold, also the F1 and the share of the tokens that are selected more strongly than that.
    """
    chosen, gold = [tokens_in(one.text, one.chosen) for one in judged], [one.gold for one in judged]
    found = measures(judged, chosen, gold)
    spans = [iou_f1(one.chosen, one.marked, one.text) for one in judged]
    both = [any(side[i] is not None for side in spans) for i in (0, 1)]
    found["IoU F1"] = mean_f1(spans) if all(both) else 0.0
    areas = [auprc(one.scores.tolist(), tokens) for one, tokens in zip(judged, gold, strict=True) if tokens]
    if areas:
        found["AUPRC"] = bootstrap(areas)._asdict()
    if threshold is not None:
        above = [set(np.flatnonzero(one.scores > threshold).tolist()) for one in judged]
        found |= {f"{name} above {threshold:.3g}": value for name, value in measures(judged, above, gold).items()}
    return found


def measures(judged: Sequence[Judged], chosen: Sequence[set[int]], gold: Sequence[set[int]]) -> dict[str, Any]:
    shared = sum(len(a & b) for a, b in zip(chosen, gold, strict=True))
    total = sum(map(len, chosen)) + sum(map(len, gold))
    return {
        "F1": bootstrap([f1(a, b) for a, b in zip(chosen, gold, strict=True)])._asdict(),
        "micro F1": 2 * shared / total if total else 0.0,
        "% of tokens": 100 * sum(map(len, chosen)) / max(1, sum(len(one.text.split()) for one in judged)),
    }


def best_threshold(judged: Sequence[Judged], candidates: int = 100) -> float:
    """The threshold on how strongly a token is selected under which the mean F1 is largest."""
    scores, gold = [one.scores for one in judged], [one.gold for one in judged]
    tried = np.unique(np.quantile(np.concatenate(scores), np.linspace(0, 1, candidates, endpoint=False)))
    total = np.zeros(len(tried))
    for values, marked in zip(scores, gold, strict=True):
        if marked:
            above = values[None] > tried[:, None]
            shared = above[:, sorted(marked)].sum(axis=1)
            total += 2 * shared / (above.sum(axis=1) + len(marked))
    return float(tried[total.argmax()])
