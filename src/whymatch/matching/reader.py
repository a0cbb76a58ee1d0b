"""A second model, which reads what is linked, for the head."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from whymatch.matching.model import padded, placed, states_of
from whymatch.text.document import Document
from whymatch.text.encoders.trainable import TrainableEncoder


class Reader(nn.Module):
    """The vectors of linked spans, from an encoder of its own: labels teach it, and leave the links as they are.

    It is shown the linked spans `alone`, so that nothing that the others say can reach the head; or the whole texts,
    if told, and a linked span then has the others in its vector.
    """

    def __init__(self, encoder: TrainableEncoder, *, alone: bool = True) -> None:
        super().__init__()
        self.encoder = encoder
        self.alone = alone
        self.size = encoder.size

    def forward(self, pairs: Sequence[tuple[Document, Document]], weights: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, n, d) and (batch, m, d) from weights (batch, n, m); zero for spans without a link, if read alone."""
        if not self.alone:
            left, right = (padded(side) for side in states_of(self.encoder, pairs))
            return left, right
        linked = (weights != 0).cpu()
        kept = [[row.nonzero().flatten().tolist() for row in linked.any(dim=2 - side)] for side in (0, 1)]
        read = [
            (left.keep(some, " "), right.keep(others, " "))
            for (left, right), some, others in zip(pairs, *kept, strict=True)
        ]
        found = states_of(self.encoder, read)
        left, right = (
            placed(torch.cat(states), numbers, length)
            for states, numbers, length in zip(found, kept, weights.shape[1:], strict=True)
        )
        return left, right
