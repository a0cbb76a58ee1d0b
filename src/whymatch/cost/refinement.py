"""The network of the cost term `Refined`."""

import torch
from torch import Tensor, nn

CHANNELS = 7  # that the network reads


class Refinement(nn.Module):
    """Adds to a cost what a small network reads in the costs of the same row and of the spans before and after.

    It also sees where the spans stand in their texts, never a vector. Its last layer starts at zero, so that it adds
    nothing before it is trained. Costs are numbers: forbidden pairs have no place in what it reads.
    """

    def __init__(self, hidden: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.hidden = hidden
        self.network = nn.Sequential(
            nn.Conv2d(CHANNELS, hidden, 5, padding=2),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Conv2d(hidden, hidden, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden, 1, 1),
        )
        for weight in self.network[-1].parameters():
            nn.init.zeros_(weight)

    def forward(self, cost: Tensor, sizes: Tensor) -> Tensor:
        """Padded costs (batch, n, m) of problems of these sizes (batch, 2), refined."""
        if not cost.numel():
            return cost
        sizes = sizes.to(cost.device)
        precision = next(self.parameters()).dtype
        hidden = self.network[:3](_features(cost, sizes).to(precision))
        hidden = hidden * _mask(hidden[:, 0], sizes)[:, None]  # padding would leave a bias behind a text's end
        return cost + self.network[3:](hidden)[:, 0].to(cost.dtype)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def alone(self, cost: Tensor, sizes: Tensor) -> Tensor:
        """The same in evaluation mode and without gradients."""
        training = self.training
        self.eval()
        try:
            with torch.no_grad():
                return self(cost.to(self.device), sizes).to(cost.device)
        finally:
            self.train(training)


def _mask(cost: Tensor, sizes: Tensor) -> Tensor:
    """(batch, n, m): 1 where there is a pair of spans, 0 at padding."""
    left, right = (
        (torch.arange(length, device=cost.device)[None] < sizes[:, side, None]).to(cost)
        for side, length in enumerate(cost.shape[1:])
    )
    return left[:, :, None] * right[:, None, :]


def _features(cost: Tensor, sizes: Tensor) -> Tensor:
    """(batch, channels, n, m): what can be said of a cost by those around it; zero at padding."""
    mask = _mask(cost, sizes)
    plain = cost.masked_fill(mask == 0, 0)
    n, m = (sizes[:, side, None, None].to(cost).clamp(min=1) for side in (0, 1))
    by_row = _standardised(plain, mask, m)
    of_columns = _standardised(plain.sum(dim=1, keepdim=True) / n, mask[:, :1], m).expand_as(cost)
    places = [
        ((torch.arange(length, device=cost.device) + 0.5)[None] / sizes[:, side, None].clamp(min=1)).to(cost)
        for side, length in enumerate(cost.shape[1:])
    ]
    first = torch.zeros_like(cost)
    first[:, :, 0] = 1
    channels = [plain, by_row, of_columns, places[0][:, :, None].expand_as(cost), places[1][:, None].expand_as(cost)]
    return torch.stack([*channels, first, torch.ones_like(cost)], dim=1) * mask[:, None]


def _standardised(values: Tensor, mask: Tensor, number: Tensor) -> Tensor:
    """By how many standard deviations each value differs from the mean of its row."""
    centred = (values - values.sum(2, keepdim=True) / number) * mask
    return centred / (centred.square().sum(2, keepdim=True) / number + 1e-3).sqrt()
