"""Ranking and classifying as tasks to learn: what an item costs, and how good a model is."""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from whymatch.datasets.records import Pair, Query
from whymatch.evaluation.ranking import average_precision
from whymatch.learning.batches import Size, pieces
from whymatch.learning.losses import combined, contrastive, distilled, rationale
from whymatch.learning.sections import LossSettings
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Transport
from whymatch.text.document import Document
from whymatch.text.spans import Span, overlaps

Taught: TypeAlias = Callable[[Sequence[tuple[Document, Document]]], Tensor]
AT_ONCE = 128  # pairs in a batch of validation
MOST = 2**19  # pairs of spans that are compared at once, padding included


def size(record: Pair | Query) -> Size:
    """What a record is compared by."""
    if isinstance(record, Pair):
        return Size(1, len(record.left), len(record.right))
    return Size(len(record.documents), len(record.query), max(map(len, record.documents)))


def in_pieces(pairs: Sequence[tuple[Document, Document]]) -> Iterator[list[int]]:
    """The numbers of pairs that fit in memory together, similar ones with each other."""
    sizes = [Size(1, len(left), len(right)) for left, right in pairs]
    order = sorted(range(len(pairs)), key=lambda row: sizes[row].cells)
    for some in pieces(order, sizes, MOST):
        yield from (some[start : start + AT_ONCE] for start in range(0, len(some), AT_ONCE))


def drawn(query: Query, chance: torch.Generator, negatives: int) -> Query:
    """One of the similar documents, and up to `negatives` of the others."""
    good, bad = ([i for i, similar in enumerate(query.relevant) if similar is wanted] for wanted in (True, False))
    one = good[int(torch.randint(len(good), (), generator=chance))]
    others = [bad[i] for i in torch.randperm(len(bad), generator=chance)[:negatives].tolist()]
    documents = tuple(query.documents[number] for number in (one, *others))
    return Query(query.id, query.query, documents, (True, *[False] * len(others)))


def rank_loss(model: Ranker, loss: LossSettings, queries: Sequence[Query], taught: Taught | None = None) -> Tensor:
    """For each query, the hinge between its first document and the worst of the others.

    Mixed with how far its scores are from those that it is taught, if it is.
    """
    pairs = [(query.query, text) for query in queries for text in query.documents]
    scores = by_query(model(pairs).score, queries)
    hinge = contrastive(scores[:, 0], scores[:, 1:], loss.margin)
    if taught is None:
        return hinge
    apart = distilled(scores, by_query(taught(pairs), queries), loss.margin)
    return (1 - loss.distil) * hinge + loss.distil * apart


def by_query(scores: Tensor, queries: Sequence[Query]) -> Tensor:
    """(queries, most documents): the scores of all documents, one query after another; -inf where there is none."""
    rows = torch.split(scores, [len(query.documents) for query in queries])
    return pad_sequence(list(rows), batch_first=True, padding_value=-torch.inf)


def scores_of(
    model: Ranker, queries: Sequence[Query], progress: Callable[[int], None] = lambda done: None
) -> tuple[list[list[float]], list[int]]:
    """The scores of each query's documents, and the number of active pairs of spans in every pair of texts."""
    pairs = [(query.query, text) for query in queries for text in query.documents]
    scores, links, done = [0.0] * len(pairs), [0] * len(pairs), 0
    with torch.no_grad():
        for rows in in_pieces(pairs):
            matched = model([pairs[row] for row in rows])
            active = model.rule.active(matched.cost, matched.sizes).sum(dim=(1, 2))
            for row, score, number in zip(rows, matched.score.tolist(), active.tolist(), strict=True):
                scores[row], links[row] = score, number
            done += len(rows)
            progress(done)
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
        wanted = torch.zeros(len(pairs), soft.shape[1 + side])
        for row, (text, some) in enumerate(zip(texts, marks, strict=True)):
            wanted[row, : len(text)] = marked(text, some)
        constraint = model.rule.constraint
        asked = torch.tensor(
            [
                mark is not None and constraint.may_omit(n, m, side)
                for mark, (n, m) in zip(marks, matched.sizes.tolist(), strict=True)
            ],
            device=task.device,
        )
        total = total + asked * rationale(soft, wanted, matched.sizes, constraint, side)
        sides = sides + asked
    return combined(task, total / sides.clamp(min=1), loss.alpha)


def marked(text: Document, marks: Sequence[Span] | None) -> Tensor:
    """(spans) 1 where people marked something, 0 elsewhere."""
    numbers = torch.tensor(spans_in(text, marks or ()), dtype=torch.long)
    return torch.zeros(len(text)).index_fill(0, numbers, 1.0)


def spans_in(text: Document, marked: Sequence[Span]) -> list[int]:
    """The numbers of the spans that overlap what people marked."""
    return sorted({number for some in overlaps(text.spans, marked) for number in some})
