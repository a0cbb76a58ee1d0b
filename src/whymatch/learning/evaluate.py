"""All metrics of a trained model on one split."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from whymatch.datasets.records import Pair, Query
from whymatch.evaluation.agreement import Judged, agreement, best_threshold
from whymatch.evaluation.classification import macro_f1
from whymatch.evaluation.faithfulness import faithfulness
from whymatch.evaluation.intervals import bootstrap
from whymatch.evaluation.ranking import auc, average_precision, precision_at_1, reciprocal_rank
from whymatch.learning.tasks import AT_ONCE, scores_of
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
            return evaluate_ranker(model, records)
        return evaluate_classifier(model, records, deletions, progress)


def evaluate_ranker(model: Ranker, queries: Sequence[Query]) -> dict[str, Any]:
    """The ranking metrics, each a mean over queries with its interval, and how many links the scores come from."""
    start = time.perf_counter()
    scores, links = scores_of(model, queries)
    seconds = time.perf_counter() - start
    found: dict[str, Any] = {
        name: bootstrap([metric(some, query.relevant) for some, query in zip(scores, queries, strict=True)])._asdict()
        for name, metric in RANKING.items()
    }
    possible = [len(query.query) * len(text) for query in queries for text in query.documents]
    found["active alignments"] = fmean(links)
    found["% active"] = fmean(100 * number / max(1, cells) for number, cells in zip(links, possible, strict=True))
    return {**found, "pairs a second": len(links) / seconds, "queries": len(queries)}


@dataclass(frozen=True)
class Seen:
    """What a classifier made of one pair: probabilities, active pairs of spans, how strongly each span is selected."""

    probabilities: list[float]
    active: Tensor
    selection: tuple[list[float], list[float]]

    def kept(self, side: int) -> list[int]:
        """The spans that are in an active pair."""
        return self.active.any(dim=1 - side).nonzero().flatten().tolist()


def see(model: Classifier, pairs: Sequence[tuple[Document, Document]], progress: Progress = quiet) -> list[Seen]:
    """Each pair once through the model."""
    found = []
    for start in range(0, len(pairs), AT_ONCE):
        logits, matched = model.logits(pairs[start : start + AT_ONCE])
        active = model.rule.active(matched.cost, matched.sizes).cpu()
        left, right = (side.tolist() for side in model.rule.selection(matched.cost, matched.sizes))
        for row, (n, m) in enumerate(matched.sizes.tolist()):
            chances = logits[row].float().softmax(dim=0).tolist()
            found.append(Seen(chances, active[row, :n, :m], (left[row][:n], right[row][:m])))
        progress(len(found))
    return found


def evaluate_classifier(
    model: Classifier, pairs: Sequence[Pair], deletions: bool, progress: Progress
) -> dict[str, Any]:
    """Accuracy and macro F1, sparsity, and agreement with rationales where people marked them."""
    for pair in pairs:
        if pair.label not in model.labels:
            raise ValueError(f"Pair {pair.id} has the label {pair.label!r}; the model knows {', '.join(model.labels)}.")
    texts = [(pair.left, pair.right) for pair in pairs]
    start = time.perf_counter()
    seen = see(model, texts, progress)
    seconds = time.perf_counter() - start
    found = correctness(model, seen, pairs)
    if isinstance(model.rule, Attend):  # what is left of it when it reads only what it calls aligned
        rule = model.rule
        model.rule = replace(rule, active_only=True)
        try:
            only = correctness(model, see(model, texts), pairs)
        finally:
            model.rule = rule
    else:
        only = found  # it reads nothing else
    found |= {f"{name}, active alignments only": value for name, value in only.items()}
    found["active alignments"] = fmean(one.active.sum().item() for one in seen)
    found["% active"] = fmean(100 * one.active.sum().item() / max(1, one.active.numel()) for one in seen)
    for side, judged in judge(pairs, seen).items():
        measured = agreement(judged, model.thresholds.get(side))
        found |= {f"{side} rationale {name}": value for name, value in measured.items()}
    if deletions:
        found |= delete(model, texts, seen)
    return {**found, "pairs a second": len(pairs) / seconds, "pairs": len(pairs)}


def correctness(model: Classifier, seen: Sequence[Seen], pairs: Sequence[Pair]) -> dict[str, Any]:
    predicted = [model.labels[max(range(len(one.probabilities)), key=one.probabilities.__getitem__)] for one in seen]
    gold = [pair.label for pair in pairs]
    right = [float(a == b) for a, b in zip(predicted, gold, strict=True)]
    return {"accuracy": bootstrap(right)._asdict(), "macro F1": macro_f1(predicted, gold)}


def judge(pairs: Sequence[Pair], seen: Sequence[Seen]) -> dict[str, list[Judged]]:
    """What was chosen beside what was marked: in the left texts, in the right ones, and in both as one text."""
    found: dict[str, list[Judged]] = {"left": [], "right": [], "both": []}
    for pair, one in zip(pairs, seen, strict=True):
        sides = []
        for number, (text, marked) in enumerate(((pair.left, pair.left_rationale), (pair.right, pair.right_rationale))):
            if marked is not None:
                chosen = tuple(text.spans[i] for i in one.kept(number))
                sides.append(Judged(text.text, text.spans, chosen, marked, tuple(one.selection[number])))
                found[SIDES[number]].append(sides[-1])
        if len(sides) == 2:
            found["both"].append(sides[0].joined(sides[1]))
    return {side: judged for side, judged in found.items() if judged}


def choose_thresholds(model: Classifier, pairs: Sequence[Pair]) -> dict[str, float]:
    """How strongly a span must be selected to count as part of the rationale, by side: what agrees best with people."""
    model.eval()
    with torch.no_grad():
        judged = judge(pairs, see(model, [(pair.left, pair.right) for pair in pairs]))
    return {side: best_threshold(judged[side]) for side in SIDES if side in judged}


def delete(model: Classifier, texts: Sequence[tuple[Document, Document]], seen: Sequence[Seen]) -> dict[str, float]:
    """ERASER's comprehensiveness and sufficiency."""
    best = [max(range(len(one.probabilities)), key=one.probabilities.__getitem__) for one in seen]

    def predict(changed: Sequence[tuple[Document, Document]]) -> list[float]:
        return [one.probabilities[label] for one, label in zip(see(model, changed), best, strict=True)]

    return faithfulness(texts, [(one.kept(0), one.kept(1)) for one in seen], predict)._asdict()
