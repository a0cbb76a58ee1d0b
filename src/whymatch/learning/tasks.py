"""Ranking and classifying as tasks to train: what an item costs, and how good a model is."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from whymatch.batching import Size
from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair, Query
from whymatch.evaluation.ranking import average_precision
from whymatch.learning.evaluate import choose_thresholds, passes, scores_of, validation_score
from whymatch.learning.losses import combined, contrastive, distilled, rationale
from whymatch.learning.sections import LossSettings
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Transport
from whymatch.matching.saving import from_pretrained
from whymatch.text.document import Document
from whymatch.text.encoders import Pair as Texts
from whymatch.text.spans import Span, overlaps

TEACHER_WEIGHT = 0.5  # of the teacher's scores, beside the labels


class RankTask:
    """Trains a ranker by a hinge between a similar document and the best of the dissimilar ones.

    With a `teacher`, half of the loss is how far the scores of documents are from the teacher's.
    """

    measure = "MAP"

    def __init__(
        self,
        model: Ranker,
        validation: Sequence[Query],
        *,
        margin: float = 0.2,
        negatives: int = 10,
        teacher: "Teacher | None" = None,
    ) -> None:
        self.model, self.validation = model, validation
        self.margin, self.negatives, self.teacher = margin, negatives, teacher

    def size(self, query: Query) -> Size:
        return Size(len(query.documents), len(query.query), max(map(len, query.documents)))

    def draw(self, query: Query, generator: torch.Generator) -> Query:
        """One of the similar documents, and up to `negatives` of the others."""
        similar, others = (
            [number for number, relevant in enumerate(query.relevant) if relevant is wanted] for wanted in (True, False)
        )
        chosen = similar[int(torch.randint(len(similar), (), generator=generator))]
        drawn = [others[i] for i in torch.randperm(len(others), generator=generator)[: self.negatives].tolist()]
        documents = tuple(query.documents[number] for number in (chosen, *drawn))
        return Query(query.id, query.query, documents, (True, *[False] * len(drawn)))

    def loss(self, queries: Sequence[Query]) -> Tensor:
        """(queries), where the first document of each query is the similar one."""
        pairs = [(query.query, text) for query in queries for text in query.documents]
        scores = _by_query(self.model(pairs).score, queries)
        hinge = contrastive(scores[:, 0], scores[:, 1:], self.margin)
        if self.teacher is None:
            return hinge
        apart = distilled(scores, _by_query(self.teacher.scores(pairs), queries), self.margin)
        return (1 - TEACHER_WEIGHT) * hinge + TEACHER_WEIGHT * apart

    def score(self) -> float:
        """Mean average precision."""
        scores, _ = scores_of(self.model, self.validation)
        return fmean(average_precision(own, query.relevant) for own, query in zip(scores, self.validation, strict=True))

    def calibrate(self, report: Callable[[str], None]) -> None:
        """Chooses on validation the probability that a score stands for."""
        scores, _ = scores_of(self.model, self.validation)
        try:
            self.model.calibrate(
                [score for own in scores for score in own],
                [mark for query in self.validation for mark in query.relevant],
            )
        except ValueError as error:
            report(f"no probabilities: {error}")


class ClassifyTask:
    """Trains a classifier by cross entropy; with `alpha`, marked rationales supervise its links with weight 1 − α."""

    def __init__(self, model: Classifier, validation: Sequence[Pair], *, alpha: float | None = None) -> None:
        if alpha is not None and not (isinstance(model.rule, Transport) and model.rule.supervisable):
            raise ValueError("Rationales supervise which spans are linked: use Exactly, UpTo or OneTo.")
        self.model, self.validation, self.alpha = model, validation, alpha
        self.measure = "macro F1" if alpha is None else "mean of macro F1 and rationale F1"

    def size(self, pair: Pair) -> Size:
        return Size(1, len(pair.left), len(pair.right))

    def draw(self, pair: Pair, generator: torch.Generator) -> Pair:
        return pair

    def loss(self, pairs: Sequence[Pair]) -> Tensor:
        """(pairs): cross entropy, mixed with that of the rationales where they are supervised."""
        logits, matched = self.model.logits([(pair.left, pair.right) for pair in pairs])
        labels = [self.model.labels.index(str(pair.label)) for pair in pairs]
        gold = torch.tensor(labels, device=logits.device)
        task = torch.nn.functional.cross_entropy(logits.float(), gold, reduction="none")
        if self.alpha is None:
            return task
        return combined(task, self._rationale_loss(pairs, matched.cost, matched.sizes), self.alpha)

    def _rationale_loss(self, pairs: Sequence[Pair], cost: Tensor, sizes: Tensor) -> Tensor:
        """(pairs): the loss of each side that people marked and the constraint may choose from, mean over sides."""
        rule = self.model.rule
        assert isinstance(rule, Transport)
        soft = Transport(rule.constraint, rule.smooth, soft=True).weights(cost, sizes)
        total, sides = cost.new_zeros(len(pairs)), cost.new_zeros(len(pairs))
        for side in (0, 1):
            marks = [(pair.left_rationale, pair.right_rationale)[side] for pair in pairs]
            wanted = torch.zeros(len(pairs), soft.shape[1 + side])
            for row, (pair, spans) in enumerate(zip(pairs, marks, strict=True)):
                wanted[row, spans_in((pair.left, pair.right)[side], spans or ())] = 1.0
            asked = torch.tensor(
                [
                    spans is not None and rule.constraint.may_omit(n, m, side)
                    for spans, (n, m) in zip(marks, sizes.tolist(), strict=True)
                ],
                device=cost.device,
            )
            total = total + asked * rationale(soft, wanted, sizes, rule.constraint, side)
            sides = sides + asked
        return total / sides.clamp(min=1)

    def score(self) -> float:
        """Macro F1; where marks supervise, its mean with the rationales' F1."""
        return validation_score(self.model, self.validation, with_rationales=self.alpha is not None)

    def calibrate(self, report: Callable[[str], None]) -> None:
        """Chooses on validation how strongly a span must be selected to count as marked."""
        self.model.thresholds = choose_thresholds(self.model, self.validation)


class Teacher:
    """A trained ranker whose scores another one learns from; it reads texts in spans of its own, such as whole ones."""

    def __init__(self, folder: str | Path) -> None:
        try:
            model = from_pretrained(folder)
        except ValueError as error:
            raise ValueError(f"[loss] teacher is the folder of a trained ranker: {error}") from None
        if not isinstance(model, Ranker):
            raise ValueError(f"[loss] teacher is a ranker, and {folder} holds a {model.kind}.")
        self.model = model
        self.texts: dict[Document, Document] = {}

    def read(self, data: str | Path, queries: Sequence[Query]) -> None:
        """Reads the training queries of a data set again, in its own spans, as it did when it was trained."""
        for query, own in zip(queries, read_split(data, "train", "rank", str(self.model.aligner.spans)), strict=True):
            assert isinstance(own, Query)
            self.texts |= zip((query.query, *query.documents), (own.query, *own.documents), strict=True)

    def scores(self, pairs: Sequence[Texts]) -> Tensor:
        """(pairs), high is good."""
        own = [(self.texts[left], self.texts[right]) for left, right in pairs]
        scores = torch.zeros(len(pairs), device=self.model.device)
        with torch.no_grad():
            for rows in passes(own):
                scores[rows] = self.model([own[row] for row in rows]).score
        return scores


def _by_query(scores: Tensor, queries: Sequence[Query]) -> Tensor:
    """(queries, most documents): the scores of all documents, one query after another; -inf where there is none."""
    rows = torch.split(scores, [len(query.documents) for query in queries])
    return pad_sequence(list(rows), batch_first=True, padding_value=-torch.inf)


def spans_in(text: Document, marked: Sequence[Span]) -> list[int]:
    """The numbers of the spans that overlap what people marked."""
    return sorted({number for numbers in overlaps(text.spans, marked) for number in numbers})


def build_task(
    model: Ranker | Classifier, validation: Sequence[Any], loss: LossSettings, teacher: Teacher | None = None
) -> RankTask | ClassifyTask:
    """The task that trains a model of this kind, with the `[loss]` of its settings."""
    if isinstance(model, Ranker):
        return RankTask(model, validation, margin=loss.margin, negatives=loss.negatives, teacher=teacher)
    return ClassifyTask(model, validation, alpha=loss.alpha)
