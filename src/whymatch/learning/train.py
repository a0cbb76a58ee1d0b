"""From settings to a trained model on disk."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair
from whymatch.files import check_new, held, read_json, write_whole
from whymatch.learning.building import build, check_parts, encode_once, texts_of
from whymatch.learning.evaluate import evaluate, validation_scores
from whymatch.learning.fit import Fitting, TrainingProgress, fit
from whymatch.learning.processes import Processes
from whymatch.learning.settings import Settings, typed
from whymatch.learning.shape import check_records
from whymatch.learning.tasks import Teacher, build_task
from whymatch.learning.trials import MIN_GROUPS, grouped_interval, groups_of
from whymatch.learning.tuning import Choice, chooses, tune
from whymatch.matching.card import write_card
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker
from whymatch.matching.saving import from_pretrained
from whymatch.text.document import Document
from whymatch.text.encoders.caching import VectorCache
from whymatch.text.encoders.trainable import Projected
from whymatch.text.encoders.tuning import TunedEncoder

CHOICE = "choice.json"
"""What was chosen for a run and why, in its folder."""


@dataclass(frozen=True)
class Run:
    """What a run came to: the choices it was made with, and how good it is on validation."""

    settings: Settings
    validation: float
    folder: Path
    measure: str = "score"
    """What validation measures."""
    first: bool = True
    """Whether this is the process that speaks for all."""


@dataclass(frozen=True)
class Watch:
    """Who is told how a training goes: lines to read, texts encoded of all, and where each run is after every step."""

    line: Callable[[str], None] = print
    encoded: Callable[[int, int], None] = lambda done, texts: None
    progress: Callable[[Settings, TrainingProgress], None] = lambda settings, progress: None


def train(
    runs: Sequence[Settings] | Mapping[str, Any],
    folder: str | Path,
    *,
    resume: bool = False,
    watch: Watch | None = None,
) -> Run:
    """Trains every run, keeps the model that validation prefers in `folder/model`, and writes what was tried.

    In place of runs it takes what a file of settings has, such as `{"task": "classify", "data": "data/claims"}`. How
    links are made is then chosen on validation (`tune`) and written to `folder/choice.json`, from where a run that is
    resumed takes it.
    """
    folder, processes = Path(folder), Processes()
    watch = (watch or Watch()) if processes.first else Watch(line=lambda line: None)
    written: Mapping[str, Any] | None = None
    if isinstance(runs, Mapping):
        written, runs = runs, [typed(Settings, runs, "settings")]
    try:
        if not resume:
            check_new(folder, "Use --resume to go on with the run in it, or another folder.")
        for settings in runs:
            check_parts(settings)
        processes.wait()  # before the first of them writes into the folder
        with held(folder) if processes.first else nullcontext():
            if written is not None and chooses(written):
                runs = _chosen(written, folder, watch, processes)
            best = _train_all(runs, folder, resume, watch, processes, chosen=written is not None)
        processes.wait()
    finally:
        processes.end()
    return best


def _chosen(written: Mapping[str, Any], folder: Path, watch: Watch, processes: Processes) -> list[Settings]:
    """The runs that validation chose, now or before the run was interrupted."""
    if processes.first and read_json(folder / CHOICE) is None:
        cache = VectorCache(folder / "vectors")
        choice = tune(written, report=watch.line, progress=watch.encoded, cache=cache)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / CHOICE, json.dumps(choice.to_dict(), indent=1))
    processes.wait()
    try:
        return Choice.from_dict(read_json(folder / CHOICE)).settings(written)
    except ValueError as error:
        raise ValueError(f"{folder / CHOICE}: {error}") from None


def _train_all(
    runs: Sequence[Settings],
    folder: Path,
    resume: bool,
    watch: Watch,
    processes: Processes,
    *,
    chosen: bool = False,
) -> Run:
    """Every run in turn; the best one becomes `folder/model`. Vectors are kept in `folder/vectors` until then.

    Where the runs were `chosen` for the data, untrained links are kept unless training is better.
    """
    done: list[Run] = []
    cache = VectorCache(folder / "vectors")
    for number, settings in enumerate(runs):
        place = folder if len(runs) == 1 else folder / f"run-{number}"
        watch.line(f"{place}: {settings.task} with {settings.rule.constraint or settings.rule.attention}")
        ranks = settings.task == "rank"
        done.append(train_one(settings, place, resume, watch, processes, cache, keep_start=chosen and ranks))
    if chosen and len(done) > 1:
        best = _without_or_with_marks(done, watch.line) if processes.first else done[0]
    else:
        best = max(done, key=lambda run: run.validation)
        if len(done) > 1:
            watch.line(f"chosen: {best.folder}, validation {best.measure} {best.validation:.4f}")
    if processes.first:
        _finish(best, done, folder)
        shutil.rmtree(folder / "vectors", ignore_errors=True)
    return best


def _without_or_with_marks(runs: Sequence[Run], report: Callable[[str], None]) -> Run:
    """A run without marks and one with them: the second if its links agree better with what people marked.

    That is if the 95% interval of the gain of rationale F1 on validation lies above 0, and the mean of macro F1 and
    rationale F1 is no lower.
    """
    settings = runs[0].settings
    pairs: list[Any] = read_split(settings.data, "val", settings.task, settings.spans)
    scores, values = list[float](), list[np.ndarray]()
    for run, name in zip(runs, ("without marks", "with marks"), strict=True):
        of_labels, of_links = validation_scores(from_pretrained(run.folder / "best"), pairs)
        values.append(np.array([*of_links.values()]))
        scores.append(fmean([of_labels, float(values[-1].mean())]))
        report(f"{name}: validation macro F1 {of_labels:.4f}, rationale F1 {values[-1].mean():.4f}")
    groups = groups_of([pairs[number] for number in of_links])
    mean, low, high = grouped_interval(values[1] - values[0], groups, settings.schedule.seed)
    helps = low > 0 and scores[1] >= scores[0] and len(np.unique(groups)) >= MIN_GROUPS
    interval = f"rationale F1 {mean:+.3f}, 95% interval {low:+.3f} to {high:+.3f}"
    report(f"training by marks {'helped' if helps else 'did not help: the untrained links are kept'} ({interval})")
    return replace(runs[helps], validation=scores[helps], measure="mean of macro F1 and rationale F1")


def train_one(
    settings: Settings,
    folder: Path,
    resume: bool,
    watch: Watch,
    processes: Processes,
    cache: VectorCache,
    *,
    keep: Callable[[Any], bool] = lambda record: True,
    prepare: Callable[[Any], None] = lambda model: None,
    keep_start: bool = False,
) -> Run:
    """One run, with its checkpoints; the best weights end in `folder/best`. `cache` has vectors of runs before it.

    With `keep_start`, those are the weights of the start unless an epoch is better. `keep` chooses the training
    records, and `prepare` may change the model before it is trained: experiments that compare ways of training use
    them.
    """
    torch.manual_seed(settings.schedule.seed)
    records: list[list[Any]] = [
        [*read_split(settings.data, split, settings.task, settings.spans)] for split in ("train", "val")
    ]
    train_split, validation = [*filter(keep, records[0])], records[1]
    check_records(settings, train_split, validation)
    if settings.task == "classify":
        counts = Counter(pair.label for pair in train_split)
        watch.line("labels: " + ", ".join(f"{label} {count:,}" for label, count in sorted(counts.items())))
    model = build(settings, [*train_split, *validation])
    prepare(model)
    started_with = {**asdict(settings), **_bases(model), "records": _fingerprint([*train_split, *validation])}
    teacher = None
    if settings.loss.teacher is not None:
        teacher = Teacher(settings.loss.teacher)
        teacher.read(settings.data, train_split)
        teacher.model.to(processes.device)
    if resume:
        _check_same(started_with, folder)
    processes.wait()
    if processes.first:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "settings.json", json.dumps(started_with, indent=1))
    if isinstance(model.aligner.encoder, Projected):
        cache.share(model.aligner.encoder)
        texts = texts_of([*train_split, *validation])
        encode_once(model.aligner.encoder, texts, watch.line, watch.encoded, cache if processes.first else None)
    task = build_task(model, validation, settings.loss, teacher)
    fitting: Fitting[Any] = Fitting(
        task, settings.schedule, folder, watch.line, partial(watch.progress, settings), processes, keep_start
    )
    best = fit(fitting, train_split, resume=resume)
    if processes.first:
        task.calibrate(watch.line)
        model.save_pretrained(folder / "best")
    processes.wait()
    return Run(settings, best, folder, task.measure, processes.first)


def _bases(model: Ranker | Classifier) -> dict[str, str]:
    """The SHA-256 of the models that adapters are trained over: checkpoints do not have their weights."""
    parts = [(name, part.base) for name, part in model.named_modules() if isinstance(part, TunedEncoder)]
    return {f"SHA-256 of the base of {name}": base.sha256 for name, base in parts if base is not None}


def _finish(best: Run, done: Sequence[Run], folder: Path) -> None:
    """Leaves the chosen model with its card, and a report of what was tried."""
    model = from_pretrained(best.folder / "best")
    model.save_pretrained(folder / "model")
    write_whole(folder / "model" / "settings.json", json.dumps(_portable(best.settings), indent=1))
    records = read_split(best.settings.data, "val", best.settings.task, best.settings.spans)
    write_card(folder / "model", evaluate(model, records), best.settings.data, "val")
    tried = [
        {
            "folder": str(run.folder),
            "measure": run.measure,
            "validation": run.validation,
            "settings": asdict(run.settings),
        }
        for run in done
    ]
    write_whole(folder / "report.json", json.dumps({"chosen": str(best.folder), "tried": tried}, indent=1))


def _portable(settings: Settings) -> dict[str, Any]:
    """The settings without the places where things lie on this machine."""
    values = asdict(settings)
    parts = [values[part] for part in ("encoder", "reader") if values[part] is not None]
    places = [(part, key) for part in parts for key in ("model", "vectors")]
    for place, key in ((values, "data"), (values["loss"], "teacher"), *places):
        if place[key] is not None and Path(place[key]).exists():
            place[key] = Path(place[key]).resolve().name
    return values


def _fingerprint(records: Sequence[Any]) -> str:
    """A hash of everything that the records say."""
    digest = hashlib.sha256()
    for record in records:
        digest.update(repr(_plain(record)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """Records as tuples, which are written out several times as fast."""
    if isinstance(value, Document):
        return value.text, [*chain.from_iterable(value.spans)]
    if isinstance(value, Pair):
        return (
            value.id,
            _plain(value.left),
            _plain(value.right),
            value.label,
            value.left_rationale,
            value.right_rationale,
        )
    return value.id, _plain(value.query), [_plain(text) for text in value.documents], value.relevant


def _check_same(started_with: dict[str, Any], folder: Path) -> None:
    """Raises ValueError where a run was begun with other settings or other records."""
    before, now = read_json(folder / "settings.json"), json.loads(json.dumps(started_with))
    if before is None:
        if (folder / "checkpoints").is_dir():
            raise ValueError(f"{folder} has checkpoints and no settings.json that can be read. Use another folder.")
        return
    old, new = dict(_flat(before)), dict(_flat(now))
    old["data"] = new["data"]  # wherever it lies: the records are compared
    changed = [
        f"{key} was {old.get(key)!r:.40} and is {new.get(key)!r:.40}"
        for key in {**new, **old}
        if new.get(key) != old.get(key) and key != "records"
    ]
    if not changed and new["records"] != old.get("records"):
        raise ValueError(f"{folder} was begun with other records: the data set has changed. Use another folder.")
    if changed:
        advice = "Restore them to resume, or use another folder"
        raise ValueError(f"{folder} was begun with other settings: {'; '.join(changed)}. {advice}.")


def _flat(values: Mapping[str, Any], inside: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting with its full name: `schedule.rate`, say."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{inside}{key}.")
        else:
            yield f"{inside}{key}", value
