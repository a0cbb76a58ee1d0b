"""From weighted pairs of spans to logits, in the manner of decomposable attention: compare, aggregate, decide."""

import torch
from torch import Tensor, nn


class Head(nn.Module):
    """Compares the two spans of every pair, adds the comparisons up by weight, and decides by a network of two layers.

    While it learns it compares all pairs, so that the weight of each has a gradient. Otherwise it gathers those with
    weight alone: other vectors may hold anything, NaN included, and the logits stay the same to the bit.
    """

    def __init__(self, size: int, labels: int, hidden: int = 128, dropout: float = 0.1) -> None:
        super().__init__()
        self.of_left = nn.Linear(size, hidden)
        self.of_right = nn.Linear(size, hidden, bias=False)
        self.of_both = nn.Linear(size, hidden, bias=False)
        self.decide = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, labels)
        )

    def forward(self, left: Tensor, right: Tensor, weights: Tensor) -> Tensor:
        """(batch, labels) from vectors (batch, n, d) and (batch, m, d) and weights (batch, n, m)."""
        gather = self.gathered if not self.training else self.dense
        return self.decide(gather(left, right, weights))

    def dense(self, left: Tensor, right: Tensor, weights: Tensor) -> Tensor:
        both = self.of_both(left[:, :, None] * right[:, None])
        compared = torch.relu(self.of_left(left)[:, :, None] + self.of_right(right)[:, None] + both)
        return torch.einsum("bnm,bnmh->bh", weights, compared)

    def gathered(self, left: Tensor, right: Tensor, weights: Tensor) -> Tensor:
        b, i, j = weights.nonzero(as_tuple=True)
        x, y = left[b, i], right[b, j]
        compared = torch.relu(self.of_left(x) + self.of_right(y) + self.of_both(x * y))
        weighted = compared * weights[b, i, j, None]
        return weighted.new_zeros(len(left), weighted.shape[1]).index_add(0, b, weighted)
