"""Ranking and classifying as tasks to learn: what an item costs, and how good a model is."""

from collections.abc import Sequence
from statistics import fmean

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from whymatch.datasets.records import Pair, Query
from whymatch.evaluation.classification import macro_f1
from whymatch.evaluation.ranking import average_precision
from whymatch.learning.losses import combined, contrastive, rationale
from whymatch.learning.settings import LossSettings
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Transport
from whymatch.text.document import Document
from whymatch.text.spans import Span, overlaps

AT_ONCE = 128  # pairs in a batch of validation


def size(record: Pair | Query) -> int:
    """Pairs of spans that an item is compared by."""
    if isinstance(record, Pair):
        return len(record.left) * len(record.right)
    return len(record.query) * sum(len(text) for text in record.documents)


def drawn(query: Query, chance: torch.Generator, negatives: int) -> Query:
    """One of the similar documents, and up to `negatives` of the others."""
    good, bad = ([i for i, similar in enumerate(query.relevant) if similar is wanted] for wanted in (True, False))
    one = good[int(torch.randint(len(good), (), generator=chance))]
    others = [bad[i] for i in torch.randperm(len(bad), generator=chance)[:negatives].tolist()]
    documents = tuple(query.documents[number] for number in (one, *others))
    return Query(query.id, query.query, documents, (True, *[False] * len(others)))


def rank_loss(model: Ranker, margin: float, queries: Sequence[Query]) -> Tensor:
    """For each query, the hinge between its first document and the worst of the others."""
    scores = model([(query.query, text) for query in queries for text in query.documents]).score
    rows = scores.split([len(query.documents) for query in queries])
    padded = pad_sequence(list(rows), batch_first=True, padding_value=-torch.inf)
    return contrastive(padded[:, 0], padded[:, 1:], margin)


def scores_of(model: Ranker, queries: Sequence[Query]) -> tuple[list[list[float]], list[int]]:
    """The scores of each query's documents, and the number of links of every pair."""
    pairs = [(query.query, text) for query in queries for text in query.documents]
    scores: list[float] = []
    links: list[int] = []
    with torch.no_grad():
        for start in range(0, len(pairs), AT_ONCE):
            matched = model(pairs[start : start + AT_ONCE])
            scores += matched.score.tolist()
            links += (matched.weights > 0).sum(dim=(1, 2)).tolist()
    found, start = [], 0
    for query in queries:
        found.append(scores[start : start + len(query.documents)])
        start += len(query.documents)
    return found, links


def rank_score(model: Ranker, queries: Sequence[Query]) -> float:
    """Mean average precision."""
    scores, _ = scores_of(model, queries)
    return fmean(average_precision(some, query.relevant) for some, query in zip(scores, queries, strict=True))


def classify_loss(model: Classifier, loss: LossSettings, pairs: Sequence[Pair]) -> Tensor:
    """For each pair, cross entropy, mixed with that of its rationales where they are supervised."""
    logits, matched = model.logits([(pair.left, pair.right) for pair in pairs])
    gold = torch.tensor([model.labels.index(str(pair.label)) for pair in pairs], device=logits.device)
    task = torch.nn.functional.cross_entropy(logits.float(), gold, reduction="none")
    if loss.alpha is None:
        return task
    assert isinstance(model.rule, Transport)
    soft = Transport(model.rule.constraint, model.rule.smooth, soft=True).weights(matched.cost, matched.sizes)
    total, sides = torch.zeros_like(task), torch.zeros_like(task)
    for side in (0, 1):
        marks = [(pair.left_rationale, pair.right_rationale)[side] for pair in pairs]
        texts = [(pair.left, pair.right)[side] for pair in pairs]
        marked = torch.zeros(len(pairs), soft.shape[1 + side])
        for row, (text, some) in enumerate(zip(texts, marks, strict=True)):
            marked[row, spans_in(text, some or ())] = 1
        asked = torch.tensor([mark is not None for mark in marks], device=task.device)
        total = total + asked * rationale(soft, marked, matched.sizes, model.rule.constraint, side)
        sides = sides + asked
    return combined(task, total / sides.clamp(min=1), loss.alpha)


def spans_in(text: Document, marked: Sequence[Span]) -> list[int]:
    """The numbers of the spans that overlap what people marked."""
    return sorted({number for some in overlaps(text.spans, marked) for number in some})


def classify_score(model: Classifier, pairs: Sequence[Pair]) -> float:
    """Macro F1."""
    predicted = []
    for start in range(0, len(pairs), AT_ONCE):
        logits, _ = model.logits([(pair.left, pair.right) for pair in pairs[start : start + AT_ONCE]])
        predicted += [model.labels[number] for number in logits.argmax(dim=1).tolist()]
    return macro_f1(predicted, [pair.label for pair in pairs])
