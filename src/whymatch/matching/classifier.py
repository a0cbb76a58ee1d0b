"""Predicts a label for two texts from their aligned spans alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whymatch.matching.aligner import Aligner, Text
from whymatch.matching.alignment import Alignment
from whymatch.matching.head import Head, LinkReader
from whymatch.matching.matcher import Matched, Matcher, padded
from whymatch.matching.rules import Rule, Transport
from whymatch.text.encoders import Pair, all_or_raise
from whymatch.transport.constraints import Constraint

MAX_PAIRS_PER_PREDICTION = 256  # pairs of texts in a batch


@dataclass(frozen=True)
class Prediction:
    """A label, how probable each one is, and the alignment that the prediction was made from (none for attention)."""

    label: str
    probabilities: dict[str, float]
    alignment: Alignment | None


class Classifier(Matcher):
    """Aligns, compares the linked spans, and decides; the rule may be one of the attention baselines instead.

    With a `reader`, the vectors that are compared are its own, and those of the aligner's encoder only align.

    >>> import whymatch as wm
    >>> vectors = wm.Precomputed({"a": [1.0, 0.0], "b": [0.0, 1.0]})
    >>> rule = wm.learning.Transport(wm.Exactly(1), smooth=wm.transport.Temperature(0.1))
    >>> model = wm.Classifier(wm.Aligner("line", wm.learning.Projected(vectors, 2)), rule, ["no", "yes"])
    >>> [prediction] = model.predict([(["a", "b"], ["b"])])       # its head is untrained: the label is a guess
    >>> prediction.alignment.to_pharaoh(), [*prediction.probabilities]
    ('1-0', ['no', 'yes'])

    Args:
        aligner: how texts are split, encoded and compared; its encoder is one of `wm.learning`.
        rule: `Transport`, `Attend`, or a constraint, which stands for the plan without a derivative.
        labels: two or more.
        reader: a second encoder that reads what is linked.
        hidden: units of the head.
        dropout: of the head, in training.

    Raises:
        ValueError: if labels repeat, or the parts do not fit together.
    """

    kind = "classifier"

    def __init__(
        self,
        aligner: Aligner,
        rule: Rule | Constraint,
        labels: Sequence[str],
        *,
        reader: LinkReader | None = None,
        hidden: int = 128,
        dropout: float = 0.1,
    ) -> None:
        super().__init__(aligner, rule)
        if len(set(labels)) != len(labels) or len(labels) < 2:
            raise ValueError(f"A classifier needs two labels or more, all different, got {list(labels)}.")
        self.labels = list(labels)
        self.thresholds: dict[str, float] = {}  # how strongly a span is selected that people would mark, by side
        if reader is not None:
            self._check_reader(reader)
        self.reader = reader
        size = getattr(reader or aligner.encoder, "size", None)
        if size is None:
            raise ValueError(f"{aligner.encoder.name} does not tell how long its vectors are: give it a size.")
        self.head = Head(size, len(labels), hidden, dropout)

    def _check_reader(self, reader: LinkReader) -> None:
        """Raises ValueError where there are no links to read, or where labels could move them."""
        rule = self.rule
        if not isinstance(rule, Transport) or rule.soft:
            raise ValueError(f"A reader reads what is linked: it goes with a constraint and a hard plan, got {rule}.")
        if reader.encoder is self.aligner.encoder:
            raise ValueError("A reader has an encoder of its own: labels would move the links of a shared one.")

    @property
    def contextual(self) -> bool:
        if self.reader is None:
            return super().contextual
        return not self.reader.alone and self.reader.encoder.contextual

    def logits(self, pairs: Sequence[Pair]) -> tuple[Tensor, Matched]:
        """(pairs, labels), and what they were computed from."""
        matched = self(pairs)
        if self.reader is None:
            return self.head(matched.left, matched.right, matched.weights), matched
        return self.head(*self.reader(pairs, matched.weights), matched.weights.detach()), matched

    def predict(self, pairs: Sequence[tuple[Text, Text]]) -> list[Prediction]:
        """Labels, probabilities and alignments: each text is encoded once, each pair aligned once."""
        if any(isinstance(pair, str) or len(pair) != 2 for pair in pairs):
            raise TypeError("predict takes a list of pairs (left, right).")
        texts = [(self.aligner.split(left), self.aligner.split(right)) for left, right in pairs]
        predictions: list[Prediction] = []
        training = self.training
        self.eval()
        try:
            with torch.no_grad():
                for start in range(0, len(texts), MAX_PAIRS_PER_PREDICTION):
                    predictions += self._predict_batch(texts[start : start + MAX_PAIRS_PER_PREDICTION])
        finally:
            self.train(training)
        return predictions

    def _predict_batch(self, pairs: Sequence[Pair]) -> list[Prediction]:
        alignments: Sequence[Alignment | None] = [None] * len(pairs)
        if isinstance(self.rule, Transport) and not self.rule.soft:
            vectors = all_or_raise(self.aligner.encode(pairs))
            solved = self.aligner.align_vectors(pairs, vectors, self.rule.constraint, clip=True)
            left, right = (padded([torch.as_tensor(pair[side]) for pair in vectors]).to(self.device) for side in (0, 1))
            weights = torch.zeros(len(pairs), left.shape[1], right.shape[1])
            for number, why in enumerate(solved):
                for link in why.links:
                    weights[(number, *link.at)] = link.mass
            alignments = solved
            if self.reader is not None:
                left, right = self.reader(pairs, weights)
            logits = self.head(left, right, weights.to(left))
        else:
            logits, _ = self.logits(pairs)
        return [
            Prediction(self.labels[int(row.argmax())], dict(zip(self.labels, row.tolist(), strict=True)), why)
            for row, why in zip(logits.softmax(dim=1), alignments, strict=True)
        ]
