"""The tables of `experiments/*.toml`: their rows, the settings of each, and the rows that others start from."""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from experiments.records import slug
from whymatch.learning.sections import EncoderSettings, ReaderSettings
from whymatch.learning.settings import Settings, typed

ENCODERS = ("encoder", "reader")  # tables of settings that may name word vectors, which lie beside the data
EXTRAS = ("unrolled", "marked")  # what a row may ask for beside settings


@dataclass(frozen=True)
class Row:
    """One row of a table: its name, what the paper printed, and how it is run; without settings it is not run."""

    name: str
    data: str
    settings: dict[str, Any] | None = None
    """Those of `whymatch train`."""
    paper: dict[str, float] = field(default_factory=dict)
    """Numbers by column."""
    trained: bool = True
    baseline: str | None = None
    """One of `experiments.baselines`, in place of a model."""
    gpu: bool = False
    """It trains an encoder: without a GPU it is run only if it is named."""
    first: dict[str, list[str]] = field(default_factory=dict)
    """Rows that are trained before it with the same seed, as [table, name]: the `model` its encoder starts from, or its
    `teacher`."""
    unrolled: float | None = None
    """Trains through every iteration of Sinkhorn at this epsilon, as the paper does."""
    marked: bool = False
    """Trains on the pairs that people marked alone."""
    shown: Literal["page", "headline", "ablation"] = "page"
    """On the page of its data set, on the first page as well, or on the page of ablations instead."""

    @property
    def seeded(self) -> bool:
        """Whether runs differ by their seeds."""
        return self.trained or bool(self.first)


@dataclass(frozen=True)
class Table:
    """A table of the paper: its columns, each with the metric and the factor that give it, and its rows.

    `order` is its place on the page, `notes` are printed after it, `ablations` after its rows on the page of ablations,
    which begin with the rows called `beside`. With `curve`, trained attention is measured at every threshold as well.
    """

    folder: Path
    name: str
    order: float
    title: str
    columns: dict[str, tuple[str, float]]
    rows: tuple[Row, ...]
    encoder: str = ""
    """What the first page calls its encoder."""
    headline: tuple[str, ...] = ()
    """The columns of the first page; all of them, if none is named."""
    about: str = ""
    notes: str = ""
    ablations: str = ""
    beside: tuple[str, ...] = ()
    curve: bool = False

    def runs(self, seeds: int) -> list[tuple[Row, int]]:
        """One seed of every row first; a row that is not trained has no seed."""
        return [(row, seed) for seed in range(seeds) for row in self.rows if row.settings and (row.seeded or not seed)]

    def row(self, name: str) -> Row | None:
        """The row of a name."""
        return next((row for row in self.rows if row.name == name), None)

    def place(self, results: Path, row: Row, seed: int) -> Path:
        """Where the result of a run lies."""
        return results / self.name / f"{slug(row.name)}-{seed}.json"


def read_tables(folder: Path) -> list[Table]:
    """The tables of a folder, in the order of the page."""
    return sorted(map(read_table, sorted(folder.glob("*.toml"))), key=lambda table: table.order)


def read_table(file: Path) -> Table:
    """A table from its TOML file; raises ValueError where it is none.

    A row has the settings of the table where it does not say otherwise; one that is not trained takes no schedule, and
    one that fine-tunes no model no rate for it.
    """
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
        common, data = values.pop("settings", {}), values.pop("data")
        values["rows"] = tuple(_read_row(row, data, common) for row in values.pop("row"))
        values["columns"] = {name: (metric, float(factor)) for name, (metric, factor) in values["columns"].items()}
        return Table(file.parent, file.stem, **values)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not TOML: {error}.") from None
    except (KeyError, TypeError) as error:
        raise ValueError(f"{file} is no table: {error}.") from None


def _read_row(values: Mapping[str, Any], data: str, common: Mapping[str, Any]) -> Row:
    row = Row(**{"data": data, "trained": "baseline" not in values, **values})
    if row.settings is None and row.baseline is None:
        return row
    inherited = {key: value for key, value in common.items() if row.trained or key != "schedule"}
    settings = merged(inherited, row.settings or {})
    if "schedule" in inherited and "fine-tuned" not in _kinds(settings):
        schedule = {key: value for key, value in inherited["schedule"].items() if key != "fine"}
        settings = merged({**inherited, "schedule": schedule}, row.settings or {})
    return Row(**{**vars(row), "settings": settings})


def _kinds(settings: Mapping[str, Any]) -> list[str]:
    """The kinds of the encoder and of the reader."""
    defaults = {"encoder": EncoderSettings.kind, "reader": ReaderSettings.kind}
    return [settings[part].get("kind", defaults[part]) for part in ENCODERS if part in settings]


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The second's values over the first's, tables within tables; a rule is taken whole."""
    both = dict(first)
    for key, value in second.items():
        tables = isinstance(value, Mapping) and isinstance(both.get(key), Mapping) and key != "rule"
        both[key] = merged(both[key], value) if tables else value
    return both


@dataclass(frozen=True)
class Job:
    """One run of a row: its settings with the places of this machine, and those of the rows that are trained first.

    `described` says what is run without those places.
    """

    settings: Settings
    first: dict[str, Settings]
    described: dict[str, Any]


def job(table: Table, row: Row, seed: int, data: Path) -> Job:
    """What a row asks for with a seed, on the prepared data sets of a folder; raises ValueError for bad settings."""
    before = {part: job(*other, seed, data) for part, other in _rows_before(table, row).items()}
    described: dict[str, Any] = {"settings": asdict(_settings(table, row, seed, None))}
    described |= {key: value for key in EXTRAS if (value := getattr(row, key))}
    if before:
        described["first"] = {part: other.described["settings"] for part, other in before.items()}
        described["started from"] = row.first
    first = {part: other.settings for part, other in before.items()}
    return Job(_settings(table, row, seed, data), first, described)


def _settings(table: Table, row: Row, seed: int, data: Path | None) -> Settings:
    """The settings of a row; without a folder of data, by the names that the table has for places."""

    def place(name: str) -> str:
        return name if data is None else str(data / name)

    assert row.settings is not None
    values = merged(row.settings, {"data": place(row.data), "schedule": {"seed": seed}})
    for part in ENCODERS:
        if "vectors" in values.get(part, {}):
            values[part] = {**values[part], "vectors": place(values[part]["vectors"])}
    settings: Settings = typed(Settings, values, f"{table.name}, {row.name}")
    return settings


def _rows_before(table: Table, row: Row) -> dict[str, tuple[Table, Row]]:
    """The rows that one starts from; raises ValueError where one is not there, or cannot be that."""
    where, rows = f"{table.name}, {row.name}", {}
    for part, (name, wanted) in row.first.items():
        file = table.folder / f"{name}.toml"
        other = read_table(file) if file.is_file() else None
        start = other.row(wanted) if other else None
        if part not in ("model", "teacher"):
            raise ValueError(f"{where}: another row becomes a model or a teacher, not a {part}.")
        if other is None or start is None or start.settings is None or not start.trained:
            raise ValueError(f"{where}: there is no row {wanted!r} of {name} that is trained.")
        if start.first:
            raise ValueError(f"{where}: {wanted!r} starts from another row itself.")
        kind, own = (settings.get("encoder", {}).get("kind") for settings in (start.settings, row.settings or {}))
        if part == "model" and kind != "fine-tuned" and not kind == own == "adapter":
            raise ValueError(f"{where}: {wanted!r} fine-tunes no model to start from.")
        rows[part] = other, start
    return rows


def agree(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a stored run had the settings of today; a setting that was not there yet had its default.

    Of a run that was not trained, the schedule does not count.
    """
    schedule = {} if before.get("trained", True) else {"schedule": now["settings"]["schedule"]}
    old, new = ({"its own": run["settings"], **run.get("first", {})} for run in (before, now))
    old["its own"] = old["its own"] | schedule
    try:
        same = old.keys() == new.keys() and all(_completed(old[part]) == values for part, values in new.items())
    except ValueError:
        return False
    return same and all(before.get(key) == now.get(key) for key in ("started from", *EXTRAS))


def _completed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Stored settings with the defaults of those that they lack."""
    return asdict(typed(Settings, _without_none(values), "a stored run"))


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a file would have them, which has no None."""
    tables = {key: _without_none(value) if isinstance(value, Mapping) else value for key, value in values.items()}
    return {key: value for key, value in tables.items() if value is not None}
