"""One hundred thousand adversarial problems: no promise broken, every optimum proved."""

import numpy as np
import pytest
import torch

from tests.problems import FAMILIES, broken_promises, by_assignment, by_program, spread_of
from whymatch.transport import Balanced, Constraint, Each, Exactly, OneTo, Status, UpTo, solve
from whymatch.transport.solution import TOLERANCE

EXTREME = {"enormous", "minute", "wide", "nearly_equal"}  # out of the references' range, or of single precision
PROBLEMS = 100_000 // 8  # for each of the paper's four constraints in two precisions


def variants(kind: type, k: int) -> Constraint:
    if kind is Balanced:
        return Balanced()
    if kind is UpTo:
        return UpTo(k, below=[0.0, 0.5, -0.3][k % 3])
    if kind is Each:
        return Each(k, below=[0.0, 0.5, -0.3][k % 3])
    return OneTo(k) if kind is OneTo else Exactly(k)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("kind", [Balanced, OneTo, UpTo, Exactly, Each])
def test_no_promise_is_broken(kind: type, dtype: torch.dtype) -> None:
    rng = np.random.default_rng(0)
    solved = 0
    for family in FAMILIES:
        if dtype == torch.float32 and family.__name__ in {"enormous", "minute"}:
            continue  # not representable
        for _ in range(40):
            k = int(rng.integers(1, 8))
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
            if ok[0] and family.__name__ not in EXTREME:
                expected = (by_program if kind in (Balanced, Each) else by_assignment)(cost[0].double(), constraint)
                assert expected is not None
                slack = 1e-6 * float(spreads[0]) + 1e-6 * abs(expected)
                assert float(solution.cost[0]) == pytest.approx(expected, abs=slack)
    assert solved >= PROBLEMS
