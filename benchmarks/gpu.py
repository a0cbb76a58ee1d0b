"""Exact alignment on a GPU beside softmax attention, Sinkhorn and peers: the same costs, in one run.

    python -m benchmarks.gpu              # the table
    python -m benchmarks.gpu memory       # what a loss through the plan keeps
    python -m benchmarks.gpu product      # what computing the costs in the same kernel could save
    python -m benchmarks.gpu warps        # how many warps a program should have

Costs are cosine distances of random unit vectors (64 dimensions), single precision, on the GPU before the clock starts.
Attention is a softmax over columns and one over rows of the negative costs: two kernels that read and write a matrix of
the same size each. Ours is a call of `solve` that writes plan, cost, gap and status. Each is recorded as a CUDA graph
and replayed, so that no time of the host counts; operations that cannot be recorded are called. Times are medians
between CUDA events after warming up. Costs of up to 50 MB stay in the second-level cache between replays, for all.
Before it is timed, every result is checked: optimal to within its gap, the promised number of links, scipy's cost.
"""

import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any

import torch
from torch import Tensor

from experiments.unrolled import unrolled
from whymatch.show.terminal import table
from whymatch.transport import Balanced, Constraint, Exactly, OneTo, Temperature, UpTo, sinkhorn, solve

SIZES = [(8, 4096), (16, 4096), (32, 4096), (64, 1024), (128, 256), (256, 64)]
ROUNDS = 30
EPSILON = 1e-4  # the paper's
STAGE = 35  # iterations at each of the 8 epsilons from 1 to 1e-4: 280 in all


def costs(side: int, count: int) -> Tensor:
    """Cosine distances."""
    generator = torch.Generator("cuda").manual_seed(side)
    x, y = (torch.randn(count, side, 64, device="cuda", generator=generator) for _ in range(2))
    x, y = torch.nn.functional.normalize(x, dim=2), torch.nn.functional.normalize(y, dim=2)
    return (1 - x @ y.mT).contiguous()


def recorded(run: Callable[[], Any]) -> Callable[[], Any]:
    """The same work as a CUDA graph, or as it is where it cannot be recorded."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            run()
    except RuntimeError as error:
        print(f"not recorded: {str(error).splitlines()[0]}", file=sys.stderr)
        torch.cuda.synchronize()
        return run
    return graph.replay


def timed(run: Callable[[], Any], replay: bool = True, rounds: int = ROUNDS) -> float:
    """Median microseconds of a run."""
    run = recorded(run) if replay else run
    times = []
    for _ in range(3):
        run()
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1000)
    return median(times)


def attention(scores: Tensor) -> tuple[Tensor, Tensor]:
    return torch.softmax(scores, dim=2), torch.softmax(scores, dim=1)


def checked(cost: Tensor, constraint: Constraint) -> str:
    """Raises unless the solution is what it should be; says how large the largest gap is."""
    found = solve(cost, constraint)
    count, n, m = cost.shape
    assert found.plan.is_cuda
    assert not found.status.any()
    gap = float(found.gap.abs().max())
    assert gap < 1e-5, gap
    links = (found.plan > 0).sum(dim=(1, 2))
    fewest, most = constraint.links(n, m)
    assert ((links >= fewest) & (links <= most)).all()
    assert ((found.plan > 0).sum(dim=1) <= 1).all() or isinstance(constraint, Balanced)
    if find_spec("scipy") and constraint == OneTo(1):
        from scipy.optimize import linear_sum_assignment

        for b in range(min(16, count)):
            c = cost[b].double().cpu().numpy()
            assert abs(c[linear_sum_assignment(c)].mean() - float(found.cost[b])) < 1e-5
    return f"{gap:.0e}"


def peers(cost: Tensor) -> dict[str, Callable[[], Any]]:
    """Other ways to an assignment."""
    ways: dict[str, Callable[[], Any]] = {}
    if find_spec("torch_linear_assignment"):
        from torch_linear_assignment import batch_linear_assignment

        ways["torch-linear-assignment"] = lambda: batch_linear_assignment(cost)
    ways["Sinkhorn, torch operations, 280 iterations"] = lambda: unrolled(cost, Balanced(), EPSILON, iterations=STAGE)
    return ways


def ours() -> dict[str, Callable[[Tensor], Any]]:
    warm, cold = Temperature(0.1), Temperature(EPSILON, relative=False)
    return {
        "sinkhorn, epsilon 0.1": lambda cost: sinkhorn(cost, Balanced(), warm),
        "sinkhorn, epsilon 1e-4, to 1e-4": lambda cost: sinkhorn(
            cost, Balanced(), cold, tolerance=1e-4, max_iterations=1000
        ),
    }


def compare() -> list[list[str]]:
    rows = []

    def add(side: int, count: int, name: str, time: float, base: float, note: str = "") -> None:
        cells = [
            f"{side}×{side}",
            f"{count:,}",
            name,
            f"{time:.1f}",
            f"{time / count:.4f}",
            f"{time / base:.2f}×",
            note,
        ]
        rows.append(cells)
        print("  ".join(cells), file=sys.stderr, flush=True)

    for side, count in SIZES:
        cost = costs(side, count)
        base = timed(partial(attention, -cost))
        add(side, count, "softmax attention, both directions", base, base)
        for constraint in (OneTo(1), Exactly(4), UpTo(1, below=0.9), Balanced()):
            note = checked(cost, constraint)
            time = timed(partial(solve, cost, constraint))
            add(side, count, repr(constraint), time, base, f"gap ≤ {note}")
        for name, run in ours().items():
            add(side, count, name, timed(partial(run, cost), rounds=5), base)
        for name, peer in peers(cost).items():
            add(side, count, name, timed(peer, replay=False, rounds=3), base)
    return rows


def product() -> list[list[str]]:
    """What there is to gain from computing costs and plans in one kernel, which would not write the costs."""
    rows = []
    for side, count in SIZES:
        x, y = (torch.nn.functional.normalize(torch.randn(count, side, 64, device="cuda"), dim=2) for _ in range(2))
        cost = 1 - x @ y.mT
        alone = timed(partial(solve, cost, Exactly(4)))
        times = {
            "product, 64 dimensions": timed(partial(torch.bmm, x, y.mT)),
            "Exactly(k=4) of given costs": alone,
            "both": timed(lambda x=x, y=y: solve(1 - x @ y.mT, Exactly(4))),  # type: ignore[misc]
            "writing the costs and reading them": timed(partial(torch.empty_like(cost).copy_, cost)),
        }
        for name, time in times.items():
            rows.append([f"{side}×{side}", f"{count:,}", name, f"{time:.1f}", f"{time / count:.4f}", "", ""])
    return rows


def memory() -> list[list[str]]:
    """What a loss through the plan adds to the peak of the memory, forward and backward."""
    rows = []
    for side, count in SIZES[:4]:
        cost = costs(side, count).requires_grad_()
        ways: dict[str, Callable[[Tensor], Tensor]] = {
            "smooth": lambda cost: solve(cost, Exactly(4), smooth=Temperature(0.1), strict=False).plan,
            "unrolled, 280 iterations": lambda cost: unrolled(cost, Exactly(4), EPSILON, iterations=STAGE),
        }
        for name, plan in ways.items():
            for _ in range(2):
                cost.grad = None
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
                before = torch.cuda.memory_allocated()
                torch.autograd.backward(plan(cost).square().sum())
                torch.cuda.synchronize()
                peak = torch.cuda.max_memory_allocated() - before
            rows.append([f"{side}×{side}", f"{count:,}", name, "", "", "", f"{peak / 2**20:.1f} MiB"])
    return rows


def warps() -> list[list[str]]:
    from whymatch.transport.kernels.gpu import launch

    rows = []
    for side, count in SIZES[2:]:
        cost = costs(side, count)
        base = timed(partial(attention, -cost))
        for number in (1, 2, 4, 8):
            launch.WARPS[side] = number
            for constraint in (OneTo(1), Exactly(4)):
                time = timed(partial(solve, cost, constraint))
                cells = [f"{side}×{side}", f"{count:,}", f"{constraint!r}, {number} warps", f"{time:.1f}"]
                rows.append([*cells, f"{time / count:.4f}", f"{time / base:.2f}×", ""])
    return rows


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("benchmarks.gpu needs a GPU.")
    import triton

    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Triton {triton.__version__}, single precision\n")
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    rows = {"warps": warps, "product": product, "memory": memory}.get(asked, compare)()
    print(table(["problems", "number", "what", "µs in all", "µs a problem", "of attention", ""], rows))


if __name__ == "__main__":
    main()
