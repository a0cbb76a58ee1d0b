"""`Balanced()` on the GPU: the laws of the CPU's, as far as single precision goes."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.problems import FAMILIES, Array, broken_promises, enormous, minute, spread_of
from tests.transport.on_device import DEVICE, solve_there
from whymatch.transport import Balanced, Status, pad, solve

pytest.importorskip("triton")

ROUNDING = 3e-6  # of the range of the costs
Family = Callable[[np.random.Generator, tuple[int, ...]], Array]


def agrees(cost: torch.Tensor) -> None:
    found, expected = solve_there(cost, Balanced()), solve(cost.double(), Balanced())
    assert found.status.tolist() == expected.status.tolist()
    for b in torch.nonzero(found.status == Status.OK)[:, 0].tolist():
        slack = ROUNDING * spread_of(cost[b], Balanced())
        assert not broken_promises(found.plan[b : b + 1], cost[b : b + 1], Balanced()).any()
        assert float(found.cost[b]) == pytest.approx(float(expected.cost[b]), rel=1e-6, abs=slack)
        assert -slack <= float(found.gap[b]) <= slack


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_plans_cost_what_the_cpus_cost_for_every_kind_of_cost(family: Family) -> None:
    rng = np.random.default_rng(0)
    for shape in ((1, 3, 5), (1, 4, 4)):
        values = family(rng, shape)
        values = values / 1e271 if family is enormous else values * 1e260 if family is minute else values
        agrees(torch.from_numpy(values).float())


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (9, 8), (3, 33)])
def test_sides_of_every_kind(shape: tuple[int, int]) -> None:
    agrees(torch.randn(1, *shape, generator=torch.Generator().manual_seed(sum(shape))))


@pytest.mark.skipif(DEVICE == "cuda", reason="a compiled kernel has its patience built in")
@pytest.mark.parametrize("family", ["tied", "products", "forbidden"])
def test_an_impatient_solver_starts_over_with_large_units(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import triton.language as tl

    from whymatch.transport.kernels.gpu import flows

    monkeypatch.setattr(flows, "SEARCHES_PER_SPAN", tl.constexpr(0))
    build = next(built for built in FAMILIES if built.__name__ == family)
    for seed in range(3):
        agrees(torch.from_numpy(build(np.random.default_rng(seed), (1, 4, 5))).float())


@pytest.mark.skipif(DEVICE == "cuda", reason="a compiled kernel has its patience built in")
@pytest.mark.parametrize(("seed", "side"), [(27, 5), (33, 4)])
def test_prices_follow_units_that_moved_before_a_search_failed(
    seed: int, side: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row sends some of its units and finds no room for the rest, which large units make frequent."""
    import triton.language as tl

    from whymatch.transport.kernels.gpu import flows

    monkeypatch.setattr(flows, "SEARCHES_PER_SPAN", tl.constexpr(0))
    rng = np.random.default_rng(seed)
    cost = torch.from_numpy(rng.random((side, side)))
    left, right = (torch.from_numpy(rng.dirichlet(np.full(side, 0.3))) for _ in range(2))
    found, expected = (run(cost, Balanced(), mass=(left, right)) for run in (solve_there, solve))
    assert float(found.cost) == pytest.approx(float(expected.cost), rel=1e-10)
    assert abs(float(found.gap)) < 1e-10


def test_a_side_without_spans_and_given_masses_gets_a_status() -> None:
    mass = (torch.empty(2, 0), torch.ones(2, 3))
    found, expected = (run(torch.empty(2, 0, 3), Balanced(), mass=mass) for run in (solve_there, solve))
    assert found.status.tolist() == expected.status.tolist()


def test_given_masses_are_carried_and_links_stay_few() -> None:
    rng = np.random.default_rng(7)
    for n, m in ((3, 5), (6, 4), (1, 4)):
        left, right = rng.dirichlet(np.full(n, 0.3)), rng.dirichlet(np.full(m, 0.3))
        cost = torch.from_numpy(rng.integers(0, 3, (n, m)).astype(float))
        mass = (torch.from_numpy(left), torch.from_numpy(right))
        solution = solve_there(cost, Balanced(), mass=mass)
        assert (solution.plan > 0).sum() <= n + m - 1
        np.testing.assert_allclose(solution.plan.sum(dim=1), left, atol=1e-11)
        np.testing.assert_allclose(solution.plan.sum(dim=0), right, atol=1e-11)
        assert float(solution.cost) == pytest.approx(float(solve(cost, Balanced(), mass=mass).cost), abs=1e-12)


def test_masses_that_are_counts_are_moved_without_rounding() -> None:
    cost = torch.tensor([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    plan = solve_there(cost, Balanced(), mass=(torch.tensor([2.0, 3, 5]), torch.tensor([5.0, 5]))).plan
    assert plan.tolist() == [[2, 0], [3, 0], [0, 5]]


def test_masses_that_make_no_sense_are_refused_alone() -> None:
    cost = torch.rand(3, 2, 2, generator=torch.Generator().manual_seed(0))
    left = torch.tensor([[0.5, 0.5], [-0.5, 1.5], [0.5, torch.nan]])
    solution = solve_there(cost, Balanced(), mass=(left, torch.full((3, 2), 0.5)))
    assert solution.status.tolist() == [Status.OK, Status.INVALID, Status.INVALID]
    with pytest.raises(ValueError, match="left mass must have shape"):
        solve_there(cost, Balanced(), mass=(left[:2], torch.full((3, 2), 0.5)))


def test_padding_and_neighbours_change_nothing() -> None:
    generator = torch.Generator().manual_seed(0)
    alone = [torch.randn(n, m, generator=generator) for n, m in ((3, 5), (6, 4), (2, 2), (1, 3))]
    alone[2][1, 1] = torch.nan
    alone.append(torch.empty(0, 5))
    batch, sizes = pad(alone)
    for b, (n, m) in enumerate(sizes.tolist()):
        batch[b, n:], batch[b, :, m:] = torch.nan, -torch.inf
    together = solve_there(batch, Balanced(), sizes=sizes)
    expected = solve(batch, Balanced(), sizes=sizes)
    assert together.status.tolist() == expected.status.tolist()
    for b, cost in enumerate(alone):
        n, m = cost.shape
        single = solve_there(cost, Balanced(), strict=False)
        assert torch.equal(together.plan[b, :n, :m], single.plan)
        assert torch.allclose(together.plan[b], expected.plan[b], atol=1e-6)
        for left, right in zip(together[1:], single[1:], strict=True):
            assert torch.equal(left[b].nan_to_num(-1), right.nan_to_num(-1))
