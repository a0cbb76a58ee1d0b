"""Predicts a label for two texts from their aligned spans alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from whymatch.matching.aligner import Aligner, Text
from whymatch.matching.alignment import Alignment
from whymatch.matching.costs import Cost, cosine_distance
from whymatch.matching.head import Head
from whymatch.matching.model import Learner, Matched, Matcher
from whymatch.matching.rules import Rule, Transport
from whymatch.text.document import Document, document
from whymatch.text.encoders import Encoder

AT_ONCE = 256  # pairs in a batch of predictions


@dataclass(frozen=True)
class Prediction:
    """A label, how probable each one is, and the alignment that the prediction was made from (none for attention)."""

    label: str
    probabilities: dict[str, float]
    alignment: Alignment | None


class Classifier(Matcher):
    """Aligns, compares the linked spans, and decides; the rule may be one of the attention baselines instead."""

    kind = "classifier"

    def __init__(
        self,
        encoder: Learner,
        rule: Rule,
        labels: Sequence[str],
        cost: Cost = cosine_distance,
        *,
        split: str = "sentence",
        hidden: int = 128,
        dropout: float = 0.1,
    ) -> None:
        super().__init__(encoder, rule, cost)
        if len(set(labels)) != len(labels) or len(labels) < 2:
            raise ValueError(f"A classifier needs two labels or more, all different, got {list(labels)}.")
        self.labels = list(labels)
        self.split = split
        self.head = Head(encoder.size, len(labels), hidden, dropout)

    def save_pretrained(self, folder: str | Path) -> None:
        """Writes config.json and model.safetensors."""
        from whymatch.matching.saving import save_pretrained

        save_pretrained(self, folder)

    @classmethod
    def from_pretrained(cls, folder: str | Path, encoder: Encoder | None = None) -> "Classifier":
        """What `save_pretrained` wrote; an encoder that was not written there is given."""
        from whymatch.matching.saving import from_pretrained

        model = from_pretrained(folder, encoder)
        if not isinstance(model, cls):
            raise ValueError(f"The model in {folder} is a {model.kind}, not a {cls.kind}.")
        return model

    @property
    def aligner(self) -> Aligner:
        return Aligner(self.split, self.encoder, self.cost)

    def logits(self, pairs: Sequence[tuple[Document, Document]]) -> tuple[Tensor, Matched]:
        """(pairs, labels), and what they were computed from."""
        matched = self(pairs)
        return self.head(matched.left, matched.right, matched.weights), matched

    def predict(self, pairs: Sequence[tuple[Text, Text]]) -> list[Prediction]:
        """Labels, probabilities and alignments."""
        aligner = self.aligner
        split = [
            (
                document(left, aligner.split, separator=aligner.separator),
                document(right, aligner.split, separator=aligner.separator),
            )
            for left, right in pairs
        ]
        learning = self.training
        self.eval()
        with torch.no_grad():
            parts = [self.logits(split[i : i + AT_ONCE])[0] for i in range(0, len(split), AT_ONCE)]
        self.train(learning)
        chances = torch.cat(parts).softmax(dim=1).tolist() if parts else []
        alignments: list[Alignment] | list[None] = [None] * len(split)
        if isinstance(self.rule, Transport):
            alignments = aligner.align_many(split, self.rule.constraint, clip=True)
        return [
            Prediction(
                self.labels[max(range(len(row)), key=row.__getitem__)], dict(zip(self.labels, row, strict=True)), why
            )
            for row, why in zip(chances, alignments, strict=True)
        ]
