"""Costs that see what is around them."""

import torch
from torch import Tensor, nn

CHANNELS = 7  # that the network reads
FAR = 2.0  # what links cost more that are not among the nearest: the range of a cosine distance


class Refinement(nn.Module):
    """What a cost loses or gains by those around it; it never sees a vector.

    With `novelty`, links of right spans that have no counterpart on the left become cheaper, by so many times what the
    best counterpart costs: the links then say what is new, each beside what comes closest to it. With `hidden`, a small
    network adds what it reads in the costs of the same row and of the spans before and after, and where the spans stand
    in their texts; it adds nothing before it has learned. It chooses among the `nearest` right spans of each left one
    (0: among all). Costs are numbers: forbidden pairs have no place in what it reads.
    """

    def __init__(self, hidden: int = 0, novelty: float = 0.0, nearest: int = 0, dropout: float = 0.1) -> None:
        super().__init__()
        if nearest < 0 or (nearest and not hidden):
            raise ValueError(f"Refinement(nearest={nearest}) takes 0 or more, and a network: give hidden.")
        self.hidden, self.novelty, self.nearest = hidden, novelty, nearest
        self.network: nn.Sequential | None = None
        if hidden:
            self.network = nn.Sequential(
                nn.Conv2d(CHANNELS, hidden, 5, padding=2),
                nn.ReLU(),
                nn.Dropout(dropout),
                nn.Conv2d(hidden, hidden, 3, padding=1),
                nn.ReLU(),
                nn.Conv2d(hidden, 1, 1),
            )
            for start in self.network[-1].parameters():
                nn.init.zeros_(start)

    def forward(self, cost: Tensor, sizes: Tensor) -> Tensor:
        """Padded costs (batch, n, m) of problems of these sizes (batch, 2), refined."""
        if not cost.numel():
            return cost
        sizes = sizes.to(cost.device)
        if self.novelty:
            cost = cost - self.novelty * least(cost, sizes)
        if self.network is None:
            return cost
        read = self.network[:3](features(cost, sizes))
        read = read * inside(cost, sizes)[:, None]  # as beyond the edge: padding would leave a bias behind a text's end
        refined = cost + self.network[3:](read)[:, 0]
        return refined + FAR * beyond(cost, sizes, self.nearest) if self.nearest else refined

    def alone(self, cost: Tensor) -> Tensor:
        """The refined costs (n, m) of one pair of texts, at rest."""
        weight = next(self.parameters(), cost)
        learning = self.training
        self.eval()
        try:
            with torch.no_grad():
                return self(cost[None].to(weight), torch.tensor([cost.shape]))[0].to(cost)
        finally:
            self.train(learning)


def least(cost: Tensor, sizes: Tensor) -> Tensor:
    """(batch, 1, m): the least cost of each right span; 0 where there is nothing on the left."""
    behind = torch.arange(cost.shape[1], device=cost.device)[None, :, None] >= sizes[:, :1, None]
    lowest = cost.masked_fill(behind, torch.inf).amin(dim=1, keepdim=True)
    return lowest.masked_fill(sizes[:, :1, None] == 0, 0)


def beyond(cost: Tensor, sizes: Tensor, nearest: int) -> Tensor:
    """(batch, n, m): 1 where a right span is not among those that cost the left one least, 0 where it is."""
    free = cost.masked_fill(inside(cost, sizes) == 0, torch.inf)
    farthest = free.topk(min(nearest, cost.shape[2]), dim=2, largest=False).values[:, :, -1:]
    return (free > farthest).to(cost)


def inside(cost: Tensor, sizes: Tensor) -> Tensor:
    """(batch, n, m): 1 where there is a pair of spans, 0 behind the end of a text."""
    left, right = (
        (torch.arange(length, device=cost.device)[None] < sizes[:, side, None]).to(cost)
        for side, length in enumerate(cost.shape[1:])
    )
    return left[:, :, None] * right[:, None, :]


def features(cost: Tensor, sizes: Tensor) -> Tensor:
    """(batch, channels, n, m): what can be said of a cost by those around it; zero behind the end of a text."""
    free = inside(cost, sizes)
    plain = cost * free
    n, m = (sizes[:, side, None, None].to(cost).clamp(min=1) for side in (0, 1))
    by_row = among(plain, free, m, dim=2)
    of_columns = among(plain.sum(dim=1, keepdim=True) / n, free[:, :1], m, dim=2).expand_as(cost)
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
