"""The laws of the GPU kernels, on a GPU machine that has neither pytest nor numba.

    python -m benchmarks.gpu_laws

Small problems are compared with the CPU's solver, large ones prove themselves: links that keep the promise and a gap of
rounding. Also: nothing waits for the GPU, a CUDA graph replays on new costs, gradients and recurrence are the CPU's.
Prints a line for each law, and fails at the end if one is broken.
"""

import sys
import traceback
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from whymatch import Balanced, Constraint, Exactly, OneTo, Temperature, UpTo, pad, path, sinkhorn, solve
from whymatch.text.encoders.recurrence import recurrence, step_by_step

CONSTRAINTS: list[Constraint] = [Balanced(), OneTo(1), OneTo(2), UpTo(1, below=0.2), UpTo(2, below=-0.3), Exactly(3)]
WARM = Temperature(0.3, relative=False)


def families(n: int, m: int) -> Tensor:
    """Gaussian, tied, nearly equal, constant, huge, and with forbidden pairs, at times too many of them."""
    generator = torch.Generator().manual_seed(100 * n + m)
    plain = torch.randn(8, n, m, generator=generator)
    plain[1] = plain[1].round()
    plain[2] = 1 + 1e-6 * plain[2]
    plain[3] = 0.3
    plain[4] *= 1e37
    plain[5][torch.rand(n, m, generator=generator) < 0.3] = torch.inf
    plain[6][torch.rand(n, m, generator=generator) < 0.8] = torch.inf
    plain[7, -1, -1] = torch.nan
    return plain


def keeps(plan: Tensor, cost: Tensor, constraint: Constraint) -> bool:
    n, m = plan.shape
    links = plan > 0
    rows, columns = links.sum(dim=1), links.sum(dim=0)
    shorter, longer = (rows, columns) if n <= m else (columns, rows)
    fewest, most = constraint.links(min(n, m), max(n, m))
    good = fewest <= int(links.sum()) <= most and not (links & cost.isinf()).any()
    if isinstance(constraint, Balanced):
        even = (plan.sum(dim=1) - 1 / n).abs().max() < 1e-5 and (plan.sum(dim=0) - 1 / m).abs().max() < 1e-5
        return bool(good and even)
    each = 1 if isinstance(constraint, Exactly) else constraint.k
    return bool(good and longer.max() <= 1 and shorter.max() <= each)


def agrees(constraint: Constraint, n: int, m: int) -> None:
    cost = families(n, m)
    found, expected = solve(cost.cuda(), constraint), solve(cost.double(), constraint)
    assert found.plan.is_cuda
    assert found.status.tolist() == expected.status.tolist(), (found.status, expected.status)
    for b in torch.nonzero(expected.status == 0)[:, 0].tolist():
        finite = cost[b].double().nan_to_num(posinf=0.0)
        slack = 1e-5 * float(finite.max() - finite.min() + 1)
        assert keeps(found.plan[b].cpu(), cost[b], constraint), b
        assert abs(float(found.cost[b]) - float(expected.cost[b])) <= slack, (b, found.cost[b], expected.cost[b])
        assert abs(float(found.gap[b])) <= slack, (b, found.gap[b])


def proves_itself(constraint: Constraint, n: int, m: int) -> None:
    generator = torch.Generator("cuda").manual_seed(n)
    for cost in (
        torch.randn(3, n, m, device="cuda", generator=generator),
        torch.randint(-2, 3, (2, n, m), device="cuda", generator=generator).float(),
    ):
        found = solve(cost, constraint)
        assert not found.status.any()
        assert float(found.gap.abs().max()) < 1e-4, found.gap
        assert all(keeps(plan.cpu(), c.cpu(), constraint) for plan, c in zip(found.plan, cost, strict=True))
        again = solve(cost, constraint)
        assert torch.equal(again.plan, found.plan)


def paths() -> None:
    cost = families(6, 9)[:6]
    found, expected = path(cost.cuda()), path(cost.double())
    assert found.status.tolist() == expected.status.tolist()
    ok = (expected.status == 0) & (torch.arange(6)[:, None] != 4)
    assert (found.cost.cpu() - expected.cost)[ok].abs().max() < 1e-4
    assert found.gap.cpu()[ok].abs().max() < 1e-4
    big = path(torch.randn(2, 100, 140, device="cuda"))
    assert big.gap.abs().max() < 1e-3
    assert ((big.partner >= 0).sum(dim=2) == torch.arange(1, 101, device="cuda")).all()


def ragged() -> None:
    alone = [torch.randn(n, m, generator=torch.Generator().manual_seed(n)) for n, m in ((3, 7), (9, 4), (5, 5), (1, 1))]
    batch, sizes = pad(alone)
    for b, (n, m) in enumerate(sizes.tolist()):
        batch[b, n:], batch[b, :, m:] = torch.nan, -torch.inf
    for constraint in CONSTRAINTS:
        together = solve(batch.cuda(), constraint, sizes=sizes.cuda())
        for b, cost in enumerate(alone):
            single = solve(cost.cuda(), constraint, strict=False)
            assert torch.equal(together.plan[b, : len(cost), : cost.shape[1]], single.plan), (constraint, b)
            assert together.status[b] == single.status


def entropic() -> None:
    cost = families(5, 11)[:2].double()
    for constraint in CONSTRAINTS:
        found = sinkhorn(cost.cuda(), constraint, WARM, tolerance=1e-9)
        expected = sinkhorn(cost, constraint, WARM, tolerance=1e-9)
        assert (found.plan.cpu() - expected.plan).abs().max() < 1e-7, constraint
        single = sinkhorn(cost.float().cuda(), constraint, WARM)
        assert (single.plan.cpu() - expected.plan).abs().max() < 1e-4, constraint
        assert single.error.max() <= 1e-5, (constraint, single.error)


def gradients() -> None:
    weights = torch.randn(2, 5, 11, generator=torch.Generator().manual_seed(9)).double()
    for constraint in CONSTRAINTS:
        results = []
        for device in ("cuda", "cpu"):
            cost = families(5, 11)[:2].double().to(device).requires_grad_()
            plan = solve(cost, constraint, smooth=WARM).plan
            results.append(torch.autograd.grad((plan * weights.to(device)).sum(), cost)[0].cpu())
        assert (results[0] - results[1]).abs().max() < 1e-4, constraint


def recurrences() -> None:
    for dtype, slack in ((torch.float64, 1e-10), (torch.float32, 1e-4)):
        parts = torch.randn(3, 9, 400, device="cuda", dtype=dtype).chunk(4, dim=2)
        given = [part.detach().requires_grad_() for part in (*parts, *torch.randn(2, 200, device="cuda", dtype=dtype))]
        found, expected = recurrence(*given), step_by_step(*given)
        assert (found - expected).abs().max() < slack
        weights = torch.randn_like(found)
        here = torch.autograd.grad((found * weights).sum(), given)
        there = torch.autograd.grad((expected * weights).sum(), given)
        assert all((left - right).abs().max() < 10 * slack for left, right in zip(here, there, strict=True))


def nothing_waits() -> None:
    cost = torch.randn(4, 9, 12, device="cuda", requires_grad=True)
    sizes = torch.tensor([[9, 12], [3, 4], [5, 2], [9, 9]]).cuda()
    for mode in ("default", "error"):  # compile first
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode(mode)
        try:
            for constraint in CONSTRAINTS:
                found = solve(cost, constraint, sizes=sizes, smooth=WARM)
                entropic_plan = sinkhorn(cost, constraint, WARM, sizes=sizes)
                torch.autograd.grad(found.plan.sum() + entropic_plan.plan.sum(), cost)
            path(cost.detach(), 3, sizes=sizes)
        finally:
            torch.cuda.set_sync_debug_mode("default")


def graphs() -> None:
    cost = torch.randn(8, 9, 12, device="cuda")
    for constraint in CONSTRAINTS:
        solve(cost, constraint)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = solve(cost, constraint)
        cost.copy_(torch.randn(8, 9, 12, device="cuda"))
        graph.replay()
        assert torch.equal(found.plan, solve(cost, constraint).plan), constraint


def laws() -> dict[str, Callable[[], None]]:
    table: dict[str, Callable[[], None]] = {}
    for constraint in CONSTRAINTS:
        for n, m in ((1, 1), (4, 9), (8, 8), (9, 4), (17, 12), (12, 33)):
            table[f"{constraint} {n}×{m} as on the CPU"] = lambda c=constraint, n=n, m=m: agrees(c, n, m)  # type: ignore[misc]
        for n, m in ((32, 32), (31, 65), (64, 64), (100, 128), (256, 120), (250, 256)):
            if constraint.admits(min(n, m), max(n, m)):
                table[f"{constraint} {n}×{m} proves itself"] = lambda c=constraint, n=n, m=m: proves_itself(c, n, m)  # type: ignore[misc]
    more = (paths, ragged, entropic, gradients, recurrences, nothing_waits, graphs)
    return table | {law.__name__.replace("_", " "): law for law in more}


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("benchmarks.gpu_laws needs a GPU.")
    warnings.filterwarnings("ignore", message="numba is not installed")
    broken = 0
    for name, law in laws().items():
        try:
            law()
            print("kept   ", name, flush=True)
        except Exception as error:
            broken += 1
            print("BROKEN ", name, repr(error)[:300], flush=True)
            traceback.print_exc(limit=-3)
    print(f"{broken} broken")
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
