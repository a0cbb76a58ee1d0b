"""Settings that choose themselves: what a data set's validation split says about costs and constraints."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from whymatch.cost import Cost, WordCounts
from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair, Query
from whymatch.evaluation.intervals import Interval
from whymatch.learning.building import build, check_parts, encode_once, texts_of
from whymatch.learning.searching import DEFAULT, Tried, leaning, search, summary
from whymatch.learning.settings import Settings, read_values, typed
from whymatch.learning.shape import Shape, check_records
from whymatch.learning.trials import ORDER, Candidate, Links, Trials
from whymatch.text.document import Document
from whymatch.text.encoders.caching import VectorCache
from whymatch.text.encoders.trainable import Projected

ALPHA, REFINED = 0.2, 32  # of a training by marks
LARGE = 1_000  # training queries
BATCHES = {16: 2_000, 32: 10_000, 64: 50_000, 256: inf}  # up to how many training pairs each is used
STEPS, MIN_EPOCHS, MAX_EPOCHS = 2_000, 8, 40  # of a classifier's training


@dataclass(frozen=True)
class Choice:
    """What was chosen for a data set, and why.

    >>> import whymatch as wm
    >>> choice = wm.learning.Choice({"cost": [{"shared_words": 0.5}]}, ({},), (), "rationale F1", ("they help",))
    >>> print(choice.to_toml({"task": "classify", "data": "data/claims"}), end="")
    cost = [{ shared_words = 0.5 }]
    task = "classify"
    data = "data/claims"

    Args:
        chosen: values of settings, by name, as a file of settings has them; what the user wrote is not among them.
        variants: what is trained: one value of `{}`, or without and with marks, which are compared when both are done.
        shape: what the data look like, for people.
        measure: what a candidate was measured by.
        why: the reasons, for people.
        tried: every change that was tried.
    """

    chosen: dict[str, Any]
    variants: tuple[dict[str, Any], ...]
    shape: tuple[str, ...]
    measure: str
    why: tuple[str, ...]
    tried: tuple[Tried, ...] = field(default=(), repr=False)

    def settings(self, written: Mapping[str, Any], where: str = "settings") -> list[Settings]:
        """The runs: what was chosen, under what the user wrote."""
        return [typed(Settings, merged(merged(self.chosen, one), written), where) for one in self.variants]

    def to_toml(self, written: Mapping[str, Any]) -> str:
        """A file of settings: what the user wrote, and what was chosen for the rest; of variants the last one."""
        values = merged(merged(self.chosen, self.variants[-1]), written)
        tables = {name: value for name, value in values.items() if isinstance(value, Mapping) and value}
        lines = [f"{name} = {_toml(value)}" for name, value in values.items() if not isinstance(value, Mapping)]
        for name, table in tables.items():
            lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {"tried": [asdict(one) | {"gain": one.gain._asdict()} for one in self.tried]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Choice":
        """What `to_dict` gave.

        Raises:
            ValueError: for anything else.
        """
        try:
            tried = tuple(Tried(**one | {"gain": Interval(**one["gain"])}) for one in values["tried"])
            lists = {name: tuple(values[name]) for name in ("variants", "shape", "why")}
            return cls(dict(values["chosen"]), measure=values["measure"], tried=tried, **lists)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"This is no choice of settings ({error!r}). Delete it to choose again.") from None


def chooses(written: Mapping[str, Any]) -> bool:
    """Whether a file of settings leaves to the data how links are made: neither costs, a rule nor a reader are in it.

    A list of values is a choice of the user's own, and so is an encoder that is fine-tuned.
    """
    encoder = written.get("encoder", {})
    tables = [written, *(table for table in written.values() if isinstance(table, Mapping))]
    return (
        not {"cost", "rule", "reader"} & written.keys()
        and isinstance(encoder, Mapping)
        and encoder.get("kind", "frozen") in ("frozen", "projected")
        and not any(isinstance(value, list) for table in tables for value in table.values())
    )


def tune(
    written: Mapping[str, Any] | str | Path,
    *,
    report: Callable[[str], None] = lambda line: None,
    progress: Callable[[int, int], None] = lambda done, texts: None,
    cache: VectorCache | None = None,
) -> Choice:
    r"""Chooses what settings leave open, on the validation split and with frozen vectors, in about a minute.

    Nothing that is written is changed, and the test split is not read. What validation cannot tell apart stays at its
    default, and so does everything where there are too few records.

    >>> import json
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import whymatch as wm
    >>> pair = {"left": "A cat slept.", "right": "It rained. A cat was asleep."}
    >>> rows = [json.dumps(pair | {"label": label}) for label in ("yes", "no")]
    >>> with TemporaryDirectory() as folder:
    ...     for split in ("train", "val"):
    ...         _ = Path(folder, f"{split}.jsonl").write_text("\n".join(rows))
    ...     choice = wm.learning.tune({"task": "classify", "data": folder})
    >>> choice.shape[0], choice.chosen  # too few to choose by
    ('2 training and 2 validation records, none with marks', {})

    Args:
        written: a file of settings, or what it has: `{"task": "classify", "data": "data/claims"}` is enough.
        report: takes what is said on the way, line by line.
        progress: takes how many texts are encoded of how many.
        cache: vectors that are known, and where new ones are kept.

    Raises:
        ValueError: for bad settings or data, and for an encoder whose vectors are not those of a frozen model.
    """
    where = "settings" if isinstance(written, Mapping) else str(written)
    written = written if isinstance(written, Mapping) else read_values(written)
    settings: Settings = typed(Settings, written, where)
    _check(settings, where)
    splits = _Splits.read(settings)
    lines, chosen = splits.shape.lines(settings.task), dict[str, Any]()
    if "spans" not in written and settings.task == "classify" and splits.shape.one_each:
        chosen["spans"] = "word"
        lines.append("both texts are single sentences, between which there is one link: spans are words")
        settings = typed(Settings, merged(written, chosen), where)
        splits = _Splits.read(settings)
    for line in lines:
        report(line)
    encode = _Encode(settings, splits, report, progress, cache or VectorCache())
    counts = WordCounts.of(text.text for text in texts_of(splits.both))
    trials = Trials(settings.task, splits.train, splits.validation, encode, counts, settings.schedule.seed)
    if not trials.can_tell:
        why = "there are too few validation records to choose by: settings stay at their defaults"
        report(why)
        return Choice({}, ({},), tuple(lines), trials.measure, (why,))
    start = DEFAULT
    if "cost" in written:
        trials.fixed = Cost.from_list(settings.cost, counts)
    if "rule" in written:
        start = Candidate((), Links(str(settings.rule.constraint), below=settings.rule.below))
    report(f"tries costs on {len(trials.records):,} validation records, by {trials.measure}")
    best, tried = search(
        trials, start, splits.shape, terms="cost" not in written, links="rule" not in written, report=report
    )
    why_lines = summary(start, best, tried, trials.measure)
    chosen |= {"cost": best.cost, "rule": _rule(trials, best), "schedule": schedule_for(settings.task, splits.shape)}
    if settings.task == "classify":
        chosen["encoder"] = {"kind": "frozen"}
    variants, reason = _variants(settings, written, splits.shape, best, trials)
    for line in (*why_lines, *reason):
        report(line)
    return Choice(chosen, variants, tuple(lines), trials.measure, (*why_lines, *reason), tuple(tried))


def merged(values: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with others over them: tables are merged by key, but a rule, whose settings belong together, is not."""
    both = {**values, **over}
    for name in values.keys() & over.keys() - {"rule"}:
        if isinstance(values[name], Mapping) and isinstance(over[name], Mapping):
            both[name] = {**values[name], **over[name]}
    return both


def _toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_toml(inner)}' for name, inner in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def schedule_for(task: str, shape: Shape) -> dict[str, Any]:
    """How long and how fast to train on so many records.

    A ranker's links start as good as they are, and change slowly. A classifier's head starts from nothing: it has steps
    enough to learn on few records too, and the patience to wait for them.
    """
    if task == "rank":
        return {} if shape.train < LARGE else {"rate": 0.0003, "warmup": 50, "patience": 2}
    batch = next(size for size, records in BATCHES.items() if shape.train < records)
    steps = -(-shape.train // batch)  # of an epoch
    epochs = min(MAX_EPOCHS, max(MIN_EPOCHS, STEPS // steps))
    return {"epochs": epochs, "batch": batch, "warmup": min(200, epochs * steps // 10), "patience": max(2, epochs // 5)}


@dataclass(frozen=True)
class _Splits:
    """The training and the validation split, and what they look like."""

    train: Sequence[Pair | Query]
    validation: Sequence[Pair | Query]
    shape: Shape

    @classmethod
    def read(cls, settings: Settings) -> "_Splits":
        train, validation = (
            read_split(settings.data, split, settings.task, settings.spans) for split in ("train", "val")
        )
        check_records(settings, train, validation)
        return cls(train, validation, Shape.of(train, validation))

    @property
    def both(self) -> list[Pair | Query]:
        return [*self.train, *self.validation]


@dataclass(frozen=True)
class _Encode:
    """The vectors of texts by the frozen encoder of a run, which are left in a cache."""

    settings: Settings
    splits: _Splits
    report: Callable[[str], None]
    progress: Callable[[int, int], None]
    cache: VectorCache

    def __call__(self, texts: Sequence[Document]) -> list[np.ndarray]:
        encoder = build(self.settings, self.splits.both).aligner.encoder
        assert isinstance(encoder, Projected)
        self.cache.share(encoder)
        encode_once(encoder, texts, self.report, self.progress, self.cache)
        return encoder.frozen([text.text for text in texts], [text.spans for text in texts])


def _check(settings: Settings, where: str) -> None:
    """Raises ValueError for settings that leave nothing to choose by frozen vectors and links."""
    if settings.encoder.kind not in ("frozen", "projected"):
        raise ValueError(f'Costs are tried on frozen vectors: {where} has [encoder] kind = "{settings.encoder.kind}".')
    if settings.rule.attention is not None:
        raise ValueError(f"Costs are tried by their links: {where} has [rule] attention, which has none.")
    check_parts(settings)


def _rule(trials: Trials, best: Candidate) -> dict[str, Any]:
    """The rule of a candidate, as settings have it."""
    constraint = trials.constraint(best)
    assert constraint is not None
    below = getattr(constraint, "below", None)
    return {"constraint": constraint.text} | ({} if below is None else {"below": below})


def _variants(
    settings: Settings, written: Mapping[str, Any], shape: Shape, best: Candidate, trials: Trials
) -> tuple[tuple[dict[str, Any], ...], list[str]]:
    """What is trained: without marks, and where there are enough of them with marks too; and why."""
    if settings.task == "rank" or "cost" in written or not (shape.marked_train or shape.marked_validation):
        return ({},), []
    read = leaning(trials, best, shape).cost if trials.marked else best.cost
    ends = ORDER[-1] in (read[-1] if read else {})  # rare words come last
    refined = {"cost": [*read[: len(read) - ends], {"refined": REFINED}, *read[len(read) - ends :]]}
    if settings.loss.alpha is not None:
        return (refined,), []
    if not shape.learns_from_marks:
        counts = f"{shape.marked_train:,} training and {shape.marked_validation:,} validation records"
        return ({},), [f"marks are too few to learn from: {counts}"]
    taught = {**refined, "loss": {"alpha": ALPHA}}
    kept = "links that marks moved are kept if validation can tell that they are better"
    return ({}, taught), [f"trained without marks, and with them on {refined['cost']}; {kept}"]
