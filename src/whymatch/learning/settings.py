"""The settings of a training run: a TOML file, typed, with unknown keys and impossible combinations refused at once."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from itertools import product
from math import isfinite, prod
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from whymatch.cost import Cost, WordCounts
from whymatch.learning.fit import Schedule
from whymatch.learning.sections import (
    MAX_HIDDEN,
    EncoderSettings,
    LossSettings,
    ReaderSettings,
    RuleSettings,
    refuse_unread,
)
from whymatch.matching.rules import Attend, Transport
from whymatch.text.spans import splitter

MAX_RUNS = 10_000
MAX_NUMBER = 2**31 - 1
NO_COUNTS = WordCounts({}, 0)  # where a cost is only checked


@dataclass(frozen=True)
class Settings:
    """One run.

    `cost` is a list as `Cost.from_list` takes it: the name of the base distance, cosine if none is given, and terms in
    their order, such as `[{neighbours = 0.4}, {shared_words = 0.5}]`. `hidden` and `dropout` are those of a
    classifier's head. A `reader` is a second model that reads what is linked, for the head; the encoder then aligns and
    no more.

    >>> import whymatch as wm
    >>> run = wm.learning.Settings("classify", "data/pairs")
    >>> run.rule.constraint, run.encoder.kind, run.schedule.epochs
    ('exactly:2', 'projected', 10)
    """

    task: Literal["rank", "classify"]
    data: str
    spans: str = "sentence"
    cost: list[Any] = field(default_factory=list)
    hidden: int = 128
    dropout: float = 0.1
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    reader: ReaderSettings | None = None
    rule: RuleSettings = field(default_factory=lambda: RuleSettings(constraint="exactly:2"))
    loss: LossSettings = field(default_factory=LossSettings)
    schedule: Schedule = field(default_factory=Schedule)

    def __post_init__(self) -> None:
        rule = self.rule.build()
        splitter(self.spans)
        if not 1 <= self.hidden <= MAX_HIDDEN or not 0 <= self.dropout < 1:
            raise ValueError(f"hidden is from 1 to {MAX_HIDDEN:,}, dropout from 0 to below 1.")
        cost = Cost.from_list(self.cost, NO_COUNTS)
        if rule.zero(float("inf")) <= cost.least:
            raise ValueError(f"[rule] {self.rule.constraint} links pairs that cost less than below: give one above 0.")
        self._check_task(rule, cost)
        self._check_encoders(rule)

    def _check_task(self, rule: Transport | Attend, cost: Cost) -> None:
        """Raises ValueError for what a task does not read, and where it has nothing to learn."""
        learns = self.encoder.learns or cost.trains
        kinds = '"projected", "fine-tuned", "adapter" or "recurrent"'
        advice = f"give a cost term {{refined = 32}}, or [encoder] kind = {kinds}"
        if self.task == "rank":
            if not learns:
                raise ValueError(f"A ranker has nothing to learn: {advice}.")
            if self.reader is not None:
                raise ValueError('[reader] is for task = "classify": a ranker scores by the costs of its links.')
            if apart := [term.name for term in cost.terms if not term.ranks]:
                raise ValueError(f"{apart[0]} prefers what two texts do not share: it is for classifiers.")
            refuse_unread(self.loss, "loss", ["alpha"], 'task = "classify"')
        else:
            refuse_unread(self.loss, "loss", ["margin", "negatives", "teacher"], 'task = "rank"')
        if self.loss.alpha is not None and not (isinstance(rule, Transport) and rule.supervisable):
            raise ValueError('[loss] alpha supervises rationales: task = "classify" under exactly, up-to or one-to.')
        if self.loss.alpha is not None and not learns:
            raise ValueError(f"[loss] alpha supervises costs that can learn: {advice}.")
        if self.reader is not None and self.loss.alpha is None and learns:
            advice = 'Without marks ([loss] alpha) give [encoder] kind = "frozen", and no term that learns'
            raise ValueError(f"[reader] takes the labels, and nothing teaches the encoder. {advice}.")

    def _check_encoders(self, rule: Transport | Attend) -> None:
        """Raises ValueError for an encoder or a reader that cannot be built, and for rates that nothing has."""
        self.encoder.check(self.spans)
        kinds = {self.encoder.kind}
        if self.reader is not None:
            self.reader.check(self.spans)
            if not isinstance(rule, Transport):
                raise ValueError("[reader] reads what is linked: it goes with a constraint, not attention.")
            if self.encoder.kind == self.reader.kind == "recurrent" and self.encoder.vectors != self.reader.vectors:
                raise ValueError("[encoder] and [reader] take the same vectors where both are recurrent.")
            kinds.add(self.reader.kind)
        refined = Cost.from_list(self.cost, NO_COUNTS).trains
        if "fine-tuned" not in kinds:
            refuse_unread(self.schedule, "schedule", ["fine"], "models that are fine-tuned")
        elif self.task == "rank" and not refined:
            use = "what starts at random; a fine-tuned ranker learns by fine"
            refuse_unread(self.schedule, "schedule", ["rate"], use)


def read_settings(file: str | Path) -> list[Settings]:
    r"""The runs of a file: one, or one for each combination where values are lists.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import whymatch as wm
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "run.toml")
    ...     _ = file.write_text('task = "rank"\ndata = "data"\nrule = {constraint = ["exactly:1", "exactly:2"]}')
    ...     runs = wm.learning.read_settings(file)
    >>> [run.rule.constraint for run in runs]
    ['exactly:1', 'exactly:2']

    Args:
        file: TOML, as in `examples/multirc.toml`.

    Raises:
        ValueError: if the file is no TOML, or a setting is unknown, impossible or read by nothing.
    """
    values = read_values(file)
    runs = _count_combinations(values)
    if not 1 <= runs <= MAX_RUNS:
        reason = f"give {runs:,} combinations to try, more than {MAX_RUNS:,}" if runs else "leave nothing to try"
        raise ValueError(f"{file}: its lists {reason}.")
    return [typed(Settings, choice, str(file)) for choice in _combinations(values)]


def read_values(file: str | Path) -> dict[str, Any]:
    """What is written in a file of settings, by name, as it is.

    Raises:
        ValueError: if it is not TOML.
    """
    try:
        values = tomllib.loads(Path(file).read_text(encoding="utf-8"))
        _count_combinations(values)  # by a recursion as deep as that of whoever reads them
    except ValueError as error:
        raise ValueError(f"{file} is not TOML: {error}.") from None
    except RecursionError:
        raise ValueError(f"{file} is nested too deeply: settings are tables of values, such as [schedule].") from None
    return values


def checked(value: Any, hint: Any, what: str) -> Any:
    """A value of the type that a setting has; whole numbers may stand for others."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for option in options:
        if get_origin(option) is list and isinstance(value, list):
            return value
        if get_origin(option) is Literal and value in get_args(option):
            return value
        if option is float and type(value) in (int, float) and isfinite(value):
            return float(value)
        if isinstance(option, type) and type(value) is option and option is not float:
            if isinstance(value, int) and not -MAX_NUMBER <= value <= MAX_NUMBER:
                raise ValueError(f"{what} takes whole numbers of up to {MAX_NUMBER:,}, got {value!r:.40}.")
            return value
    names = [
        " or ".join(map(str, get_args(option))) if get_origin(option) is Literal else option.__name__
        for option in options
    ]
    raise ValueError(f"{what} takes {' or '.join(name for name in names if name != 'NoneType')}, got {value!r}.")


def _options(key: str, value: Any) -> list[Any]:
    """The values that are tried for a setting: the elements of a list, unless the list is one cost."""
    if key == "cost" and isinstance(value, list) and not any(isinstance(entry, list) for entry in value):
        return [
            list(entries)
            for entries in product(
                *([*_combinations(entry)] if isinstance(entry, Mapping) else [entry] for entry in value)
            )
        ]
    if key == "cost" and isinstance(value, list):
        return [option for cost in value for option in _options(key, cost)]
    if isinstance(value, Mapping):
        return [*_combinations(value)]
    return value if isinstance(value, list) else [value]


def _combinations(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every choice of one value from each list."""
    for chosen in product(*(_options(key, value) for key, value in values.items())):
        yield dict(zip(values, chosen, strict=True))


def _count_combinations(values: Mapping[str, Any]) -> int:
    """How many combinations there are, without making them."""
    return prod(_count_options(key, value) for key, value in values.items())


def _count_options(key: str, value: Any) -> int:
    if isinstance(value, Mapping):
        return _count_combinations(value)
    if key == "cost" and isinstance(value, list):
        several = any(isinstance(entry, list) for entry in value)
        counts = (_count_options(key if isinstance(entry, list) else "", entry) for entry in value)
        return sum(counts) if several else prod(counts)
    return len(value) if isinstance(value, list) else 1


def typed(kind: Any, values: Mapping[str, Any], where: str) -> Any:
    """A settings object; tables become objects of their own."""
    known = {setting.name: setting for setting in fields(kind)}
    for key in values:
        if key not in known:
            raise ValueError(f"{where}: there is no setting {key!r}. Known are {', '.join(known)}.")
    for name, setting in known.items():
        if name not in values and setting.default is MISSING and setting.default_factory is MISSING:
            raise ValueError(f"{where}: {name!r} is missing.")
    hints = get_type_hints(kind)
    tables = {
        "encoder": EncoderSettings,
        "reader": ReaderSettings,
        "rule": RuleSettings,
        "loss": LossSettings,
        "schedule": Schedule,
    }
    ready = {}
    for key, value in values.items():
        if key in tables and kind is Settings:
            if not isinstance(value, Mapping):
                raise ValueError(f"{where}: {key} is a table, got {value!r}.")
            ready[key] = typed(tables[key], value, f"{where}, [{key}]")
        else:
            ready[key] = checked(value, hints[key], f"{where}: {key}")
    try:
        return kind(**ready)
    except TypeError as error:
        raise ValueError(f"{where}: {error}.") from None
