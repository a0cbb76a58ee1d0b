"""Three ways to a gradient through a plan, as the temperature changes: how large, how useful, at what price.

    python -m benchmarks.gradients [--plot docs/images/gradients.png]

- unrolled: the paper's rule, backward through every iteration of Sinkhorn (20 at each of its stages)
- implicit: the entropic plan, differentiated by the implicit function theorem (`sinkhorn`)
- smooth: the exact plan forward, the entropic plan's derivative backward (`solve` with `smooth`)
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from experiments.unrolled import unrolled
from whymatch.cost import Cosine
from whymatch.show.terminal import table
from whymatch.transport import Constraint, Exactly, OneTo, Temperature, sinkhorn, solve

Rule = Callable[[Tensor, Constraint, float], Tensor]

NOISE, STEPS = 0.7, 60
TEMPERATURES = [1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4]
RULES: dict[str, Rule] = {
    "unrolled": lambda cost, constraint, t: unrolled(cost, constraint, t, iterations=20),
    "implicit": lambda cost, constraint, t: sinkhorn(cost, constraint, Temperature(t, relative=False)).plan,
    "smooth": lambda cost, constraint, t: solve(cost, constraint, smooth=Temperature(t, relative=False)).plan,
}


def random_costs(count: int, n: int, m: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return Cosine().between(
        torch.randn(count, n, 64, generator=generator), torch.randn(count, m, 64, generator=generator)
    )


def norms(rule: Rule, temperature: float) -> tuple[float, float]:
    """Median and largest norm of the gradient of a random linear function of the plan, over 64 problems of 16×16."""
    cost = random_costs(64, 16, 16).requires_grad_()
    weights = torch.randn(cost.shape, generator=torch.Generator().manual_seed(1))
    gradient = torch.autograd.grad((rule(cost, Exactly(4), temperature) * weights).sum(), cost)[0]
    size = gradient.nan_to_num(nan=torch.inf).flatten(1).norm(dim=1)
    return size.median().item(), size.max().item()


def rotated(count: int, seed: int, turn: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Left spans, right spans that are the left ones turned, shuffled and blurred, and the true partner of each."""
    generator = torch.Generator().manual_seed(seed)
    left = torch.randn(count, 8, 16, generator=generator)
    partner = torch.stack([torch.randperm(8, generator=generator) for _ in range(count)])
    right = torch.empty_like(left)
    right.scatter_(1, partner[:, :, None].expand_as(left), left @ turn)
    return left, right + NOISE * torch.randn(right.shape, generator=generator), partner


def learned(rule: Rule, temperature: float, steps: int = STEPS) -> float:
    """Learns a linear map from whole alignments, through the plan alone; the share of right links on new pairs."""
    turn = torch.linalg.qr(torch.randn(16, 16, generator=torch.Generator().manual_seed(0)))[0]
    left, right, partner = rotated(64, 1, turn)
    weights = torch.eye(16).requires_grad_()
    optimiser = torch.optim.Adam([weights], lr=0.02)
    for _ in range(steps):
        plan = rule(Cosine().between(left @ weights, right), OneTo(1), temperature)
        loss = (8 * plan - torch.nn.functional.one_hot(partner, 8)).square().mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if not weights.grad.isfinite().all():  # type: ignore[union-attr]
            return float("nan")
        optimiser.step()
    left, right, partner = rotated(256, 2, turn)
    found = solve(Cosine().between(left @ weights.detach(), right), OneTo(1)).plan.argmax(dim=2)
    return (found == partner).float().mean().item()


def price(name: str, count: int, temperature: float) -> tuple[float, float]:
    """Seconds of a step, and mebibytes that it adds to the process's peak memory."""
    cost = random_costs(count, 32, 32).requires_grad_()
    small = random_costs(1, 4, 4).requires_grad_()
    RULES[name](small, Exactly(2), temperature).square().sum().backward()  # type: ignore[no-untyped-call]
    solve(cost, Exactly(4))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    RULES[name](cost, Exactly(4), temperature).square().sum().backward()  # type: ignore[no-untyped-call]
    seconds = time.perf_counter() - start
    return seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def graph(name: str, temperature: float) -> float:
    """Mebibytes that one 32×32 problem keeps between forward and backward."""
    kept = [0]

    def keep(tensor: Tensor) -> Tensor:
        kept[0] += tensor.numel() * tensor.element_size()
        return tensor

    cost = random_costs(1, 32, 32).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        RULES[name](cost, Exactly(4), temperature)
    extra = (
        33 * 33 * 8 if name == "implicit" else cost.numel() * cost.element_size()
    )  # what the rules hold beside torch's graph
    return (kept[0] + (0 if name == "unrolled" else extra)) / 2**20


def in_a_process(name: str, count: int, temperature: float) -> tuple[float, float]:
    """The same in a fresh process, whose peak memory nothing else has touched."""
    command = [sys.executable, "-m", "benchmarks.gradients", "--price", name, str(count), str(temperature)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(out[0]), float(out[1])


def draw(file: Path, sizes: dict[str, list[tuple[float, float]]], shares: dict[str, list[float]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    styles = {"unrolled": ("C3", "--"), "implicit": ("C0", "-"), "smooth": ("C2", "-")}
    for name, (colour, line) in styles.items():
        left.plot(TEMPERATURES, [median for median, _ in sizes[name]], line, color=colour, marker="o", label=name)
        left.fill_between(TEMPERATURES, *zip(*sizes[name], strict=True), color=colour, alpha=0.12)
        right.plot(TEMPERATURES, shares[name], line, color=colour, marker="o", label=name)
    left.set(xscale="log", yscale="log", xlabel="temperature", ylabel="norm of the gradient", ylim=(1e-11, 1e4))
    left.set_title("median, shaded up to the largest", fontsize=10)
    right.set(xscale="log", xlabel="temperature", ylabel="right links on new pairs", ylim=(0, 1.05))
    right.set_title("after 60 steps of learning", fontsize=10)
    right.legend()
    figure.savefig(file, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--price", nargs=3)
    settings = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # without it the unrolled rule takes a hundred times as long at low temperatures
    if settings.price:
        name, count, temperature = settings.price
        print(*price(name, int(count), float(temperature)))
        return
    sizes = {name: [norms(rule, t) for t in TEMPERATURES] for name, rule in RULES.items()}
    shares = {name: [learned(rule, t) for t in TEMPERATURES] for name, rule in RULES.items()}
    header = ["rule", *(f"{t:g}" for t in TEMPERATURES)]
    print("Norm of the gradient, median / largest of 64 problems of 16×16, Exactly(4), by temperature\n")
    print(table(header, [[name, *(f"{a:.0e} / {b:.0e}" for a, b in sizes[name])] for name in RULES]))
    untrained = learned(RULES["smooth"], 1.0, steps=0)
    print(
        f"\nShare of right links on new pairs after learning through the plan (untrained: {untrained:.2f}), OneTo(1)\n"
    )
    print(table(header, [[name, *(f"{share:.2f}" for share in shares[name])] for name in RULES]))
    print("\nOne step, forward and backward, Exactly(4) on 32×32, temperature 0.05\n")
    rows = []
    for name in RULES:
        one, many = in_a_process(name, 1, 0.05), in_a_process(name, 1024, 0.05)
        rows.append([name, f"{one[0] * 1e3:.1f}", f"{graph(name, 0.05):.3f}", f"{many[0]:.2f}", f"{many[1]:.0f}"])
    print(table(["rule", "1: ms", "1: MiB kept for backward", "1,024: s", "1,024: MiB at the peak"], rows))
    if settings.plot:
        draw(settings.plot, sizes, shares)


if __name__ == "__main__":
    main()
