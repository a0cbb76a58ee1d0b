"""The rows of a table, run one after the other: what is on disk is not run again."""

import hashlib
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from experiments.baselines import baseline
from experiments.page import measured
from experiments.records import commit, keep
from experiments.tables import Asked, Row, Table, agree, place, resolved
from experiments.tradeoff import curve
from whymatch.datasets.folders import read_split
from whymatch.files import held, read_json
from whymatch.learning.building import build
from whymatch.learning.evaluate import choose_thresholds, evaluate
from whymatch.learning.memory import Memory
from whymatch.learning.processes import Processes
from whymatch.learning.settings import Settings
from whymatch.learning.train import Watch, train_one
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Attend
from whymatch.matching.saving import from_pretrained
from whymatch.text.encoders.trainable import Projected


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
        asked = resolved(table, row, seed, data)
        file, what = place(results, table, row, seed), f"{table.name}: {row.name}, seed {seed}"
        before = read_json(file)
        same = before is not None and before.get("baseline") == row.baseline and agree(before, asked.described)
        if same and not again:
            watch.line(f"{what}: measured before ({shown(table, row, before)})")
            continue
        watch.line(what if before is None or same else f"{what} (its settings have changed)")
        start = time.perf_counter()
        digest = hashlib.sha256(json.dumps(asked.described, sort_keys=True).encode()).hexdigest()[:8]
        run = results.parent / "runs" / table.name / f"{file.stem}-{digest}"
        found = run_row(row, asked, run, watch, memory, curved=table.curve)
        names = {"table": table.name, "row": row.name, "seed": seed, "trained": row.trained, "baseline": row.baseline}
        seconds = round(time.perf_counter() - start, 1)
        keep(file, {**names, "data": row.data, **found, **asked.described, "seconds": seconds})
        watch.line(shown(table, row, found))
        memory.keep()
        shutil.rmtree(run, ignore_errors=True)
        done += 1
    return done


def shown(table: Table, row: Row, run: Mapping[str, Any]) -> str:
    """What a run measured, in the columns of its table."""
    cells = {name: measured(column, row, [run]) for name, column in table.columns.items()}
    return ", ".join(f"{name} {cell}" for name, cell in cells.items() if cell)


def wanted(table: Table, seeds: int, only: str, watch: Watch) -> list[tuple[Row, int]]:
    """The runs of the row of that name, or of all whose names hold it; all that can be run here, if none is named."""
    every = table.runs(seeds)
    found = [(row, seed) for row, seed in every if row.name.lower() == only.lower()]
    found = found or [(row, seed) for row, seed in every if only.lower() in row.name.lower()]
    if only and not found:
        raise ValueError(f"No row of {table.name} that is run has {only!r} in its name.")
    if torch.cuda.is_available() or not any(row.gpu for row, _ in found):
        return found
    if only:
        watch.line(f"{table.name}: there is no GPU here, and a row that trains an encoder takes hours without one")
        return found
    watch.line(f"{table.name}: there is no GPU here, and rows that train an encoder are left out")
    return [(row, seed) for row, seed in found if not row.gpu]


def run_row(
    row: Row, asked: Asked, folder: Path, watch: Watch, memory: Memory, *, curved: bool = False
) -> dict[str, Any]:
    """The validation score that chose the weights, the metrics on the test split, and attention's curve if asked.

    What is trained is trained in the folder, where an earlier try is gone on with.
    """
    if row.baseline is not None:
        return {"validation": None, "results": baseline(row.baseline, asked.settings)}
    settings = after_rows(asked, folder / "first", watch, memory)
    test: Sequence[Any] = read_split(settings.data, "test", settings.task, settings.spans)
    if not row.trained:
        return {"validation": None, "results": evaluate(untrained(settings, memory), test)}
    with held(folder):
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


def after_rows(asked: Asked, folder: Path, watch: Watch, memory: Memory) -> Settings:
    """The settings with folders of models in place of the names of rows, which are trained there."""
    settings = asked.settings
    for part, one in asked.first.items():
        watch.line(f"first its {part}")
        best = train_one(one, folder / part, True, watch, Processes(), memory).folder / "best"
        if part == "model":
            settings = replace(settings, encoder=replace(settings.encoder, model=str(best / "encoder")))
        else:
            settings = replace(settings, loss=replace(settings.loss, teacher=str(best)))
    return settings


def untrained(settings: Settings, memory: Memory) -> Ranker | Classifier:
    """The model as it starts; what is chosen on validation is chosen."""
    torch.manual_seed(settings.schedule.seed)
    validation: Sequence[Any] = read_split(settings.data, "val", settings.task, settings.spans)
    counted: Sequence[Any] = (
        read_split(settings.data, "train", settings.task, settings.spans) if settings.rarity or settings.shared else ()
    )
    model = build(settings, [*counted, *validation])
    if isinstance(model.encoder, Projected):
        memory.share(model.encoder, settings)
    if isinstance(model, Classifier):
        model.thresholds = choose_thresholds(model, validation)
    return model
