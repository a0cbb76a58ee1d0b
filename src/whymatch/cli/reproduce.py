"""`whymatch reproduce`: the paper's tables on real data, and its figure 5 on a synthetic problem."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

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
        from whymatch.reproduction.heatmaps import heat_maps_of_every_method

        heat_maps_of_every_method(settings.picture)
    else:
        table(settings)


def table(settings: argparse.Namespace) -> None:
    from whymatch.reproduction.results import page
    from whymatch.reproduction.tables import read_table, run_table

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
