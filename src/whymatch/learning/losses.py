"""What models are trained on."""

import torch
from torch import Tensor

from whymatch.matching.rules import chances
from whymatch.transport.constraints import Constraint


def contrastive(similar: Tensor, dissimilar: Tensor, margin: float) -> Tensor:
    """The paper's hinge on costs: by how much the worst dissimilar document comes within `margin` of the similar one.

    `similar` (batch) and `dissimilar` (batch, l) are scores, high is good; -inf stands for no document.

    >>> contrastive(torch.tensor([0.9, 0.2]), torch.tensor([[0.1, 0.5], [0.3, 0.0]]), margin=0.2)
    tensor([0.0000, 0.3000])
    """
    return (dissimilar.amax(dim=1) - similar + margin).clamp(min=0)


def distilled(scores: Tensor, teacher: Tensor, margin: float) -> Tensor:
    """(batch) cross entropy of the chances of documents with those that a teacher gives them, a softmax over margins.

    Both are (batch, documents), high is good; -inf stands for no document.

    >>> distilled(torch.tensor([[0.9, 0.5], [0.5, 0.9]]), torch.tensor([[0.9, 0.5], [0.9, 0.5]]), margin=0.2)
    tensor([0.3653, 1.8885])
    """
    present = teacher.isfinite()
    logs = (scores / margin).log_softmax(dim=1).masked_fill(~present, 0.0)
    return -((teacher / margin).softmax(dim=1) * logs).sum(dim=1)


def rationale(plan: Tensor, gold: Tensor, sizes: Tensor, constraint: Constraint, side: int) -> Tensor:
    """(batch) binary cross entropy of the marginals of soft plans with the spans that people marked, mean over spans.

    `plan` (batch, n, m) is entropic: a hard one has no gradient here. `gold` (batch, n or m) marks spans of the left
    (side 0) or right text (side 1). It is 0 where the constraint links every span of that side, whatever it costs.

    Raises:
        ValueError: for `Balanced()`, which links every span.
    """
    if constraint.takes_masses:
        raise ValueError("Balanced() links every span: rationales cannot supervise it. Use Exactly, UpTo or OneTo.")
    chosen = chances(plan, sizes, constraint)[side]
    free = torch.arange(chosen.shape[1])[None] < sizes[:, side, None]
    free &= torch.tensor([constraint.may_omit(n, m, side) for n, m in sizes.tolist()])[:, None]
    free = free.to(plan.device)
    with torch.autocast(plan.device.type, enabled=False):  # which has no such loss
        errors = torch.nn.functional.binary_cross_entropy(chosen.float(), gold.to(chosen).float(), reduction="none")
    return (errors * free).sum(dim=1) / free.sum(dim=1).clamp(min=1)


def combined(task: Tensor, reasons: Tensor, alpha: float = 0.2) -> Tensor:
    """α · task + (1 − α) · rationale, the paper's mixture."""
    return alpha * task + (1 - alpha) * reasons
