"""What is asked, as JSON: requests are checked by these classes, and OpenAPI describes them by these classes."""

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
_Blocks: TypeAlias = Literal["block", "sentence", "line", "paragraph", "text"]
_String: TypeAlias = Annotated[str, AfterValidator(well_formed)]
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


class NamedSource(Strict):
    """A source with its name, as a line of `whymatch check --batch` has it."""

    id: Annotated[_String | None, Field(description="Its name in the answer; left out: a number.")] = None
    text: _String


class CheckRequest(Strict):
    """An answer, and the sources that should support each of its claims."""

    answer: _String
    sources: Annotated[
        list[_String | NamedSource],
        Field(min_length=1, fail_fast=True, description="Texts, or objects with a text and the name of it."),
    ]
    page: _Page = False
    model_config = _examples(
        {
            "answer": "Employees get 25 days of paid leave a year. Hotels may cost up to 150 euros a night.",
            "sources": [
                {"id": "handbook", "text": "Employees have 25 days of paid leave a year."},
                {"id": "travel", "text": "Hotels may cost up to 120 euros a night."},
            ],
        }
    )


class CompareRequest(Strict):
    """Two versions of a document."""

    old: _String
    new: _String
    spans: Annotated[
        _Blocks,
        Field(
            description="What is compared: blocks are headings, rows of tables, and the sentences of paragraphs, items "
            "and numbered clauses."
        ),
    ] = "block"
    relations: Annotated[
        bool, Field(description="Whether to read which words of changed passages contradict each other.")
    ] = True
    page: _Page = False
    model_config = _examples(
        {
            "old": "1. The agreement runs for 24 months.\n2. It may be ended in writing.",
            "new": "1. The agreement runs for 36 months.\n2. It may be ended in writing.",
        }
    )
