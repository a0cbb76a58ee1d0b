"""What the ranker and the classifier share: texts in, costs and weights of their pairs of spans out, with gradients."""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from whymatch.matching.aligner import Aligner
from whymatch.matching.costs import Cost, cosine_distance
from whymatch.matching.rarity import Rarity
from whymatch.matching.refinement import Refinement
from whymatch.matching.rules import Rule
from whymatch.text.document import Document
from whymatch.text.encoders import Encoder, reads_pairs
from whymatch.text.encoders.trainable import TrainableEncoder


class Matched(NamedTuple):
    """A padded batch of pairs: vectors, costs, weights and the score that the weights give."""

    left: Tensor
    right: Tensor
    cost: Tensor
    weights: Tensor
    sizes: Tensor
    score: Tensor


def padded(sequences: Sequence[Tensor]) -> Tensor:
    """(batch, longest, d), zero behind the end of each; torch's own copies the whole gradient once a sequence."""
    return placed(torch.cat([*sequences]), [range(len(some)) for some in sequences], max(map(len, sequences)))


def placed(vectors: Tensor, numbers: Sequence[Sequence[int]], length: int) -> Tensor:
    """(batch, length, d): vectors of all texts, one after another, at the numbers of their spans; zero elsewhere."""
    rows = [place * length + number for place, some in enumerate(numbers) for number in some]
    empty = vectors.new_zeros(len(numbers) * length, vectors.shape[1])
    filled = empty.index_copy(0, torch.tensor(rows, dtype=torch.long, device=vectors.device), vectors)
    return filled.view(len(numbers), length, vectors.shape[1])


def states_of(
    encoder: TrainableEncoder, pairs: Sequence[tuple[Document, Document]]
) -> tuple[list[Tensor], list[Tensor]]:
    """The vectors of the left and of the right texts, with gradients; a text in several pairs is encoded once."""
    if reads_pairs(encoder):
        found = encoder.pair_states(pairs)
        return [left for left, _ in found], [right for _, right in found]
    distinct = list(dict.fromkeys(text for pair in pairs for text in pair))
    states = encoder.states([text.text for text in distinct], [text.spans for text in distinct])
    vectors = dict(zip(distinct, states, strict=True))
    return [vectors[left] for left, _ in pairs], [vectors[right] for _, right in pairs]


class Matcher(nn.Module):
    """Encodes, compares and weighs pairs of texts; `split` is how texts that come as strings are split."""

    kind = "matcher"

    def __init__(
        self,
        encoder: TrainableEncoder,
        rule: Rule,
        cost: Cost = cosine_distance,
        *,
        split: str = "sentence",
        refinement: Refinement | None = None,
        rarity: Rarity | None = None,
    ) -> None:
        super().__init__()
        if cost.unpadded:
            raise ValueError(f"A model is trained on padded batches, and {cost.name} takes one pair at a time.")
        below = rule.zero(inf)
        if below <= cost.least and refinement is None and rarity is None:
            raise ValueError(f"UpTo(below={below:g}) links nothing: no pair has a {cost.name} below {below:g}.")
        self.encoder = encoder
        self.rule = rule
        self.cost = cost
        self.split = split
        self.refinement = refinement
        self.rarity = rarity

    def forward(self, pairs: Sequence[tuple[Document, Document]]) -> Matched:
        left, right = (padded(side) for side in states_of(self.encoder, pairs))
        sizes = torch.tensor([[len(a), len(b)] for a, b in pairs])
        with torch.autocast(left.device.type, enabled=False):  # half precision would make ties of near costs
            left, right = left.float(), right.float()
            cost = self.cost(left, right)
            if self.rarity is not None and self.rarity.shared:
                common = torch.zeros(cost.shape)
                for row, (a, b) in zip(common, pairs, strict=True):
                    row[: len(a), : len(b)] = self.rarity.between(a, b)
                cost = cost - common.to(cost)
            if self.refinement is not None:
                cost = self.refinement(cost, sizes)
            if self.rarity is not None:
                of_left, of_right = (
                    pad_sequence([self.rarity.of(pair[side]) for pair in pairs], batch_first=True).to(cost)
                    for side in (0, 1)
                )
                cost = cost - of_left[:, :, None] - of_right[:, None, :]
            weights = self.rule.weights(cost, sizes)
            score = (weights * (self.rule.zero(self.cost.neutral) - cost)).sum(dim=(1, 2))
        return Matched(left, right, cost, weights, sizes, score)

    def forget(self) -> None:
        """Drops what it keeps of texts that it has seen: vectors, words, and what they are worth."""
        for part in self.modules():
            if isinstance(part, TrainableEncoder):
                part.forget()
        if self.rarity is not None:
            self.rarity.forget()

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def contextual(self) -> bool:
        """Whether, given the links, text outside of them may have a part in what is predicted."""
        return self.aligner.contextual

    @property
    def aligner(self) -> Aligner:
        """An aligner with the model's parts."""
        return self.aligner_of(self.encoder)

    def aligner_of(self, encoder: Encoder) -> Aligner:
        """An aligner of what an encoder gives, with the model's costs."""
        return Aligner(self.split, encoder, self.cost, rarity=self.rarity, refinement=self.refinement)

    def save_pretrained(self, folder: str | Path) -> None:
        """Writes config.json and model.safetensors."""
        from whymatch.matching.saving import save_pretrained

        save_pretrained(self, folder)

    @classmethod
    def from_pretrained(cls, folder: str | Path, encoder: Encoder | None = None) -> Self:
        """What `save_pretrained` wrote; an encoder that was not written there is given."""
        from whymatch.matching.saving import from_pretrained

        model = from_pretrained(folder, encoder)
        if not isinstance(model, cls):
            raise ValueError(f"The model in {folder} is a {model.kind}, not a {cls.kind}.")
        return model
