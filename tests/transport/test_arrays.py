"""Arrays of numpy in, arrays of numpy out; tensors in, tensors out: the same numbers, to the last bit."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.problems import FAMILIES, constraints
from whymatch.transport import (
    Balanced,
    Constraint,
    Exactly,
    OneTo,
    Solution,
    UpTo,
    augmented,
    decompose,
    margin,
    pad,
    path,
    perturb,
    sinkhorn,
    solve,
)

PRECISIONS = ["float64", "float32", "float16"]


def same(of_numpy: Any, of_torch: Any, dtype: np.dtype[Any]) -> bool:
    """Whether two results are of their own kind, in the precision of the costs, and equal to the last bit."""
    if isinstance(of_numpy, tuple):
        return all(same(mine, theirs, dtype) for mine, theirs in zip(of_numpy, of_torch, strict=True))
    assert isinstance(of_numpy, np.ndarray | np.generic)
    assert isinstance(of_torch, torch.Tensor)
    assert of_numpy.dtype == (dtype if of_numpy.dtype.kind == "f" else np.int64)
    return of_numpy.dtype == of_torch.numpy().dtype and np.array_equal(of_numpy, of_torch.numpy(), equal_nan=True)


@given(
    constraint=constraints(),
    family=st.sampled_from(FAMILIES),
    seed=st.integers(0, 2**32),
    precision=st.sampled_from(PRECISIONS),
    shape=st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 6)),
    ragged=st.booleans(),
)
def test_both_kinds_give_the_same_numbers(
    constraint: Constraint, family: Any, seed: int, precision: str, shape: tuple[int, int, int], ragged: bool
) -> None:
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        cost = family(rng, shape).astype(precision)
    sizes = rng.integers(0, 1 + np.array(shape[1:]), (shape[0], 2)) if ragged else None
    mass = None
    if constraint == Balanced() and seed % 2:
        mass = tuple(np.full((shape[0], spans), 1 / spans) for spans in shape[1:]) if sizes is None else None
    of_numpy: dict[str, Any] = {"sizes": sizes, "mass": mass}
    of_torch: dict[str, Any] = {
        "sizes": None if sizes is None else torch.from_numpy(sizes),
        "mass": None if mass is None else tuple(torch.from_numpy(side) for side in mass),
    }
    there = torch.from_numpy(cost)
    plans = solve(cost, constraint, **of_numpy), solve(there, constraint, **of_torch)
    assert same(*plans, cost.dtype)
    assert same(plans[0].links, plans[1].links, cost.dtype)
    if not constraint.shares_right:
        assert same(sinkhorn(cost, constraint, **of_numpy), sinkhorn(there, constraint, **of_torch), cost.dtype)
    assert same(path(cost, sizes=sizes), path(there, sizes=of_torch["sizes"]), cost.dtype)
    margins = margin(cost, constraint, plans[0], **of_numpy), margin(there, constraint, plans[1], **of_torch)
    assert same(margins[0], margins[1], cost.dtype)


CALLS: dict[str, Callable[[Any], Any]] = {
    "one matrix": lambda cost: solve(cost[0], Exactly(2)),
    "one path": lambda cost: path(cost[0]),
    "one entropic plan": lambda cost: sinkhorn(cost[0], Balanced()),
    "pad": lambda cost: pad([cost[0], cost[1][:2, :3]]),
    "augmented one-to": lambda cost: augmented(cost[0], OneTo(1)),
    "augmented exactly": lambda cost: augmented(cost[1].T, Exactly(2)),
    "augmented up-to": lambda cost: augmented(cost[0], UpTo(2)),
    "published": lambda cost: augmented(cost[0], Exactly(2), as_published=True),
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CALLS)
def test_so_do_other_functions(name: str, precision: str) -> None:
    cost = np.random.default_rng(0).standard_normal((2, 4, 5)).astype(precision)
    assert same(tuple(CALLS[name](cost)), tuple(CALLS[name](torch.from_numpy(cost))), cost.dtype)


def test_plans_of_both_kinds_have_permutations() -> None:
    plan = np.full((4, 4), 1 / 16)
    mine, theirs = decompose(plan), decompose(torch.from_numpy(plan))
    assert same(tuple(mine), tuple(theirs), plan.dtype)
    assert np.allclose(mine.plan(), plan)
    assert same(mine.plan(), theirs.plan(), plan.dtype)


def test_noise_comes_in_the_kind_of_the_costs() -> None:
    cost = np.zeros((3, 4), np.float32)
    drawn = perturb(cost, 0.5, np.random.default_rng(0))
    assert drawn.dtype == np.float32
    assert ((drawn >= 0) & (drawn < 0.5)).all()
    assert np.array_equal(drawn, perturb(cost, 0.5, np.random.default_rng(0)))
    assert isinstance(perturb(torch.zeros(3, 4), 0.5), torch.Tensor)


def test_arguments_of_the_other_kind_are_read_too() -> None:
    cost = np.random.default_rng(0).standard_normal((2, 4, 5))
    sizes = np.array([[3, 4], [4, 5]])
    for mine, theirs in ((cost, torch.from_numpy(sizes)), (torch.from_numpy(cost), sizes)):
        found: Solution = solve(mine, Exactly(2), sizes=theirs)
        assert type(found.plan) is type(mine)
        assert np.array_equal(found.plan, solve(cost, Exactly(2), sizes=sizes).plan)
    mass = np.full(4, 0.25), torch.tensor([0.25, 0.25, 0.25, 0.125, 0.125], dtype=torch.bfloat16)
    assert solve(cost[0], Balanced(), mass=mass).status == 0


WITHOUT_TORCH = """
import sys
import numpy as np
import whymatch.transport as wt

cost = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)
mass = np.full((3, 4), 0.25), np.full((3, 5), 0.2)
for constraint in (wt.Exactly(2), wt.UpTo(1, below=0.5), wt.OneTo(1), wt.Balanced()):
    solution = wt.solve(cost, constraint, sizes=np.array([[4, 5], [3, 3], [4, 4]]))
    wt.margin(cost[0], constraint, wt.solve(cost[0], constraint))
    wt.sinkhorn(cost, constraint)
    assert len(solution.links)
wt.solve(cost, wt.Balanced(), mass=mass)
wt.path(wt.pad([cost[0], [[1.0, 2.0]]])[0])
wt.augmented(cost[0], wt.Exactly(1))
wt.decompose(np.eye(3) / 3)
wt.perturb(cost, 0.1)
assert all(hasattr(wt, name) for name in wt.__all__)
print(*sorted(sys.modules))
"""


def test_arrays_of_numpy_are_solved_without_torch() -> None:
    ran = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    loaded = {name.split(".")[0] for name in ran.stdout.split()}
    assert "numba" in loaded
    assert not loaded & {"torch", "triton", "transformers"}
