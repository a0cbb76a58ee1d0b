"""The kernels for GPUs obey the laws of the CPU's, as far as single precision goes."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.problems import FAMILIES, Array, broken_promises, enormous, minute, spread_of
from tests.transport.on_device import DEVICE, kernels, path_there, solve_there
from whymatch.transport import Constraint, Each, Exactly, OneTo, Status, UpTo, margin, pad, path, solve
from whymatch.transport.kernels import gpu

pytest.importorskip("triton")

LINKS: list[Constraint] = [OneTo(1), OneTo(2), UpTo(1, below=0.1), UpTo(3, below=-0.2), Exactly(3), Each(2, 0.1)]
ROUNDING = {torch.float32: 3e-6, torch.float64: 1e-12}  # of the range of the costs

Family = Callable[[np.random.Generator, tuple[int, ...]], Array]


def in_single(values: Array, family: Family) -> torch.Tensor:
    """Costs that single precision can hold, as hard as they were."""
    return torch.from_numpy(
        values / 1e271 if family is enormous else values * 1e260 if family is minute else values
    ).float()


def agrees(cost: torch.Tensor, constraint: Constraint) -> None:
    """Solves problems of one size on both devices and compares."""
    found, expected = solve_there(cost, constraint), solve(cost.double(), constraint)
    assert found.status.tolist() == expected.status.tolist()
    kept = ~broken_promises(found.plan.double(), cost.double(), constraint) if cost.dtype == torch.float64 else None
    for b in range(len(cost)):
        if found.status[b] != Status.OK:
            assert not found.plan[b].any()
            assert found.cost[b].isnan()
            assert found.gap[b].isnan()
            continue
        if kept is None:
            assert not broken_promises(found.plan[b : b + 1], cost[b : b + 1], constraint).any()
        else:
            assert kept[b]
        spread = spread_of(cost[b], constraint)
        slack = ROUNDING[cost.dtype] * spread
        assert float(found.cost[b]) == pytest.approx(float(expected.cost[b]), rel=1e-6, abs=slack)
        assert -slack <= float(found.gap[b]) <= slack
        single = type(expected)(*(part[b] for part in expected))
        if margin(cost[b].double(), constraint, single) > 10 * slack:
            assert torch.equal(found.plan[b] > 0, single.plan > 0)


@pytest.mark.parametrize("constraint", LINKS, ids=repr)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_links_are_the_cpus_for_every_kind_of_cost(family: Family, constraint: Constraint) -> None:
    rng = np.random.default_rng(0)
    shape = (1, 3, 7) if LINKS.index(constraint) % 2 else (1, 5, 5)
    agrees(in_single(family(rng, shape), family), constraint)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_double_precision_stays_double(family: Family) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        agrees(torch.from_numpy(family(rng, (1, 6, 4))), Exactly(2))
        agrees(torch.from_numpy(family(rng, (1, 5, 6))), UpTo(1, below=0.2))
        agrees(torch.from_numpy(family(rng, (1, 6, 5))), Each(2, below=0.2))


def test_a_certificate_does_not_see_what_is_added_to_all_costs() -> None:
    cost = torch.rand(1, 5, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 1e12
    for constraint in (OneTo(1), Exactly(3)):
        assert abs(float(solve_there(cost, constraint).gap)) < 1e-9
    assert path_there(cost).gap.abs().max() < 1e-9


def test_the_path_is_as_long_as_on_the_cpu_where_sizes_are_on_the_host() -> None:
    batch, sizes = pad([torch.rand(3, 7), torch.rand(6, 4)])
    with kernels():
        found = path(batch.to(DEVICE), sizes=sizes)
    assert found.cost.shape == path(batch, sizes=sizes).cost.shape


def test_more_than_256_spans_are_solved_on_the_cpu() -> None:
    cost = torch.rand(1, 3, 257, generator=torch.Generator().manual_seed(0))
    assert not gpu.fits(cost)
    assert torch.equal(solve_there(cost, Exactly(2)).plan, solve(cost, Exactly(2)).plan)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (16, 16), (17, 15), (31, 33), (33, 20)])
@pytest.mark.parametrize("constraint", [OneTo(1), UpTo(1), Exactly(1), Each(2)], ids=repr)
def test_sides_beside_powers_of_two(shape: tuple[int, int], constraint: Constraint) -> None:
    agrees(torch.randn(1, *shape, generator=torch.Generator().manual_seed(sum(shape))), constraint)


@pytest.mark.parametrize("constraint", LINKS, ids=repr)
def test_padding_and_neighbours_change_nothing(constraint: Constraint) -> None:
    generator = torch.Generator().manual_seed(0)
    sides = [(3, 6), (5, 3), (4, 4), (2, 4), (6, 3), (1, 1)]
    alone = [torch.randn(n, m, generator=generator) for n, m in sides]
    alone[2][1, 1] = torch.nan
    alone[3][0, 1] = -torch.inf
    alone.append(torch.empty(0, 5))
    batch, sizes = pad(alone)
    for b, (n, m) in enumerate(sizes.tolist()):
        batch[b, n:], batch[b, :, m:] = torch.nan, -torch.inf
    together = solve_there(batch, constraint, sizes=sizes)
    assert together.status[2] == together.status[3] == Status.INVALID
    expected = solve(batch, constraint, sizes=sizes)
    assert together.status.tolist() == expected.status.tolist()
    for b, cost in enumerate(alone):
        n, m = cost.shape
        single = solve_there(cost, constraint, strict=False)
        assert torch.equal(together.plan[b, :n, :m], single.plan)
        assert torch.equal(together.plan[b] > 0, expected.plan[b] > 0)
        for left, right in zip(together[1:], single[1:], strict=True):
            assert torch.equal(left[b].nan_to_num(-1), right.nan_to_num(-1))


def test_sizes_are_whole_numbers_of_any_kind_and_cut_to_the_costs() -> None:
    cost = torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(1))
    expected = solve_there(cost, Exactly(2), sizes=torch.tensor([[4, 5], [0, 0]]))
    found = solve_there(cost, Exactly(2), sizes=torch.tensor([[9, 7], [-3, 2]], dtype=torch.int32))
    assert torch.equal(found.plan, expected.plan)
    assert found.status.tolist() == [Status.OK, Status.INFEASIBLE]
    with pytest.raises(TypeError, match="whole numbers"):
        solve_there(cost, Exactly(2), sizes=torch.ones(2, 2))
    with pytest.raises(ValueError, match="Sizes must be"):
        solve_there(cost, Exactly(2), sizes=torch.ones(3, 2, dtype=torch.int32))


def test_empty_sides_and_empty_batches() -> None:
    assert solve_there(torch.empty(0, 3), UpTo(1)).status == Status.OK
    assert solve_there(torch.empty(2, 3, 0), UpTo(2)).cost.tolist() == [0.0, 0.0]
    assert solve_there(torch.empty(2, 0, 3), OneTo(1)).status.tolist() == [Status.INFEASIBLE] * 2
    assert solve_there(torch.empty(0, 4, 3), OneTo(1)).plan.shape == (0, 4, 3)


def test_a_single_matrix_that_cannot_be_solved_raises() -> None:
    with pytest.raises(ValueError, match="needs 4 or more spans"):
        solve_there(torch.zeros(3, 5), Exactly(4))
    with pytest.raises(ValueError, match="nan at"):
        solve_there(torch.full((3, 5), torch.nan), OneTo(1))
    with pytest.raises(ValueError, match="forbids"):
        solve_there(torch.full((3, 5), torch.inf), OneTo(1))
    with pytest.raises(ValueError, match="nan at"):
        path_there(torch.full((3, 5), torch.nan))


def test_half_precision_is_solved_as_it_is() -> None:
    cost = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(3)).bfloat16()
    for constraint in (OneTo(1), UpTo(1, below=0.3)):
        found, expected = solve_there(cost, constraint), solve(cost, constraint)
        assert found.plan.dtype == found.cost.dtype == found.gap.dtype == torch.bfloat16
        assert torch.equal(found.plan > 0, expected.plan > 0)
        assert torch.allclose(found.plan, expected.plan, rtol=0.01)  # the interpreter cuts where a GPU rounds
        assert torch.equal(found.cost, expected.cost)


def test_ties_break_the_same_way_on_every_run() -> None:
    cost = torch.randint(0, 2, (3, 5, 8), generator=torch.Generator().manual_seed(1)).float()
    for constraint in (OneTo(1), Exactly(3)):
        assert torch.equal(solve_there(cost, constraint).plan, solve_there(cost, constraint).plan)


def test_a_layout_in_memory_changes_nothing() -> None:
    cost = torch.randn(4, 9, generator=torch.Generator().manual_seed(4))
    strided = torch.stack([cost, cost], dim=-1)[..., 0]
    assert torch.equal(solve_there(strided, OneTo(1)).plan, solve_there(cost, OneTo(1)).plan)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_the_path_is_the_cpus(family: Family) -> None:
    rng = np.random.default_rng(2)
    for shape in ((1, 2, 5), (1, 4, 3)):
        cost = in_single(family(rng, shape), family)
        found, expected = path_there(cost), path(cost.double())
        assert found.status.tolist() == expected.status.tolist()
        spread = spread_of(cost[0], Exactly(1))
        slack = ROUNDING[torch.float32] * spread
        ok = expected.status[0] == Status.OK
        for k in (torch.nonzero(ok)[:, 0] + 1).tolist():
            partner = found.partner[0, k - 1]
            assert (partner >= 0).sum() == k
            assert len(set(partner[partner >= 0].tolist())) == k
            assert float(found.cost[0, k - 1]) == pytest.approx(float(expected.cost[0, k - 1]), rel=1e-6, abs=slack * k)
            assert -slack <= float(found.gap[0, k - 1]) / k <= slack
        assert (found.increments[0][ok].diff() >= 0).all()
        assert torch.equal(
            found.cost[~expected.status.eq(Status.OK)], expected.cost[~expected.status.eq(Status.OK)].float()
        )


def test_a_ragged_path_with_a_bad_problem_equals_single_paths() -> None:
    alone = [torch.randn(n, m, generator=torch.Generator().manual_seed(n)) for n, m in ((3, 7), (6, 4), (1, 1))]
    batch, sizes = pad([*alone, torch.full((2, 2), torch.nan)])
    together = path_there(batch, 5, sizes=sizes)
    assert (together.status[-1] == Status.INVALID).all()
    assert together.cost[-1].isnan().all()
    for b, cost in enumerate(alone):
        k = min(cost.shape)
        assert torch.equal(together.cost[b, :k], path_there(cost).cost)
        assert torch.equal(together.partner[b, :k, : len(cost)], path_there(cost).partner)
        assert (together.cost[b, k:] == torch.inf).all()
        assert (together.partner[b, k:] == -1).all()
        assert (together.status[b, k:] == Status.INFEASIBLE).all()


@pytest.mark.parametrize("constraint", LINKS, ids=repr)
def test_the_gradient_of_the_cost_is_the_plan(constraint: Constraint) -> None:
    cost = torch.randn(3, 9, generator=torch.Generator().manual_seed(5), requires_grad=True)
    solution = solve_there(cost, constraint)
    assert torch.equal(torch.autograd.grad(solution.cost, cost)[0].cpu(), solution.plan)
