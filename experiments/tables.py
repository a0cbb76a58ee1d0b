"""The tables of `experiments/`: their rows, the settings of each, and the rows that others start from."""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.records import slug
from whymatch.learning.settings import Settings, completed, typed

PARTS = ("encoder", "reader")  # that may read vectors, which lie beside the data
ROW = "row of "  # TABLE: NAME, in place of a model or a teacher


@dataclass(frozen=True)
class Row:
    """One row: what it is called, what the paper measured, and how it is run; a row without settings is quoted.

    A `baseline` is one of `experiments.baselines`, in place of a model. A row that trains an encoder asks for
    a GPU (`gpu`): elsewhere it is run if it is named, and left out otherwise. In place of the encoder's `model`, or of
    the `teacher`, settings may name a `row of TABLE: NAME`, which is trained first, with the same seed.
    """

    name: str
    paper: dict[str, float]
    settings: dict[str, Any] | None
    trained: bool
    data: str
    baseline: str | None = None
    gpu: bool = False

    @property
    def first(self) -> dict[str, tuple[str, str]]:
        """What is trained before it, table and name, by what it is to this row: its model or its teacher."""
        settings = self.settings or {}
        named = {"model": settings.get("encoder", {}).get("model"), "teacher": settings.get("loss", {}).get("teacher")}
        rows = {part: name.removeprefix(ROW) for part, name in named.items() if name and name.startswith(ROW)}
        return {part: name.partition(": ")[::2] for part, name in rows.items()}

    @property
    def seeded(self) -> bool:
        """Whether runs differ by their seeds."""
        return self.trained or bool(self.first)


@dataclass(frozen=True)
class Table:
    """A table of the paper in a folder: its columns, each with the metric and the factor that give it, and its rows.

    `order` is its place on the page. `notes` are printed after it; with `curve`, trained attention is measured at every
    threshold (`tradeoff`) as well.
    """

    folder: Path
    name: str
    order: float
    title: str
    about: str
    columns: dict[str, tuple[str, float]]
    rows: tuple[Row, ...]
    notes: str = ""
    curve: bool = False

    def runs(self, seeds: int) -> list[tuple[Row, int]]:
        """One seed of every row first; what is not trained has no seed."""
        return [(row, seed) for seed in range(seeds) for row in self.rows if row.settings and (row.seeded or not seed)]


def read_table(file: Path) -> Table:
    """A table from its TOML file; rows take what they do not say from the table's own settings.

    What is not trained has no schedule.
    """
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not TOML: {error}.") from None
    common, rows = values.get("settings", {}), []
    for row in values["row"]:
        own, baseline = row.get("settings"), row.get("baseline")
        trained, data = row.get("trained", baseline is None), row.get("data", values["data"])
        shared = {key: value for key, value in common.items() if trained or key != "schedule"}
        settings = None if own is None and baseline is None else merged(shared, own or {})
        rows.append(Row(row["name"], row.get("paper", {}), settings, trained, data, baseline, row.get("gpu", False)))
    columns = {name: (metric, float(factor)) for name, (metric, factor) in values["columns"].items()}
    about, notes, curve = values.get("about", ""), values.get("notes", ""), values.get("curve", False)
    return Table(file.parent, file.stem, values["order"], values["title"], about, columns, tuple(rows), notes, curve)


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The second's values over the first's, tables within tables; a rule is taken whole."""
    found = dict(first)
    for key, value in second.items():
        both = isinstance(value, Mapping) and isinstance(found.get(key), Mapping) and key != "rule"
        found[key] = merged(found[key], value) if both else value
    return found


def place(folder: Path, table: Table, row: Row, seed: int) -> Path:
    """Where a run's result lies."""
    return folder / table.name / f"{slug(row.name)}-{seed}.json"


@dataclass(frozen=True)
class Asked:
    """One run of a row: its settings, and those of rows that are trained first, by what they are to it.

    `described` has both without the places where things lie on this machine.
    """

    settings: Settings
    first: dict[str, Settings]
    described: dict[str, Any]


def resolved(table: Table, row: Row, seed: int, data: Path) -> Asked:
    """What a row asks for with a seed, on data in a folder."""
    assert row.settings is not None
    schedule = {**row.settings.get("schedule", {}), "seed": seed}
    values = {**row.settings, "data": str(data / row.data), "schedule": schedule}
    named = {part: row.settings[part]["vectors"] for part in PARTS if "vectors" in row.settings.get(part, {})}
    values |= {part: {**row.settings[part], "vectors": str(data / file)} for part, file in named.items()}
    settings: Settings = typed(Settings, values, f"{table.name}, {row.name}")
    plain = {**asdict(settings), "data": row.data}
    plain |= {part: {**plain[part], "vectors": file} for part, file in named.items()}
    before = {part: resolved(*one, seed, data) for part, one in rows_before(table, row).items()}
    first = {part: one.described["settings"] for part, one in before.items()}
    described = {"settings": plain, **({"first": first} if first else {})}
    return Asked(settings, {part: one.settings for part, one in before.items()}, described)


def rows_before(table: Table, row: Row) -> dict[str, tuple[Table, Row]]:
    """The rows that one starts from, by what they are to it; raises where one is not there, or cannot be that."""
    if str((row.settings or {}).get("reader", {}).get("model")).startswith(ROW):
        raise ValueError(f"{table.name}, {row.name}: a reader starts from a model, not from a row.")
    found = {}
    for part, (name, which) in row.first.items():
        file, where = table.folder / f"{name}.toml", f"{table.name}, {row.name}"
        other = read_table(file) if file.is_file() else None
        one = next((one for one in other.rows if one.name == which and one.trained), None) if other else None
        if other is None or one is None or one.settings is None:
            raise ValueError(f"{where}: there is no row {which!r} of {name} that is trained.")
        if one.first:
            raise ValueError(f"{where}: {which!r} starts from another row itself.")
        if part == "model" and one.settings.get("encoder", {}).get("kind") != "fine-tuned":
            raise ValueError(f"{where}: {which!r} fine-tunes no model to start from.")
        found[part] = other, one
    return found


def agree(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a run on disk had the settings of today; a setting that was not there yet had its default.

    Of a run that was not trained, the schedule does not count.
    """
    kept = {} if before.get("trained", True) else {"schedule": now["settings"]["schedule"]}
    old, new = ({"its own": run["settings"], **run.get("first", {})} for run in (before, now))
    old["its own"] = old["its own"] | kept
    try:
        return old.keys() == new.keys() and all(completed(old[part]) == values for part, values in new.items())
    except ValueError:
        return False
