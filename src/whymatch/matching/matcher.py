"""What the ranker and the classifier share: texts in, costs and weights of their pairs of spans out, with gradients."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from whymatch.matching.aligner import Aligner
from whymatch.matching.rules import Rule, Transport
from whymatch.text.encoders import Encoder, Pair, reads_pairs
from whymatch.text.encoders.trainable import TrainableEncoder
from whymatch.transport.constraints import Constraint


class Matched(NamedTuple):
    """A padded batch of pairs: vectors, costs, weights and the score that the weights give."""

    left: Tensor
    """(batch, n, d)"""
    right: Tensor
    """(batch, m, d)"""
    cost: Tensor
    """(batch, n, m)"""
    weights: Tensor
    """(batch, n, m)"""
    sizes: Tensor
    """(batch, 2), on the CPU"""
    score: Tensor
    """(batch)"""


def padded(sequences: Sequence[Tensor]) -> Tensor:
    """(batch, longest, d), zero behind the end of each; torch's own copies the whole gradient once per sequence."""
    rows = [range(len(sequence)) for sequence in sequences]
    return placed(torch.cat([*sequences]), rows, max(map(len, sequences)))


def placed(vectors: Tensor, rows: Sequence[Sequence[int]], length: int) -> Tensor:
    """(batch, length, d): the vectors of all texts, one after another, in the given rows of each; zero elsewhere."""
    places = [number * length + row for number, own_rows in enumerate(rows) for row in own_rows]
    empty = vectors.new_zeros(len(rows) * length, vectors.shape[1])
    filled = empty.index_copy(0, torch.tensor(places, dtype=torch.long, device=vectors.device), vectors)
    return filled.view(len(rows), length, vectors.shape[1])


def states_of(
    encoder: Encoder, pairs: Sequence[Pair], device: torch.device | None = None
) -> tuple[list[Tensor], list[Tensor]]:
    """The vectors of the left and of the right texts, with gradients where the encoder is trainable, on a device.

    A text in several pairs is encoded once.
    """
    if reads_pairs(encoder):
        states = encoder.pair_states(pairs)
        return [left for left, _ in states], [right for _, right in states]
    distinct = list(dict.fromkeys(text for pair in pairs for text in pair))
    texts, spans = [text.text for text in distinct], [text.spans for text in distinct]
    if hasattr(encoder, "states"):
        vectors = encoder.states(texts, spans)
    else:
        vectors = [torch.from_numpy(rows).to(device) for rows in encoder.encode(texts, spans)]
    by_text = dict(zip(distinct, vectors, strict=True))
    return [by_text[left] for left, _ in pairs], [by_text[right] for _, right in pairs]


class Matcher(nn.Module):
    """An aligner whose parts can be trained, and a rule that turns its costs into weights of pairs of spans."""

    kind = "matcher"

    def __init__(self, aligner: Aligner, rule: Rule | Constraint) -> None:
        super().__init__()
        if aligner.cost.evidence is not None and aligner.judge.background is None:
            aligner = aligner.without_evidence()  # what training changes has no background
        if isinstance(rule, Constraint):
            rule = Transport(rule)
        if isinstance(rule, Transport):  # a constraint under which no pair could be linked is refused here
            rule = replace(rule, constraint=aligner.resolve(rule.constraint))
        self.aligner = aligner
        self.rule: Rule = rule
        if isinstance(aligner.encoder, nn.Module):
            self.encoder = aligner.encoder
        self.terms = nn.ModuleDict(
            {term.name: module for term in aligner.cost.terms if (module := term.module) is not None}
        )

    def forward(self, pairs: Sequence[Pair]) -> Matched:
        """Costs, weights and scores of split texts, as one padded batch."""
        left, right = (padded(side) for side in states_of(self.aligner.encoder, pairs, self.device))
        sizes = torch.tensor([[len(a), len(b)] for a, b in pairs])
        with torch.autocast(left.device.type, enabled=False):  # half precision would make ties of near costs
            left, right = left.float(), right.float()
            cost = self.aligner.cost(left, right, sizes=sizes.numpy(), texts=pairs)
            weights = self.rule.weights(cost, sizes)
            score = (weights * (self.rule.zero(self.aligner.cost.neutral) - cost)).sum(dim=(1, 2))
        return Matched(left, right, cost, weights, sizes, score)

    def forget(self) -> None:
        """Drops what is cached of texts that it has seen: vectors, words, and what they are worth."""
        for part in self.modules():
            if isinstance(part, TrainableEncoder):
                part.forget()
        if (counts := self.aligner.cost.word_counts) is not None:
            counts.forget()

    @property
    def device(self) -> torch.device:
        return next((weight.device for weight in self.parameters()), torch.device("cpu"))

    @property
    def contextual(self) -> bool:
        """Whether, given the links, text outside of them may have a part in what is predicted."""
        return self.aligner.contextual

    def save_pretrained(self, folder: str | Path) -> None:
        """Writes config.json and model.safetensors."""
        from whymatch.matching.saving import save_pretrained

        save_pretrained(self, folder)

    def push_to_hub(
        self,
        name: str,
        *,
        card_of: str | Path | None = None,
        private: bool | None = None,
        revision: str | None = None,
        message: str = "Upload a model of whymatch",
        token: str | None = None,
    ) -> str:
        """Uploads the model to the Hugging Face Hub with a card, and returns the address of the commit.

        Args:
            name: owner/model; it is made if it is not there. The environment variable HF_ENDPOINT names another server.
            card_of: the folder of a run, whose measurements and settings the card is to have.
            private: whether others cannot see a model that is made now.
            revision: the branch, the main one by default.
            message: of the commit.
            token: who uploads; by default what `hf auth login` has kept.

        Raises:
            ValueError: if the name is none, or a part of the model cannot be written.
            ModuleNotFoundError: if huggingface_hub is not installed.
            huggingface_hub.errors.HfHubHTTPError: if the server refuses it.
        """
        from whymatch.matching.hub import push_to_hub

        return push_to_hub(
            self, name, card_of=card_of, private=private, revision=revision, message=message, token=token
        )

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path,
        encoder: Encoder | None = None,
        *,
        revision: str | None = None,
        download: bool = False,
    ) -> Self:
        """What `save_pretrained` wrote into a folder, or `push_to_hub` under a name: owner/model.

        An encoder that was not written there is given. A model on the hub is downloaded where `download` allows it,
        and is else one that was downloaded before; `revision` is its branch, tag or commit.

        Raises:
            ValueError: if there is no such model, it is of another kind, or a file is not what was written.
        """
        from whymatch.matching.hub import from_hub, is_name
        from whymatch.matching.saving import from_pretrained

        place = from_hub(str(folder), revision=revision, download=download) if is_name(folder) else folder
        model = from_pretrained(place, encoder)
        if not isinstance(model, cls):
            raise ValueError(f"The model in {folder} is a {model.kind}, not a {cls.kind}.")
        return model
