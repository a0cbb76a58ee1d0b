"""What models make of split texts in batches, and all metrics of a trained model on one split."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, TypeAlias

import torch
from torch import Tensor

from whymatch.batching import MAX_CELLS_PER_PASS, Size, size_sorted
from whymatch.datasets.records import Pair, Query
from whymatch.evaluation.classification import macro_f1, macro_f1_of
from whymatch.evaluation.intervals import bootstrap
from whymatch.evaluation.ranking import auc, average_precision, precision_at_1, reciprocal_rank
from whymatch.evaluation.rationales import Judged, agreement, best_threshold, f1, faithfulness, tokens_in
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Attend
from whymatch.text.encoders import Pair as Texts

MAX_TEXT_PAIRS_PER_PASS = 128
RANKING_METRICS = {"AUC": auc, "MAP": average_precision, "MRR": reciprocal_rank, "P@1": precision_at_1}
SIDES = ("left", "right")
OnProgress: TypeAlias = Callable[[int], None]


def _silent(done: int) -> None:
    """Reports no progress."""


def passes(pairs: Sequence[Texts]) -> Iterator[list[int]]:
    """The numbers of pairs that fit in memory together, of similar sizes."""
    sizes = [Size(1, len(left), len(right)) for left, right in pairs]
    for rows in size_sorted(range(len(pairs)), sizes, MAX_CELLS_PER_PASS):
        for start in range(0, len(rows), MAX_TEXT_PAIRS_PER_PASS):
            yield rows[start : start + MAX_TEXT_PAIRS_PER_PASS]


def evaluate(
    model: Ranker | Classifier, records: Sequence[Any], *, deletions: bool = False, progress: OnProgress = _silent
) -> dict[str, Any]:
    """The metrics of the model's task; `deletions` adds what comes of deleting text, and takes three times as long.

    Raises:
        ValueError: if there are no records, or records of which no metric can be had.
    """
    if not records:
        raise ValueError("There is nothing to evaluate: the split is empty.")
    model.eval()
    with torch.no_grad():
        if isinstance(model, Ranker):
            if deletions:
                raise ValueError("Deletions are measured for classifiers: a ranker's score is the sum over its links.")
            return _evaluate_ranker(model, records, progress)
        return _evaluate_classifier(model, records, deletions, progress)


def scores_of(
    model: Ranker, queries: Sequence[Query], progress: OnProgress = _silent
) -> tuple[list[list[float]], list[int]]:
    """The scores of each query's documents, and the number of active pairs of spans in every pair of texts."""
    pairs = [(query.query, text) for query in queries for text in query.documents]
    scores, links, done = [0.0] * len(pairs), [0] * len(pairs), 0
    with torch.no_grad():
        for rows in passes(pairs):
            matched = model([pairs[row] for row in rows])
            active = model.rule.active(matched.cost, matched.sizes).sum(dim=(1, 2))
            for row, score, number in zip(rows, matched.score.tolist(), active.tolist(), strict=True):
                scores[row], links[row] = score, number
            done += len(rows)
            progress(done)
    remaining = iter(scores)
    return [[next(remaining) for _ in query.documents] for query in queries], links


def _evaluate_ranker(model: Ranker, queries: Sequence[Query], progress: OnProgress) -> dict[str, Any]:
    """The ranking metrics, each a mean over queries with its interval, and how many links the scores come from."""
    check_queries(queries)
    start = time.perf_counter()
    scores, links = scores_of(model, queries, progress)
    seconds = time.perf_counter() - start
    cells = [len(query.query) * len(text) for query in queries for text in query.documents]
    return {
        **ranking_metrics(queries, scores),
        **_sparsity(links, cells),
        "pairs a second": len(links) / seconds,
        "queries": len(queries),
    }


def check_queries(queries: Sequence[Query]) -> None:
    """Raises ValueError for a query of which no ranking metric can be had."""
    for query in queries:
        if not any(query.relevant) or all(query.relevant):
            raise ValueError(f"Query {query.id} needs a similar and a dissimilar document.")


def ranking_metrics(queries: Sequence[Query], scores: Sequence[Sequence[float]]) -> dict[str, Any]:
    """AUC, MAP, MRR and P@1 of the scores of each query's documents."""
    return {
        name: bootstrap([metric(own, query.relevant) for own, query in zip(scores, queries, strict=True)])._asdict()
        for name, metric in RANKING_METRICS.items()
    }


def _sparsity(active: Sequence[int], cells: Sequence[int]) -> dict[str, Any]:
    """How many pairs of spans are active, and what percentage of all pairs that is."""
    shares = [100 * number / max(1, possible) for number, possible in zip(active, cells, strict=True)]
    return {"active alignments": bootstrap(active)._asdict(), "% active": bootstrap(shares)._asdict()}


@dataclass(frozen=True)
class Selection:
    """The numbers of the spans of a pair that were chosen, left and right, and how strongly each one is selected."""

    spans: tuple[list[int], list[int]]
    strengths: tuple[list[float], list[float]]


@dataclass(frozen=True)
class Observation:
    """What a classifier made of one pair: probabilities, active pairs of spans, how strongly spans are selected."""

    probabilities: list[float]
    active: Tensor
    """(n, m), boolean"""
    strengths: tuple[list[float], list[float]]

    @property
    def best(self) -> int:
        """The number of the predicted label."""
        return max(range(len(self.probabilities)), key=self.probabilities.__getitem__)

    @property
    def selection(self) -> Selection:
        """The spans that are in an active pair."""
        left, right = (self.active.any(dim=1 - side).nonzero().flatten().tolist() for side in (0, 1))
        return Selection((left, right), self.strengths)


def observe(
    model: Classifier, pairs: Sequence[Texts], progress: OnProgress = _silent
) -> tuple[list[Observation], float]:
    """Each pair once through the model, and how many seconds the predictions took."""
    observations: dict[int, Observation] = {}
    seconds = 0.0
    for rows in passes(pairs):
        start = time.perf_counter()
        logits, matched = model.logits([pairs[row] for row in rows])
        probabilities = logits.float().softmax(dim=1).tolist()
        seconds += time.perf_counter() - start
        active = model.rule.active(matched.cost, matched.sizes).cpu()
        left, right = (side.tolist() for side in model.rule.selection(matched.cost, matched.sizes))
        for b, (row, (n, m)) in enumerate(zip(rows, matched.sizes.tolist(), strict=True)):
            observations[row] = Observation(probabilities[b], active[b, :n, :m], (left[b][:n], right[b][:m]))
        progress(len(observations))
    return [observations[row] for row in range(len(pairs))], seconds


def _evaluate_classifier(
    model: Classifier, pairs: Sequence[Pair], deletions: bool, progress: OnProgress
) -> dict[str, Any]:
    """Accuracy and macro F1, sparsity, and agreement with rationales where people marked them."""
    for pair in pairs:
        if pair.label not in model.labels:
            raise ValueError(f"Pair {pair.id} has the label {pair.label!r}; the model knows {', '.join(model.labels)}.")
    texts = [(pair.left, pair.right) for pair in pairs]
    observed, seconds = observe(model, texts, progress)
    metrics = _correctness(model, observed, pairs)
    commonest = max(Counter(pair.label for pair in pairs).values()) / len(pairs)
    on_active = metrics
    if isinstance(model.rule, Attend):  # what is left of it when it reads only what it calls aligned
        rule = model.rule
        model.rule = replace(rule, active_only=True)
        try:
            on_active = _correctness(model, observe(model, texts)[0], pairs)
        finally:
            model.rule = rule
    metrics |= {"accuracy of always the commonest label": commonest}
    metrics |= {f"{name}, active alignments only": value for name, value in on_active.items()}
    metrics |= _sparsity([int(one.active.sum()) for one in observed], [one.active.numel() for one in observed])
    metrics |= rationale_metrics(pairs, [one.selection for one in observed], model.thresholds)
    if deletions:
        metrics |= _deletion_metrics(model, texts, observed)
    return {**metrics, "pairs a second": len(pairs) / seconds, "pairs": len(pairs)}


def _correctness(model: Classifier, observed: Sequence[Observation], pairs: Sequence[Pair]) -> dict[str, Any]:
    labels = [(one.best, model.labels.index(str(pair.label))) for one, pair in zip(observed, pairs, strict=True)]
    correct = [float(predicted == gold) for predicted, gold in labels]
    return {"accuracy": bootstrap(correct)._asdict(), "macro F1": bootstrap(labels, macro_f1_of)._asdict()}


def validation_score(model: Classifier, pairs: Sequence[Pair], *, with_rationales: bool = False) -> float:
    """Macro F1, or its mean with the rationales' F1 in all texts that people marked."""
    of_labels, of_rationales = validation_scores(model, pairs)
    return fmean([of_labels, fmean(of_rationales.values())]) if of_rationales and with_rationales else of_labels


def validation_scores(model: Classifier, pairs: Sequence[Pair]) -> tuple[float, dict[int, float]]:
    """Macro F1, and the F1 of the rationale of each pair that people marked, by its number.

    Where pairs are marked on both sides, these count alone; else those that are marked on the right, or on the left.
    """
    observed, _ = observe(model, [(pair.left, pair.right) for pair in pairs])
    score = macro_f1([model.labels[one.best] for one in observed], [pair.label for pair in pairs])
    judged = _judge(pairs, [one.selection for one in observed])
    side = next((side for side in ("both", "right", "left") if side in judged), None)
    if side is None:
        return score, {}
    asked = [
        number
        for number, pair in enumerate(pairs)
        if (side == "left" or pair.right_rationale is not None) and (side == "right" or pair.left_rationale is not None)
    ]
    values = [f1(tokens_in(text.text, text.chosen), text.gold) for text in judged[side]]
    return score, dict(zip(asked, values, strict=True))


def rationale_metrics(
    pairs: Sequence[Pair], selections: Sequence[Selection], thresholds: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """The agreement of what was chosen with what people marked, for every side that they marked."""
    return {
        f"{side} rationale {name}": value
        for side, judged in _judge(pairs, selections).items()
        for name, value in agreement(judged, (thresholds or {}).get(side)).items()
    }


def _judge(pairs: Sequence[Pair], selections: Sequence[Selection]) -> dict[str, list[Judged]]:
    """What was chosen beside what was marked: in the left texts, in the right ones, and in both as one text."""
    judged: dict[str, list[Judged]] = {"left": [], "right": [], "both": []}
    for pair, selection in zip(pairs, selections, strict=True):
        sides = []
        for side, (text, marked) in enumerate(((pair.left, pair.left_rationale), (pair.right, pair.right_rationale))):
            if marked is not None:
                spans = tuple(text.spans[number] for number in selection.spans[side])
                sides.append(Judged(text.text, text.spans, spans, marked, tuple(selection.strengths[side])))
                judged[SIDES[side]].append(sides[-1])
        if len(sides) == 2:
            judged["both"].append(sides[0].joined(sides[1]))
    return {side: texts for side, texts in judged.items() if texts}


def choose_thresholds(model: Classifier, pairs: Sequence[Pair]) -> dict[str, float]:
    """How strongly a span must be selected to count as part of the rationale: what agrees best with people.

    For the left texts, for the right ones, and for both as one.
    """
    model.eval()
    with torch.no_grad():
        observed, _ = observe(model, [(pair.left, pair.right) for pair in pairs])
    judged = _judge(pairs, [one.selection for one in observed])
    return {side: best_threshold(texts) for side, texts in judged.items()}


def _deletion_metrics(model: Classifier, texts: Sequence[Texts], observed: Sequence[Observation]) -> dict[str, Any]:
    """ERASER's comprehensiveness and sufficiency."""

    def predict(changed: Sequence[Texts]) -> list[float]:
        again, _ = observe(model, changed)
        return [after.probabilities[before.best] for after, before in zip(again, observed, strict=True)]

    before = [max(one.probabilities) for one in observed]
    falls = faithfulness(texts, [one.selection.spans for one in observed], before, predict)
    return {name: bootstrap(values)._asdict() for name, values in falls._asdict().items()}
