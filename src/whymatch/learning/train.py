"""From settings to a trained model on disk."""

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair, Query
from whymatch.files import check_new, held, read_json, write_whole
from whymatch.learning.building import build, check_parts, texts_of
from whymatch.learning.card import write_card
from whymatch.learning.evaluate import choose_thresholds, classify_score, evaluate
from whymatch.learning.fit import Fitting, Progress
from whymatch.learning.memory import Memory
from whymatch.learning.processes import Processes
from whymatch.learning.rounds import run_rounds
from whymatch.learning.sections import RuleSettings
from whymatch.learning.settings import Settings
from whymatch.learning.tasks import MOST, classify_loss, drawn, rank_loss, rank_score, scores_of, size
from whymatch.learning.teacher import Teacher
from whymatch.matching.classifier import Classifier
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Transport
from whymatch.matching.saving import from_pretrained
from whymatch.text.document import Document
from whymatch.text.encoders.trainable import Projected

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
    progress: Callable[[Settings, Progress], None] = lambda settings, progress: None


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
            best = train_all(runs, folder, resume, watch, processes)
        processes.wait()
    finally:
        processes.end()
    return best


def train_all(runs: Sequence[Settings], folder: Path, resume: bool, watch: Watch, processes: Processes) -> Run:
    """Every run in turn; the best one becomes `folder/model`. Vectors are kept in `folder/vectors` until then."""
    done: list[Run] = []
    memory = Memory(folder / "vectors")
    for number, settings in enumerate(runs):
        place = folder if len(runs) == 1 else folder / f"run-{number}"
        watch.line(f"{place}: {settings.task} with {settings.rule.constraint or settings.rule.attention}")
        done.append(train_one(settings, place, resume, watch, processes, memory))
    best = max(done, key=lambda run: run.validation)
    if len(done) > 1:
        watch.line(f"chosen: {best.folder}, validation {best.measure} {best.validation:.4f}")
    if processes.first:
        finish(best, done, folder)
        shutil.rmtree(folder / "vectors", ignore_errors=True)
    return best


def train_one(
    settings: Settings, folder: Path, resume: bool, watch: Watch, processes: Processes, memory: Memory
) -> Run:
    """One run, with its checkpoints; the best weights end in `folder/best`. `memory` has vectors of runs before it."""
    torch.manual_seed(settings.schedule.seed)
    splits: list[list[Any]] = [
        [*read_split(settings.data, split, settings.task, settings.spans)] for split in ("train", "val")
    ]
    train_split, validation = splits
    if settings.loss.marked:
        train_split = [*filter(is_marked, train_split)] or train_split  # where there is none, the check says so
    check(settings, train_split, validation)
    if settings.task == "classify":
        counts = Counter(pair.label for pair in train_split)
        watch.line("labels: " + ", ".join(f"{label} {count:,}" for label, count in sorted(counts.items())))
    model = build(settings, [*train_split, *validation])
    made = {**asdict(settings), "records": fingerprint([*train_split, *validation])}
    taught = None
    if settings.loss.teacher is not None:
        teacher = Teacher(settings.loss.teacher)
        teacher.read(settings.data, train_split)
        teacher.model.to(processes.device)
        taught = teacher.scores
    if resume:
        check_same(made, folder)
    processes.wait()
    if processes.first:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "settings.json", json.dumps(made, indent=1))
    if isinstance(model.encoder, Projected):
        memory.share(model.encoder, settings)
        encode_once(model.encoder, texts_of([*train_split, *validation]), watch, memory if processes.first else None)
    loss: Any
    score: Any
    if isinstance(model, Ranker):
        loss, score = partial(rank_loss, model, settings.loss, taught=taught), partial(rank_score, model, validation)
    else:
        loss = partial(classify_loss, model, settings.loss)
        score = partial(classify_score, model, validation, marked=settings.loss.alpha is not None)
    fitting: Fitting[Any] = Fitting(
        model,
        loss,
        score,
        settings.schedule,
        folder,
        watch.line,
        partial(watch.progress, settings),
        size=size,
        most=MOST,
        draw=partial(drawn, negatives=settings.loss.negatives) if isinstance(model, Ranker) else same,
        processes=processes,
        measure=measure(settings),
        begin=partial(cool, model, settings.rule),
    )
    best = run_rounds(fitting, train_split, resume=resume)
    cool(model, settings.rule, 1.0)
    if processes.first:
        tune(model, validation, watch)
        model.save_pretrained(folder / "best")
    processes.wait()
    return Run(settings, best, folder, fitting.measure, processes.first)


def cool(model: Ranker | Classifier, rule: RuleSettings, done: float) -> None:
    """Gives the plan the temperature that it has where so much of the training is done."""
    if rule.cooled is not None and isinstance(model.rule, Transport):
        model.rule = replace(model.rule, smooth=rule.temperature_at(done))


def measure(settings: Settings) -> str:
    """What validation gives, for people."""
    if settings.task == "rank":
        return "MAP"
    return "macro F1" if settings.loss.alpha is None else "mean of macro F1 and rationale F1"


def encode_once(encoder: Projected, texts: Sequence[Document], watch: Watch, memory: Memory | None) -> None:
    """Leaves the vectors of all texts with the encoder; `memory` writes them now and then, and at an interrupt."""
    new = [text for text in texts if encoder.known.get(text.text, text.spans) is None]
    known = f", {len(texts) - len(new):,} more are known" if len(new) < len(texts) else ""
    watch.line(f"encoding {len(new):,} texts, once{known}")
    written = time.monotonic()
    try:
        for start in range(0, len(new), TEXTS_PER_BATCH):
            batch = new[start : start + TEXTS_PER_BATCH]
            encoder.frozen([text.text for text in batch], [text.spans for text in batch])
            watch.encoded(start + len(batch), len(new))
            if memory is not None and time.monotonic() - written > SECONDS_BETWEEN_WRITES:
                memory.keep()
                written = time.monotonic()
    finally:
        if memory is not None:
            memory.keep()


def same(item: Any, chance: torch.Generator) -> Any:
    return item


def tune(model: Ranker | Classifier, validation: Sequence[Any], watch: Watch) -> None:
    """What else is chosen on validation: the probability that a score stands for, and when a span counts as marked."""
    if isinstance(model, Classifier):
        model.thresholds = choose_thresholds(model, validation)
        return
    scores, _ = scores_of(model, validation)
    try:
        model.calibrate(
            [score for some in scores for score in some], [mark for query in validation for mark in query.relevant]
        )
    except ValueError as error:
        watch.line(f"no probabilities: {error}")


def finish(best: Run, done: Sequence[Run], folder: Path) -> None:
    """Leaves the chosen model with its card, and a report of what was tried."""
    model = from_pretrained(best.folder / "best")
    model.save_pretrained(folder / "model")
    write_whole(folder / "model" / "settings.json", json.dumps(portable(best.settings), indent=1))
    records = read_split(best.settings.data, "val", best.settings.task, best.settings.spans)
    write_card(folder / "model", evaluate(model, records), best.settings.data, "val")
    tried = [
        {"folder": str(run.folder), "validation": run.validation, "settings": asdict(run.settings)} for run in done
    ]
    write_whole(folder / "report.json", json.dumps({"chosen": str(best.folder), "tried": tried}, indent=1))


def portable(settings: Settings) -> dict[str, Any]:
    """The settings without the places where things lie on this machine."""
    values = asdict(settings)
    parts = [values[part] for part in ("encoder", "reader") if values[part] is not None]
    places = [(part, key) for part in parts for key in ("model", "vectors")]
    for place, key in ((values, "data"), (values["loss"], "teacher"), *places):
        if place[key] is not None and Path(place[key]).exists():
            place[key] = Path(place[key]).resolve().name
    return values


def check(settings: Settings, train_split: Sequence[Any], validation: Sequence[Any]) -> None:
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


def fingerprint(records: Sequence[Any]) -> str:
    """A hash of everything that the records say."""
    digest = hashlib.sha256()
    for record in records:
        digest.update(repr(plain(record)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def plain(value: Any) -> Any:
    """Records as tuples, which are written out several times as fast."""
    if isinstance(value, Document):
        return value.text, [*chain.from_iterable(value.spans)]
    if isinstance(value, Pair):
        return value.id, plain(value.left), plain(value.right), value.label, value.left_rationale, value.right_rationale
    return value.id, plain(value.query), [plain(text) for text in value.documents], value.relevant


def check_same(made: dict[str, Any], folder: Path) -> None:
    """Raises ValueError where a run was begun with other settings or other records."""
    before, now = read_json(folder / "settings.json"), json.loads(json.dumps(made))
    if before is None:
        if (folder / "checkpoints").is_dir():
            raise ValueError(f"{folder} has checkpoints and no settings.json that can be read. Use another folder.")
        return
    old, new = dict(flat(before)), dict(flat(now))
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


def flat(values: Mapping[str, Any], inside: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting with its full name: `schedule.rate`, say."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{inside}{key}.")
        else:
            yield f"{inside}{key}", value
