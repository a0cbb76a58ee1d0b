"""`python -m experiments WHAT`, in a clone of the repository: the paper's tables and figures."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from whymatch.files import write_whole

FOLDER = Path("experiments")  # of the clone, in which commands are run
RESULTS = FOLDER / "results"
OUT = {
    "heatmap": Path("heatmap.png"),
    "tradeoff": Path("docs/images/tradeoff.png"),
    "examples": Path("gallery.html"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one table or figure and returns the exit status.

    What is measured is kept in experiments/results, and docs/results.md and its pages are written anew.
    """
    tables = [file.stem for file in sorted(FOLDER.glob("*.toml"))]
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The paper's tables and figures.")
    parser.add_argument(
        "what",
        metavar="WHAT",
        help=f"a table that is trained and measured: {', '.join(tables)}; or "
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
    options = parser.parse_args(arguments)
    try:
        check(options, tables)
        options.out = options.out or OUT.get(options.what)
        OTHERS.get(options.what, table)(options)
    except (ValueError, OSError) as error:
        say(f"experiments: {error}")
        return 2
    except KeyboardInterrupt:
        say("experiments: interrupted; what has checkpoints goes on from there the next time")
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


def heatmap(options: argparse.Namespace) -> None:
    """Figure 5."""
    from experiments.heatmaps import heat_maps_of_every_method

    heat_maps_of_every_method(options.out)


def tradeoff(options: argparse.Namespace) -> None:
    """Figure 6."""
    from experiments.tradeoff import drawn

    drawn(RESULTS, options.out)
    print(f"Picture: {options.out}")
    write_pages()


def sparsity(options: argparse.Namespace) -> None:
    """Table 1."""
    from experiments.sparsity import run_sparsity

    run_sparsity(RESULTS / "sparsity")
    write_pages()


def statistics(options: argparse.Namespace) -> None:
    """Table 2."""
    from experiments.statistics import keep_statistics

    say(f"statistics: {', '.join(keep_statistics(prepared(options), RESULTS / 'statistics'))}")
    write_pages()


def speed(options: argparse.Namespace) -> None:
    """Table 7."""
    from experiments.speed import run_speed

    run_speed(RESULTS / "speed", say)
    write_pages()


def examples(options: argparse.Namespace) -> None:
    """Figures 8 and 9."""
    from experiments.gallery import gallery

    write_whole(options.out, gallery(prepared(options), options.model))
    print(f"Examples: {options.out}. They quote the data sets: mind their licences before you pass it on.")


def table(options: argparse.Namespace) -> None:
    """Runs the rows of a table that are not on disk yet."""
    from experiments.running import run_table
    from experiments.tables import read_table
    from whymatch.cli.watching import training

    data, chosen = prepared(options), read_table(FOLDER / f"{options.what}.toml")
    with training() as watch:
        done = run_table(
            chosen, data, RESULTS, seeds=options.seeds, only=options.rows, again=options.again, watch=watch
        )
    say(f"{options.what}: {done} run{'s' * (done != 1)} measured{'' if done else '; --again measures anew'}")
    write_pages()


OTHERS: dict[str, Callable[[argparse.Namespace], None]] = {
    "sparsity": sparsity,
    "statistics": statistics,
    "speed": speed,
    "heatmap": heatmap,
    "tradeoff": tradeoff,
    "examples": examples,
}
"""What has no table of settings."""


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


def write_pages() -> None:
    """Writes docs/results.md and its pages from what is on disk."""
    from experiments import pages

    pages.write_pages(FOLDER, Path("docs"))
    print("Results: docs/results.md")


if __name__ == "__main__":
    sys.exit(main())
