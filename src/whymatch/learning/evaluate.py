"""All metrics of a trained model on one split."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from whymatch.datasets.records import Pair, Query
from whymatch.evaluation.classification import macro_f1, macro_f1_of
from whymatch.evaluation.intervals import bootstrap
from whymatch.evaluation.ranking import auc, average_precision, precision_at_1, reciprocal_rank
from whymatch.evaluation.rationales import Judged, agreement, best_threshold, f1, faithfulness, tokens_in
from whymatch.learning.tasks import passes, scores_of
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Attend
from whymatch.text.document import Document

RANKING = {"AUC": auc, "MAP": average_precision, "MRR": reciprocal_rank, "P@1": precision_at_1}
SIDES = ("left", "right")
Progress = Callable[[int], None]


def quiet(done: int) -> None:
    """Nobody watches."""


def evaluate(
    model: Ranker | Classifier, records: Sequence[Any], *, deletions: bool = False, progress: Progress = quiet
) -> dict[str, Any]:
    """The metrics of the model's task; `deletions` adds what comes of deleting text, and takes three times as long."""
    if not records:
        raise ValueError("There is nothing to evaluate: the split is empty.")
    model.eval()
    with torch.no_grad():
        if isinstance(model, Ranker):
            if deletions:
                raise ValueError("Deletions are measured for classifiers: a ranker's score is the sum over its links.")
            return evaluate_ranker(model, records, progress)
        return evaluate_classifier(model, records, deletions, progress)


def evaluate_ranker(model: Ranker, queries: Sequence[Query], progress: Progress) -> dict[str, Any]:
    """The ranking metrics, each a mean over queries with its interval, and how many links the scores come from."""
    check_queries(queries)
    start = time.perf_counter()
    scores, links = scores_of(model, queries, progress)
    seconds = time.perf_counter() - start
    found = ranking_metrics(queries, scores)
    possible = [len(query.query) * len(text) for query in queries for text in query.documents]
    shares = [100 * number / max(1, cells) for number, cells in zip(links, possible, strict=True)]
    found |= {"active alignments": bootstrap(links)._asdict(), "% active": bootstrap(shares)._asdict()}
    return {**found, "pairs a second": len(links) / seconds, "queries": len(queries)}


def check_queries(queries: Sequence[Query]) -> None:
    """Raises for a query of which no ranking metric can be had."""
    for query in queries:
        if not any(query.relevant) or all(query.relevant):
            raise ValueError(f"Query {query.id} needs a similar and a dissimilar document.")


def ranking_metrics(queries: Sequence[Query], scores: Sequence[Sequence[float]]) -> dict[str, Any]:
    """AUC, MAP, MRR and P@1 of the scores of each query's documents."""
    return {
        name: bootstrap([metric(some, query.relevant) for some, query in zip(scores, queries, strict=True)])._asdict()
        for name, metric in RANKING.items()
    }


@dataclass(frozen=True)
class Chosen:
    """The numbers of the spans of a pair that were chosen, left and right, and how strongly each one is selected."""

    spans: tuple[list[int], list[int]]
    selection: tuple[list[float], list[float]]


@dataclass(frozen=True)
class Seen:
    """What a classifier made of one pair: probabilities, active pairs of spans, how strongly each span is selected."""

    probabilities: list[float]
    active: Tensor
    selection: tuple[list[float], list[float]]

    @property
    def best(self) -> int:
        """The number of the predicted label."""
        return max(range(len(self.probabilities)), key=self.probabilities.__getitem__)

    def kept(self, side: int) -> list[int]:
        """The spans that are in an active pair."""
        return self.active.any(dim=1 - side).nonzero().flatten().tolist()

    @property
    def chosen(self) -> Chosen:
        return Chosen((self.kept(0), self.kept(1)), self.selection)


def see(
    model: Classifier, pairs: Sequence[tuple[Document, Document]], progress: Progress = quiet
) -> tuple[list[Seen], float]:
    """Each pair once through the model, and how many seconds the predictions took."""
    found: dict[int, Seen] = {}
    seconds = 0.0
    for rows in passes(pairs):
        start = time.perf_counter()
        logits, matched = model.logits([pairs[row] for row in rows])
        chances = logits.float().softmax(dim=1).tolist()
        seconds += time.perf_counter() - start
        active = model.rule.active(matched.cost, matched.sizes).cpu()
        left, right = (side.tolist() for side in model.rule.selection(matched.cost, matched.sizes))
        for place, (row, (n, m)) in enumerate(zip(rows, matched.sizes.tolist(), strict=True)):
            found[row] = Seen(chances[place], active[place, :n, :m], (left[place][:n], right[place][:m]))
        progress(len(found))
    return [found[row] for row in range(len(pairs))], seconds


def evaluate_classifier(
    model: Classifier, pairs: Sequence[Pair], deletions: bool, progress: Progress
) -> dict[str, Any]:
    """Accuracy and macro F1, sparsity, and agreement with rationales where people marked them."""
    for pair in pairs:
        if pair.label not in model.labels:
            raise ValueError(f"Pair {pair.id} has the label {pair.label!r}; the model knows {', '.join(model.labels)}.")
    texts = [(pair.left, pair.right) for pair in pairs]
    seen, seconds = see(model, texts, progress)
    found = correctness(model, seen, pairs)
    if isinstance(model.rule, Attend):  # what is left of it when it reads only what it calls aligned
        rule = model.rule
        model.rule = replace(rule, active_only=True)
        try:
            only = correctness(model, see(model, texts)[0], pairs)
        finally:
            model.rule = rule
    else:
        only = found  # it reads nothing else
    found |= {f"{name}, active alignments only": value for name, value in only.items()}
    number = [one.active.sum().item() for one in seen]
    shares = [100 * some / max(1, one.active.numel()) for some, one in zip(number, seen, strict=True)]
    found |= {"active alignments": bootstrap(number)._asdict(), "% active": bootstrap(shares)._asdict()}
    found |= rationale_metrics(pairs, [one.chosen for one in seen], model.thresholds)
    if deletions:
        found |= delete(model, texts, seen)
    return {**found, "pairs a second": len(pairs) / seconds, "pairs": len(pairs)}


def validation_score(model: Classifier, pairs: Sequence[Pair], *, with_rationales: bool = False) -> float:
    """Macro F1, or its mean with the rationales' F1 in all texts that people marked."""
    seen, _ = see(model, [(pair.left, pair.right) for pair in pairs])
    found = macro_f1([model.labels[one.best] for one in seen], [pair.label for pair in pairs])
    if not with_rationales:
        return found
    judged = judge(pairs, [one.chosen for one in seen])
    texts = next((judged[side] for side in ("both", "right", "left") if side in judged), [])
    return fmean([found, fmean(f1(tokens_in(one.text, one.chosen), one.gold) for one in texts)]) if texts else found


def correctness(model: Classifier, seen: Sequence[Seen], pairs: Sequence[Pair]) -> dict[str, Any]:
    labels = [(one.best, model.labels.index(str(pair.label))) for one, pair in zip(seen, pairs, strict=True)]
    right = [float(a == b) for a, b in labels]
    return {"accuracy": bootstrap(right)._asdict(), "macro F1": bootstrap(labels, macro_f1_of)._asdict()}


def rationale_metrics(
    pairs: Sequence[Pair], chosen: Sequence[Chosen], thresholds: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """The agreement of what was chosen with what people marked, for every side that they marked."""
    found: dict[str, Any] = {}
    for side, judged in judge(pairs, chosen).items():
        measured = agreement(judged, (thresholds or {}).get(side))
        found |= {f"{side} rationale {name}": value for name, value in measured.items()}
    return found


def judge(pairs: Sequence[Pair], chosen: Sequence[Chosen]) -> dict[str, list[Judged]]:
    """What was chosen beside what was marked: in the left texts, in the right ones, and in both as one text."""
    found: dict[str, list[Judged]] = {"left": [], "right": [], "both": []}
    for pair, one in zip(pairs, chosen, strict=True):
        sides = []
        for number, (text, marked) in enumerate(((pair.left, pair.left_rationale), (pair.right, pair.right_rationale))):
            if marked is not None:
                spans = tuple(text.spans[i] for i in one.spans[number])
                sides.append(Judged(text.text, text.spans, spans, marked, tuple(one.selection[number])))
                found[SIDES[number]].append(sides[-1])
        if len(sides) == 2:
            found["both"].append(sides[0].joined(sides[1]))
    return {side: judged for side, judged in found.items() if judged}


def choose_thresholds(model: Classifier, pairs: Sequence[Pair]) -> dict[str, float]:
    """How strongly a span must be selected to count as part of the rationale: what agrees best with people.

    For the left texts, for the right ones, and for both as one.
    """
    model.eval()
    with torch.no_grad():
        seen, _ = see(model, [(pair.left, pair.right) for pair in pairs])
        judged = judge(pairs, [one.chosen for one in seen])
    return {side: best_threshold(some) for side, some in judged.items()}


def delete(model: Classifier, texts: Sequence[tuple[Document, Document]], seen: Sequence[Seen]) -> dict[str, Any]:
    """ERASER's comprehensiveness and sufficiency."""

    def predict(changed: Sequence[tuple[Document, Document]]) -> list[float]:
        again, _ = see(model, changed)
        return [one.probabilities[before.best] for one, before in zip(again, seen, strict=True)]

    before = [max(one.probabilities) for one in seen]
    falls = faithfulness(texts, [(one.kept(0), one.kept(1)) for one in seen], before, predict)
    return {name: bootstrap(values)._asdict() for name, values in falls._asdict().items()}
