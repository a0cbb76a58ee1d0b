"""Runs the rows of a table one after the other, but for those whose results are on disk."""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from experiments.baselines import baseline
from experiments.pages import cell
from experiments.records import commit, write_run
from experiments.tables import Job, Row, Table, agree, job
from experiments.tradeoff import curve
from experiments.unrolled import Unrolled
from whymatch.cost import Cost
from whymatch.datasets.folders import read_split
from whymatch.files import held, read_json
from whymatch.learning.building import build
from whymatch.learning.evaluate import choose_thresholds, evaluate
from whymatch.learning.processes import Processes
from whymatch.learning.settings import NO_COUNTS, Settings
from whymatch.learning.shape import is_marked
from whymatch.learning.train import Watch, train_one
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Attend, Transport
from whymatch.matching.saving import from_pretrained
from whymatch.text.encoders.caching import VectorCache
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
    """Runs what is not on disk or was run with other settings, or everything `again`; returns the number of runs.

    Writes one JSON per run. A run that is interrupted leaves its checkpoints in `runs`, beside the results, and is
    resumed from there. That folder keeps the vectors of frozen encoders, too.
    """
    watch = watch or Watch()
    cache = VectorCache(results.parent / "runs" / "vectors")
    commit()  # of the code that is loaded now, whatever is committed until a run ends
    done = 0
    for row, seed in wanted(table, seeds, only, watch):
        asked, file = job(table, row, seed, data), table.place(results, row, seed)
        before, name = read_json(file), f"{table.name}: {row.name}, seed {seed}"
        same = before is not None and before.get("baseline") == row.baseline and agree(before, asked.described)
        if same and not again:
            watch.line(f"{name}: measured before ({_in_words(table, row, before)})")
            continue
        watch.line(name if before is None or same else f"{name} (its settings have changed)")
        start = time.perf_counter()
        digest = hashlib.sha256(json.dumps(asked.described, sort_keys=True).encode()).hexdigest()[:8]
        folder = results.parent / "runs" / table.name / f"{file.stem}-{digest}"
        measured = run_row(row, asked, folder, watch, cache, curved=table.curve)
        names = {"table": table.name, "row": row.name, "seed": seed, "trained": row.trained, "baseline": row.baseline}
        seconds = round(time.perf_counter() - start, 1)
        write_run(file, {**names, "data": row.data, **measured, **asked.described, "seconds": seconds})
        watch.line(_in_words(table, row, measured))
        cache.keep()
        shutil.rmtree(folder, ignore_errors=True)
        done += 1
    return done


def _in_words(table: Table, row: Row, run: Mapping[str, Any]) -> str:
    """The results of a run, in the columns of its table."""
    cells = {name: cell(column, row, [run]) for name, column in table.columns.items()}
    return ", ".join(f"{name} {text}" for name, text in cells.items() if text)


def wanted(table: Table, seeds: int, only: str, watch: Watch) -> list[tuple[Row, int]]:
    """The runs of the row of that name, or of all whose names contain it; without a name, all that can be run here."""
    every = table.runs(seeds)
    runs = [(row, seed) for row, seed in every if row.name.lower() == only.lower()]
    runs = runs or [(row, seed) for row, seed in every if only.lower() in row.name.lower()]
    if only and not runs:
        raise ValueError(f"No row of {table.name} that is run has {only!r} in its name.")
    if torch.cuda.is_available() or not any(row.gpu for row, _ in runs):
        return runs
    if only:
        watch.line(f"{table.name}: there is no GPU here, and a row that trains an encoder takes hours without one")
        return runs
    watch.line(f"{table.name}: there is no GPU here, and rows that train an encoder are left out")
    return [(row, seed) for row, seed in runs if not row.gpu]


def run_row(
    row: Row, asked: Job, folder: Path, watch: Watch, cache: VectorCache, *, curved: bool = False
) -> dict[str, Any]:
    """The validation score that chose the weights, the metrics on the test split, and with `curved` attention's curve.

    A row that is trained is trained in the folder, where an interrupted run is resumed.
    """
    if row.baseline is not None:
        return {"validation": None, "results": baseline(row.baseline, asked.settings)}
    settings = _after_first(asked, folder / "first", watch, cache)
    test: Sequence[Any] = read_split(settings.data, "test", settings.task, settings.spans)
    if not row.trained:
        return {"validation": None, "results": evaluate(_untrained(settings, cache), test)}
    with held(folder):
        run = train_one(
            settings, folder, True, watch, Processes(), cache, keep=_kept(row), prepare=partial(_prepare, row)
        )
    model = from_pretrained(folder / "best")
    _share(cache, model)
    watch.line("measuring on the test split")
    measured = {"validation": run.validation, "results": evaluate(model, test), "megabytes": _size(folder / "best")}
    if curved and isinstance(model, Classifier) and isinstance(model.rule, Attend):
        watch.line("accuracy by the share of tokens")
        measured["curve"] = curve(model, test)
    return measured


def _size(folder: Path) -> float:
    """What the files in a folder take, in megabytes."""
    return round(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6, 2)


def _kept(row: Row) -> Callable[[Any], bool]:
    """Which training records a row learns from."""
    return is_marked if row.marked else lambda record: True


def _prepare(row: Row, model: Ranker | Classifier) -> None:
    """Gives a model the paper's rule, if the row asks for it."""
    if row.unrolled is not None:
        assert isinstance(model.rule, Transport)
        model.rule = Unrolled(model.rule.constraint, model.rule.smooth, epsilon=row.unrolled)


def _after_first(asked: Job, folder: Path, watch: Watch, cache: VectorCache) -> Settings:
    """The settings with the models that other rows leave, which are trained here."""
    settings = asked.settings
    for part, first in asked.first.items():
        watch.line(f"first its {part}")
        best = train_one(first, folder / part, True, watch, Processes(), cache).folder / "best"
        if part == "model":
            settings = replace(settings, encoder=replace(settings.encoder, model=str(best / "encoder")))
        else:
            settings = replace(settings, loss=replace(settings.loss, teacher=str(best)))
    return settings


def _untrained(settings: Settings, cache: VectorCache) -> Ranker | Classifier:
    """The model as it starts, with its thresholds chosen on validation."""
    torch.manual_seed(settings.schedule.seed)
    validation: Sequence[Any] = read_split(settings.data, "val", settings.task, settings.spans)
    counts_words = Cost.from_list(settings.cost, NO_COUNTS).word_counts is not None
    counted: Sequence[Any] = read_split(settings.data, "train", settings.task, settings.spans) if counts_words else ()
    model = build(settings, [*counted, *validation])
    _share(cache, model)
    if isinstance(model, Classifier):
        model.thresholds = choose_thresholds(model, validation)
    return model


def _share(cache: VectorCache, model: Ranker | Classifier) -> None:
    """Gives a frozen encoder the vectors of runs before."""
    if isinstance(model.aligner.encoder, Projected):
        cache.share(model.aligner.encoder)
