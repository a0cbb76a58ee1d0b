"""What encoders that learn share."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from whymatch.text.spans import Span


class Learning(nn.Module):
    """An encoder whose `states` have gradients; `encode` is the same without them, and without dropout.

    `tuned` says that its weights have learned before, and are to learn slowly.
    """

    tuned = False

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        """(spans, dimensions) for each text, with gradients."""
        raise NotImplementedError

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        with self.at_rest():
            return [vectors.cpu() for vectors in self.states(texts, spans)]

    def forget(self) -> None:
        """Drops what it keeps of texts that it has seen."""

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Without gradients and without dropout."""
        learning = self.training
        self.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            self.train(learning)
