"""Single steps of the CPU kernels: certificates hold whatever the prices, and cycles of links are removed."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.problems import by_program, constraints, costs
from whymatch.transport import Balanced, Exactly, OneTo, UpTo, pad, path, solve
from whymatch.transport.constraints import Constraint
from whymatch.transport.kernels.cpu.batches import bound, bound_exactly, bound_masses
from whymatch.transport.kernels.cpu.compiling import Kernel
from whymatch.transport.kernels.cpu.flows import Flow, untangle
from whymatch.transport.kernels.cpu.simplex import simplex
from whymatch.transport.kernels.cpu.steps import V, workspace


@pytest.mark.parametrize("seed", range(30))
def test_no_prices_make_a_certificate_claim_too_much(seed: int) -> None:
    """Weak duality: with any prices at all, a bound stays under the optimum that a linear program finds."""
    rng = np.random.default_rng(seed)
    n, m, k = 4, 9, int(rng.integers(1, 3))
    c = rng.standard_normal((n, m))
    below = np.where(c < 0, c, np.inf)
    cost = torch.from_numpy(c)
    one_to, up_to, exactly, balanced = (by_program(cost, rule) for rule in (OneTo(k), UpTo(k), Exactly(k), Balanced()))
    assert one_to is not None
    assert up_to is not None
    assert exactly is not None
    assert balanced is not None
    for size in (0.0, 0.01, 0.3, 3.0):
        w = workspace(m)
        w.real[V] = size * rng.standard_normal(m)
        assert bound(c, k, np.inf, w) <= one_to * k * n + 1e-6
        assert bound(below, k, 0.0, w) <= up_to * min(k * n, m) + 1e-6
        assert bound_exactly(c, k, float(rng.standard_normal()), w) <= exactly * k + 1e-6
        sent, taken = np.full(n, m), np.full(m, n)
        assert bound_masses(c, sent, taken, w.real[V]) <= balanced * n * m + 1e-6


def test_gaps_are_computed_and_not_assumed() -> None:
    """Rounding leaves its trace in some gap of many: a gap that is always 0 would be no certificate."""
    cost = torch.randn(300, 12, 17, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for constraint in (OneTo(1), UpTo(1, below=0.9), Exactly(7), Balanced()):
        gap = solve(cost, constraint).gap
        assert gap.any()
        assert gap.abs().max() < 1e-14
    assert path(cost).gap.any()


@pytest.mark.parametrize("seed", range(20))
def test_untangling_keeps_what_every_span_sends_and_takes_and_leaves_a_forest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 9, 2)
    units = rng.integers(0, 4, (m, n))
    flow = Flow(units.copy(), np.zeros((m, n), np.int64), np.zeros(m, np.int64))
    for j in range(m):
        rows = np.flatnonzero(units[j])
        flow.held[j] = len(rows)
        flow.holders[j, : len(rows)] = rows
    untangle(flow)
    assert (flow.units >= 0).all()
    assert (flow.units.sum(axis=0) == units.sum(axis=0)).all()
    assert (flow.units.sum(axis=1) == units.sum(axis=1)).all()
    assert not flow.units[units == 0].any()
    incidence = [np.eye(n + m)[i] - np.eye(n + m)[n + j] for j, i in np.argwhere(flow.units)]
    assert len(incidence) == (np.linalg.matrix_rank(np.array(incidence)) if incidence else 0)
    for j in range(m):
        assert sorted(flow.holders[j, : flow.held[j]]) == np.flatnonzero(flow.units[j]).tolist()


@pytest.mark.parametrize("seed", range(200))
def test_the_simplex_method_finds_the_optimum_of_shortest_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 12, 2)
    c = rng.integers(0, 4, (n, m)).astype(float) if seed % 2 else np.abs(rng.standard_normal((n, m)))
    total = int(max(n, m)) + int(rng.integers(0, 20))
    sent, taken = (1 + rng.multinomial(total - size, np.full(size, 1 / size)) for size in (n, m))
    flow = Flow(np.zeros((m, n), np.int64), np.zeros((m, n), np.int64), np.zeros(m, np.int64))
    w = workspace(max(n, m))
    simplex(c, sent, taken, flow, w)
    assert (flow.units >= 0).all()
    assert (flow.units.sum(axis=0) == sent).all()
    assert (flow.units.sum(axis=1) == taken).all()
    assert np.count_nonzero(flow.units) <= n + m - 1
    moved = float((flow.units.T * c).sum())
    exact = solve(torch.from_numpy(c), Balanced(), mass=(torch.from_numpy(sent), torch.from_numpy(taken)))
    assert moved == pytest.approx(float(exact.cost), rel=1e-12, abs=1e-12)
    assert bound_masses(c, sent, taken, w.real[V]) == pytest.approx(moved, rel=1e-12, abs=1e-12)


@given(problems=st.lists(costs(), min_size=1, max_size=3), constraint=constraints())
@settings(max_examples=150)
def test_python_and_compiled_kernels_give_the_same_to_the_bit(
    problems: list[torch.Tensor], constraint: Constraint
) -> None:
    padded, sizes = pad([cost.numpy() for cost in problems])
    results = []
    for way in ("in_python", "compiled"):
        used = list[str]()

        def chosen(kernel: Kernel, steps: int, costs: np.ndarray, way: str = way, used: list[str] = used) -> object:
            used.append(way)
            return getattr(kernel, way)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Kernel, "suited", chosen)
            solution = solve(padded, constraint, sizes=sizes, strict=False)
            every_k = path(padded, sizes=sizes)
        assert len(used) == 2
        results.append(
            [
                *(solution.plan, solution.cost, solution.gap, solution.status),
                *(every_k.cost, every_k.increments, every_k.partner, every_k.gap, every_k.status),
            ]
        )
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


SMALL = """
import sys, numpy as np
from whymatch.transport import UpTo, solve
from whymatch.transport.kernels.cpu.compiling import expect_work
if {expected}:
    expect_work()
cost = np.random.default_rng(0).standard_normal(({batch}, 9, 9))
plans = solve(cost, UpTo(1)).plan
print("numba" in sys.modules, plans.sum() > 0)
"""


@pytest.mark.parametrize(
    ("batch", "expected", "loaded"), [(10, False, "False"), (2000, False, "True"), (1, True, "True")]
)
def test_numba_is_loaded_where_there_is_work_for_it(batch: int, expected: bool, loaded: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SMALL.format(batch=batch, expected=expected)], check=True, capture_output=True, text=True
    )
    assert ran.stdout.split() == [loaded, "True"]


WITHOUT = """
import sys, warnings
for name in {hidden}:
    sys.modules[name] = None
warnings.simplefilter("ignore")
import torch
import whymatch as wm
from whymatch.transport import Temperature
import whymatch.learning.train
cost = torch.rand(3, 4, 6, generator=torch.Generator().manual_seed(0)).requires_grad_()
for constraint in (wm.Exactly(2), wm.OneTo(1), wm.UpTo(1, 0.5), wm.Balanced()):
    found = wm.solve(cost, constraint, smooth=Temperature(0.1))
    (gradient,) = torch.autograd.grad(found.plan.square().sum(), cost)
    print(found.plan.tolist(), found.gap.abs().max() < 1e-6, gradient.mul(1e5).round().tolist())
print(wm.path(cost.detach()).partner.tolist())
"""


def test_without_numba_and_the_packages_of_the_command_the_answers_are_the_same() -> None:
    hidden = ("numba", "llvmlite", "triton", "rich", "typer", "entmax", "jinja2", "sentencex", "tensorboard")
    answers = [
        subprocess.run(
            [sys.executable, "-c", WITHOUT.format(hidden=names)], check=True, capture_output=True, text=True
        ).stdout
        for names in ((), hidden)
    ]
    assert answers[0] == answers[1]
    assert "False" not in answers[0]
