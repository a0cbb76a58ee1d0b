"""What can be asked, as JSON: each field as `whymatch align` and `whymatch search` know it."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from whymatch.serve.texts import well_formed
from whymatch.transport.constraints import Constraint, UpTo, constraint_from_dict, parse_constraint

MOST = 9999  # links, more than any text has spans
MOST_FIELDS = 20  # of an object, more than any request has
EXAMPLE: dict[str, Any] = {
    "left": "My wifi drops every few minutes. I use a Dell laptop. I reinstalled the driver.",
    "right": "Hello everybody. The wireless connection keeps failing. Installing the driver again did not help.",
}
Spans: TypeAlias = Literal["sentence", "word", "line", "paragraph", "text"]
Pieces: TypeAlias = Annotated[list[str], Field(fail_fast=True)]  # a list of a million numbers would be a million errors
Text: TypeAlias = Annotated[
    str | Pieces,
    AfterValidator(well_formed),
    Field(description="A text, or a list of strings: a text that is split already."),
]
Named: TypeAlias = Annotated[str, Field(pattern=r"^(balanced|(exactly|up-to|one-to):[1-9][0-9]{0,3})$")]
Below: TypeAlias = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
Page: TypeAlias = Annotated[bool, Field(description='Adds "page": the picture as a web page that needs nothing else.')]


class Strict(BaseModel):
    """What has no other fields."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def few_fields(cls, values: Any) -> Any:
        """Refuses at once what has many fields that nobody knows, which would be as many errors."""
        if isinstance(values, dict) and len(values) > MOST_FIELDS:
            raise ValueError(f"An object here has {MOST_FIELDS} fields or fewer, and {len(values):,} came.")
        return values


class ConstraintObject(Strict):
    """A constraint as alignments have it in their JSON."""

    name: Literal["Exactly", "UpTo", "OneTo", "Balanced"]
    k: Annotated[int, Field(ge=1, le=MOST)] | None = None
    below: Below | None = None

    @model_validator(mode="after")
    def complete(self) -> "ConstraintObject":
        if (self.k is None) != (self.name == "Balanced"):
            raise ValueError("Exactly, UpTo and OneTo have a k, and Balanced has none.")
        if self.below is not None and self.name != "UpTo":
            raise ValueError("Only UpTo has a cost below which it links.")
        return self


class Choice(Strict):
    """How to align: everything may be left out."""

    constraint: Annotated[
        Named | ConstraintObject | None,
        Field(description="exactly:2, up-to:1, one-to:2 or balanced, or as in an answer; left out: the default."),
    ] = None
    below: Annotated[Below | None, Field(description="With up-to: link only pairs that cost less.")] = None

    def wanted(self, threshold: float | None) -> Constraint | None:
        """The constraint that is asked for; `threshold` is where up-to ends if nobody says so."""
        given = self.constraint
        below = given.below if isinstance(given, ConstraintObject) and self.below is None else self.below
        if given is None:
            return None if below is None else UpTo(1, below=below)
        if isinstance(given, str):
            found = parse_constraint(given)
        else:
            found = constraint_from_dict(given.model_dump(exclude={"below"}, exclude_none=True))
        if self.below is not None and not found.thresholded:
            raise ValueError("below goes with up-to, which links spans that cost less.")
        if found.thresholded and below is None and threshold is None:
            raise ValueError("No threshold is known for this model: say below which cost spans match (below).")
        return found.resolved(threshold if below is None else below)


def size(*texts: str | list[str]) -> int:
    """Characters of some texts; a piece counts, empty as it may be."""
    return sum(len(text) if isinstance(text, str) else sum(map(len, text)) + len(text) for text in texts)


class Splitting(Choice):
    """How to split and align."""

    spans: Annotated[Spans | None, Field(description="What is aligned; left out: sentences, or the model's.")] = None


class AlignRequest(Splitting):
    """Two texts to be aligned."""

    left: Text
    right: Text
    clip: Annotated[bool, Field(description="Makes k smaller where a text is short, instead of refusing.")] = False
    page: Page = False
    model_config = ConfigDict(
        json_schema_extra={"examples": [EXAMPLE | {"constraint": "exactly:2"}, EXAMPLE | {"spans": "word"}]}
    )


class Pair(Strict):
    """One pair of many: a text that cannot be aligned costs only its own pair."""

    left: str | Pieces
    right: str | Pieces


class BatchRequest(Splitting):
    """Many pairs, aligned under the same constraint."""

    pairs: Annotated[list[Pair], Field(min_length=1, fail_fast=True)]
    clip: bool = False
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"pairs": [EXAMPLE, EXAMPLE], "constraint": "exactly:2", "clip": True}]}
    )


class RankRequest(Splitting):
    """A text, and documents that may match it."""

    query: Text
    documents: Annotated[list[Text], Field(min_length=1, fail_fast=True)]
    top_k: Annotated[int, Field(ge=1, le=MOST)] | None = None
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": EXAMPLE["left"], "documents": [EXAMPLE["right"], "Wine is red."], "top_k": 1}]
        }
    )


class SearchRequest(Choice):
    """A text to be found in the index."""

    query: Text
    top: Annotated[int, Field(ge=1, le=MOST)] = 10
    page: Page = False
    model_config = ConfigDict(json_schema_extra={"examples": [{"query": EXAMPLE["left"], "top": 5}]})
