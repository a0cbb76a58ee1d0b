"""From weighted pairs of spans to logits, in the manner of decomposable attention: compare, aggregate, decide."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from whymatch.cost.cost import unit
from whymatch.matching.matcher import padded, placed, states_of
from whymatch.text.encoders import Pair
from whymatch.text.encoders.trainable import TrainableEncoder


class Head(nn.Module):
    """Compares the two spans of every pair, adds the comparisons up by weight, and decides by a network of two layers.

    Of vectors it reads the direction: of each, of what they share and of what they differ in. While weights learn it
    compares all pairs, so that each has a gradient. Otherwise it gathers those with weight alone: other vectors may
    hold anything, NaN included, and the logits stay the same to the bit.
    """

    def __init__(self, size: int, labels: int, hidden: int = 128, dropout: float = 0.1) -> None:
        super().__init__()
        self.of_left = nn.Linear(size, hidden)
        self.of_right = nn.Linear(size, hidden, bias=False)
        self.of_both = nn.Linear(size, hidden, bias=False)
        self.of_difference = nn.Linear(size, hidden, bias=False)
        self.decide = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, labels)
        )

    def forward(self, left: Tensor, right: Tensor, weights: Tensor) -> Tensor:
        """(batch, labels) from vectors (batch, n, d) and (batch, m, d) and weights (batch, n, m)."""
        gather = self.dense if self.training and weights.requires_grad else self.gathered
        return self.decide(gather(left, right, weights))

    def compared(self, left: Tensor, right: Tensor) -> Tensor:
        """(…, hidden) from vectors (…, d), of which either may be shared by many pairs."""
        x, y = unit(left), unit(right)
        alike = x * y * x.shape[-1] ** 0.5  # as large as the vectors themselves
        alone = self.of_left(x) + self.of_right(y)
        return torch.relu(alone + self.of_both(alike) + self.of_difference((x - y).abs()))

    def dense(self, left: Tensor, right: Tensor, weights: Tensor) -> Tensor:
        return torch.einsum("bnm,bnmh->bh", weights, self.compared(left[:, :, None], right[:, None]))

    def gathered(self, left: Tensor, right: Tensor, weights: Tensor) -> Tensor:
        b, i, j = weights.nonzero(as_tuple=True)
        weighted = self.compared(left[b, i], right[b, j]) * weights[b, i, j, None]
        return weighted.new_zeros(len(left), weighted.shape[1]).index_add(0, b, weighted)


class LinkReader(nn.Module):
    """Vectors of linked spans from a second encoder, which the head compares: labels train it and not the links.

    It is shown the linked spans `alone`, so that nothing that the others say can reach the head; otherwise it reads the
    whole texts, and the vector of a linked span has the others in it.

    >>> import whymatch as wm
    >>> vectors = wm.Precomputed({"a": [1.0, 0.0], "b": [0.0, 1.0]})
    >>> reader = wm.learning.LinkReader(wm.learning.Projected(vectors, 2))
    >>> rule = wm.learning.Transport(wm.Exactly(1))
    >>> model = wm.Classifier(wm.Aligner("line", wm.learning.Projected(vectors, 2)), rule, ["no", "yes"], reader=reader)
    >>> model.predict([(["a", "b"], ["b"])])[0].alignment.to_pharaoh()
    '1-0'

    Args:
        encoder: one that is trained, and not that of the aligner.
        alone: whether it is shown the linked spans alone.
    """

    def __init__(self, encoder: TrainableEncoder, *, alone: bool = True) -> None:
        super().__init__()
        self.encoder = encoder
        self.alone = alone
        self.size = encoder.size

    def forward(self, pairs: Sequence[Pair], weights: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, n, d) and (batch, m, d) from weights (batch, n, m); zero for spans without a link, if read alone."""
        if not self.alone:
            left, right = (padded(side) for side in states_of(self.encoder, pairs))
            return left, right
        linked = (weights != 0).cpu()
        kept = [[row.nonzero().flatten().tolist() for row in linked.any(dim=2 - side)] for side in (0, 1)]
        rationales = [
            (left.keep(left_rows, " "), right.keep(right_rows, " "))
            for (left, right), left_rows, right_rows in zip(pairs, *kept, strict=True)
        ]
        left, right = (
            placed(torch.cat(states), rows, length)
            for states, rows, length in zip(states_of(self.encoder, rationales), kept, weights.shape[1:], strict=True)
        )
        return left, right
