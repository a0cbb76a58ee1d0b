"""Sinkhorn side by side: ours and peers at the same epsilon, on the same cosine costs, in one run, on one thread.

    python -m benchmarks.sinkhorn

Prints microseconds a problem, how many times as long a peer takes, the share of mass out of place when the iteration
stopped, the excess of the plan's cost over the exact optimum, and the share of problems whose active links are the
optimal ones. Ours then moves the rest into place; the peers return their plans as they are.
"""

import importlib.util
import os
from collections.abc import Callable
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np
import ot
import torch

from benchmarks.exact import Array, Problems, cut, ragged, square, timed
from whymatch.show.terminal import table
from whymatch.transport import Balanced, Temperature, sinkhorn, solve

EPSILON = 1e-4  # the paper's


class Run(NamedTuple):
    """A solver's plans for a batch, in double precision, and the worst error when it stopped, if it says so."""

    name: str
    plans: Callable[[], tuple[Array, float | None]]


def ours(batch: Problems, tolerance: float, limit: int) -> Run:
    temperature = Temperature(EPSILON, relative=False)

    def plans() -> tuple[Array, float | None]:
        found = sinkhorn(
            batch.cost, Balanced(), temperature, sizes=batch.sizes, tolerance=tolerance, max_iterations=limit
        )
        return found.plan.numpy(), float(found.error.max())

    return Run(f"whymatch, to {tolerance:.0e}", plans)


def masses(batch: Problems) -> tuple[torch.Tensor, torch.Tensor]:
    """Uniform masses; padding has a mass that is as good as none."""
    n, m = batch.sizes[:, :1].double(), batch.sizes[:, 1:].double()
    left = torch.where(torch.arange(batch.cost.shape[1]) < n, 1 / n, 1e-30)
    right = torch.where(torch.arange(batch.cost.shape[2]) < m, 1 / m, 1e-30)
    return left, right


def finite(batch: Problems) -> torch.Tensor:
    return batch.cost.nan_to_num(posinf=1.0)


def pot(batch: Problems) -> Run:
    left, right = masses(batch)
    costs = finite(batch)

    def plans() -> tuple[Array, float | None]:
        found = ot.solve_batch(costs, reg=EPSILON, a=left, b=right, method="log_sinkhorn", grad="detach")
        return found.plan.numpy(), None

    return Run("POT solve_batch, log-Sinkhorn", plans)


def ott(batch: Problems) -> Run:
    import jax
    from ott.geometry import geometry
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn as peer

    jax.config.update("jax_enable_x64", True)
    left, right = (jax.numpy.asarray(side.numpy()) for side in masses(batch))
    costs = jax.numpy.asarray(finite(batch).numpy())
    solver = peer.Sinkhorn(threshold=1e-5, max_iterations=2000)

    def one(cost: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        space = geometry.Geometry(cost_matrix=cost, epsilon=EPSILON, relative_epsilon=None)
        return solver(linear_problem.LinearProblem(space, a=a, b=b)).matrix

    together = jax.jit(jax.vmap(one))
    together(costs, left, right).block_until_ready()
    return Run("OTT-JAX, vmapped", lambda: (np.asarray(together(costs, left, right).block_until_ready()), None))


def compare(batch: Problems) -> list[list[str]]:
    exact = solve(batch.cost, Balanced(), sizes=batch.sizes)
    optimal = cut(exact.plan.numpy() > 0, batch)
    left, right = (side.numpy() for side in masses(batch))
    costs = finite(batch).numpy()
    active = (0.01 / batch.sizes.prod(dim=1)).numpy()[:, None, None]
    runs = [ours(batch, 1e-5, 1_000), ours(batch, 1e-6, 100_000), pot(batch)]
    if importlib.util.find_spec("ott"):
        runs.append(ott(batch))
    rows = []
    first = None
    for run in runs:
        run.plans()
        seconds, (plans, error) = timed(run.plans)
        first = first or seconds
        off = np.abs(plans.sum(axis=2) - left).sum(axis=1) + np.abs(plans.sum(axis=1) - right).sum(axis=1)
        worst = error if error is not None else off.max()
        excess = (plans * costs).sum(axis=(1, 2)) - exact.cost.numpy()
        pairs = zip(cut(plans > active, batch), optimal, strict=True)
        agree = np.mean([np.array_equal(mine, theirs) for mine, theirs in pairs])
        us = seconds / len(batch.each) * 1e6
        cells = [
            f"{us:.0f}",
            f"{seconds / first:.1f}×",
            f"{worst:.0e}",
            f"{np.abs(excess).max():.0e}",
            f"{agree:.0%}",
        ]
        rows.append([batch.name, run.name, *cells])
    return rows


def main() -> None:
    torch.set_num_threads(1)
    print(f"Balanced(), epsilon {EPSILON}, {os.cpu_count()} cores, one thread, double precision\n")
    batches = [square(8, 256), square(16, 128), square(32, 64), square(64, 16), ragged(64)]
    rows = [row for batch in batches for row in compare(batch)]
    header = ["problems", "solver", "µs a problem", "of ours", "worst error", "worst excess cost", "optimal links"]
    print(table(header, rows))


if __name__ == "__main__":
    main()
