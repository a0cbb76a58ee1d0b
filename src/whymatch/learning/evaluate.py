"""All metrics of a trained model on one split."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import torch

from whymatch.datasets.records import Pair, Query
from whymatch.evaluation.classification import macro_f1
from whymatch.evaluation.intervals import bootstrap
from whymatch.evaluation.ranking import auc, average_precision, precision_at_1, reciprocal_rank
from whymatch.evaluation.rationales import f1, tokens_in
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker

AT_ONCE = 32  # pairs in a batch
RANKING = {"AUC": auc, "MAP": average_precision, "MRR": reciprocal_rank, "P@1": precision_at_1}


def evaluate_ranker(model: Ranker, queries: Sequence[Query]) -> dict[str, Any]:
    """The ranking metrics, each a mean over queries with its interval, and how many links the scores come from."""
    scores, links = [], []
    with torch.no_grad():
        for query in queries:
            matched = model([(query.query, text) for text in query.documents])
            scores.append(matched.score.tolist())
            links += (matched.weights > 0).sum(dim=(1, 2)).tolist()
    found: dict[str, Any] = {
        name: bootstrap([metric(some, query.relevant) for some, query in zip(scores, queries, strict=True)])._asdict()
        for name, metric in RANKING.items()
    }
    return {**found, "links": fmean(links), "queries": len(queries)}


def evaluate_classifier(model: Classifier, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Accuracy and macro F1, sparsity, and agreement with rationales where people marked them."""
    for pair in pairs:
        if pair.label not in model.labels:
            raise ValueError(f"Pair {pair.id} has the label {pair.label!r}; the model knows {', '.join(model.labels)}.")
    predictions = model.predict([(pair.left, pair.right) for pair in pairs])
    predicted, gold = [one.label for one in predictions], [pair.label for pair in pairs]
    right = [float(a == b) for a, b in zip(predicted, gold, strict=True)]
    found: dict[str, Any] = {
        "accuracy": bootstrap(right)._asdict(),
        "macro F1": macro_f1(predicted, gold),
        "pairs": len(pairs),
    }
    number, share = [], []
    with torch.no_grad():
        for start in range(0, len(pairs), AT_ONCE):
            matched = model([(pair.left, pair.right) for pair in pairs[start : start + AT_ONCE]])
            active = model.rule.active(matched.cost, matched.sizes).sum(dim=(1, 2))
            number += active.tolist()
            share += (100 * active / matched.sizes.prod(dim=1).clamp(min=1)).tolist()
    found["active alignments"], found["% active"] = fmean(number), fmean(share)
    for side in ("left", "right"):
        scores, selected, tokens = [], 0, 0
        for pair, one in zip(pairs, predictions, strict=True):
            marked = getattr(pair, f"{side}_rationale")
            if marked is not None and one.alignment is not None:
                text = getattr(pair, side).text
                chosen = tokens_in(text, one.alignment.rationale(side))
                scores.append(f1(chosen, tokens_in(text, marked)))
                selected, tokens = selected + len(chosen), tokens + len(text.split())
        if scores:
            found[f"{side} rationale F1"] = bootstrap(scores)._asdict()
            found[f"{side} % of tokens"] = 100 * selected / tokens
    return found
