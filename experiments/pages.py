"""docs/results.md and the pages in docs/results, from what was measured."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from experiments import sparsity, speed, statistics
from experiments.records import markdown, origin, read_runs
from experiments.tables import Row, Table, read_tables
from whymatch.files import read_json, write_whole

MAX_SEEDS = 100  # that are looked for
HEAD = "Written by `python -m experiments` from `experiments/results/`."
LEGEND = "What rows and columns are called is explained on the [first page](../results.md#words)."
ORIGINS = "## Where the numbers come from"
ABLATIONS = """
Rows that change one thing of a row on the other pages, or try what did not help. They are rows of the tables named in
the headings, run by the same commands; hardware and commits are at the end of those pages. The first rows of each table
are repeated from there for comparison.
""".strip()
Section = Callable[[list[dict[str, Any]]], str]
COUNTED: dict[str, tuple[Section, str]] = {
    "sparsity": (sparsity.section, "sparsity"),
    "statistics": (statistics.section, "statistics --data DATA"),
    "speed": (speed.section, "speed"),
}
"""The sections of what has no table of settings, by the folder of its results, and the commands that measure it."""


class Figure(NamedTuple):
    """A picture in docs/images, and the page that shows it."""

    page: str
    file: str
    title: str
    caption: str
    command: str


FIGURES = (
    Figure(
        "method",
        "constraints.png",
        "The paper's figure 5, on a synthetic problem",
        "One matrix of costs, its optimal plan under every constraint, and the weights of attention.",
        "heatmap --out docs/images/constraints.png",
    ),
    Figure(
        "esnli",
        "tradeoff.png",
        "The paper's figure 6: accuracy on e-SNLI by the share of tokens",
        "Links select few words. Attention that is cut to as many, with its other weights as they were, is right less "
        "often.",
        "tradeoff",
    ),
)


@dataclass(frozen=True)
class Measured:
    """A table with the runs of each of its rows, by name."""

    table: Table
    runs: dict[str, list[dict[str, Any]]]

    def rows(self, *shown: str) -> list[Row]:
        """Its rows that are shown in one of these places and have something to show."""
        return [row for row in self.table.rows if row.shown in shown and (self.runs[row.name] or row.paper)]

    def cells(self, rows: Iterable[Row], columns: Iterable[str], suffix: str = "") -> list[list[str]]:
        """The cells of rows, each followed by the paper's."""
        lines = []
        for row in rows:
            if runs := self.runs[row.name]:
                cells = [cell(self.table.columns[name], row, runs) for name in columns]
                lines.append([f"**{row.name}**{suffix}", *cells, str(len(runs)) if row.seeded else "–"])
            if row.paper:
                cells = [f"{row.paper[name]:g}" if name in row.paper else "" for name in columns]
                lines.append([f"{row.name}, the paper", *cells, ""])
        return lines

    def grid(self, rows: Iterable[Row]) -> list[str]:
        """The lines of a Markdown table with all columns."""
        return markdown([*self.table.columns, "seeds"], self.cells(rows, self.table.columns))

    @property
    def origin(self) -> list[str]:
        """Where its numbers come from."""
        most = max(map(len, self.runs.values()))
        command = f"{self.table.name} --data DATA --seeds {most}"
        return origin(command, [run for runs in self.runs.values() for run in runs])


def write_pages(folder: Path, docs: Path) -> None:
    """Writes all pages anew from the tables and results of a folder."""
    for name, text in pages(folder, docs / "images").items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(docs / name, text)


def pages(folder: Path, images: Path) -> dict[str, str]:
    """Every page by its name in docs, with whatever was run: the first, one per data set, method and ablations."""
    results, sets = folder / "results", dict[str, list[Measured]]()
    for table in read_tables(folder):
        measured = Measured(table, {row.name: runs_of(table, row, results) for row in table.rows})
        if any(measured.runs.values()):
            sets.setdefault(table.name.split("-")[0], []).append(measured)
    every = {name: _page(name, tables, images) for name, tables in sets.items()}
    every["method"] = _method(results, images)
    every["ablations"] = _ablations([table for tables in sets.values() for table in tables])
    every = {name: page for name, page in every.items() if page}
    first = _first(sets, every, [_words(folder / name) for name in ("introduction.md", "summary.md")])
    return {"results.md": first, **{f"results/{name}.md": page for name, page in every.items()}}


def _first(sets: Mapping[str, list[Measured]], every: Mapping[str, str], words: Sequence[str]) -> str:
    introduction, summary = words
    parts = ["# Results", "", HEAD, "", *introduction.splitlines(), ""]
    for name, tables in sets.items():
        columns = tables[0].table.headline or tuple(tables[0].table.columns)
        rows = [
            cells
            for one in tables
            for cells in one.cells(one.rows("headline"), columns, one.table.encoder and f", {one.table.encoder}")
        ]
        if rows:
            title = f"### {_title(tables)} ([all rows](results/{name}.md))"
            parts += [title, "", *markdown([*columns, "seeds"], rows), ""]
    parts += [*summary.splitlines(), "", "## All pages", ""]
    parts += [f"- [{page.splitlines()[0].removeprefix('# ')}](results/{name}.md)" for name, page in every.items()]
    return "\n".join([*parts, ""])


def _page(name: str, tables: Sequence[Measured], images: Path) -> str:
    """The page of a data set."""
    parts = [f"# {_title(tables)}", "", HEAD, LEGEND, ""]
    for measured in tables:
        table = measured.table
        parts += [f"## {table.title}", "", table.about.strip(), ""]
        parts += [*measured.grid(measured.rows("page", "headline")), "", table.notes.strip(), ""]
    figures = [figure for figure in FIGURES if figure.page == name and (images / figure.file).is_file()]
    return _ended(parts, [measured.origin for measured in tables], figures, images)


def _method(results: Path, images: Path) -> str:
    """The page of what needs no data set, or only its size."""
    parts, origins = ["# Links, data and speed", "", HEAD, ""], []
    for name, (section, command) in COUNTED.items():
        if runs := read_runs(results / name):
            parts += [section(runs), ""]
            origins.append(origin(command, runs))
    figures = [figure for figure in FIGURES if figure.page == "method" and (images / figure.file).is_file()]
    return _ended(parts, origins, figures, images) if origins or figures else ""


def _ablations(tables: Iterable[Measured]) -> str:
    parts = []
    for measured in tables:
        if rows := measured.rows("ablation"):
            table = measured.table
            beside = [replace(row, paper={}) for row in table.rows if row.name in table.beside]
            parts += [f"## {table.title}", "", *measured.grid([*beside, *rows])]
            parts += ["", table.ablations.strip(), ""]
    return "\n".join(["# Ablations", "", HEAD, LEGEND, "", ABLATIONS, "", *parts]) if parts else ""


def _ended(parts: Sequence[str], origins: Sequence[list[str]], figures: Iterable[Figure], images: Path) -> str:
    """A page with its figures, and where its numbers come from."""
    lines, commands = [*parts], [*origins]
    for _, file, title, caption, command in figures:
        lines += [f"## {title}", "", caption, "", f"![{title}](../{images.name}/{file})", ""]
        commands.append([f"`python -m experiments {command}`", "", "", ""])
    return "\n".join([*lines, ORIGINS, "", *markdown(["hardware", "time", "commits"], commands), ""])


def _title(tables: Sequence[Measured]) -> str:
    """The name of a data set, which the title of its first table begins with."""
    return tables[0].table.title.split(":")[0]


def _words(file: Path) -> str:
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


def runs_of(table: Table, row: Row, results: Path) -> list[dict[str, Any]]:
    """The runs of a row, whichever seeds there are."""
    runs = (read_json(table.place(results, row, seed)) for seed in range(MAX_SEEDS))
    return [run for run in runs if run is not None]


def cell(column: tuple[str, float], row: Row, runs: Sequence[Mapping[str, Any]]) -> str:
    """The mean over runs, and their standard deviation if there are several; empty where the metric says nothing."""
    metric, factor = column
    values = [run["results"].get(metric) for run in runs]
    if None in values or _says_nothing(metric, row):
        return ""
    means = [factor * (value["mean"] if isinstance(value, dict) else value) for value in values]
    spread = f" ± {stdev(means):.1f}" if len(means) > 1 else ""
    return f"{fmean(means):.1f}{spread}"


def _says_nothing(metric: str, row: Row) -> bool:
    """Whether a metric is the same whatever was learned.

    An untrained head guesses. Attention gives every span some active pair, since its rows and columns sum to one: what
    it selects is what lies above δ.
    """
    attends = bool((row.settings or {}).get("rule", {}).get("attention"))
    linked = " rationale " in metric and "above" not in metric
    return (not row.trained and metric.startswith(("accuracy", "macro F1"))) or (attends and linked)
