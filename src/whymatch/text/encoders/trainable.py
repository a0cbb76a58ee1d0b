"""Encoders with weights that are trained."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

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
        """(spans, size) for each text, with gradients, where the weights are."""
        raise NotImplementedError

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        """(spans, size) in single precision for each text."""
        with self.at_rest():
            return [to_array(vectors) for vectors in self.states(texts, spans)]

    def forget(self) -> None:
        """Drops what it keeps of texts that it has seen."""

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Without gradients and without dropout."""
        was_training = self.training
        self.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            self.train(was_training)


def to_array(vectors: Tensor) -> np.ndarray:
    """A tensor without gradients as an array in single precision."""
    array: np.ndarray = vectors.float().cpu().numpy()
    return array
