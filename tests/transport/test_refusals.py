"""Bad input: a status in a batch, a clear error for a single matrix, never a wrong answer."""

from typing import Any

import numpy as np
import pytest
import torch

from whymatch.transport import (
    Balanced,
    Constraint,
    Each,
    Exactly,
    OneTo,
    Status,
    Temperature,
    UpTo,
    margin,
    pad,
    path,
    sinkhorn,
    solve,
)

NAN, INF = torch.nan, torch.inf
FIVE: list[Constraint] = [Balanced(), OneTo(1), UpTo(1), Exactly(1), Each(1)]


@pytest.mark.parametrize("constraint", FIVE, ids=repr)
@pytest.mark.parametrize("bad", [NAN, -INF])
def test_a_cost_that_is_no_cost_is_invalid(constraint: Constraint, bad: float) -> None:
    cost = torch.rand(3, 3, 4)
    cost[1, 2, 3] = bad
    assert solve(cost, constraint).status.tolist() == [Status.OK, Status.INVALID, Status.OK]
    with pytest.raises(ValueError, match=r"\[2, 3\]"):
        solve(cost[1], constraint)
    with pytest.raises(ValueError, match="Problem 1"):
        solve(cost, constraint, strict=True)
    assert solve(cost[1], constraint, strict=False).status == Status.INVALID


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_an_empty_text_has_no_links_under_upto_and_no_solution_otherwise(shape: tuple[int, int]) -> None:
    empty = torch.empty(shape)
    solution = solve(empty, UpTo(1))
    assert solution.status == Status.OK
    assert solution.cost == solution.gap == 0
    for constraint in (Balanced(), OneTo(1), Exactly(1)):
        assert solve(empty, constraint, strict=False).status == Status.INFEASIBLE
        with pytest.raises(ValueError, match=f"{shape[0]} and {shape[1]}"):
            solve(empty, constraint)


@pytest.mark.parametrize(
    ("constraint", "shape", "advice"),
    [(Exactly(4), (3, 9), "4 or more spans on both sides"), (OneTo(3), (4, 11), "3 of the longer")],
)
def test_a_k_out_of_reach_is_refused_with_advice(constraint: Constraint, shape: tuple[int, int], advice: str) -> None:
    with pytest.raises(ValueError, match=advice):
        solve(torch.rand(shape), constraint)
    assert solve(torch.rand(1, *shape), constraint).status == Status.INFEASIBLE


def test_forbidden_pairs_may_leave_no_alignment() -> None:
    cost = torch.full((3, 3), INF)
    cost[:, 0] = 1.0
    for constraint in (Balanced(), OneTo(1), Exactly(2)):
        with pytest.raises(ValueError, match="forbids so many pairs"):
            solve(cost, constraint)
    assert solve(cost, Exactly(1)).plan.sum() == 1
    assert solve(cost, UpTo(1, below=2.0)).plan.sum(dim=0).tolist() == pytest.approx([1 / 3, 0, 0])


def test_a_span_without_mass_may_have_all_its_pairs_forbidden() -> None:
    cost = torch.tensor([[1.0, 2.0, INF], [INF, INF, INF], [3.0, 1.0, INF]])
    mass = torch.tensor([0.5, 0.0, 0.5])
    assert solve(cost, Balanced(), mass=(mass, torch.tensor([0.5, 0.5, 0.0]))).cost == 1


@pytest.mark.parametrize("k", [10**12, 2**63, 10**30])
def test_a_k_beyond_any_text_is_infeasible_however_large(k: int) -> None:
    cost = torch.rand(2, 3, 4)
    for constraint in (Exactly(k), OneTo(k)):
        assert (solve(cost, constraint).status == Status.INFEASIBLE).all()
        assert (sinkhorn(cost, constraint).status == Status.INFEASIBLE).all()


def test_upto_takes_any_k_and_never_caps_it() -> None:
    cost = -torch.rand(3, 8)
    for k in (8, 9, 10**30):
        solution = solve(cost, UpTo(k))
        assert (solution.plan > 0).sum() == 8
        assert solution.cost.item() == pytest.approx(cost.amin(dim=0).mean().item(), rel=1e-6)


@pytest.mark.parametrize(
    "masses",
    [
        (torch.ones(3), torch.ones(4)),
        (torch.tensor([1.0, -1, 1]), torch.full((4,), 0.25)),
        (torch.tensor([NAN, 1, 1]), torch.full((4,), 0.25)),
        (torch.tensor([INF, 1, 1]), torch.tensor([INF, 1, 1, 1])),
        (torch.zeros(3), torch.zeros(4)),
    ],
)
def test_masses_that_are_no_masses_are_invalid(masses: tuple[torch.Tensor, torch.Tensor]) -> None:
    with pytest.raises(ValueError, match="Masses must"):
        solve(torch.rand(3, 4), Balanced(), mass=masses)
    good = torch.full((2, 3), 1 / 3), torch.full((2, 4), 1 / 4)
    for mine, bad in zip(good, masses, strict=True):
        mine[1] = bad
    assert solve(torch.rand(2, 3, 4), Balanced(), mass=good).status.tolist() == [Status.OK, Status.INVALID]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: solve(torch.rand(3), Exactly(1)), ValueError, "one matrix"),
        (lambda: solve(torch.ones(2, 2, dtype=torch.complex64), Exactly(1)), TypeError, "real numbers"),
        (lambda: solve([torch.rand(2, 2), torch.rand(1, 2)], Exactly(1)), TypeError, "pad"),
        (lambda: solve(torch.rand(2, 2), 2), TypeError, "A constraint is"),  # type: ignore[arg-type]
        (lambda: solve(torch.rand(2, 2), Exactly), TypeError, "A constraint is"),  # type: ignore[arg-type]
        (lambda: solve(torch.rand(2, 2), Balanced(), mass=torch.ones(2)), TypeError, "pair"),  # type: ignore[arg-type]
        (lambda: solve(torch.rand(2, 2), Balanced(), mass=(torch.ones(2), None)), TypeError, "right mass"),
        (lambda: margin(torch.rand(2, 2), Exactly(1), solve(torch.rand(3, 3), Exactly(1))), ValueError, "other costs"),
        (lambda: UpTo(1, below="x"), TypeError, "number"),  # type: ignore[arg-type]
        (lambda: solve(torch.rand(2, 2, 2), Exactly(1), sizes=torch.tensor([[3, 1], [1, 1]])), ValueError, "sizes"),
        (lambda: solve(torch.rand(2, 2, 2), Exactly(1), sizes=torch.tensor([2, 2])), ValueError, "shape"),
        (lambda: solve(torch.rand(2, 2, 2), Exactly(1), sizes=torch.rand(2, 2)), TypeError, "whole numbers"),
        (lambda: solve(torch.rand(2, 2), Exactly(1), mass=(torch.ones(2), torch.ones(2))), ValueError, "Balanced"),
        (lambda: solve(torch.rand(2, 3), Balanced(), mass=(torch.ones(2), torch.ones(2))), ValueError, "right mass"),
        (lambda: pad([]), ValueError, "none"),
        (lambda: pad([torch.rand(2, 2), torch.rand(3)]), ValueError, "position 1"),
        (lambda: path(torch.tensor([[NAN]])), ValueError, "nan"),
        (lambda: path(torch.rand(2, 2), 0), ValueError, "1 or more"),
        (lambda: Exactly(0), ValueError, "1 or more"),
        (lambda: OneTo(2.5), TypeError, "whole number"),  # type: ignore[arg-type]
        (lambda: Exactly(True), TypeError, "whole number"),
        (lambda: UpTo(1, below=INF), ValueError, "finite"),
        (lambda: UpTo(1, below=NAN), ValueError, "finite"),
        (lambda: UpTo(1, below=10**400), ValueError, "range"),
        (lambda: UpTo(1, below=torch.ones(2)), TypeError, "number"),  # type: ignore[arg-type]
        (lambda: Exactly(10**5000), ValueError, "bits"),
        (lambda: Temperature(10**400), ValueError, "positive"),
        (lambda: Temperature("warm"), TypeError, "number"),  # type: ignore[arg-type]
    ],
)
def test_an_argument_that_makes_no_sense_is_refused(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_what_other_libraries_call_numbers_is_welcome() -> None:
    cost = np.arange(6).reshape(2, 3)
    assert solve(cost, Exactly(np.int64(1))).cost == 0  # type: ignore[arg-type]
    assert solve(cost.tolist(), UpTo(1, below=torch.tensor(0.5))).links.tolist() == [[0, 0]]  # type: ignore[arg-type]
    assert path(cost, np.int64(2)).cost.tolist() == [0, 4]  # type: ignore[arg-type]
    assert pad([cost, [[1.0]]])[1].tolist() == [[2, 3], [1, 1]]


def test_masses_keep_the_precision_they_came_in() -> None:
    cost = torch.tensor([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]).double()
    plan = solve(cost, Balanced(), mass=([0.2, 0.3, 0.5], [0.5, 0.5])).plan
    assert (plan > 0).sum() == 3


def test_a_cost_equal_to_below_is_not_under_it_in_any_precision() -> None:
    for tenth in range(1, 10):
        for dtype in (torch.bfloat16, torch.float32, torch.float64):
            assert not solve(torch.tensor([[tenth / 10]], dtype=dtype), UpTo(1, below=tenth / 10)).plan.any()


def test_padding_that_is_taken_for_costs_is_never_linked() -> None:
    costs, _ = pad([torch.ones(3, 3), torch.ones(1, 1)])
    assert solve(costs, Exactly(1)).plan[1].nonzero().tolist() == [[0, 0]]
    assert solve(costs, Exactly(2)).status.tolist() == [Status.OK, Status.INFEASIBLE]


def test_an_empty_batch_is_solved() -> None:
    solution = solve(torch.empty(0, 3, 4), Exactly(2))
    assert solution.plan.shape == (0, 3, 4)
    assert solution.cost.shape == solution.status.shape == (0,)
