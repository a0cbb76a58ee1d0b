"""What only a GPU can show: nothing waits for it, calls can be recorded, and promises hold in great numbers."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.problems import FAMILIES, broken_promises
from tests.transport.test_gpu import Family, in_single
from whymatch.transport import Balanced, Constraint, Exactly, OneTo, Temperature, UpTo, path, sinkhorn, solve

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

CONSTRAINTS: list[Constraint] = [OneTo(1), OneTo(2), UpTo(1, below=0.2), UpTo(2, below=-0.3), Exactly(3), Balanced()]
WARM = Temperature(0.1)


def problems() -> tuple[torch.Tensor, torch.Tensor]:
    sizes = torch.tensor([[9, 12], [3, 4], [5, 2], [9, 9]], device="cuda")
    return torch.randn(4, 9, 12, device="cuda"), sizes


def calls(cost: torch.Tensor, sizes: torch.Tensor) -> dict[str, Callable[[], torch.Tensor]]:
    found: dict[str, Callable[[], torch.Tensor]] = {"path": lambda: path(cost, 3, sizes=sizes).partner}
    for constraint in CONSTRAINTS:
        found[f"solve {constraint}"] = lambda c=constraint: solve(cost, c, sizes=sizes).plan  # type: ignore[misc]
        found[f"sinkhorn {constraint}"] = lambda c=constraint: sinkhorn(cost, c, WARM, sizes=sizes).plan  # type: ignore[misc]
    return found


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
def test_nothing_waits_for_the_gpu() -> None:
    cost, sizes = problems()
    cost.requires_grad_()
    for mode in ("default", "error"):  # compile first
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode(mode)
        try:
            path(cost.detach(), 3, sizes=sizes)
            for constraint in CONSTRAINTS:
                plans = solve(cost, constraint, sizes=sizes, smooth=WARM), sinkhorn(cost, constraint, WARM, sizes=sizes)
                torch.autograd.grad(plans[0].plan.sum() + plans[1].plan.sum(), cost)
        finally:
            torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("name", calls(torch.empty(0), torch.empty(0)))
def test_a_call_can_be_recorded_and_replayed_on_other_costs(name: str) -> None:
    cost, sizes = problems()
    call = calls(cost, sizes)[name]
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        recorded = call()
    cost.copy_(torch.randn_like(cost))
    graph.replay()
    torch.testing.assert_close(recorded, call(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_no_promise_is_broken_in_great_numbers(family: Family, constraint: Constraint) -> None:
    rng = np.random.default_rng(5)
    for shape in ((1000, 4, 9), (1000, 7, 7), (300, 17, 12), (20, 60, 70)):
        cost = in_single(family(rng, shape), family)
        found = solve(cost.cuda(), constraint)
        ok = (found.status == 0).cpu()
        assert not broken_promises(found.plan.cpu()[ok], cost[ok], constraint).any()
