"""Predicts a label for two texts from their aligned spans alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from whymatch.matching.aligner import Text
from whymatch.matching.alignment import Alignment
from whymatch.matching.costs import Cost, cosine_distance
from whymatch.matching.encoding import encode_pairs
from whymatch.matching.head import Head
from whymatch.matching.model import Matched, Matcher, padded
from whymatch.matching.rarity import Rarity
from whymatch.matching.reader import Reader
from whymatch.matching.refinement import Refinement
from whymatch.matching.rules import Rule, Transport
from whymatch.text.document import Document, document
from whymatch.text.encoders.trainable import TrainableEncoder
from whymatch.text.spans import Span
from whymatch.transport.constraints import Constraint

AT_ONCE = 256  # pairs in a batch of predictions


@dataclass(frozen=True)
class Prediction:
    """A label, how probable each one is, and the alignment that the prediction was made from (none for attention)."""

    label: str
    probabilities: dict[str, float]
    alignment: Alignment | None


class Classifier(Matcher):
    """Aligns, compares the linked spans, and decides; the rule may be one of the attention baselines instead.

    With a `reader`, the vectors that are compared are its own, and those of the encoder only align.
    """

    kind = "classifier"

    def __init__(
        self,
        encoder: TrainableEncoder,
        rule: Rule | Constraint,
        labels: Sequence[str],
        cost: Cost = cosine_distance,
        *,
        split: str = "sentence",
        refinement: Refinement | None = None,
        rarity: Rarity | None = None,
        reader: Reader | None = None,
        hidden: int = 128,
        dropout: float = 0.1,
    ) -> None:
        rule = Transport(rule) if isinstance(rule, Constraint) else rule
        super().__init__(encoder, rule, cost, split=split, refinement=refinement, rarity=rarity)
        if len(set(labels)) != len(labels) or len(labels) < 2:
            raise ValueError(f"A classifier needs two labels or more, all different, got {list(labels)}.")
        self.labels = list(labels)
        self.thresholds: dict[str, float] = {}  # how strongly a span is selected that people would mark, by side
        if reader is not None:
            check_reader(reader, encoder, rule)
        self.reader = reader
        self.head = Head((reader or encoder).size, len(labels), hidden, dropout)

    @property
    def contextual(self) -> bool:
        if self.reader is None:
            return super().contextual
        return not self.reader.alone and self.reader.encoder.contextual

    def logits(self, pairs: Sequence[tuple[Document, Document]]) -> tuple[Tensor, Matched]:
        """(pairs, labels), and what they were computed from."""
        matched = self(pairs)
        if self.reader is None:
            return self.head(matched.left, matched.right, matched.weights), matched
        return self.head(*self.reader(pairs, matched.weights), matched.weights.detach()), matched

    def predict(self, pairs: Sequence[tuple[Text, Text]]) -> list[Prediction]:
        """Labels, probabilities and alignments: each text is encoded once, each pair aligned once."""
        if any(isinstance(pair, str) or len(pair) != 2 for pair in pairs):
            raise TypeError("predict takes a list of pairs (left, right).")
        aligner = self.aligner
        split = [tuple(document(text, aligner.split, separator=aligner.separator) for text in pair) for pair in pairs]
        found: list[Prediction] = []
        learning = self.training
        self.eval()
        try:
            with torch.no_grad():
                for start in range(0, len(split), AT_ONCE):
                    found += self.predict_some([(left, right) for left, right in split[start : start + AT_ONCE]])
        finally:
            self.train(learning)
        return found

    def predict_some(self, pairs: Sequence[tuple[Document, Document]]) -> list[Prediction]:
        alignments: Sequence[Alignment | None] = [None] * len(pairs)
        if isinstance(self.rule, Transport) and not self.rule.soft:
            once = Once(self.encoder, pairs)
            solved = self.aligner_of(once).align_many(pairs, self.rule.constraint, clip=True)
            left, right = (padded(side).to(self.device) for side in once.sides)
            weights = torch.zeros(len(pairs), left.shape[1], right.shape[1])
            for number, why in enumerate(solved):
                for link in why.links:
                    weights[(number, *link.at)] = link.mass
            alignments = [replace(why, aligner=self.aligner) for why in solved]
            if self.reader is not None:
                left, right = self.reader(pairs, weights)
            logits = self.head(left, right, weights.to(left))
        else:
            logits, _ = self.logits(pairs)
        return [
            Prediction(self.labels[int(row.argmax())], dict(zip(self.labels, row.tolist(), strict=True)), why)
            for row, why in zip(logits.softmax(dim=1), alignments, strict=True)
        ]


def check_reader(reader: Reader, encoder: TrainableEncoder, rule: Rule) -> None:
    """Raises where there are no links to read, or where labels could move them."""
    if not isinstance(rule, Transport) or rule.soft or rule.unrolled is not None:
        raise ValueError(f"A reader reads what is linked: it goes with a constraint and a hard plan, got {rule}.")
    if reader.encoder is encoder:
        raise ValueError("A reader has an encoder of its own: labels would move the links of a shared one.")


class Once:
    """The vectors of pairs that an encoder has encoded once, for those who want them again."""

    jointly = True  # whatever the encoder: they are known by pair

    def __init__(self, encoder: TrainableEncoder, pairs: Sequence[tuple[Document, Document]]) -> None:
        self.name, self.contextual = encoder.name, encoder.contextual
        self.known = {}
        for pair, found in zip(pairs, encode_pairs(encoder, pairs), strict=True):
            if isinstance(found, ValueError):
                raise found
            self.known[pair] = found
        self.sides = [[self.known[pair][side] for pair in pairs] for side in (0, 1)]

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        raise NotImplementedError("they are known by pair")

    def encode_pairs(self, pairs: Sequence[tuple[Document, Document]]) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(left.numpy(), right.numpy()) for left, right in (self.known[pair] for pair in pairs)]
