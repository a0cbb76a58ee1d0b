"""Costs that learn to see what is around them."""

import torch
from torch import Tensor, nn

from whymatch.matching.costs import Cost

CHANNELS = 7  # that the network reads


class Refinement(nn.Module):
    """Adds to every cost what a small network reads around it, and nothing before it has learned.

    It sees how costs stand beside those of the same row, those of the spans before and after, and where the spans are
    in their texts. It never sees a vector, so that it learns in general what a reason looks like.
    """

    def __init__(self, hidden: int = 32, dropout: float = 0.1) -> None:
        super().__init__()
        self.read = nn.Sequential(
            nn.Conv2d(CHANNELS, hidden, 5, padding=2),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Conv2d(hidden, hidden, 3, padding=1),
            nn.ReLU(),
        )
        self.add = nn.Conv2d(hidden, 1, 1)
        for start in self.add.parameters():
            nn.init.zeros_(start)

    def forward(self, cost: Tensor, sizes: Tensor) -> Tensor:
        """Padded costs (batch, n, m) of problems of these sizes (batch, 2), refined."""
        return cost + self.add(self.read(features(cost, sizes.to(cost.device))))[:, 0]

    def over(self, cost: Cost) -> Cost:
        """The refined cost of one pair of texts, at rest."""

        def between(left: Tensor, right: Tensor) -> Tensor:
            plain = cost(left, right)
            with torch.no_grad():
                return self(plain[None], torch.tensor([plain.shape]))[0]

        return Cost(f"{cost.name}, refined", cost.neutral, between, of_all=True, unpadded=True)


def features(cost: Tensor, sizes: Tensor) -> Tensor:
    """(batch, channels, n, m): what can be said of a cost by those around it; zero behind the end of a text."""
    inside = [
        (torch.arange(length, device=cost.device)[None] < sizes[:, side, None]).to(cost)
        for side, length in enumerate(cost.shape[1:])
    ]
    free = inside[0][:, :, None] * inside[1][:, None, :]
    plain = cost * free
    n, m = (sizes[:, side, None, None].to(cost).clamp(min=1) for side in (0, 1))
    by_row = among(plain, free, m, dim=2)
    of_columns = among(plain.sum(dim=1, keepdim=True) / n, inside[1][:, None, :], m, dim=2).expand_as(cost)
    places = [
        ((torch.arange(length, device=cost.device) + 0.5)[None] / sizes[:, side, None].clamp(min=1)).to(cost)
        for side, length in enumerate(cost.shape[1:])
    ]
    first = torch.zeros_like(cost)
    first[:, :, 0] = 1
    channels = [plain, by_row, of_columns, places[0][:, :, None].expand_as(cost), places[1][:, None].expand_as(cost)]
    return torch.stack([*channels, first, torch.ones_like(cost)], dim=1) * free[:, None]


def among(values: Tensor, free: Tensor, number: Tensor, dim: int) -> Tensor:
    """By how many deviations each value differs from the mean of its line."""
    centred = (values - values.sum(dim, keepdim=True) / number) * free
    return centred / (centred.square().sum(dim, keepdim=True) / number + 1e-3).sqrt()
