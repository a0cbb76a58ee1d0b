"""Derivatives: checked against finite differences where they exist, finite everywhere."""

from collections.abc import Callable

import pytest
import torch

from experiments.unrolled import unrolled
from whymatch.transport import Balanced, Constraint, Each, Exactly, OneTo, Temperature, UpTo, pad, sinkhorn, solve

FOUR: list[Constraint] = [Balanced(), OneTo(1), UpTo(2, below=0.3), Exactly(2)]
WARM = Temperature(0.3, relative=False)


def random_costs(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("constraint", [*FOUR, Each(2, below=0.3)], ids=repr)
def test_the_gradient_of_the_exact_cost_is_the_plan(constraint: Constraint) -> None:
    assert torch.autograd.gradcheck(lambda c: solve(c, constraint).cost, random_costs(3, 4, 6))
    single = random_costs(4, 6)
    solution = solve(single, constraint)
    assert torch.equal(torch.autograd.grad(solution.cost, single)[0], solution.plan)


@pytest.mark.parametrize("constraint", FOUR, ids=repr)
def test_the_implicit_rule_is_the_derivative_of_the_entropic_plan_and_cost(constraint: Constraint) -> None:
    cost = random_costs(2, 4, 6)
    assert torch.autograd.gradcheck(lambda c: sinkhorn(c, constraint, WARM, tolerance=1e-14).plan, cost)
    assert torch.autograd.gradcheck(lambda c: sinkhorn(c, constraint, WARM, tolerance=1e-14).cost, cost)
    assert torch.autograd.gradcheck(lambda c: sinkhorn(c, constraint, WARM, tolerance=1e-14).plan, random_costs(6, 4))


def test_the_implicit_rule_holds_for_given_masses() -> None:
    mass = torch.tensor([0.5, 0.2, 0.3]), torch.tensor([0.1, 0.0, 0.6, 0.3])
    assert torch.autograd.gradcheck(
        lambda c: sinkhorn(c, Balanced(), WARM, mass=mass, tolerance=1e-14).plan, random_costs(3, 4)
    )


@pytest.mark.parametrize("constraint", FOUR, ids=repr)
def test_the_unrolled_rule_agrees_when_it_has_converged(constraint: Constraint) -> None:
    cost = random_costs(2, 4, 6)
    weights = random_costs(2, 4, 6, seed=1).detach()
    plans = unrolled(cost, constraint, 0.3, iterations=500), sinkhorn(cost, constraint, WARM, tolerance=1e-14).plan
    assert torch.allclose(plans[0], plans[1], atol=1e-12)
    gradients = [torch.autograd.grad((plan * weights).sum(), cost)[0] for plan in plans]
    assert torch.allclose(gradients[0], gradients[1], atol=1e-10)


@pytest.mark.parametrize("constraint", FOUR, ids=repr)
def test_smooth_solving_is_exact_forward_and_entropic_backward(constraint: Constraint) -> None:
    cost, weights = random_costs(3, 4, 6), random_costs(3, 4, 6, seed=1).detach()
    smooth = solve(cost, constraint, smooth=Temperature(0.2))
    assert torch.equal(smooth.plan, solve(cost, constraint).plan)
    found = torch.autograd.grad((smooth.plan * weights).sum(), cost)[0]
    entropic = sinkhorn(cost, constraint, Temperature(0.2)).plan
    expected = torch.autograd.grad((entropic * weights).sum(), cost)[0]
    assert torch.allclose(found, expected, atol=1e-12)
    assert found.abs().max() > 1e-3


@pytest.mark.parametrize("constraint", FOUR, ids=repr)
def test_the_smooth_gradient_points_where_the_smoothed_loss_falls(constraint: Constraint) -> None:
    """Finite differences of the exact plan's loss, averaged over noise: the loss that the rule stands in for."""
    cost = random_costs(4, 5).detach()
    weights = random_costs(4, 5, seed=1).detach()
    generator = torch.Generator().manual_seed(2)
    noise = 0.5 * torch.randn(20_000, 4, 5, generator=generator, dtype=torch.float64)
    losses = (solve(cost + noise, constraint).plan * weights).sum(dim=(1, 2))
    smoothed = ((losses - losses.mean())[:, None, None] * noise).mean(dim=0)  # Stein: the gradient, but for a factor
    cost.requires_grad_()
    plan = solve(cost, constraint, smooth=Temperature(0.3, relative=False)).plan
    gradient = torch.autograd.grad((plan * weights).sum(), cost)[0]
    assert torch.cosine_similarity(gradient.flatten(), smoothed.flatten(), dim=0) > 0.8


@pytest.mark.parametrize("constraint", FOUR, ids=repr)
@pytest.mark.parametrize("epsilon", [1.0, 0.05, 1e-4])
def test_no_gradient_is_lost_to_padding_ties_forbidden_pairs_or_bad_problems(
    constraint: Constraint, epsilon: float
) -> None:
    tied, forbidden, bad = (
        torch.ones(4, 6),
        torch.randn(4, 6, generator=torch.Generator().manual_seed(3)),
        torch.zeros(4, 6),
    )
    forbidden[0, 0], forbidden[2, 3:] = torch.inf, torch.inf
    bad[1, 1] = torch.nan
    batch, sizes = pad([tied, forbidden, bad, torch.zeros(3, 5)])
    batch[3, 3:], batch[3, :, 5:] = torch.nan, torch.nan
    weights = torch.randn(batch.shape, generator=torch.Generator().manual_seed(4))
    plans: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda c: solve(c, constraint, sizes=sizes, smooth=Temperature(epsilon)).plan,
        lambda c: sinkhorn(c, constraint, Temperature(epsilon), sizes=sizes, max_iterations=500).plan,
        lambda c: sinkhorn(c, constraint, Temperature(epsilon), sizes=sizes, max_iterations=500).cost[
            [0, 1, 3], None, None
        ],
    ]
    for plan in plans:
        cost = batch.clone().requires_grad_()
        found = plan(cost)
        gradient = torch.autograd.grad((found * weights[: len(found)]).sum(), cost)[0]
        assert gradient.isfinite().all()
        assert not gradient[2].any()
        assert not gradient[3, 3:].any()
        assert gradient[1, 0, 0] == 0


def test_each_has_no_smooth_mode_and_says_so() -> None:
    cost = random_costs(3, 4)
    with pytest.raises(ValueError, match="has no entropic plan"):
        sinkhorn(cost, Each(2))
    with pytest.raises(ValueError, match="has no entropic plan"):
        torch.autograd.grad(solve(cost, Each(2), smooth=WARM).plan.sum(), cost)


def test_an_empty_text_has_an_empty_gradient() -> None:
    cost = torch.zeros(0, 3, requires_grad=True)
    plan = solve(cost, UpTo(1), smooth=Temperature()).plan
    assert torch.autograd.grad(plan.sum(), cost)[0].shape == (0, 3)


def test_costs_that_change_before_the_backward_pass_are_noticed() -> None:
    cost = random_costs(3, 4)
    plan = solve(cost, Exactly(2), smooth=WARM).plan
    with torch.no_grad():
        cost.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(plan.sum(), cost)


def test_memory_does_not_grow_with_iterations() -> None:
    cost = random_costs(8, 8)
    sizes = []
    for iterations in (10, 1000):
        saved = [0]

        def keep(tensor: torch.Tensor, saved: list[int] = saved) -> torch.Tensor:
            saved[0] += tensor.numel()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            sinkhorn(cost, Balanced(), Temperature(1e-3), max_iterations=iterations)
        sizes.append(saved[0])
    assert sizes[0] == sizes[1]
