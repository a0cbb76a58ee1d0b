"""One hundred thousand adversarial problems: no promise broken, every optimum proved."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.problems import FAMILIES, spread_of
from whymatch import Balanced, Constraint, Exactly, OneTo, Status, UpTo, solve
from whymatch.transport.solution import TOLERANCE

PROBLEMS = 100_000 // 8  # for each of four constraints in two precisions


def variants(kind: type, k: int) -> Constraint:
    if kind is Balanced:
        return Balanced()
    if kind is UpTo:
        return UpTo(k, below=[0.0, 0.5, -0.3][k % 3])
    return OneTo(k) if kind is OneTo else Exactly(k)


def broken_promises(plan: torch.Tensor, cost: torch.Tensor, constraint: Constraint) -> NDArray[np.bool_]:
    """Which problems of a batch, all of one size, break their constraint's promise."""
    _, n, m = plan.shape
    links = plan > 0
    rows, columns, total = links.sum(dim=2), links.sum(dim=1), links.sum(dim=(1, 2))
    of_shorter, of_longer = (rows, columns) if n <= m else (columns, rows)
    broken = (plan < 0).any(2).any(1) | (links & cost.isinf()).any(2).any(1)
    if isinstance(constraint, Balanced):
        broken |= ((plan.sum(dim=2) - 1 / n).abs() > 1e-6).any(1) | ((plan.sum(dim=1) - 1 / m).abs() > 1e-6).any(1)
        broken |= total > n + m - 1
        if n == m:
            broken |= total != n
        return broken.numpy()
    mass = plan.new_tensor(float(constraint.mass(min(n, m), max(n, m))))
    broken |= (links & (plan != mass)).any(2).any(1) | (of_longer > 1).any(1)
    if isinstance(constraint, OneTo):
        broken |= (of_shorter != constraint.k).any(1)
    elif isinstance(constraint, UpTo):
        broken |= (of_shorter > constraint.k).any(1) | (links & (cost >= constraint.below)).any(2).any(1)
    else:
        broken |= (of_shorter > 1).any(1) | (total != constraint.k)
    return broken.numpy()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("kind", [Balanced, OneTo, UpTo, Exactly])
def test_no_promise_is_broken(kind: type, dtype: torch.dtype) -> None:
    rng = np.random.default_rng(0)
    solved = 0
    for family in FAMILIES:
        if dtype == torch.float32 and family.__name__ in {"enormous", "minute"}:
            continue  # not representable
        for _ in range(40):
            k = int(rng.integers(1, 5))
            constraint = variants(kind, k)
            shorter = int(rng.integers(1, 10)) + (k if kind is Exactly else 0)
            longer = shorter * (k if kind is OneTo else 1) + int(rng.integers(0, 7))
            shape = (shorter, longer) if rng.random() < 0.5 else (longer, shorter)
            cost = torch.from_numpy(family(rng, (36, *shape))).to(dtype)
            solution = solve(cost, constraint)
            ok = solution.status == Status.OK
            assert family.__name__ == "forbidden" or ok.all()
            assert not broken_promises(solution.plan[ok], cost[ok], constraint).any()
            spreads = torch.tensor([spread_of(c, constraint) for c in cost[ok]], dtype=torch.float64)
            assert (solution.gap[ok].abs().double() <= TOLERANCE * spreads).all()
            solved += int(ok.sum())
    assert solved >= PROBLEMS
