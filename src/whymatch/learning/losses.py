"""What models are trained on."""

import torch
from torch import Tensor

from whymatch.transport.constraints import Balanced, Constraint, OneTo, fitted


def contrastive(similar: Tensor, dissimilar: Tensor, margin: float) -> Tensor:
    """The paper's hinge on costs: by how much the worst dissimilar document comes within `margin` of the similar one.

    `similar` (batch) and `dissimilar` (batch, l) are scores, high is good; the mean over the batch.

    >>> contrastive(torch.tensor([0.9, 0.2]), torch.tensor([[0.1, 0.5], [0.3, 0.0]]), margin=0.2)
    tensor(0.1500)
    """
    return (dissimilar.amax(dim=1) - similar + margin).clamp(min=0).mean()


def rationale(plan: Tensor, gold: Tensor, sizes: Tensor, constraint: Constraint, side: int) -> Tensor:
    """Binary cross entropy of the marginals of soft plans, as probabilities, with the spans that people marked.

    `plan` (batch, n, m) is entropic: a hard one has no gradient here. `gold` (batch, n or m) marks spans of the left
    (side 0) or right text (side 1). A marginal is divided by the mass of a link. `Balanced()` gives every span its mass
    whatever it learns, and `OneTo` every span of the shorter text: there is nothing to supervise there.
    """
    if isinstance(constraint, Balanced):
        raise ValueError("Balanced() links every span: rationales cannot supervise it. Use Exactly, UpTo or OneTo.")
    mass = plan.new_tensor([mass_of_a_link(constraint, n, m) for n, m in sizes.tolist()])
    chosen = (plan.sum(dim=2 - side) / mass[:, None]).clamp(0, 1)
    free = torch.arange(chosen.shape[1])[None] < sizes[:, side, None]
    if isinstance(constraint, OneTo):
        free &= (sizes[:, side] > sizes[:, 1 - side])[:, None]
    free = free.to(plan.device)
    if not free.any():
        return plan.sum() * 0
    return torch.nn.functional.binary_cross_entropy(chosen[free], gold.to(chosen)[free])


def mass_of_a_link(constraint: Constraint, n: int, m: int) -> float:
    """That of the constraint with k clipped to what the texts admit, as plans are solved; 1 where there is no link."""
    fits = fitted(constraint, n, m)
    return 1.0 if fits is None or isinstance(fits, Balanced) else float(fits.mass(min(n, m), max(n, m)))


def combined(task: Tensor, reasons: Tensor, alpha: float = 0.2) -> Tensor:
    """α · task + (1 − α) · rationale, the paper's mixture."""
    return alpha * task + (1 - alpha) * reasons
