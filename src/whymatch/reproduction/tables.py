"""The rows of a table, run one after the other: what is on disk is not run again."""

import json
import platform
import subprocess
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from whymatch.datasets.folders import read_split
from whymatch.learning.building import build
from whymatch.learning.evaluate import choose_thresholds, evaluate
from whymatch.learning.files import read_json, write_whole
from whymatch.learning.processes import Processes
from whymatch.learning.settings import Settings, typed
from whymatch.learning.train import Known, Watch, train_one
from whymatch.matching.classifier import Classifier
from whymatch.matching.saving import from_pretrained
from whymatch.reproduction.baselines import baseline
from whymatch.text.encoders.projected import Projected


@dataclass(frozen=True)
class Row:
    """One row: what it is called, what the paper measured, and how it is run; a row without settings is quoted.

    A `baseline` is one of `whymatch.reproduction.baselines`, in place of a model.
    """

    name: str
    paper: dict[str, float]
    settings: dict[str, Any] | None
    trained: bool
    data: str
    baseline: str | None = None


@dataclass(frozen=True)
class Table:
    """A table of the paper: its columns, each with the metric and the factor that give it, and its rows."""

    name: str
    title: str
    about: str
    columns: dict[str, tuple[str, float]]
    rows: tuple[Row, ...]

    def runs(self, seeds: int) -> list[tuple[Row, int]]:
        """One seed of every row first; what is not trained has no seed."""
        return [(row, seed) for seed in range(seeds) for row in self.rows if row.settings and (row.trained or not seed)]


def read_table(file: Path) -> Table:
    """A table from its TOML file; rows take what they do not say from the table's own settings."""
    values = tomllib.loads(file.read_text(encoding="utf-8"))
    common, rows = values.get("settings", {}), []
    for row in values["row"]:
        own, baseline = row.get("settings"), row.get("baseline")
        settings = None if own is None and baseline is None else merged(common, own or {})
        trained, data = row.get("trained", baseline is None), row.get("data", values["data"])
        rows.append(Row(row["name"], row.get("paper", {}), settings, trained, data, baseline))
    columns = {name: (metric, float(factor)) for name, (metric, factor) in values["columns"].items()}
    return Table(file.stem, values["title"], values.get("about", ""), columns, tuple(rows))


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The second's values over the first's, tables within tables; a rule is taken whole."""
    found = dict(first)
    for key, value in second.items():
        both = isinstance(value, Mapping) and isinstance(found.get(key), Mapping) and key != "rule"
        found[key] = merged(found[key], value) if both else value
    return found


def place(folder: Path, table: Table, row: Row, seed: int) -> Path:
    """Where a run's result lies."""
    name = "".join(letter if letter.isalnum() else "-" for letter in row.name.lower())
    return folder / table.name / f"{'-'.join(part for part in name.split('-') if part)}-{seed}.json"


def run_table(
    table: Table, data: Path, results: Path, *, seeds: int = 1, only: str = "", line: Callable[[str], None] = print
) -> None:
    """Runs what is not yet on disk, and writes one JSON a run."""
    known: Known = {}
    for row, seed in table.runs(seeds):
        file = place(results, table, row, seed)
        if only.lower() not in row.name.lower() or read_json(file) is not None:
            continue
        line(f"{table.name}: {row.name}, seed {seed}")
        assert row.settings is not None
        schedule = {**row.settings.get("schedule", {}), "seed": seed}
        values = {**row.settings, "data": str(data / row.data), "schedule": schedule}
        settings = typed(Settings, values, f"{table.name}, {row.name}")
        start = time.perf_counter()
        if row.baseline is not None:
            found, validation = baseline(row.baseline, settings), None
        else:
            found, validation = run_row(settings, row.trained, Watch(line), known)
        record = {
            "table": table.name,
            "row": row.name,
            "seed": seed,
            "trained": row.trained,
            "data": row.data,
            "validation": validation,
            "results": found,
            "settings": {**asdict(settings), "data": row.data},
            "seconds": round(time.perf_counter() - start, 1),
            **circumstances(),
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(record, indent=1))


def run_row(settings: Settings, trained: bool, watch: Watch, known: Known) -> tuple[dict[str, Any], float | None]:
    """The metrics on the test split, and the validation score that chose the weights."""
    test: Sequence[Any] = read_split(settings.data, "test", settings.task, settings.spans)
    if trained:
        with TemporaryDirectory() as folder:
            run = train_one(settings, Path(folder), False, watch, Processes(), known)
            model = from_pretrained(Path(folder) / "best")
        if isinstance(model.encoder, Projected):
            model.encoder.known = known.setdefault(model.encoder.name, model.encoder.known)
        return evaluate(model, test), run.validation
    torch.manual_seed(settings.schedule.seed)
    validation: Sequence[Any] = read_split(settings.data, "val", settings.task, settings.spans)
    counted: Sequence[Any] = (
        read_split(settings.data, "train", settings.task, settings.spans) if settings.rarity else ()
    )
    untrained = build(settings, [*counted, *validation])
    if isinstance(untrained.encoder, Projected):
        untrained.encoder.known = known.setdefault(untrained.encoder.name, untrained.encoder.known)
    if isinstance(untrained, Classifier):
        untrained.thresholds = choose_thresholds(untrained, validation)
    return evaluate(untrained, test), None


def circumstances() -> dict[str, Any]:
    """When, with which code and on what a run was made."""
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True)
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": asked.stdout.strip() or None,
        "hardware": gpu or f"{platform.machine()}, {torch.get_num_threads()} threads",
    }
