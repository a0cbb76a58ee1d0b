"""The paper's recurrent encoder: a bidirectional SRU over word vectors."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from whymatch.text.encoders.learning import Learning
from whymatch.text.encoders.sru import SRU
from whymatch.text.spans import Span, overlaps, words
from whymatch.text.vectors import WordVectors

AT_ONCE = 256  # sequences in a batch
MOST = 100_000  # texts whose words are remembered


class RecurrentEncoder(Learning):
    """The mean state over the words of each span, read alone, or with the whole text around it if `in_context`.

    Without layers it is the mean of the word vectors, which needs no training. With layers it starts at random, by a
    seed, and is of use after training.
    """

    def __init__(
        self,
        vectors: WordVectors,
        hidden: int = 200,
        layers: int = 2,
        *,
        in_context: bool = False,
        dropout: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.vectors = vectors
        self.contextual = in_context
        self.hidden, self.layers = hidden, layers
        self.size = 2 * hidden if layers else vectors.vectors.shape[1]
        self.name = f"bi-SRU ({layers} layers of {hidden}) over {vectors.name}" if layers else vectors.name
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.sru = SRU(vectors.vectors.shape[1], hidden, layers, dropout) if layers else None
        self.table: Tensor
        self.register_buffer("table", vectors.vectors, persistent=False)  # moves to where the weights are
        self.known: dict[str, tuple[list[Span], Tensor]] = {}

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        """As `encode`, with gradients."""
        sequences, covered = [], []  # what is read as one, and which of its words belong to which span
        for text, some in zip(texts, spans, strict=True):
            for piece in [text] if self.contextual else [text[start:end] for start, end in some]:
                found, numbers = self.words_of(piece)
                sequences.append(numbers)
                covered.append(overlaps(found, some) if self.contextual else [range(len(found))])
        flat, first = self.read(sequences)
        picked = [
            np.arange(start + some.start, start + some.stop)
            for start, ranges in zip(first, covered, strict=True)
            for some in ranges
        ]
        lengths = torch.tensor([len(some) for some in picked], dtype=torch.long, device=flat.device)
        rows = torch.from_numpy(np.concatenate([np.zeros(0, np.int64), *picked])).to(flat.device)
        sums = torch.segment_reduce(flat[rows], "sum", lengths=lengths, unsafe=True)  # the check would wait for the GPU
        means = sums / lengths.clamp(min=1)[:, None]
        return list(torch.split(means, [len(some) for some in spans]))

    def words_of(self, text: str) -> tuple[list[Span], Tensor]:
        """The words of a text, and the numbers of their vectors; remembered, since training comes back to a text."""
        if (found := self.known.get(text)) is None:
            spans = [*words(text)]
            found = spans, torch.tensor([self.vectors.number(text[a:b]) for a, b in spans], dtype=torch.long)
            if len(self.known) < MOST:
                self.known[text] = found
        return found

    def read(self, sequences: Sequence[Tensor]) -> tuple[Tensor, list[int]]:
        """(words, dimensions) of all sequences, one after another, and where each starts; read in similar lengths."""
        order = sorted(range(len(sequences)), key=lambda number: len(sequences[number]))
        order = [number for number in order if len(sequences[number])]
        parts, first, total = [self.table.new_zeros(0, self.size)], [0] * len(sequences), 0
        for start in range(0, len(order), AT_ONCE):
            batch = order[start : start + AT_ONCE]
            lengths = torch.tensor([len(sequences[number]) for number in batch])
            rows = nn.utils.rnn.pad_sequence([sequences[number] for number in batch], batch_first=True).to(
                self.table.device
            )
            inputs = self.table[rows.clamp(min=0)] * (rows >= 0)[:, :, None]
            states = inputs if self.sru is None else self.sru(inputs, lengths.to(self.table.device)).float()
            inside = torch.arange(rows.shape[1]) < lengths[:, None]
            parts.append(states.flatten(0, 1)[inside.flatten().nonzero().flatten().to(states.device)])
            for number in batch:
                first[number], total = total, total + len(sequences[number])
        return torch.cat(parts), first
