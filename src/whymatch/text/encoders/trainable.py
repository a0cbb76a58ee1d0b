"""Encoders with weights that are trained, and the simplest of them: a linear map over a frozen encoder."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from whymatch.text.encoders import Encoder, readable, token_counts
from whymatch.text.encoders.caching import KnownVectors
from whymatch.text.spans import Span


class TrainableEncoder(nn.Module):
    """An encoder whose `states` have gradients; `encode` gives them as arrays, without gradients and without dropout.

    `tuned` says that its weights come from another training, and are fine-tuned at a lower learning rate.
    """

    name: str
    contextual: bool
    size: int
    """The length of a vector."""
    tuned: bool = False

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        """(spans, size) for each text, with gradients, on the device of the weights."""
        raise NotImplementedError

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        """(spans, size) in single precision for each text."""
        with self.at_rest():
            return [to_array(vectors) for vectors in self.states(texts, spans)]

    def forget(self) -> None:
        """Drops what it keeps of texts that it has seen."""

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """In evaluation mode and without gradients for the time of a block."""
        was_training = self.training
        self.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            self.train(was_training)


class Projected(TrainableEncoder):
    """The vectors of a frozen encoder, which reads each text once, through a linear map that starts as the identity.

    A map that is not `learned` stays the identity.

    >>> import whymatch as wm
    >>> encoder = wm.learning.Projected(wm.Precomputed({"a": [1.0, 0.0]}), 2)
    >>> encoder.encode(["a"], [[wm.Span(0, 1)]])[0].tolist()       # before training the map is the identity
    [[1.0, 0.0]]

    Args:
        encoder: a frozen encoder.
        size: of its vectors.
        dropout: of its vectors, in training.
        learned: whether the map is trained.

    Raises:
        ValueError: if the encoder has vectors of another size.
    """

    def __init__(self, encoder: Encoder, size: int, dropout: float = 0.0, *, learned: bool = True) -> None:
        super().__init__()
        given = getattr(encoder, "size", size)
        if given != size:
            raise ValueError(f"{encoder.name} gives vectors of size {given}, and the map is for size {size}.")
        self.encoder = encoder
        self.name = f"{encoder.name}, projected"
        self.contextual = encoder.contextual
        self.size = size
        self.map = nn.Linear(size, size, bias=False)
        nn.init.eye_(self.map.weight)
        self.map.requires_grad_(learned)
        self.dropout = nn.Dropout(dropout)
        self.learned = learned
        self.known = KnownVectors()

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        vectors = self.frozen(texts, spans)
        if not vectors:
            return []
        mapped = self.map(self.dropout(torch.from_numpy(np.concatenate(vectors)).to(self.map.weight)))
        return list(mapped.split([len(own) for own in vectors]))

    @property
    def backend(self) -> str | None:
        """What computes the vectors of the frozen encoder, where it tells."""
        backend: str | None = getattr(self.encoder, "backend", None)
        return backend

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens the frozen encoder reads for each text."""
        return token_counts(self.encoder, texts)

    def reads(self, pieces: Sequence[str]) -> np.ndarray:
        """(pieces): whether the frozen encoder can read each."""
        return readable(self.encoder, pieces)

    def forget(self) -> None:
        self.known = KnownVectors()

    def frozen(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        """The vectors of the frozen encoder, (spans, size) for each text; known ones are not computed again."""
        vectors = [self.known.get(text, tuple(own)) for text, own in zip(texts, spans, strict=True)]
        new = [number for number, own in enumerate(vectors) if own is None]
        if new:
            encoded = self.encoder.encode([texts[number] for number in new], [spans[number] for number in new])
            for number, own in zip(new, encoded, strict=True):
                vectors[number] = own
                self.known.put(texts[number], tuple(spans[number]), own)
        return [own for own in vectors if own is not None]


def to_array(vectors: Tensor) -> np.ndarray:
    """A tensor without gradients as an array in single precision."""
    array: np.ndarray = vectors.float().cpu().numpy()
    return array
