"""From settings to a trained model on disk."""

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair, Query
from whymatch.files import check_new, held, read_json, write_whole
from whymatch.learning.building import build, check_parts, texts_of
from whymatch.learning.evaluate import evaluate
from whymatch.learning.fit import Fitting, TrainingProgress, fit
from whymatch.learning.processes import Processes
from whymatch.learning.settings import Settings
from whymatch.learning.tasks import Teacher, build_task
from whymatch.matching.card import write_card
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker
from whymatch.matching.saving import from_pretrained
from whymatch.text.document import Document
from whymatch.text.encoders.caching import VectorCache
from whymatch.text.encoders.trainable import Projected
from whymatch.text.encoders.tuning import TunedEncoder

TEXTS_PER_BATCH = 2048  # texts that are encoded at a time
SECONDS_BETWEEN_WRITES = 60.0  # of vectors, while texts are being encoded


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


def train(runs: Sequence[Settings], folder: str | Path, *, resume: bool = False, watch: Watch | None = None) -> Run:
    """Trains every run, keeps the model that validation prefers in `folder/model`, and writes what was tried."""
    folder, processes = Path(folder), Processes()
    watch = (watch or Watch()) if processes.first else Watch(line=lambda line: None)
    try:
        if not resume:
            check_new(folder, "Use --resume to go on with the run in it, or another folder.")
        for settings in runs:
            check_parts(settings)
        processes.wait()  # before the first of them writes into the folder
        with held(folder) if processes.first else nullcontext():
            best = _train_all(runs, folder, resume, watch, processes)
        processes.wait()
    finally:
        processes.end()
    return best


def _train_all(runs: Sequence[Settings], folder: Path, resume: bool, watch: Watch, processes: Processes) -> Run:
    """Every run in turn; the best one becomes `folder/model`. Vectors are kept in `folder/vectors` until then."""
    done: list[Run] = []
    cache = VectorCache(folder / "vectors")
    for number, settings in enumerate(runs):
        place = folder if len(runs) == 1 else folder / f"run-{number}"
        watch.line(f"{place}: {settings.task} with {settings.rule.constraint or settings.rule.attention}")
        done.append(train_one(settings, place, resume, watch, processes, cache))
    best = max(done, key=lambda run: run.validation)
    if len(done) > 1:
        watch.line(f"chosen: {best.folder}, validation {best.measure} {best.validation:.4f}")
    if processes.first:
        _finish(best, done, folder)
        shutil.rmtree(folder / "vectors", ignore_errors=True)
    return best


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
) -> Run:
    """One run, with its checkpoints; the best weights end in `folder/best`. `cache` has vectors of runs before it.

    `keep` chooses the training records, and `prepare` may change the model before it is trained: experiments that
    compare ways of training use them.
    """
    torch.manual_seed(settings.schedule.seed)
    records: list[list[Any]] = [
        [*read_split(settings.data, split, settings.task, settings.spans)] for split in ("train", "val")
    ]
    train_split, validation = [*filter(keep, records[0])], records[1]
    _check_records(settings, train_split, validation)
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
        _encode_once(model.aligner.encoder, texts, watch.line, watch.encoded, cache if processes.first else None)
    task = build_task(model, validation, settings.loss, teacher)
    fitting: Fitting[Any] = Fitting(
        task, settings.schedule, folder, watch.line, partial(watch.progress, settings), processes
    )
    best = fit(fitting, train_split, resume=resume)
    if processes.first:
        task.calibrate(watch.line)
        model.save_pretrained(folder / "best")
    processes.wait()
    return Run(settings, best, folder, task.measure, processes.first)


def _encode_once(
    encoder: Projected,
    texts: Sequence[Document],
    report: Callable[[str], None],
    progress: Callable[[int, int], None],
    cache: VectorCache | None,
) -> None:
    """Leaves the vectors of all texts with the encoder; the cache writes them now and then, and at an interrupt."""
    new = [text for text in texts if encoder.known.get(text.text, text.spans) is None]
    known = f", {len(texts) - len(new):,} more are known" if len(new) < len(texts) else ""
    report(f"encoding {len(new):,} texts, once{known}")
    written = time.monotonic()
    try:
        for start in range(0, len(new), TEXTS_PER_BATCH):
            batch = new[start : start + TEXTS_PER_BATCH]
            encoder.frozen([text.text for text in batch], [text.spans for text in batch])
            progress(start + len(batch), len(new))
            if cache is not None and time.monotonic() - written > SECONDS_BETWEEN_WRITES:
                cache.keep()
                written = time.monotonic()
    finally:
        if cache is not None:
            cache.keep()


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
        {"folder": str(run.folder), "validation": run.validation, "settings": asdict(run.settings)} for run in done
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


def _check_records(settings: Settings, train_split: Sequence[Any], validation: Sequence[Any]) -> None:
    """Raises for records that could not be learned from or chosen by, before any work."""
    if not train_split:
        raise ValueError("The training split is empty: there is nothing to learn from.")
    if not validation:
        raise ValueError("The validation split is empty: there is nothing to choose by.")
    labels = {record.label for record in train_split if isinstance(record, Pair)}
    for record in [*train_split, *validation]:
        if isinstance(record, Query) and not (any(record.relevant) and not all(record.relevant)):
            raise ValueError(f"Query {record.id} needs a similar and a dissimilar document.")
        if isinstance(record, Pair) and record.label is None:
            raise ValueError(f"Pair {record.id} has no label.")
        if isinstance(record, Pair) and record.label not in labels:
            raise ValueError(f"Pair {record.id} has the label {record.label!r}, which is not in the training split.")
    if settings.loss.alpha is not None and not any(map(is_marked, train_split)):
        raise ValueError("[loss] alpha supervises rationales, and the training split has none. Leave alpha out.")


def is_marked(record: Pair | Query) -> bool:
    """Whether people marked any of it."""
    return isinstance(record, Pair) and bool(record.left_rationale or record.right_rationale)


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
