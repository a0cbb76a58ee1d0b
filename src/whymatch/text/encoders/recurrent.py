"""The paper's recurrent encoder: a bidirectional SRU over word vectors."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from whymatch.interruption import interruption_point
from whymatch.text.encoders.sru import SRU
from whymatch.text.encoders.trainable import TrainableEncoder
from whymatch.text.spans import Span, overlaps, words
from whymatch.text.vectors import WordVectors

AT_ONCE = 256, 8192  # sequences in a batch, on a CPU and on a GPU
LENGTH = 256  # words up to which so many sequences are read together; of longer ones fewer, since they are padded
MOST = 100_000  # texts whose words are remembered


class RecurrentEncoder(TrainableEncoder):
    """The mean state over the words of each span, read alone, or with the whole text around it if `in_context`.

    Without layers it is the mean of the word vectors, which needs no training; `weights` say how much each word counts
    then. With layers it starts at random, by a seed, and is of use after training.
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
        weights: Tensor | None = None,
    ) -> None:
        super().__init__()
        if weights is not None and (layers or weights.shape != vectors.vectors.shape[:1]):
            raise ValueError("weights are one a word vector, and for a mean of word vectors: layers = 0.")
        self.vectors = vectors
        self.contextual = in_context and layers > 0
        self.hidden, self.layers = hidden, layers
        self.size = 2 * hidden if layers else vectors.vectors.shape[1]
        self.name = f"bi-SRU ({layers} layers of {hidden}) over {vectors.name}" if layers else vectors.name
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.sru = SRU(vectors.vectors.shape[1], hidden, layers, dropout) if layers else None
        self.table: Tensor
        self.register_buffer("table", vectors.vectors, persistent=False)  # moves to where the weights are
        self.weights: Tensor | None
        self.register_buffer("weights", weights)
        self.known: dict[str, tuple[list[Span], np.ndarray]] = {}

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        """As `encode`, with gradients."""
        sequences: list[np.ndarray] = []  # what is read as one
        covered = []  # for each span its sequence, and the words it has there
        for text, some in zip(texts, spans, strict=True):
            for piece in [text] if self.contextual else [text[start:end] for start, end in some]:
                found, numbers = self.words_of(piece)
                ranges = overlaps(found, some) if self.contextual else [range(len(found))]
                covered += [(len(sequences), inside.start, inside.stop) for inside in ranges]
                sequences.append(numbers)
        flat, first = self.read(sequences)
        which, start, stop = np.array(covered, dtype=np.int64).reshape(-1, 3).T
        counts = np.maximum(stop - start, 0)
        rows = np.repeat(first[which] + start - (counts.cumsum() - counts), counts) + np.arange(counts.sum())
        lengths = torch.from_numpy(counts).to(flat.device)
        inside = flat[torch.from_numpy(rows).to(flat.device)]
        sums = torch.segment_reduce(inside, "sum", lengths=lengths, unsafe=True)  # the check would wait for the GPU
        means = sums / lengths.clamp(min=1)[:, None]
        return list(torch.split(means, [len(some) for some in spans]))

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many words each text has."""
        return [len(words(text)) for text in texts]

    def forget(self) -> None:
        self.known.clear()

    def words_of(self, text: str) -> tuple[list[Span], np.ndarray]:
        """The words of a text, and the numbers of their vectors; remembered, since training comes back to a text."""
        if (found := self.known.get(text)) is None:
            spans = [*words(text)]
            found = spans, np.array([self.vectors.number(text[a:b]) for a, b in spans], dtype=np.int64)
            if len(self.known) < MOST:
                self.known[text] = found
        return found

    def read(self, sequences: Sequence[np.ndarray]) -> tuple[Tensor, np.ndarray]:
        """(words, dimensions) of all sequences, one after another, and where each starts; read in similar lengths."""
        device = self.table.device
        lengths = np.array([len(numbers) for numbers in sequences], dtype=np.int64)
        order = np.argsort(lengths, kind="stable")
        order = order[lengths[order] > 0]
        parts, first, total = [self.table.new_zeros(0, self.size)], np.zeros(len(sequences), np.int64), 0
        for batch in _batches(order, lengths, AT_ONCE[device.type == "cuda"]):
            interruption_point()
            inside = np.arange(lengths[batch].max()) < lengths[batch, None]
            rows = np.full(inside.shape, -1)
            rows[inside] = np.concatenate([sequences[number] for number in batch])
            numbers, sizes, kept = (
                torch.from_numpy(values).to(device) for values in (rows, lengths[batch], np.flatnonzero(inside))
            )
            inputs = self.table[numbers.clamp(min=0)] * (numbers >= 0)[:, :, None]
            if self.weights is not None:
                inputs = inputs * self.weights[numbers.clamp(min=0)][:, :, None]
            states = inputs if self.sru is None else self.sru(inputs, sizes).float()
            parts.append(states.flatten(0, 1)[kept])
            first[batch] = total + lengths[batch].cumsum() - lengths[batch]
            total += lengths[batch].sum()
        return torch.cat(parts), first


def _batches(order: np.ndarray, lengths: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Sequences that are read together: `most`, or fewer where they are longer than LENGTH; `order` is by length."""
    start = 0
    while start < len(order):
        some = order[start : start + most]
        fit = np.arange(1, len(some) + 1) * lengths[some] <= most * LENGTH
        batch = some[: max(1, int(fit.sum()))]
        yield batch
        start += len(batch)
