"""The paper's recurrent encoder: a bidirectional SRU over word vectors."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from whymatch.text.encoders.learning import Learning
from whymatch.text.encoders.sru import SRU
from whymatch.text.spans import Span, overlaps, words
from whymatch.text.vectors import WordVectors

AT_ONCE = 256  # sequences in a batch


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

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        """As `encode`, with gradients."""
        sequences, pooled = [], []  # what is read as one, and which of its words belong to which span
        for text, some in zip(texts, spans, strict=True):
            for piece in [Span(0, len(text))] if self.contextual else some:
                found = [Span(piece.start + a, piece.start + b) for a, b in words(text[piece.start : piece.end])]
                sequences.append([text[a:b] for a, b in found])
                pooled.append(overlaps(found, some if self.contextual else [piece]))
        vectors = []
        for states, rows in zip(self.read(sequences), pooled, strict=True):
            vectors += [
                states[row.start : row.stop].mean(dim=0) if row else states.new_zeros(self.size) for row in rows
            ]
        sizes = [len(some) for some in spans]
        return list(torch.split(torch.stack(vectors), sizes)) if vectors else [torch.zeros(0, self.size) for _ in sizes]

    def read(self, sequences: Sequence[Sequence[str]]) -> list[Tensor]:
        """(words, dimensions) for each sequence, in batches of similar length."""
        order = sorted(range(len(sequences)), key=lambda number: len(sequences[number]))
        found: dict[int, Tensor] = {}
        for start in range(0, len(order), AT_ONCE):
            batch = order[start : start + AT_ONCE]
            device = next(self.parameters()).device if self.sru is not None else None
            lengths = torch.tensor([len(sequences[number]) for number in batch], device=device)
            inputs = nn.utils.rnn.pad_sequence(
                [self.vectors.of(sequences[number]) for number in batch], batch_first=True
            ).to(device)
            states = self.sru(inputs, lengths) if self.sru is not None and inputs.shape[1] else inputs
            for row, number in enumerate(batch):
                found[number] = states[row, : len(sequences[number])]
        return [found[number] for number in range(len(sequences))]
