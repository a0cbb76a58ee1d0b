"""A head reads the pairs that carry weight, and nothing else."""

import pytest
import torch

import whymatch as wm
from whymatch.cost import Cosine
from whymatch.matching.head import Head
from whymatch.matching.rules import Attend, Rule, Transport
from whymatch.transport import Temperature

RULES: list[Rule] = [
    Transport(wm.Exactly(2)),
    Transport(wm.Exactly(9)),
    Transport(wm.OneTo(1)),
    Transport(wm.OneTo(2)),
    Transport(wm.UpTo(1, below=0.8)),
    Transport(wm.UpTo(2, below=-9.0)),
]


def problem(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    left, right = torch.randn(3, 5, 8, generator=generator), torch.randn(3, 7, 8, generator=generator)
    return left, right, torch.tensor([[5, 7], [2, 6], [5, 1]])


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_vectors_without_weight_may_hold_anything(rule: Rule) -> None:
    left, right, sizes = problem()
    weights = rule.weights(Cosine().between(left, right), sizes)
    head = Head(8, 3).eval()
    expected = head(left, right, weights)
    for junk in (torch.nan, torch.inf, 1e30):
        blank_left = left.masked_fill((weights.sum(dim=2) == 0)[..., None], junk)
        blank_right = right.masked_fill((weights.sum(dim=1) == 0)[..., None], junk)
        assert torch.equal(head(blank_left, blank_right, weights), expected)


@pytest.mark.parametrize("rule", [*RULES, Transport(wm.Balanced()), Attend(), Attend(0.1, "sparsemax")], ids=str)
def test_learning_and_predicting_compute_the_same(rule: Rule) -> None:
    left, right, sizes = problem()
    weights = rule.weights(Cosine().between(left, right), sizes)
    head = Head(8, 3, dropout=0.0)
    torch.testing.assert_close(head.train()(left, right, weights), head.eval()(left, right, weights))


@pytest.mark.parametrize(
    "rule",
    [*RULES[:4], Transport(wm.Balanced()), Attend(), Attend(0.1), Attend(1.0, "sparsemax"), Attend(1.0, "entmax15")],
    ids=str,
)
def test_weights_add_up_to_one_and_padding_gets_none(rule: Rule) -> None:
    left, right, sizes = problem()
    weights = rule.weights(Cosine().between(left, right), sizes)
    torch.testing.assert_close(weights.sum(dim=(1, 2)), torch.ones(3))
    for (n, m), some in zip(sizes.tolist(), weights, strict=True):
        assert some[n:].abs().sum() == 0
        assert some[:, m:].abs().sum() == 0


def test_k_is_clipped_for_each_pair_alone() -> None:
    left, right, sizes = problem()
    weights = Transport(wm.Exactly(4)).weights(Cosine().between(left, right), sizes)
    assert (weights > 0).sum(dim=(1, 2)).tolist() == [4, 2, 1]
    empty = Transport(wm.Exactly(4)).weights(Cosine().between(left, right), torch.tensor([[5, 7], [0, 6], [5, 0]]))
    assert (empty > 0).sum(dim=(1, 2)).tolist() == [4, 0, 0]


def test_every_pair_has_a_gradient_while_learning() -> None:
    left, right, sizes = problem()
    cost = Cosine().between(left, right).requires_grad_()
    weights = Transport(wm.Exactly(2), smooth=Temperature(0.1)).weights(cost, sizes)
    head = Head(8, 3, dropout=0.0).train()
    (gradient,) = torch.autograd.grad(head(left, right, weights).square().sum(), cost)
    assert (gradient[0] != 0).sum() > 30
    assert gradient[1, 2:].abs().sum() == 0


def test_active_alignments_alone_are_fewer_and_weigh_less() -> None:
    left, right, sizes = problem()
    cost = Cosine().between(left, right)
    full, active = (Attend(0.05, active_only=only).weights(cost, sizes) for only in (False, True))
    assert ((active == 0) | (active == full)).all()
    assert 0 < (active > 0).sum() < (full > 0).sum()


@pytest.mark.parametrize("rule", [Transport(wm.Exactly(2)), Attend()], ids=str)
def test_in_bfloat16_it_predicts_and_learns(rule: Transport | Attend) -> None:
    head = Head(8, 3, dropout=0.0)
    left, right = torch.randn(2, 4, 8), torch.randn(2, 5, 8)
    weights = rule.weights(1 - left @ right.mT, torch.tensor([[4, 5], [3, 2]]))
    expected = head.eval()(left, right, weights)
    with torch.autocast("cpu", torch.bfloat16):
        for mode in (True, False):
            torch.testing.assert_close(head.train(mode)(left, right, weights).float(), expected, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("learned", [True, False])
def test_of_vectors_it_reads_the_direction_alone(mode: bool, learned: bool) -> None:
    left, right, sizes = problem()
    weights = Transport(wm.Exactly(2)).weights(Cosine().between(left, right), sizes).requires_grad_(learned)
    head = Head(8, 3, dropout=0.0).train(mode)
    expected = head(left, right, weights)
    scales = torch.logspace(-6, 6, 15)
    for x, y in ((left * 1e3, right), (left, right * 1e-3), (left * scales[:5, None], right * scales[-7:, None])):
        torch.testing.assert_close(head(x, y, weights), expected)
    assert not torch.allclose(head(-left, right, weights), expected)


@pytest.mark.parametrize("rule", [Transport(wm.Exactly(2)), Transport(wm.Balanced()), Attend()], ids=str)
def test_weights_that_do_not_learn_are_gathered_in_training_too(rule: Rule) -> None:
    left, right, sizes = problem()
    weights = rule.weights(Cosine().between(left, right), sizes)
    head = Head(8, 3, dropout=0.0)
    assert not weights.requires_grad
    assert torch.equal(head.train()(left, right, weights), head.eval()(left, right, weights))
    x, y = left.clone().requires_grad_(), right.clone().requires_grad_()
    found, expected = (
        torch.autograd.grad(head.decide(gather(x, y, weights)).square().sum(), [x, y, *head.parameters()])
        for gather in (head.gathered, head.dense)
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
    linked = torch.cat([weights.sum(dim=2) > 0, weights.sum(dim=1) > 0], dim=1)
    assert not torch.cat(found[:2], dim=1)[~linked].any()
    blank = left.masked_fill((weights.sum(dim=2) == 0)[..., None], torch.nan)
    assert torch.equal(head.train()(blank, right, weights), head.eval()(left, right, weights))


def test_weights_that_learn_have_a_gradient_for_every_pair() -> None:
    left, right, sizes = problem()
    weights = Transport(wm.Exactly(2)).weights(Cosine().between(left, right), sizes).requires_grad_()
    head = Head(8, 3, dropout=0.0).train()
    (gradient,) = torch.autograd.grad(head(left, right, weights)[:, 0].sum(), weights)
    assert (weights == 0).any()
    assert (gradient != 0).all()
    for b, i, j in [(0, 0, 0), (1, 1, 4), (2, 3, 0)]:  # as a small step along it shows
        moved = weights.detach().clone()
        moved[b, i, j] += 1e-2
        rise = (head(left, right, moved) - head(left, right, weights))[b, 0].item()
        assert rise == pytest.approx(1e-2 * gradient[b, i, j].item(), abs=2e-4)
