"""`whymatch reproduce`: the paper's tables and figures."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whymatch.files import write_whole

TABLES = Path("experiments")
RESULTS = TABLES / "results"
IN_A_CLONE = "Tables and figures are reproduced in a clone of the repository, which has experiments/."
OUT = {
    "heatmap": Path("heatmap.png"),
    "tradeoff": Path("docs/images/tradeoff.png"),
    "examples": Path("gallery.html"),
}


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("reproduce", help="the paper's tables and figures")
    parser.add_argument(
        "what",
        metavar="WHAT",
        help="a table that is trained and measured: the name of a file in experiments/; or "
        "sparsity (table 1), statistics (table 2), speed (table 7), heatmap (figure 5), tradeoff (figure 6, from the "
        "results of esnli), examples (figures 8 and 9)",
    )
    parser.add_argument("--data", type=Path, help="the folder with the prepared data sets (default: WHYMATCH_PREPARED)")
    parser.add_argument("--seeds", type=int, default=1, help="tables: runs of every trained row (default: 1)")
    parser.add_argument("--rows", default="", help="tables: the row of this name, or all whose names hold it")
    parser.add_argument("--again", action="store_true", help="tables: measure again what was measured before")
    defaults = ", ".join(f"{what}: {file}" for what, file in OUT.items())
    parser.add_argument("--out", type=Path, help=f"where to write what is drawn (default: {defaults})")
    parser.add_argument("--model", type=Path, metavar="RUN", help="examples: a trained model (default: none, MiniLM)")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> None:
    """Runs one thing; what is measured is kept in experiments/results, and docs/results.md is written anew."""
    files = {file.stem: file for file in sorted(TABLES.glob("*.toml"))}
    if settings.what not in (*OTHERS, *files):
        known = ", ".join([*OTHERS, *files])
        raise ValueError(f"There is no {settings.what!r} to reproduce: {known}.{'' if files else f' {IN_A_CLONE}'}")
    if settings.what in OTHERS and (settings.rows or settings.seeds != 1 or settings.again):
        raise ValueError(f"--rows, --seeds and --again are for tables: {', '.join(files)}.")
    if settings.out is not None and settings.what not in OUT:
        raise ValueError(f"--out is for {', '.join(OUT)}; what {settings.what} measures is kept in {RESULTS}.")
    if settings.model is not None and settings.what != "examples":
        raise ValueError("--model is for examples.")
    if not files and settings.what not in ("heatmap", "examples"):
        raise ValueError(IN_A_CLONE)
    settings.out = settings.out or OUT.get(settings.what)
    OTHERS.get(settings.what, table)(settings)


def heatmap(settings: argparse.Namespace) -> None:
    """Figure 5."""
    from whymatch.reproduction.heatmaps import heat_maps_of_every_method

    heat_maps_of_every_method(settings.out)


def tradeoff(settings: argparse.Namespace) -> None:
    """Figure 6."""
    from whymatch.reproduction.tradeoff import drawn

    drawn(RESULTS, settings.out)
    print(f"Picture: {settings.out}")
    write_page()


def sparsity(settings: argparse.Namespace) -> None:
    """Table 1."""
    from whymatch.reproduction.sparsity import run_sparsity

    run_sparsity(RESULTS / "sparsity")
    write_page()


def statistics(settings: argparse.Namespace) -> None:
    """Table 2."""
    from whymatch.reproduction.statistics import keep_statistics

    say(f"statistics: {', '.join(keep_statistics(prepared(settings), RESULTS / 'statistics'))}")
    write_page()


def speed(settings: argparse.Namespace) -> None:
    """Table 7."""
    from whymatch.reproduction.speed import run_speed

    run_speed(RESULTS / "speed", say)
    write_page()


def examples(settings: argparse.Namespace) -> None:
    """Figures 8 and 9."""
    from whymatch.reproduction.gallery import gallery

    write_whole(settings.out, gallery(prepared(settings), settings.model))
    print(f"Examples: {settings.out}. They quote the data sets: mind their licences before you pass it on.")


def table(settings: argparse.Namespace) -> None:
    """Runs the rows of a table that are not on disk yet."""
    from whymatch.cli.watching import training
    from whymatch.reproduction.running import run_table
    from whymatch.reproduction.tables import read_table

    data = prepared(settings)
    if settings.seeds < 1:
        raise ValueError(f"--seeds takes 1 or more, got {settings.seeds}.")
    chosen = read_table(TABLES / f"{settings.what}.toml")
    chosen_rows = {"seeds": settings.seeds, "only": settings.rows, "again": settings.again}
    with training() as watch:
        done = run_table(chosen, data, RESULTS, **chosen_rows, watch=watch)
    say(f"{settings.what}: {done} run{'s' * (done != 1)} measured{'' if done else '; --again measures anew'}")
    write_page()


OTHERS: dict[str, Callable[[argparse.Namespace], None]] = {
    "sparsity": sparsity,
    "statistics": statistics,
    "speed": speed,
    "heatmap": heatmap,
    "tradeoff": tradeoff,
    "examples": examples,
}
"""What is no table of experiments/."""


def prepared(settings: argparse.Namespace) -> Path:
    """The folder with the prepared data sets, or what to do about it."""
    asked = settings.data or os.environ.get("WHYMATCH_PREPARED")
    if asked is None or not Path(asked).is_dir():
        given = "" if asked is None else f", got {asked}"
        raise ValueError(
            f"{settings.what} needs --data: a folder with what `whymatch data prepare NAME --out` wrote, "
            f"by name{given}."
        )
    return Path(asked)


def say(text: str) -> None:
    print(text, file=sys.stderr)


def write_page() -> None:
    """Writes docs/results.md from what is on disk."""
    from whymatch.reproduction.results import page
    from whymatch.reproduction.tables import read_table

    out = Path("docs") / "results.md"
    out.parent.mkdir(exist_ok=True)
    tables = [read_table(file) for file in sorted(TABLES.glob("*.toml"))]
    files = [TABLES / "introduction.md", TABLES / "summary.md"]
    words = [file.read_text(encoding="utf-8") if file.is_file() else "" for file in files]
    write_whole(out, page(tables, RESULTS, out.parent / "images", *words))
    print(f"Results: {out}")
