"""`python -m experiments WHAT`, in a clone of the repository: the paper's tables and figures."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.gallery import gallery
from experiments.heatmaps import heat_maps_of_every_method
from experiments.pages import write_pages
from experiments.running import run_table
from experiments.sparsity import run_sparsity
from experiments.speed import run_speed
from experiments.statistics import keep_statistics
from experiments.tables import read_table
from experiments.tradeoff import draw_trade_off
from whymatch.cli.console import training_progress
from whymatch.files import write_whole

FOLDER, DOCS = Path("experiments"), Path("docs")  # of the clone, in which commands are run
RESULTS = FOLDER / "results"
OTHERS = {
    "sparsity": "table 1",
    "statistics": "table 2",
    "speed": "table 7",
    "heatmap": "figure 5",
    "tradeoff": "figure 6, from the results of esnli",
    "examples": "figures 8 and 9",
}
"""What has no table of settings."""
OUT = {
    "heatmap": Path("heatmap.png"),
    "tradeoff": DOCS / "images" / "tradeoff.png",
    "examples": Path("gallery.html"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one table or figure and returns the exit status.

    What is measured is kept in experiments/results, and docs/results.md and its pages are written anew.
    """
    tables = [file.stem for file in sorted(FOLDER.glob("*.toml"))]
    others, drawn = (", ".join(f"{what} ({of})" for what, of in names.items()) for names in (OTHERS, OUT))
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The paper's tables and figures.")
    parser.add_argument(
        "what", metavar="WHAT", help=f"a table that is trained and measured: {', '.join(tables)}; or {others}"
    )
    parser.add_argument("--data", type=Path, help="the folder with the prepared data sets (default: WHYMATCH_PREPARED)")
    parser.add_argument("--seeds", type=int, default=1, help="tables: runs of every trained row (default: 1)")
    parser.add_argument("--rows", default="", help="tables: the row of this name, or all whose names contain it")
    parser.add_argument("--again", action="store_true", help="tables: measure again what was measured before")
    parser.add_argument("--out", type=Path, help=f"where to write a picture or a page (default: {drawn})")
    parser.add_argument("--model", type=Path, metavar="RUN", help="examples: a trained model (default: none, MiniLM)")
    options = parser.parse_args(arguments)
    try:
        check(options, tables)
        run(options, options.out or OUT.get(options.what, Path()))
    except (ValueError, OSError) as error:
        say(f"experiments: {error}")
        return 2
    except KeyboardInterrupt:
        say("experiments: interrupted; a run that has checkpoints is resumed the next time")
        return 130  # as shells have it
    return 0


def check(options: argparse.Namespace, tables: Sequence[str]) -> None:
    """Raises ValueError for options that do not go together."""
    if options.what not in (*OTHERS, *tables):
        raise ValueError(f"There is no {options.what!r} to run: {', '.join([*OTHERS, *tables])}.")
    if options.what in OTHERS and (options.rows or options.seeds != 1 or options.again):
        raise ValueError(f"--rows, --seeds and --again are for tables: {', '.join(tables)}.")
    if options.out is not None and options.what not in OUT:
        raise ValueError(f"--out is for {', '.join(OUT)}; what {options.what} measures is kept with the results.")
    if options.model is not None and options.what != "examples":
        raise ValueError("--model is for examples.")
    if options.seeds < 1:
        raise ValueError(f"--seeds takes 1 or more, got {options.seeds}.")


def run(options: argparse.Namespace, out: Path) -> None:
    """Runs what is asked for."""
    match options.what:
        case "heatmap":
            heat_maps_of_every_method(out)
            return
        case "examples":
            write_whole(out, gallery(prepared(options), options.model))
            print(f"Examples: {out}. They quote the data sets: mind their licences before you pass it on.")
            return
        case "tradeoff":
            draw_trade_off(RESULTS, out)
            print(f"Picture: {out}")
        case "sparsity":
            run_sparsity(RESULTS / "sparsity")
        case "statistics":
            say(f"statistics: {', '.join(keep_statistics(prepared(options), RESULTS / 'statistics'))}")
        case "speed":
            run_speed(RESULTS / "speed", say)
        case name:
            data, table = prepared(options), read_table(FOLDER / f"{name}.toml")
            rows = {"seeds": options.seeds, "only": options.rows, "again": options.again}
            with training_progress() as watch:
                done = run_table(table, data, RESULTS, **rows, watch=watch)
            say(f"{name}: {done} run{'s' * (done != 1)} measured{'' if done else '; --again measures anew'}")
    write_pages(FOLDER, DOCS)
    print("Results: docs/results.md")


def prepared(options: argparse.Namespace) -> Path:
    """The folder with the prepared data sets; raises ValueError where there is none."""
    data = options.data or os.environ.get("WHYMATCH_PREPARED")
    if data is None or not Path(data).is_dir():
        given = "" if data is None else f", got {data}"
        raise ValueError(
            f"{options.what} needs --data: a folder with what `whymatch data prepare NAME --out` wrote, by name{given}."
        )
    return Path(data)


def say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
