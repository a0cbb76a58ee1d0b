"""The tables of a run's settings, typed: what aligns, what reads, how links are chosen, what is learned from."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from whymatch.matching.rules import Attend, Rule, Transport
from whymatch.transport.constraints import parse_constraint
from whymatch.transport.entropic import Temperature

MAX_HIDDEN = 16_384  # units of a layer
MAX_LAYERS = 64


def unread(settings: Any, table: str, names: Sequence[str], why: str) -> None:
    """Raises for settings that were given and that nothing would read."""
    defaults = {one.name: one.default for one in fields(settings)}
    for name in names:
        if getattr(settings, name) != defaults[name]:
            raise ValueError(f"[{table}] {name} is for {why}.")


@dataclass(frozen=True)
class EncoderSettings:
    """`frozen`: a model's vectors, mapped or as they are; `fine-tuned`: the whole model; `recurrent`: a bi-SRU.

    `context` is what a span's vector is read with: nothing else, its `text`, or `both` texts together. Words are always
    read in their text. A fine-tuned model has its own `dropout`, unless one is given. With 0 `layers`, a recurrent
    encoder is the mean of the word vectors, which does not learn; rare words count by their rarity to the power `rare`.
    """

    table: ClassVar[str] = "encoder"
    kind: Literal["frozen", "fine-tuned", "recurrent"] = "frozen"
    map: bool = True
    model: str | None = None
    context: Literal["none", "text", "both"] = "none"
    layer: int | None = None
    vectors: str | None = None
    hidden: int = 200
    layers: int = 2
    rare: float = 0.0
    dropout: float | None = None

    def __post_init__(self) -> None:
        if not (1 <= self.hidden <= MAX_HIDDEN and 0 <= self.layers <= MAX_LAYERS):
            raise ValueError(f"[{self.table}] hidden is from 1 to {MAX_HIDDEN:,}, layers from 0 to {MAX_LAYERS}.")
        if not (self.dropout is None or 0 <= self.dropout < 1):
            raise ValueError(f"[{self.table}] dropout is from 0 to below 1, got {self.dropout:g}.")
        if self.kind == "recurrent":
            unread(self, self.table, ["model", "layer"], "kind = 'frozen' or 'fine-tuned'")
        else:
            unread(self, self.table, ["vectors", "hidden", "layers"], "kind = 'recurrent'")
        if self.rare < 0:
            raise ValueError(f"[{self.table}] rare is 0 or more, got {self.rare:g}.")
        if self.kind != "recurrent" or self.layers:
            unread(self, self.table, ["rare"], "kind = 'recurrent' with layers = 0")
        else:
            unread(self, self.table, ["hidden", "dropout"], "one or more layers")
        if self.context == "both" and self.kind != "fine-tuned":
            raise ValueError(f"[{self.table}] context = 'both' goes with kind = 'fine-tuned'.")
        if self.kind != "frozen":
            unread(self, self.table, ["layer", "map"], "kind = 'frozen'")

    @property
    def learns(self) -> bool:
        """Whether there is anything in it that training changes."""
        return self.layers > 0 if self.kind == "recurrent" else self.kind == "fine-tuned" or self.map

    def check(self, spans: str) -> None:
        """Raises where it cannot be built for spans of a kind."""
        if self.kind == "fine-tuned" and spans == "word" and self.context == "none":
            raise ValueError(f"[{self.table}] words are read in context: give context = 'text' or 'both' to fine-tune.")
        if self.layer is not None and spans != "word" and self.context == "none":
            raise ValueError(f"[{self.table}] layer is for words, or spans with context = 'text'.")
        if self.kind == "recurrent" and self.vectors is None:
            raise ValueError(f'[{self.table}] kind = "recurrent" needs vectors: a file of word vectors.')


@dataclass(frozen=True)
class ReaderSettings(EncoderSettings):
    """A second encoder, whose vectors the head compares: it reads the linked spans `alone`, or in their texts.

    Unless told, a fine-tuned one reads `both` sides together, and a recurrent one each span by itself.
    """

    table: ClassVar[str] = "reader"
    kind: Literal["fine-tuned", "recurrent"] = "fine-tuned"
    context: Literal["none", "text", "both"] | None = None  # type: ignore[assignment]
    alone: bool = True

    def __post_init__(self) -> None:
        if self.context is None:
            object.__setattr__(self, "context", "both" if self.kind == "fine-tuned" else "none")
        super().__post_init__()

    def check(self, spans: str) -> None:
        super().check(spans)
        if not self.learns:
            raise ValueError("[reader] layers is 1 or more: a reader learns.")
        if not self.alone and spans != "word" and self.context == "none":
            raise ValueError("[reader] alone = false reads whole texts: give context = 'text' or 'both'.")


@dataclass(frozen=True)
class RuleSettings:
    """A constraint (`exactly:2`, `up-to:1`, …), or attention instead: softmax, sparsemax or entmax15.

    `smooth` is the temperature of the plan's derivative, which falls to `cooled` by the end of the last epoch, if
    given; `unrolled` an epsilon for the paper's way instead.
    """

    constraint: str | None = None
    below: float = 0.0
    smooth: float = 0.1
    cooled: float | None = None
    unrolled: float | None = None
    attention: str | None = None
    temperature: float = 1.0

    def build(self) -> Rule:
        if (self.constraint is None) == (self.attention is None):
            raise ValueError("[rule] takes a constraint or an attention, one of them.")
        if self.attention is not None:
            unread(self, "rule", ["below", "smooth", "cooled", "unrolled"], "a constraint")
            return Attend(self.temperature, self.attention)  # type: ignore[arg-type]
        assert self.constraint is not None
        unread(self, "rule", ["temperature"], "attention; smooth is the temperature of a constraint")
        if not self.constraint.startswith("up-to"):
            unread(self, "rule", ["below"], "up-to")
        if self.unrolled is not None and not self.unrolled > 0:
            raise ValueError("[rule] unrolled is a positive epsilon.")
        if self.unrolled is not None:
            unread(self, "rule", ["cooled"], "smooth, and not for unrolled")
        if self.cooled is not None and not 0 < self.cooled <= self.smooth:
            raise ValueError(f"[rule] cooled is above 0, and {self.smooth:g} (smooth) or less, got {self.cooled:g}.")
        constraint = parse_constraint(self.constraint).resolved(self.below)
        return Transport(constraint, self.temperature_at(0.0), unrolled=self.unrolled)

    def temperature_at(self, done: float) -> Temperature:
        """That of the derivative, where so much of the training is done."""
        end = self.smooth if self.cooled is None else self.cooled
        return Temperature(self.smooth ** (1 - done) * end**done)


@dataclass(frozen=True)
class LossSettings:
    """The hinge's margin (rank), and the weight of the task beside rationales (classify; no rationales if None).

    With `marked`, a classifier learns from pairs that people marked, and from no others.
    A ranker may learn from a `teacher`, too, a trained one in a folder, whose scores count with the weight `distil`.
    """

    margin: float = 0.2
    negatives: int = 10
    alpha: float | None = None
    marked: bool = False
    teacher: str | None = None
    distil: float = 0.5

    def __post_init__(self) -> None:
        if self.teacher is None:
            unread(self, "loss", ["distil"], "a ranker with a teacher")
        elif not (0 < self.distil <= 1 and self.margin > 0):
            raise ValueError("[loss] distil is above 0, and 1 or less; with a teacher, margin is above 0.")
        if self.margin < 0 or self.negatives < 1 or not (self.alpha is None or 0 <= self.alpha <= 1):
            raise ValueError("[loss] margin is 0 or more, negatives 1 or more, alpha between 0 and 1.")
        if self.alpha is None:
            unread(self, "loss", ["marked"], "rationales that are supervised: give alpha")
