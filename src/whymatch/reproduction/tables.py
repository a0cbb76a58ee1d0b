"""The rows of a table, run one after the other: what is on disk is not run again."""

import hashlib
import json
import shutil
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from whymatch.datasets.folders import read_split
from whymatch.learning.building import build
from whymatch.learning.evaluate import choose_thresholds, evaluate
from whymatch.learning.files import read_json
from whymatch.learning.memory import Memory
from whymatch.learning.processes import Processes
from whymatch.learning.settings import Settings, completed, typed
from whymatch.learning.train import Watch, train_one
from whymatch.matching.classifier import Classifier
from whymatch.matching.rules import Attend
from whymatch.matching.saving import from_pretrained
from whymatch.reproduction.baselines import baseline
from whymatch.reproduction.records import commit, keep, slug
from whymatch.reproduction.tradeoff import curve
from whymatch.text.encoders.projected import Projected

PARTS = ("encoder", "reader")  # that may read vectors, which lie beside the data
ROW = "row of "  # TABLE: NAME, in place of a model or a teacher


@dataclass(frozen=True)
class Row:
    """One row: what it is called, what the paper measured, and how it is run; a row without settings is quoted.

    A `baseline` is one of `whymatch.reproduction.baselines`, in place of a model. A row that trains an encoder asks for
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
        return [(row, seed) for seed in range(seeds) for row in self.rows if row.settings and (row.trained or not seed)]


def read_table(file: Path) -> Table:
    """A table from its TOML file; rows take what they do not say from the table's own settings."""
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not TOML: {error}.") from None
    common, rows = values.get("settings", {}), []
    for row in values["row"]:
        own, baseline = row.get("settings"), row.get("baseline")
        settings = None if own is None and baseline is None else merged(common, own or {})
        trained, data = row.get("trained", baseline is None), row.get("data", values["data"])
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


def run_table(
    table: Table,
    data: Path,
    results: Path,
    *,
    seeds: int = 1,
    only: str = "",
    again: bool = False,
    watch: Watch | None = None,
) -> int:
    """Runs what is not yet on disk, or was run with other settings; all `again`, if told. How many runs that were.

    Writes one JSON a run. A run that is broken off leaves its checkpoints in `runs`, beside the results, and goes on
    from there. That folder keeps the vectors of the bundled model, too.
    """
    watch = watch or Watch()
    memory = Memory(results.parent / "runs" / "vectors")
    commit()  # of the code that is loaded now, whatever is committed until a run ends
    done = 0
    for row, seed in wanted(table, seeds, only, watch):
        settings, described = resolved(table, row, seed, data)
        file, what = place(results, table, row, seed), f"{table.name}: {row.name}, seed {seed}"
        before = read_json(file)
        same = before is not None and before.get("baseline") == row.baseline and agree(before["settings"], described)
        if same and not again:
            watch.line(f"{what}: measured before ({shown(table, before)})")
            continue
        watch.line(what if before is None or same else f"{what} (its settings have changed)")
        start = time.perf_counter()
        digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:8]
        run = results.parent / "runs" / table.name / f"{file.stem}-{digest}"
        if row.baseline is not None:
            found: dict[str, Any] = {"validation": None, "results": baseline(row.baseline, settings)}
        else:
            settings = after_rows(settings, table.folder, data, run / "first", watch, memory)
            found = run_row(settings, run if row.trained else None, watch, memory, curved=table.curve)
        names = {"table": table.name, "row": row.name, "seed": seed, "trained": row.trained, "baseline": row.baseline}
        seconds = round(time.perf_counter() - start, 1)
        keep(file, {**names, "data": row.data, **found, "settings": described, "seconds": seconds})
        watch.line(shown(table, found))
        memory.keep()
        shutil.rmtree(run, ignore_errors=True)
        done += 1
    return done


def shown(table: Table, run: Mapping[str, Any]) -> str:
    """What a run measured, in the columns of its table."""
    values = {name: run["results"].get(metric) for name, (metric, _) in table.columns.items()}
    numbers = {name: value["mean"] if isinstance(value, dict) else value for name, value in values.items()}
    return ", ".join(f"{name} {table.columns[name][1] * v:.1f}" for name, v in numbers.items() if v is not None)


def wanted(table: Table, seeds: int, only: str, watch: Watch) -> list[tuple[Row, int]]:
    """The runs whose rows are named, or all that can be run on this machine."""
    found = [(row, seed) for row, seed in table.runs(seeds) if only.lower() in row.name.lower()]
    if only and not found:
        raise ValueError(f"No row of {table.name} that is run has {only!r} in its name.")
    if torch.cuda.is_available() or not any(row.gpu for row, _ in found):
        return found
    if only:
        watch.line(f"{table.name}: there is no GPU here, and a row that trains an encoder takes hours without one")
        return found
    watch.line(f"{table.name}: there is no GPU here, and rows that train an encoder are left out")
    return [(row, seed) for row, seed in found if not row.gpu]


def resolved(table: Table, row: Row, seed: int, data: Path) -> tuple[Settings, dict[str, Any]]:
    """The settings of a run, and the same without the places where things lie on this machine."""
    assert row.settings is not None
    schedule = {**row.settings.get("schedule", {}), "seed": seed}
    values = {**row.settings, "data": str(data / row.data), "schedule": schedule}
    named = {part: row.settings[part]["vectors"] for part in PARTS if "vectors" in row.settings.get(part, {})}
    values |= {part: {**row.settings[part], "vectors": str(data / file)} for part, file in named.items()}
    settings: Settings = typed(Settings, values, f"{table.name}, {row.name}")
    plain = {**asdict(settings), "data": row.data}
    return settings, plain | {part: {**plain[part], "vectors": file} for part, file in named.items()}


def after_rows(settings: Settings, tables: Path, data: Path, folder: Path, watch: Watch, memory: Memory) -> Settings:
    """The settings with folders of models in place of the names of rows, which are trained there."""
    if name := named_row(settings.encoder.model):
        model = train_row(name, settings.schedule.seed, tables, data, folder / "model", watch, memory) / "encoder"
        settings = replace(settings, encoder=replace(settings.encoder, model=str(model)))
    if name := named_row(settings.loss.teacher):
        teacher = train_row(name, settings.schedule.seed, tables, data, folder / "teacher", watch, memory)
        settings = replace(settings, loss=replace(settings.loss, teacher=str(teacher)))
    return settings


def named_row(value: str | None) -> tuple[str, str] | None:
    """The table and the name of a row that stands for a model."""
    if value is None or not value.startswith(ROW):
        return None
    table, _, row = value.removeprefix(ROW).partition(": ")
    return table, row


def train_row(
    name: tuple[str, str], seed: int, tables: Path, data: Path, folder: Path, watch: Watch, memory: Memory
) -> Path:
    """Trains a row in a folder, where an earlier try is gone on with; where its model is."""
    table = read_table(tables / f"{name[0]}.toml")
    row = next((row for row in table.rows if row.name == name[1] and row.settings and row.trained), None)
    if row is None:
        raise ValueError(f"No row of {name[0]} that is trained has the name {name[1]!r}.")
    watch.line(f"first {table.name}: {row.name}, seed {seed}")
    return train_one(resolved(table, row, seed, data)[0], folder, True, watch, Processes(), memory).folder / "best"


def agree(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether settings on disk are those of today; a setting that was not there yet had its default."""
    try:
        return completed(before) == now
    except ValueError:
        return False


def run_row(
    settings: Settings, folder: Path | None, watch: Watch, memory: Memory, *, curved: bool = False
) -> dict[str, Any]:
    """The validation score that chose the weights, the metrics on the test split, and attention's curve if asked.

    Trained in the folder, where an earlier try is gone on with; untrained without one.
    """
    test: Sequence[Any] = read_split(settings.data, "test", settings.task, settings.spans)
    if folder is not None:
        run = train_one(settings, folder, True, watch, Processes(), memory)
        model = from_pretrained(folder / "best")
        if isinstance(model.encoder, Projected):
            memory.share(model.encoder, settings)
        watch.line("measuring on the test split")
        found = {"validation": run.validation, "results": evaluate(model, test)}
        if curved and isinstance(model, Classifier) and isinstance(model.rule, Attend):
            watch.line("accuracy by the share of tokens")
            found["curve"] = curve(model, test)
        return found
    torch.manual_seed(settings.schedule.seed)
    validation: Sequence[Any] = read_split(settings.data, "val", settings.task, settings.spans)
    counted: Sequence[Any] = (
        read_split(settings.data, "train", settings.task, settings.spans) if settings.rarity or settings.shared else ()
    )
    untrained = build(settings, [*counted, *validation])
    if isinstance(untrained.encoder, Projected):
        memory.share(untrained.encoder, settings)
    if isinstance(untrained, Classifier):
        untrained.thresholds = choose_thresholds(untrained, validation)
    return {"validation": None, "results": evaluate(untrained, test)}
