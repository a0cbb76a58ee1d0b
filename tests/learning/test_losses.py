"""Losses: what they are zero for, what they pull on, and what they refuse."""

import pytest
import torch

import whymatch as wm
from whymatch.learning.losses import combined, contrastive, distilled, rationale
from whymatch.transport import Temperature, sinkhorn


def test_the_hinge_takes_the_worst_dissimilar_document() -> None:
    similar = torch.tensor([1.0, 0.5], requires_grad=True)
    dissimilar = torch.tensor([[0.2, 0.9, 0.1], [0.0, -1.0, 0.2]], requires_grad=True)
    loss = contrastive(similar, dissimilar, margin=0.2)
    assert loss.tolist() == pytest.approx([0.1, 0.0])
    (gradient,) = torch.autograd.grad(loss.sum(), dissimilar)
    assert gradient.nonzero().tolist() == [[0, 1]]
    assert not contrastive(similar, dissimilar - 5, margin=0.2).any()


def test_a_ranker_that_agrees_with_its_teacher_has_nothing_to_learn() -> None:
    generator = torch.Generator().manual_seed(0)
    teacher = torch.rand(50, 6, generator=generator, dtype=torch.float64)
    teacher[25:, 4:] = -torch.inf  # fewer documents
    scores = torch.rand(50, 6, generator=generator, dtype=torch.float64).masked_fill(~teacher.isfinite(), -torch.inf)
    agreeing = (teacher + torch.rand(50, 1, generator=generator)).requires_grad_()  # what counts are differences
    least = distilled(agreeing, teacher, margin=0.2)
    chances = (teacher[25:, :4] / 0.2).softmax(dim=1)
    assert torch.allclose(least[25:], -(chances * chances.log()).sum(dim=1))  # the teacher's own doubts
    assert (distilled(scores, teacher, margin=0.2) > least).all()
    (gradient,) = torch.autograd.grad(least.sum(), agreeing)
    assert gradient.abs().max() < 1e-12


def soft(cost: torch.Tensor, constraint: wm.Constraint, sizes: torch.Tensor) -> torch.Tensor:
    return sinkhorn(cost, constraint, Temperature(0.1), sizes=sizes).plan


@pytest.mark.parametrize("constraint", [wm.Exactly(2), wm.UpTo(1, below=0.9)])
def test_descending_the_rationale_loss_selects_what_people_marked(constraint: wm.Constraint) -> None:
    cost = torch.rand(1, 2, 6, generator=torch.Generator().manual_seed(0)).requires_grad_()
    sizes = torch.tensor([[2, 6]])
    gold = torch.tensor([[0, 0, 0, 1, 0, 1.0]])
    losses = []
    optimiser = torch.optim.Adam([cost], lr=0.05)
    for _ in range(80):
        loss = rationale(soft(cost, constraint, sizes), gold, sizes, constraint, side=1)
        (cost.grad,) = torch.autograd.grad(loss, cost)
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]
    chosen = wm.solve(cost.detach(), constraint, sizes=sizes).plan.sum(dim=1)[0] > 0
    assert chosen.tolist() == gold[0].bool().tolist()


def test_a_hard_plan_has_no_gradient_but_a_soft_one_does() -> None:
    sizes, gold = torch.tensor([[2, 4]]), torch.tensor([[1.0, 0, 0, 1.0]])
    cost = torch.rand(1, 2, 4, generator=torch.Generator().manual_seed(1)).requires_grad_()
    loss = rationale(soft(cost, wm.Exactly(2), sizes), gold, sizes, wm.Exactly(2), side=1)
    assert torch.autograd.grad(loss, cost)[0].abs().max() > 1e-3
    assert not wm.solve(cost, wm.Exactly(2), sizes=sizes).plan.requires_grad


def test_one_to_supervises_the_longer_side_only() -> None:
    cost = torch.rand(1, 2, 4, generator=torch.Generator().manual_seed(1))
    sizes, constraint = torch.tensor([[2, 4]]), wm.OneTo(1)
    plan = soft(cost, constraint, sizes)
    assert rationale(plan, torch.tensor([[1.0, 0.0]]), sizes, constraint, side=0) == 0
    assert rationale(plan, torch.tensor([[1.0, 0, 0, 0]]), sizes, constraint, side=1) > 0


def test_padding_is_not_supervised() -> None:
    cost = torch.rand(1, 3, 6, generator=torch.Generator().manual_seed(1))
    sizes = torch.tensor([[2, 4]])
    plan = soft(cost, wm.Exactly(2), sizes)
    one, other = (torch.tensor([[1.0, 0, 0, 0, junk, junk]]) for junk in (0.0, 1.0))
    assert rationale(plan, one, sizes, wm.Exactly(2), 1) == rationale(plan, other, sizes, wm.Exactly(2), 1)


def test_balanced_is_refused() -> None:
    with pytest.raises(ValueError, match="links every span"):
        rationale(torch.ones(1, 2, 2) / 4, torch.ones(1, 2), torch.tensor([[2, 2]]), wm.Balanced(), 0)


def test_the_mixture_is_the_papers() -> None:
    assert combined(torch.tensor(1.0), torch.tensor(2.0)) == pytest.approx(0.2 + 1.6)


def test_marginals_of_a_clipped_constraint_are_still_probabilities() -> None:
    cost = torch.rand(1, 2, 6, generator=torch.Generator().manual_seed(1))
    sizes, gold = torch.tensor([[2, 6]]), torch.tensor([[1.0, 0, 0, 0, 0, 1.0]])
    plan = soft(cost, wm.Exactly(2), sizes)
    assert rationale(plan, gold, sizes, wm.Exactly(5), 1) == rationale(plan, gold, sizes, wm.Exactly(2), 1)
