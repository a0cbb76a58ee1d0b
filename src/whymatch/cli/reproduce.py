"""`whymatch reproduce`: the paper's tables on real data, and its figure 5 on a synthetic problem."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

TABLES = Path("experiments")


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("reproduce", help="the paper's tables, and its figure 5")
    parser.add_argument(
        "what", metavar="WHAT", help="heatmap (figure 5), or a table: the name of a file in experiments/"
    )
    parser.add_argument(
        "--data", type=Path, help="tables: the folder with the prepared data sets (default: WHYMATCH_PREPARED)"
    )
    parser.add_argument("--seeds", type=int, default=1, help="tables: runs of every trained row (default: 1)")
    parser.add_argument("--rows", default="", help="tables: only rows whose name holds this")
    parser.add_argument("--picture", type=Path, default=Path("heatmap.png"), help="heatmap: where to write the picture")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> None:
    """Draws the heat maps, or runs the rows of a table that are not on disk yet and writes docs/results.md."""
    if settings.what == "heatmap":
        heat_maps_of_every_method(settings.picture)
    else:
        table(settings)


def table(settings: argparse.Namespace) -> None:
    from whymatch.learning.results import page
    from whymatch.learning.tables import read_table, run_table

    files = sorted(TABLES.glob("*.toml"))
    names = [file.stem for file in files]
    if settings.what not in names:
        known = ", ".join(["heatmap", *names])
        hint = "" if names else " Tables are run in a clone of the repository, which has an experiments folder."
        raise ValueError(f"There is no {settings.what!r} to reproduce: {known}.{hint}")
    data = settings.data or (Path(os.environ["WHYMATCH_PREPARED"]) if "WHYMATCH_PREPARED" in os.environ else None)
    if data is None or not data.is_dir():
        raise ValueError("Tables need --data: a folder with what `whymatch data prepare NAME --out` wrote, by name.")
    if settings.seeds < 1:
        raise ValueError(f"--seeds takes 1 or more, got {settings.seeds}.")
    tables = {file.stem: read_table(file) for file in files}
    run_table(
        tables[settings.what],
        data,
        TABLES / "results",
        seeds=settings.seeds,
        only=settings.rows,
        line=lambda text: print(text, file=sys.stderr),
    )
    out = Path("docs") / "results.md"
    out.parent.mkdir(exist_ok=True)
    out.write_text(page(tables.values(), TABLES / "results"), encoding="utf-8")
    print(f"Results: {out}")


def synthetic_cost(left: int = 30, right: int = 20, seed: int = 0) -> "Tensor":
    """Cosine distances of spans about eighteen topics, of which the two texts share six."""
    import torch

    from whymatch.matching.costs import cosine_distance

    generator = torch.Generator().manual_seed(seed)
    topics = torch.randn(18, 32, generator=generator)
    of_left = torch.randint(0, 12, (left,), generator=generator)
    of_right = torch.randint(6, 18, (right,), generator=generator)
    x, y = (topics[of] + 0.5 * torch.randn(len(of), 32, generator=generator) for of in (of_left, of_right))
    return cosine_distance(x, y)


def heat_maps_of_every_method(picture: Path) -> None:
    """Solves the problem by every method, prints what each promises and gives, and draws the plans."""
    import torch

    from whymatch.matching.attention import attention, count_active, entmax15, max_sim, sparsemax
    from whymatch.show.terminal import table as as_table
    from whymatch.transport.constraints import Balanced, Constraint, Exactly, OneTo, UpTo
    from whymatch.transport.entropic import Temperature
    from whymatch.transport.exact import solve
    from whymatch.transport.sinkhorn import sinkhorn

    cost = synthetic_cost()
    n, m = cost.shape
    constraints: list[tuple[str, Constraint]] = [
        ("vanilla", Balanced()),
        ("one-to-k", OneTo(1)),
        ("relaxed one-to-k", UpTo(1, below=0.5)),
        ("exact-k", Exactly(4)),
    ]
    baselines: list[tuple[str, float, Any]] = [
        ("attention", 1.0, torch.softmax),
        ("attention, T = 0.1", 0.1, torch.softmax),
        ("attention, T = 0.01", 0.01, torch.softmax),
        ("sparse attention", 1.0, sparsemax),
        ("1.5-entmax attention", 1.0, entmax15),
    ]
    rows, plans = [], {"cost (dark is cheap)": (-cost).tolist()}
    for paper_name, constraint in constraints:
        solution = solve(cost, constraint)
        links = int(count_active(solution.plan).number)
        fewest, most = constraint.links(min(n, m), max(n, m))
        promise = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        rows.append(
            [repr(constraint), paper_name, promise, f"{links}", f"{links / (n * m):.1%}", f"{solution.gap:.0e}"]
        )
        plans[f"{constraint}\n{links} links"] = solution.plan.tolist()
    others = {
        "exact-k by Sinkhorn": [sinkhorn(cost, Exactly(4), Temperature(0.1)).plan],
        "late interaction (MaxSim)": [max_sim(cost)],
    }
    for name, temperature, normaliser in baselines:
        others[name] = list(attention(cost, temperature=temperature, normaliser=normaliser))
    for name, matrices in others.items():
        links = int(count_active(*matrices).number)
        each = " and ".join(str(int(count_active(matrix).number)) for matrix in matrices)
        rows.append(["", name, "none", f"{links}", f"{links / (n * m):.1%}", ""])
        plans[f"{name}\n{each} active"] = matrices[0].tolist()
    print(f"A synthetic problem: {n} spans on the left, {m} on the right, {n * m} pairs that could be linked.\n")
    print(as_table(["constraint", "in the paper", "promised links", "links", "of all pairs", "gap to optimum"], rows))
    print("\nAttention has a matrix for each direction, and its links are those active in either.")
    draw(plans, picture)


def draw(plans: dict[str, list[list[float]]], picture: Path) -> None:
    """Writes the picture, or says what is missing to write it."""
    try:
        from whymatch.show.figures import heat_maps
    except ModuleNotFoundError:
        print("\nFor a picture, install matplotlib.")
        return
    heat_maps(plans, picture)
    print(f"\nPicture: {picture}")
