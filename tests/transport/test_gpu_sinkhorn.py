"""Entropic plans on the GPU, and gradients through plans: those of the CPU."""

from contextlib import nullcontext

import pytest
import torch

from tests.transport.on_device import DEVICE, kernels, sinkhorn_there
from whymatch.transport import Balanced, Constraint, Exactly, OneTo, Status, Temperature, UpTo, pad, sinkhorn, solve

pytest.importorskip("triton")

FOUR: list[Constraint] = [Balanced(), OneTo(2), UpTo(2, below=0.3), Exactly(2)]
WARM = Temperature(0.5, relative=False)


def random_costs(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("constraint", FOUR, ids=repr)
@pytest.mark.parametrize("temperature", [WARM, Temperature(0.1)], ids=["absolute", "relative"])
def test_plans_are_the_cpus(constraint: Constraint, temperature: Temperature) -> None:
    cost = random_costs(1, 2, 5) if temperature.relative else random_costs(1, 4, 2, seed=1)
    found = sinkhorn_there(cost, constraint, temperature, tolerance=1e-10)
    expected = sinkhorn(cost, constraint, temperature, tolerance=1e-10)
    assert found.status.tolist() == expected.status.tolist()
    torch.testing.assert_close(found.plan, expected.plan, atol=1e-9, rtol=1e-7)
    torch.testing.assert_close(found.cost, expected.cost, atol=1e-9, rtol=1e-7, equal_nan=True)


@pytest.mark.parametrize("constraint", FOUR, ids=repr)
def test_single_precision_converges_and_carries_its_masses(constraint: Constraint) -> None:
    cost = random_costs(1, 3, 6).float()
    found, expected = sinkhorn_there(cost, constraint), sinkhorn(cost, constraint)
    assert found.error <= 1e-6
    torch.testing.assert_close(found.plan, expected.plan, atol=3e-6, rtol=1e-4)
    torch.testing.assert_close(found.cost, expected.cost, atol=1e-5, rtol=1e-4)
    if not isinstance(constraint, UpTo):
        torch.testing.assert_close(found.plan.sum(dim=(1, 2)), torch.ones(1))


def test_a_cold_problem_stops_when_it_may_and_says_so() -> None:
    cost = torch.rand(1, 6, 6, generator=torch.Generator().manual_seed(4))
    hurried = sinkhorn_there(cost, Balanced(), Temperature(1e-3), max_iterations=3)
    assert hurried.error > 1e-6
    assert hurried.plan.isfinite().all()
    assert hurried.iterations <= 5 * 100 + 3


@pytest.mark.parametrize("constraint", FOUR, ids=repr)
def test_padding_neighbours_and_bad_problems_change_nothing(constraint: Constraint) -> None:
    alone = [random_costs(2, 5), random_costs(3, 2, seed=1), random_costs(2, 3, seed=2)]
    alone[1][0, 0] = torch.nan
    alone[2][0] = torch.inf
    batch, sizes = pad(alone)
    for b, (n, m) in enumerate(sizes.tolist()):
        batch[b, n:], batch[b, :, m:] = torch.nan, torch.nan
    together = sinkhorn_there(batch, constraint, sizes=sizes)
    expected = sinkhorn(batch, constraint, sizes=sizes)
    assert together.status.tolist() == expected.status.tolist()
    assert together.status[1] == Status.INVALID
    torch.testing.assert_close(together.plan, expected.plan, atol=1e-6, rtol=1e-5)
    single = sinkhorn_there(batch[:1], constraint, sizes=sizes[:1])
    for here, there in zip(together, single, strict=True):
        assert torch.equal(here[:1], there)


def test_given_masses_are_carried() -> None:
    mass = torch.tensor([0.5, 0.2, 0.3]).double(), torch.tensor([0.1, 0.0, 0.6, 0.3]).double()
    cost = random_costs(3, 4)
    found = sinkhorn_there(cost, Balanced(), WARM, mass=mass, tolerance=1e-10)
    torch.testing.assert_close(found.plan, sinkhorn(cost, Balanced(), WARM, mass=mass, tolerance=1e-10).plan)


@pytest.mark.parametrize("constraint", FOUR, ids=repr)
def test_gradients_through_plans_are_the_cpus(constraint: Constraint) -> None:
    weights = random_costs(1, 2, 5, seed=1)
    gradients: list[list[torch.Tensor]] = []
    for device in (DEVICE, "cpu"):
        cost = random_costs(1, 2, 5).to(device).requires_grad_()

        def losses(cost: torch.Tensor = cost, device: str = device) -> list[torch.Tensor]:
            smooth = solve(cost, constraint, smooth=WARM)
            entropic = sinkhorn(cost, constraint, WARM, tolerance=1e-11)
            here = weights.to(device)
            return [(smooth.plan * here).sum(), (entropic.plan * here).sum(), entropic.cost.sum(), smooth.cost.sum()]

        if len(gradients) == 0:
            with kernels():
                found = losses()
                gradients.append([torch.autograd.grad(loss, cost, retain_graph=True)[0].cpu() for loss in found])
        else:
            gradients.append([torch.autograd.grad(loss, cost, retain_graph=True)[0] for loss in losses()])
    for here, there, slack in zip(*gradients, (1e-4, 1e-7, 1e-7, 1e-9), strict=True):
        torch.testing.assert_close(here, there, atol=slack, rtol=1e-3)
    assert gradients[0][0].abs().max() > 1e-3


def test_no_gradient_is_lost_to_bad_problems() -> None:
    cost = torch.randn(3, 3, 4, generator=torch.Generator().manual_seed(3))
    cost[1, 0, 0] = torch.nan
    cost[2, 0, 0] = torch.inf
    cost = cost.to(DEVICE).requires_grad_()
    with kernels():
        plan = solve(cost, Exactly(2), smooth=Temperature(0.1)).plan
        gradient = torch.autograd.grad((plan * torch.arange(12.0, device=DEVICE).reshape(3, 4)).sum(), cost)[0]
    assert gradient.isfinite().all()
    assert not gradient[1].any()
    assert gradient[2, 0, 0] == 0


def test_the_gradient_of_a_cold_plan_is_the_cpus() -> None:
    cost, weights = random_costs(4, 5), random_costs(4, 5, seed=1)
    gradients: list[torch.Tensor] = []
    for device in (DEVICE, "cpu"):
        here = cost.to(device).requires_grad_()
        with kernels() if not gradients else nullcontext():
            plan = solve(here, Exactly(2), smooth=Temperature(0.05)).plan
            gradients.append(torch.autograd.grad((plan * weights.to(device)).sum(), here)[0].cpu())
    assert gradients[0].isfinite().all()
    torch.testing.assert_close(
        gradients[0], gradients[1], atol=1e-3 * float(gradients[1].abs().max()) + 1e-6, rtol=1e-3
    )
