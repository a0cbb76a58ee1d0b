"""The paper's table 2: statistics of the data sets, ours beside the paper's."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.records import markdown, slug, write_run
from whymatch.datasets.catalog import NAMES, OFFICIAL, PAPER
from whymatch.datasets.conversion import flat_statistics, shown_count
from whymatch.datasets.eraser import is_eraser
from whymatch.datasets.prepare import prepare
from whymatch.files import read_json

RANKED = tuple(PAPER["stackexchange"])
MARKED = "words marked, %"
PAIRS = {
    **{f"{split}: pairs": f"{split}: pairs" for split in ("train", "val", "test")},
    "test: pairs with a rationale": "test: with a rationale",
    f"test: {MARKED}": f"test: {MARKED}",
    "words a left text": "words a left text",
    "words a right text": "words a right text",
}


def keep_statistics(data: Path, folder: Path) -> list[str]:
    """Keeps the statistics of every data set in a folder of prepared ones; returns their names."""
    names = []
    for place in sorted(data.iterdir()):
        start = time.perf_counter()
        values = read_json(place / "statistics.json")
        if values is None and place.name in NAMES and is_eraser(place):  # read where it lies, so nobody has counted yet
            values = prepare(place.name, [place])
        if isinstance(values, dict):
            record = {"table": "statistics", "row": place.name, "seed": 0, "results": values}
            write_run(folder / f"{slug(place.name)}.json", {**record, "seconds": round(time.perf_counter() - start, 1)})
            names.append(place.name)
    if not names:
        raise ValueError(
            f"{data} holds no prepared data set: `whymatch data prepare NAME --from … --out {data}/NAME` makes one."
        )
    return names


def section(runs: Sequence[dict[str, Any]]) -> str:
    """The tables, as Markdown: texts to be ranked, and pairs to be classified."""
    runs = sorted(runs, key=lambda run: str(run["row"]))  # a variant after what it is one of
    ranked = [run for run in runs if "documents" in run["results"] and "splits" in run["results"]]
    paired = [run for run in runs if run not in ranked]
    lines = ["## The data sets: the paper's table 2", ""]
    if ranked:
        lines += [*grid(ranked, dict(zip(RANKED, RANKED, strict=True)), PAPER, "the paper"), ""]
    if paired:
        lines += ["The paper uses the official splits of the two others, and prints nothing about them:", ""]
        lines += [*grid(paired, PAIRS, OFFICIAL, "official"), ""]
    return "\n".join(lines).rstrip()


def grid(
    runs: Sequence[dict[str, Any]], columns: dict[str, str], others: dict[str, dict[str, float]], whose: str
) -> list[str]:
    """A row for each data set, those with the same numbers in one, and after each the numbers of `others`."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        values = flat_statistics(run["results"])
        rows.setdefault(tuple(shown_count(values.get(column)) for column in columns), []).append(run["row"])
    lines, compared = [], set[str]()
    for cells, names in rows.items():
        lines.append([f"**{', '.join(names)}**", *cells])
        base = names[0].split("-")[0]
        if base in others and base not in compared:
            compared.add(base)
            lines.append([f"{base}, {whose}", *(shown_count(others[base].get(column)) for column in columns)])
    return markdown(columns.values(), lines)
