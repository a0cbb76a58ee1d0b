"""The settings of a training run: a TOML file, typed, with unknown keys and impossible combinations refused at once."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from itertools import product
from math import inf, isfinite, prod
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from whymatch.learning.fit import Schedule
from whymatch.learning.sections import (
    MAX_HIDDEN,
    EncoderSettings,
    LossSettings,
    ReaderSettings,
    RuleSettings,
    unread,
)
from whymatch.matching.costs import COSTS
from whymatch.matching.rules import Rule, Transport
from whymatch.text.spans import splitter

MAX_RUNS = 10_000
MAX_NUMBER = 2**31 - 1


@dataclass(frozen=True)
class Settings:
    """One run.

    Of costs: `neighbours` is how much of the vectors before and after is mixed in, `whole` how much of the mean of all,
    `novelty` by how much right spans without a counterpart become cheaper, `rarity` what rare words are worth, `shared`
    what rare words are worth that two spans share, `refine` the size of a network that learns from the costs around (0:
    none), `nearest` among how many right spans of each left one it chooses (0: all).

    A `reader` is a second model that reads what is linked, for the head; the encoder then aligns and no more.
    """

    task: Literal["rank", "classify"]
    data: str
    spans: str = "sentence"
    cost: str = "cosine"
    neighbours: float = 0.0
    whole: float = 0.0
    novelty: float = 0.0
    rarity: float = 0.0
    shared: float = 0.0
    refine: int = 0
    nearest: int = 0
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
        if self.refine > MAX_HIDDEN:
            raise ValueError(f"refine is up to {MAX_HIDDEN:,}, got {self.refine:,}.")
        self.check_costs(rule)
        self.check_task(rule)
        self.check_encoders(rule)

    def check_costs(self, rule: Rule) -> None:
        """Raises for costs that are not there, or that no link could have."""
        if self.cost not in COSTS or COSTS[self.cost].unpadded:
            known = ", ".join(name for name, cost in COSTS.items() if not cost.unpadded)
            raise ValueError(f"cost is one of {known}, got {self.cost!r}.")
        if min(self.refine, self.nearest, self.novelty, self.rarity, self.shared, self.neighbours, self.whole) < 0:
            raise ValueError("neighbours, whole, novelty, rarity, shared, refine and nearest are 0 or more.")
        if self.nearest and not self.refine:
            raise ValueError("nearest says among which spans a network chooses: give refine.")
        if self.nearest and self.cost != "cosine":
            raise ValueError(f"nearest is for cost = 'cosine', got {self.cost!r}.")
        if (
            isinstance(rule, Transport)
            and rule.zero(inf) <= COSTS[self.cost].least
            and not (self.novelty or self.rarity or self.shared or self.refine)
        ):
            raise ValueError("[rule] up-to links pairs that cost less than below: give one above 0 for this cost.")

    def check_task(self, rule: Rule) -> None:
        """Raises for what a task does not read, and where it has nothing to learn."""
        if self.task == "rank":
            if not (self.encoder.learns or self.refine):
                raise ValueError("A ranker has nothing to learn: give refine, or [encoder] map = true or layers.")
            if self.reader is not None:
                raise ValueError('[reader] is for task = "classify": a ranker scores by the costs of its links.')
            if self.novelty:
                raise ValueError("novelty prefers what two texts do not share: it is for classifiers.")
            unread(self.loss, "loss", ["alpha"], 'task = "classify"')
            unread(self.rule, "rule", ["cooled", "unrolled"], 'task = "classify": a ranker learns through its score')
        else:
            unread(self.loss, "loss", ["margin", "negatives", "teacher"], 'task = "rank"')
        if self.loss.alpha is not None and (not isinstance(rule, Transport) or rule.constraint.takes_masses):
            raise ValueError('[loss] alpha supervises rationales: task = "classify" under exactly, up-to or one-to.')
        if self.loss.alpha is not None and not (self.encoder.learns or self.refine):
            advice = "give refine, or [encoder] map = true or layers"
            raise ValueError(f"[loss] alpha supervises costs that can learn: {advice}.")

    def check_encoders(self, rule: Rule) -> None:
        """Raises for an encoder or a reader that cannot be built, and for rates that nothing has."""
        self.encoder.check(self.spans)
        kinds = {self.encoder.kind}
        if self.reader is not None:
            self.check_reader(self.reader, rule)
            kinds.add(self.reader.kind)
        if "fine-tuned" not in kinds:
            unread(self.schedule, "schedule", ["fine"], "models that are fine-tuned")
        elif self.task == "rank" and not self.refine:
            unread(self.schedule, "schedule", ["rate"], "what starts at random; a fine-tuned ranker learns by fine")

    def check_reader(self, reader: ReaderSettings, rule: Rule) -> None:
        """Raises where a second model has nothing to read, or leaves the first with nothing to learn from."""
        reader.check(self.spans)
        if not isinstance(rule, Transport) or rule.unrolled is not None:
            raise ValueError("[reader] reads what is linked: it goes with a constraint, not attention, not unrolled.")
        if self.encoder.kind == reader.kind == "recurrent" and self.encoder.vectors != reader.vectors:
            raise ValueError("[encoder] and [reader] take the same vectors where both are recurrent.")
        if self.loss.alpha is None and (self.encoder.learns or self.refine):
            advice = "Without marks ([loss] alpha) give [encoder] map = false, no refine"
            raise ValueError(f"[reader] takes the labels, and nothing teaches the encoder. {advice}.")


def read_settings(file: str | Path) -> list[Settings]:
    """The runs of a file: one, or one for each combination where values are lists."""
    try:
        values = tomllib.loads(Path(file).read_text(encoding="utf-8"))
        runs = count_combinations(values)
    except ValueError as error:
        raise ValueError(f"{file} is not TOML: {error}.") from None
    except RecursionError:
        raise ValueError(f"{file} is nested too deeply: settings are tables of values, such as [schedule].") from None
    if not 1 <= runs <= MAX_RUNS:
        reason = f"give {runs:,} combinations to try, more than {MAX_RUNS:,}" if runs else "leave nothing to try"
        raise ValueError(f"{file}: its lists {reason}.")
    return [typed(Settings, one, str(file)) for one in combinations(values)]


def checked(value: Any, hint: Any, what: str) -> Any:
    """A value of the type that a setting has; whole numbers may stand for others."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for option in options:
        if get_origin(option) is Literal and value in get_args(option):
            return value
        if option is float and type(value) in (int, float) and isfinite(value):
            return float(value)
        if isinstance(option, type) and type(value) is option and option is not float:
            if isinstance(value, int) and not -MAX_NUMBER <= value <= MAX_NUMBER:
                raise ValueError(f"{what} takes whole numbers of up to {MAX_NUMBER:,}, got {value!r:.40}.")
            return value
    names = [" or ".join(map(str, get_args(one))) if get_origin(one) is Literal else one.__name__ for one in options]
    raise ValueError(f"{what} takes {' or '.join(name for name in names if name != 'NoneType')}, got {value!r}.")


def completed(values: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Settings on disk as those of today are written; one that was not there yet has its default."""
    return asdict(typed(Settings, without_none(values), where))


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a file would have them: what is None is left away."""
    return {
        key: without_none(value) if isinstance(value, Mapping) else value
        for key, value in values.items()
        if value is not None
    }


def count_combinations(values: Mapping[str, Any]) -> int:
    """How many choices of one value from each list there are."""
    counts = (
        count_combinations(value) if isinstance(value, Mapping) else len(value) if isinstance(value, list) else 1
        for value in values.values()
    )
    return prod(counts)


def combinations(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every choice of one value from each list."""
    choices = []
    for key, value in values.items():
        options = (
            list(combinations(value)) if isinstance(value, Mapping) else value if isinstance(value, list) else [value]
        )
        choices.append([(key, option) for option in options])
    yield from (dict(chosen) for chosen in product(*choices))


def typed(kind: Any, values: Mapping[str, Any], where: str) -> Any:
    """A settings object; tables become objects of their own."""
    known = {one.name: one for one in fields(kind)}
    for key in values:
        if key not in known:
            raise ValueError(f"{where}: there is no setting {key!r}. Known are {', '.join(known)}.")
    for name, one in known.items():
        if name not in values and one.default is MISSING and one.default_factory is MISSING:
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
