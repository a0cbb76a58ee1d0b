"""The tables of a run's settings, typed: what aligns, what reads, how links are chosen, what the loss is."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from whymatch.matching.rules import Attend, Transport
from whymatch.transport.constraints import parse_constraint
from whymatch.transport.entropic import Temperature

MAX_HIDDEN = 16_384  # units of a layer
MAX_LAYERS = 64
TUNED = ("fine-tuned", "adapter")  # kinds that train a model of transformers
SMOOTH = 0.1  # the temperature of a plan's derivative, unless another is given


def refuse_unread(settings: Any, table: str, names: Sequence[str], use: str) -> None:
    """Raises ValueError for settings that were given and that nothing would read; `use` says what reads them."""
    defaults = {field.name: field.default for field in fields(settings)}
    for name in names:
        if getattr(settings, name) != defaults[name]:
            raise ValueError(f"[{table}] {name} is for {use}.")


@dataclass(frozen=True)
class _EncoderTable:
    """What the encoder and the reader have in common.

    `context` is what a span's vector is read with: nothing else, its `text`, or `both` texts together. Words are always
    read in their text. `vectors`, `hidden` and `layers` are those of a recurrent encoder; with 0 layers it is the mean
    of the word vectors, which does not learn. A fine-tuned model keeps its own `dropout` unless one is given. `rank`
    and `last_layers` are those of an adapter: how many of the last transformer layers it sits on, all unless given.
    """

    table: ClassVar[str]
    kind: str
    model: str | None = None
    context: Literal["none", "text", "both"] | None = None
    vectors: str | None = None
    hidden: int = 200
    layers: int = 2
    dropout: float | None = None
    rank: int = 8
    last_layers: int | None = None

    def __post_init__(self) -> None:
        if not (1 <= self.hidden <= MAX_HIDDEN and 0 <= self.layers <= MAX_LAYERS):
            raise ValueError(f"[{self.table}] hidden is from 1 to {MAX_HIDDEN:,}, layers from 0 to {MAX_LAYERS}.")
        if not (self.dropout is None or 0 <= self.dropout < 1):
            raise ValueError(f"[{self.table}] dropout is from 0 to below 1, got {self.dropout:g}.")
        if self.kind == "recurrent":
            refuse_unread(self, self.table, ["model"], "models: kind = 'recurrent' reads word vectors")
            if not self.layers:
                refuse_unread(self, self.table, ["hidden", "dropout"], "one or more layers")
        else:
            refuse_unread(self, self.table, ["vectors", "hidden", "layers"], "kind = 'recurrent'")
        if self.kind != "adapter":
            refuse_unread(self, self.table, ["rank", "last_layers"], "kind = 'adapter'")
        elif self.rank < 1 or (self.last_layers is not None and self.last_layers < 1):
            raise ValueError(f"[{self.table}] rank and last_layers are 1 or more.")
        if self.context == "both" and self.kind not in TUNED:
            raise ValueError(f"[{self.table}] context = 'both' goes with kind = 'fine-tuned' or 'adapter'.")

    @property
    def learns(self) -> bool:
        """Whether there is anything in it that training changes."""
        return self.layers > 0 if self.kind == "recurrent" else self.kind != "frozen"

    def check(self, spans: str) -> None:
        """Raises ValueError where it cannot be built for spans of a kind."""
        if self.kind in TUNED and spans == "word" and self.context == "none":
            raise ValueError(f"[{self.table}] words are read in context: give context = 'text' or 'both' to fine-tune.")
        if self.kind == "recurrent" and self.vectors is None:
            raise ValueError(f'[{self.table}] kind = "recurrent" needs vectors: a file of word vectors.')


@dataclass(frozen=True)
class EncoderSettings(_EncoderTable):
    """The encoder whose vectors are aligned.

    `frozen`: a model's vectors as they are; `projected`: with a linear map that is trained; `fine-tuned`: the whole
    model; `adapter`: low-rank changes of the model's weights; `recurrent`: a bi-SRU over word vectors. `layer` is that
    of a frozen model of words. With 0 layers, a recurrent encoder weighs words by their rarity to the power `rare`.
    """

    table: ClassVar[str] = "encoder"
    kind: Literal["frozen", "projected", "fine-tuned", "adapter", "recurrent"] = "projected"
    layer: int | None = None
    rare: float = 0.0

    def __post_init__(self) -> None:
        if self.context is None:
            object.__setattr__(self, "context", "none")
        super().__post_init__()
        if self.kind in (*TUNED, "recurrent"):
            refuse_unread(self, self.table, ["layer"], "kind = 'frozen' or 'projected'")
        if self.rare < 0:
            raise ValueError(f"[{self.table}] rare is 0 or more, got {self.rare:g}.")
        if self.kind != "recurrent" or self.layers:
            refuse_unread(self, self.table, ["rare"], "kind = 'recurrent' with layers = 0")

    def check(self, spans: str) -> None:
        super().check(spans)
        if self.layer is not None and spans != "word" and self.context == "none":
            raise ValueError(f"[{self.table}] layer is for words, or spans with context = 'text'.")


@dataclass(frozen=True)
class ReaderSettings(_EncoderTable):
    """A second encoder, whose vectors the head compares: it reads the linked spans `alone`, or in their texts.

    Unless a context is given, a fine-tuned one or an adapter reads `both` sides together, and a recurrent one each span
    by itself.
    """

    table: ClassVar[str] = "reader"
    kind: Literal["fine-tuned", "adapter", "recurrent"] = "fine-tuned"
    alone: bool = True

    def __post_init__(self) -> None:
        if self.context is None:
            object.__setattr__(self, "context", "both" if self.kind in TUNED else "none")
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

    `temperature` is that of attention, 1 unless given, or of the derivative of the constraint's plan, 0.1 unless given.
    """

    constraint: str | None = None
    below: float | None = None
    attention: str | None = None
    temperature: float | None = None

    def build(self) -> Transport | Attend:
        """The rule that these settings describe."""
        if (self.constraint is None) == (self.attention is None):
            raise ValueError("[rule] takes a constraint or an attention, one of them.")
        if self.attention is not None:
            refuse_unread(self, "rule", ["below"], "a constraint")
            return Attend(1.0 if self.temperature is None else self.temperature, self.attention)  # type: ignore[arg-type]
        assert self.constraint is not None
        constraint = parse_constraint(self.constraint, self.below)
        if constraint.thresholded and self.below is None:
            raise ValueError(f"[rule] {self.constraint} links pairs that cost less than below: give below.")
        if not constraint.entropic:
            refuse_unread(self, "rule", ["temperature"], f"plans with a derivative, which {self.constraint} has not")
            return Transport(constraint)
        return Transport(constraint, Temperature(SMOOTH if self.temperature is None else self.temperature))


@dataclass(frozen=True)
class LossSettings:
    """The hinge's margin (rank), and the weight of the task beside rationales (classify; no rationales if None).

    A ranker may learn from a `teacher` too, a trained one in a folder, whose scores count for half of the loss.
    """

    margin: float = 0.2
    negatives: int = 10
    alpha: float | None = None
    teacher: str | None = None

    def __post_init__(self) -> None:
        if self.margin < 0 or self.negatives < 1 or not (self.alpha is None or 0 <= self.alpha <= 1):
            raise ValueError("[loss] margin is 0 or more, negatives 1 or more, alpha between 0 and 1.")
        if self.teacher is not None and not self.margin > 0:
            raise ValueError("[loss] margin is above 0 with a teacher.")
