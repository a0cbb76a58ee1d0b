"""What is asked and what is answered, as JSON: requests are checked by these classes, answers described for OpenAPI."""

from dataclasses import fields
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from whymatch.transport.constraints import (
    CONSTRAINTS,
    EXAMPLES,
    Constraint,
    UpTo,
    constraint_from_dict,
    parse_constraint,
)

_Text = TypeVar("_Text", str, list[str], str | list[str])
_MAX_K = 9999  # more than any text has spans
_MAX_FIELDS = 20  # of an object; no request has as many
_EXAMPLE: dict[str, Any] = {
    "left": "My wifi drops every few minutes. I use a Dell laptop. I reinstalled the driver.",
    "right": "Hello everybody. The wireless connection keeps failing. Installing the driver again did not help.",
}


def well_formed(text: _Text) -> _Text:
    """The text as it came. Raises ValueError for an unpaired surrogate, which JSON allows and UTF-8 does not."""
    try:
        "".join(text).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"Half a surrogate pair stands at character {error.start}.") from None
    return text


_Spans: TypeAlias = Literal["sentence", "word", "line", "paragraph", "text"]
_Pieces: TypeAlias = Annotated[list[str], Field(fail_fast=True)]  # or a list of a million numbers is a million errors
Text: TypeAlias = Annotated[
    str | _Pieces,
    AfterValidator(well_formed),
    Field(description="A text, or a list of strings: a text that is split already."),
]
_Filter: TypeAlias = Annotated[
    str,
    AfterValidator(well_formed),
    Field(description="Only documents for which this holds, such as year > 2019, of the columns that the index keeps."),
]
_CONSTRAINTS = "|".join(
    kind.word + (":[1-9][0-9]{0,3}" if fields(kind) else "")  # type: ignore[arg-type]  # all are dataclasses
    for kind in CONSTRAINTS
)
_ConstraintText: TypeAlias = Annotated[str, Field(pattern=f"^({_CONSTRAINTS})$")]
_Below: TypeAlias = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
_Count: TypeAlias = Annotated[int, Field(ge=1, le=_MAX_K)]
_Page: TypeAlias = Annotated[bool, Field(description='Adds "page": the picture as a web page that needs nothing else.')]
_Relations: TypeAlias = Annotated[
    bool, Field(description="Says of each link of English texts what it means, and which words contradict each other.")
]


def _examples(*examples: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [*examples]})


class Strict(BaseModel):
    """An object without other fields."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def few_fields(cls, values: Any) -> Any:
        """Refuses many unknown fields at once, which would be as many errors."""
        if isinstance(values, dict) and len(values) > _MAX_FIELDS:
            raise ValueError(f"An object here has {_MAX_FIELDS} fields or fewer, and {len(values):,} came.")
        return values


class ConstraintObject(Strict):
    """A constraint as alignments have it in their JSON."""

    name: Annotated[str, Field(pattern=f"^({'|'.join(kind.__name__ for kind in CONSTRAINTS)})$")]
    k: _Count | None = None
    below: _Below | None = None

    @model_validator(mode="after")
    def complete(self) -> "ConstraintObject":
        self.constraint()
        return self

    def constraint(self, below: float | None = None) -> Constraint:
        """The constraint, with another `below` if one is given."""
        given = {} if below is None else {"below": below}
        return constraint_from_dict(self.model_dump(exclude_none=True) | given)


class Choice(Strict):
    """How to align: everything may be left out."""

    constraint: Annotated[
        _ConstraintText | ConstraintObject | None,
        Field(description=f"{EXAMPLES}, or as in an answer; left out: the default."),
    ] = None
    below: Annotated[
        _Below | None,
        Field(
            description="With up-to and each: link only pairs that cost less. Where costs are evidence, the cost is "
            "minus the bits: -3 links pairs worth more than 3 bits. Left out: 0, what is significant."
        ),
    ] = None

    def chosen(self) -> Constraint | None:
        """The constraint that is asked for, whose threshold may be left open; None for the default."""
        if isinstance(self.constraint, ConstraintObject):
            return self.constraint.constraint(self.below)
        if self.constraint is not None:
            return parse_constraint(self.constraint, self.below)
        return None if self.below is None else UpTo(1, below=self.below)


class SpanChoice(Choice):
    """How to split and align."""

    spans: Annotated[_Spans | None, Field(description="What is aligned; left out: sentences, or the model's.")] = None


class AlignRequest(SpanChoice):
    """Two texts to be aligned; relations are read for a page, unless `relations` is false."""

    left: Text
    right: Text
    clip: Annotated[bool, Field(description="Makes k smaller where a text is short, instead of refusing.")] = False
    page: _Page = False
    relations: _Relations | None = None
    model_config = _examples(_EXAMPLE | {"constraint": "exactly:2"}, _EXAMPLE | {"spans": "word"})


class Pair(Strict):
    """One pair of many: a text that cannot be aligned costs only its own pair."""

    left: str | _Pieces
    right: str | _Pieces


class BatchRequest(SpanChoice):
    """Many pairs, aligned under the same constraint."""

    pairs: Annotated[list[Pair], Field(min_length=1, fail_fast=True)]
    clip: bool = False
    relations: _Relations = False
    model_config = _examples({"pairs": [_EXAMPLE, _EXAMPLE], "constraint": "exactly:2", "clip": True})


class RankRequest(SpanChoice):
    """A text, and documents that may match it."""

    query: Text
    documents: Annotated[list[Text], Field(min_length=1, fail_fast=True)]
    top_k: _Count | None = None
    model_config = _examples({"query": _EXAMPLE["left"], "documents": [_EXAMPLE["right"], "Wine is red."], "top_k": 1})


class SearchRequest(Choice):
    """A text to be found in the index."""

    query: Text
    top_k: _Count = 10
    where: _Filter | None = None
    page: _Page = False
    model_config = _examples({"query": _EXAMPLE["left"], "top_k": 5})


def _record(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "required": [*required], "properties": required | (optional or {})}


def _array(items: dict[str, Any], description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more} | ({"description": description} if description else {})


_NUMBER, _INTEGER, _STRING, _BOOLEAN, _OBJECT = (
    {"type": kind} for kind in ("number", "integer", "string", "boolean", "object")
)
_NULLABLE = {"type": ["number", "null"]}
_PROBABILITY = _NULLABLE | {"description": "The calibrated chance that the texts match."}
_BITS = _NULLABLE | {"description": "The evidence of all significant links; 0 is what chance gives."}
_P_VALUE = _NULLABLE | {"description": "The share of random pairs of texts with as much evidence."}
_SPAN = _array(_INTEGER, "Start and end, in characters.", minItems=2, maxItems=2)
_RELATION = {
    "type": ["object", "null"],
    "description": "What its spans say of each other (same, implies, implied, contradicts, related); null if not read.",
    "properties": {"name": _STRING, "probabilities": _OBJECT},
}
_CONFLICT = _record({"kind": _STRING, "left": _array(_SPAN), "right": _array(_SPAN)})
_LINK = _record(
    {
        "left": _SPAN,
        "right": _SPAN,
        "at": _array(_INTEGER, "The numbers of the two spans, from 0."),
        "texts": _array(_STRING),
        "bits": _NULLABLE | {"description": "Its evidence; null where costs are no evidence."},
        "cost": _NUMBER | {"description": "Low is good; minus the bits, where costs are evidence."},
        "mass": _NUMBER,
        "share": _NUMBER | {"description": "What the link adds to the score."},
        "relation": _RELATION,
        "conflicts": _array(_CONFLICT, "Words that contradict each other."),
    }
)
_DOCUMENT = _record({"text": _STRING, "spans": _array(_SPAN)})
_MARGIN = {"description": 'A number, "inf", or null where it was not computed.'}
_CERTIFICATE = _record({"links": _INTEGER, "gap": _NUMBER, "margin": _MARGIN, "clipped": _BOOLEAN, "in_words": _STRING})
_JUDGEMENT = {
    "type": ["object", "null"],
    "description": "What the evidence is worth, and against what; null where costs are no evidence.",
    "properties": {
        "bits": _NUMBER,
        "p_value": _NUMBER,
        "probability": _PROBABILITY,
        "background": _STRING | {"description": "What the evidence was measured against."},
        "calibrated_on": _STRING | {"description": "The labelled pairs that made a probability of the p-value."},
        "notes": _array(_STRING),
        "tails": _array(_array(_array(_NUMBER)), "Two numbers per left and per right span, of which bits follow."),
    },
}
_ALIGNMENT = _record(
    {
        "format": _INTEGER,
        "verdict": _STRING | {"description": "The answer in one sentence."},
        "probability": _PROBABILITY,
        "bits": _BITS,
        "p_value": _P_VALUE,
        "coverage": _array(_NUMBER, "The shares of both texts that stand in links."),
        "notes": _array(_STRING, "What a reader has to know, such as spans that could not be read."),
        "score": _NUMBER | {"description": "The sum of the links' shares, in bits where costs are evidence."},
        "links": _array(_LINK, "Strongest first."),
        "left": _DOCUMENT,
        "right": _DOCUMENT,
        "unmatched": _record({"left": _array(_SPAN), "right": _array(_SPAN)}),
        "constraint": _record({"name": _STRING}, {"k": _INTEGER, "below": _NUMBER}),
        "by_default": _BOOLEAN,
        "cost": _STRING,
        "neutral": _NUMBER,
        "encoder": _STRING,
        "contextual": _BOOLEAN,
        "certificate": _CERTIFICATE,
        "path": _array(_OBJECT, "The optimum for exactly 1, 2, … links, up to 32."),
        "judgement": _JUDGEMENT,
        "remarks": _array(_STRING, "Notes beside those of the judgement."),
    },
    {"page": _STRING},
)
_BATCH = _record({"results": _array(_OBJECT, 'An alignment, or {"problem": …}.')})
_RANK = {"corpus_id": _INTEGER, "score": _NUMBER, "text": {}, "links": _array(_LINK)}
_JUDGED = {"probability": _PROBABILITY, "bits": _BITS, "p_value": _P_VALUE}
_RANKING = _record({"results": _array(_record(_RANK, {"verdict": _STRING, **_JUDGED}))})
_E_VALUE = _NULLABLE | {"description": "How many documents of the index chance would bring as close."}
_HIT = _record(
    {"id": _STRING, "score": _NUMBER, "places": _OBJECT, "metadata": _OBJECT, "alignment": _ALIGNMENT},
    {"e_value": _E_VALUE, **_JUDGED},
)
_RESULTS = _record({"query": _STRING, "candidates": _INTEGER, "hits": _array(_HIT)}, {"page": _STRING})


def _answer(schema: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """An answer of this kind, as OpenAPI lists it."""
    return {200: {"description": "OK", "content": {"application/json": {"schema": schema}}}}


ALIGNED, BATCH, RANKED, FOUND = map(_answer, (_ALIGNMENT, _BATCH, _RANKING, _RESULTS))
