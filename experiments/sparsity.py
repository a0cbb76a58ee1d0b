"""The paper's table 1: how many links each constraint promises, and how many are counted."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from experiments.records import markdown, slug, write_run
from whymatch.transport.constraints import Balanced, Constraint, Exactly, OneTo, UpTo
from whymatch.transport.exact import solve

CONSTRAINTS: tuple[Constraint, ...] = (
    Balanced(),
    OneTo(1),
    OneTo(2),
    UpTo(1, below=0.0),
    UpTo(2, below=0.0),
    Exactly(1),
    Exactly(2),
    Exactly(4),
)
PAPER = {
    "Balanced": ("vanilla", "s ≤ n + m − 1"),
    "OneTo": ("one-to-k", "s = kn ≤ m"),
    "UpTo": ("relaxed one-to-k", "s ≤ kn ≤ m"),
    "Exactly": ("exact-k", "s = k ≤ n"),
}
"""The paper's name of a constraint and its promise, for n ≤ m spans."""
PROBLEMS, SIZES = 1000, (2, 40)
ABOUT = """
Promised, and counted in {problems:,} random problems for each constraint: n and m from {least} to {most} where the
constraint admits them, costs from −1 to 1, in half of the problems rounded to tenths, so that many tie. A link is any
pair with mass; `UpTo` links pairs that cost less than 0.
""".strip()


def counted(constraint: Constraint, problems: int = PROBLEMS, seed: int = 0) -> dict[str, Any]:
    """The links of random problems that admit the constraint: costs of either sign, every other with many ties."""
    chance = torch.Generator().manual_seed(seed)
    sizes = torch.randint(SIZES[0], SIZES[1] + 1, (20 * problems, 2), generator=chance)
    admitted = constraint.admits(*sizes.numpy().T)
    sizes = sizes[torch.as_tensor(admitted)][:problems]
    assert len(sizes) == problems
    cost = 2 * torch.rand(problems, SIZES[1], SIZES[1], generator=chance, dtype=torch.float64) - 1
    cost[::2] = cost[::2].round(decimals=1)
    links = (solve(cost, constraint, sizes=sizes).plan > 0).sum(dim=(1, 2))
    bounds = torch.tensor([constraint.links(*pair) for pair in sizes.tolist()])
    return {
        "problems": problems,
        "fewest links": int(links.min()),
        "mean links": float(links.double().mean()),
        "most links": int(links.max()),
        "fewest promised": int(bounds[:, 0].min()),
        "most promised": int(bounds[:, 1].max()),
        "broken promises": int(((links < bounds[:, 0]) | (links > bounds[:, 1])).sum()),
        "% of pairs": float(100 * links.sum() / sizes.prod(dim=1).sum()),
    }


def run_sparsity(folder: Path) -> None:
    """Counts for every constraint, and writes one JSON each."""
    for number, constraint in enumerate(CONSTRAINTS):
        start = time.perf_counter()
        counts = counted(constraint)
        record = {"table": "sparsity", "row": repr(constraint), "seed": 0, "results": counts}
        record |= {"constraint": type(constraint).__name__, "seconds": round(time.perf_counter() - start, 1)}
        write_run(folder / f"{number}-{slug(repr(constraint))}-0.json", record)


def section(runs: Sequence[dict[str, Any]]) -> str:
    """The table, as Markdown."""
    lines = [
        "## Links of every constraint: the paper's table 1",
        "",
        ABOUT.format(problems=runs[0]["results"]["problems"], least=SIZES[0], most=SIZES[1]),
        "",
    ]
    columns = ["in the paper", "promise, n ≤ m", "promised here", "links counted", "mean", "of all pairs"]
    rows = []
    for run in runs:
        counts, (name, promise) = run["results"], PAPER[run["constraint"]]
        promised, links = (between(counts[f"fewest {what}"], counts[f"most {what}"]) for what in ("promised", "links"))
        cells = [f"**`{run['row']}`**", name, promise, promised, links, f"{counts['mean links']:.1f}"]
        rows.append([*cells, f"{counts['% of pairs']:.1f}%", str(counts["broken promises"])])
    return "\n".join([*lines, *markdown([*columns, "promises broken"], rows)])


def between(fewest: int, most: int) -> str:
    return f"{fewest}" if fewest == most else f"{fewest} to {most}"
