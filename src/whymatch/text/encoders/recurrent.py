"""The paper's recurrent encoder: a bidirectional SRU over word vectors."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from whymatch.batching import Size, padded, pieces
from whymatch.interruption import interruption_point
from whymatch.text.encoders.sru import SRU
from whymatch.text.encoders.trainable import TrainableEncoder
from whymatch.text.encoders.windows import mean_rows
from whymatch.text.spans import Span, overlaps, words
from whymatch.text.vectors import WordVectors

MAX_SEQUENCES_PER_BATCH = {"cpu": 256, "cuda": 8192}  # more would be padded to the longest of them
MAX_WORDS_PER_SEQUENCE = 256  # on average in a batch, padding included: of longer sequences fewer are read together
MAX_CACHED_TEXTS = 100_000  # whose words are remembered


class RecurrentEncoder(TrainableEncoder):
    """The mean state over the words of each span, read alone, or with the whole text around it if `in_context`.

    Without layers it is the mean of the word vectors, which needs no training; `weights` (words of `vectors`) say how
    much each word counts then. With layers it starts at random, by a seed, and is of use after training.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> from whymatch.text.vectors import WordVectors
    >>> vectors = WordVectors("two words", {"cat": 0, "dog": 1}, np.eye(2, dtype=np.float32))
    >>> encoder = wm.RecurrentEncoder(vectors, hidden=8)
    >>> [rows] = encoder.encode(["cat dog"], [[wm.Span(0, 3), wm.Span(4, 7)]])
    >>> rows.shape                                                 # (spans, 2 * hidden)
    (2, 16)

    Args:
        vectors: word vectors, as `read_vectors` gives them.
        hidden: units in each direction.
        layers: of the recurrent network; 0 for the mean of the word vectors.
        in_context: whether a span is read with the text around it.
        dropout: between layers, in training.
        seed: of the weights at the start.
        weights: (words), how much each word counts, without layers.

    Raises:
        ValueError: if there are weights and layers, or not one weight per word.
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
            raise ValueError("weights are one per word vector, and for a mean of word vectors: layers = 0.")
        self.vectors = vectors
        self.contextual = in_context and layers > 0
        self.hidden, self.layers = hidden, layers
        self.size = 2 * hidden if layers else vectors.vectors.shape[1]
        self.name = f"bi-SRU ({layers} layers of {hidden}) over {vectors.name}" if layers else vectors.name
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.sru = SRU(vectors.vectors.shape[1], hidden, layers, dropout) if layers else None
        self.table: Tensor
        self.register_buffer("table", torch.from_numpy(vectors.vectors), persistent=False)  # moves with the weights
        self.weights: Tensor | None
        self.register_buffer("weights", weights)
        self.known: dict[str, tuple[list[Span], np.ndarray]] = {}

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        sequences: list[np.ndarray] = []  # what is read at a time: a text, or a span alone
        covered = []  # for each span its sequence, and the words it has there
        for text, own in zip(texts, spans, strict=True):
            for piece in [text] if self.contextual else [text[start:end] for start, end in own]:
                places, numbers = self._words(piece)
                ranges = overlaps(places, own) if self.contextual else [range(len(places))]
                covered += [(len(sequences), inside.start, inside.stop) for inside in ranges]
                sequences.append(numbers)
        states, first_rows = self._read(sequences)
        which, start, stop = np.array(covered, dtype=np.int64).reshape(-1, 3).T
        counts = np.maximum(stop - start, 0)
        rows = np.repeat(first_rows[which] + start - (counts.cumsum() - counts), counts) + np.arange(counts.sum())
        return list(torch.split(mean_rows(states, rows, counts), [len(own) for own in spans]))

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many words each text has."""
        return [len(words(text)) for text in texts]

    def forget(self) -> None:
        self.known.clear()

    def _words(self, text: str) -> tuple[list[Span], np.ndarray]:
        """The words of a text, and the numbers of their vectors; remembered, since training comes back to a text."""
        if text in self.known:
            return self.known[text]
        spans = words(text)
        known = spans, np.array([self.vectors.number(text[start:end]) for start, end in spans], dtype=np.int64)
        if len(self.known) < MAX_CACHED_TEXTS:
            self.known[text] = known
        return known

    def _read(self, sequences: Sequence[np.ndarray]) -> tuple[Tensor, np.ndarray]:
        """The states of all words, (words, size), and the row of each sequence's first word among them."""
        device = self.table.device
        lengths = np.array([len(numbers) for numbers in sequences], dtype=np.int64)
        parts, first_rows, total = [self.table.new_zeros(0, self.size)], np.zeros(len(sequences), np.int64), 0
        for batch in _batches(lengths, MAX_SEQUENCES_PER_BATCH.get(device.type, 256)):
            interruption_point()
            rows, mask = padded([sequences[number] for number in batch], lengths[batch[-1]], fill=-1)
            numbers, steps, kept = (
                torch.from_numpy(values).to(device) for values in (rows, lengths[batch], np.flatnonzero(mask))
            )
            inputs = self.table[numbers.clamp(min=0)] * (numbers >= 0)[:, :, None]
            if self.weights is not None:
                inputs = inputs * self.weights[numbers.clamp(min=0)][:, :, None]
            states = inputs if self.sru is None else self.sru(inputs, steps).float()
            parts.append(states.flatten(0, 1)[kept])
            first_rows[batch] = total + lengths[batch].cumsum() - lengths[batch]
            total += lengths[batch].sum()
        return torch.cat(parts), first_rows


def _batches(lengths: np.ndarray, max_sequences: int) -> Iterator[list[int]]:
    """The numbers of sequences of similar lengths, which are read together; empty ones are left out."""
    sizes = [Size(n=length) for length in lengths.tolist()]
    order = np.argsort(lengths, kind="stable")[(lengths == 0).sum() :].tolist()
    for start in range(0, len(order), max_sequences):
        yield from pieces(order[start : start + max_sequences], sizes, max_sequences * MAX_WORDS_PER_SEQUENCE)
