"""A second model for the head, which reads what is linked and nothing else."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from whymatch.matching.model import Learner, placed, states_of
from whymatch.text.document import Document


class Reader(nn.Module):
    """The vectors of linked spans, from an encoder that is shown those spans alone.

    Labels teach it and leave the links as they are. Whatever the other spans say, nothing of it reaches the head.
    """

    def __init__(self, encoder: Learner) -> None:
        super().__init__()
        self.encoder = encoder
        self.size = encoder.size

    def forward(self, pairs: Sequence[tuple[Document, Document]], weights: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, n, d) and (batch, m, d), zero for spans without a link, from weights (batch, n, m)."""
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
