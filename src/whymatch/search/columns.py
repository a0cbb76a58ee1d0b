"""What an index keeps of a document beside its text: columns with names that come from data, and a kind each.

In the table a column is called `kept_0`, `kept_1` and so on, and its own name is data in the schema: no name can meet
one of the table's, or one that LanceDB reads as something else.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from functools import cached_property
from numbers import Integral, Real
from typing import Any, TypeAlias

import pyarrow as pa

from whymatch.datasets.documents import Cell

Value: TypeAlias = str | int | float | bool | None
Metadata: TypeAlias = Mapping[str, Value]
"""The values of a document by the names of the columns; None where there is none."""
KINDS: Mapping[type, str] = {str: "text", int: "whole number", float: "number", bool: "true or false"}
_HELD: Mapping[type, str] = {str: "text", int: "whole numbers", float: "numbers", bool: "true or false"}
OWN_NAMES = ("id", "text")
"""Columns that every index has, by which filters call them; a column that is kept has another name."""
_ARROW: Mapping[type, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
_MAX_COLUMNS, _MAX_NAME_CHARACTERS = 100, 200
_TRUTH = {"true": True, "false": False}
_PREFIX = "kept_"
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # without zeros before it or more digits, which a number would lose
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Column:
    """A column that is kept, and the type of its values: str, int, float or bool."""

    name: str
    kind: type

    def __str__(self) -> str:
        return f"{self.name} ({KINDS[self.kind]})"

    def value(self, given: Any) -> Value:
        """What is kept of a value; nothing of one that is missing, empty or not finite.

        Raises:
            ValueError: if it is not of this kind.
        """
        given = _plain(given)
        if given is None:
            return None
        if self.kind is str:
            return _text(given)
        if isinstance(given, Cell):
            given = _read_cell(given)
        if isinstance(given, bool):
            if self.kind is bool:
                return given
        elif isinstance(given, int | float):
            if self.kind is float:
                return float(given)
            if self.kind is int and given == int(given) and _in_range(int(given)):
                return int(given)
        raise ValueError(f"The column {self.name!r} holds {_HELD[self.kind]}, got {given!r:.60}.")


@dataclass(frozen=True)
class Columns(Sequence[Column]):
    """The columns of an index, in their order."""

    columns: tuple[Column, ...] = ()

    @classmethod
    def of(cls, kinds: Mapping[str, type]) -> "Columns":
        """The columns of these names and types.

        Raises:
            ValueError: if a name cannot be one of a column, or a type is none of `KINDS`.
        """
        check_names(kinds)
        for name, kind in kinds.items():
            if kind not in KINDS:
                known = ", ".join(one.__name__ for one in KINDS)
                raise ValueError(f"The column {name!r} is to hold {kind!r:.60}. Give one of {known}.")
        return cls(tuple(Column(name, kind) for name, kind in kinds.items()))

    @classmethod
    def of_schema(cls, schema: pa.Schema) -> "Columns":
        """The columns that `fields` put into a schema."""
        kinds = {arrow: kind for kind, arrow in _ARROW.items()}
        fields = [field for field in schema if field.name.startswith(_PREFIX)]
        return cls(tuple(Column(field.metadata[b"name"].decode(), kinds[field.type]) for field in fields))

    @classmethod
    def inferred(cls, names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> "Columns":
        """Columns of these names whose types hold the values of all rows.

        Whole numbers and others together are numbers, anything else that is mixed is text. Cells of CSV, which have
        no types, are numbers where all of them are written as numbers, without a zero before them, and true or false
        where all of them are one of these words.
        """
        check_names(names)
        kinds: dict[str, type | None] = dict.fromkeys(names)
        for row in rows:
            for name, known in kinds.items():
                if known is not str and (kind := _kind(_plain(row.get(name)))) is not None:
                    numbers = {kind, known} == {int, float}
                    kinds[name] = kind if known in (None, kind) else float if numbers else str
        return cls(tuple(Column(name, kind or str) for name, kind in kinds.items()))

    def __getitem__(self, place: Any) -> Any:
        return self.columns[place]

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __str__(self) -> str:
        return ", ".join(map(str, self))

    @cached_property
    def fields(self) -> dict[str, str]:
        """The names of the table's columns, by those of ours."""
        return {column.name: f"{_PREFIX}{place}" for place, column in enumerate(self)}

    def schema(self) -> list[pa.Field]:
        """The fields of the table, each with its own name."""
        return [
            pa.field(field, _ARROW[column.kind], metadata={b"name": column.name.encode()})
            for column, field in zip(self, self.fields.values(), strict=True)
        ]

    def metadata(self, given: Mapping[str, Any]) -> Metadata:
        """What is kept of a document with these values; columns that are not among them have none.

        Raises:
            ValueError: if a value is of no column, or not of its kind.
        """
        for name in given:
            if name not in self.fields:
                kept = f"It keeps: {self}." if self else "It keeps none: Index.create(folder, keep=…)."
                raise ValueError(f"The index keeps no column {name!r:.60}. {kept}")
        return {column.name: column.value(given.get(column.name)) for column in self}

    def read(self, rows: pa.Table) -> list[Metadata]:
        """The values in rows of the table; of text that is damaged, something else than was written."""
        values = [_column_values(rows.column(field)) for field in self.fields.values()]
        if not self:
            return [{}] * rows.num_rows
        return [dict(zip(self.fields, row, strict=True)) for row in zip(*values, strict=True)]

    def arrays(self, rows: Sequence[Metadata]) -> list[pa.Array]:
        """The values of documents as columns of the table."""
        return [pa.array([row.get(column.name) for row in rows], _ARROW[column.kind]) for column in self]


def sealed(metadata: Metadata) -> bytes:
    """The bytes of what is kept of a document, in which any change shows; none where nothing is kept."""
    return json.dumps([*metadata.items()]).encode() if metadata else b""


def check_names(names: Iterable[str]) -> None:
    """Raises ValueError for names that cannot be those of the columns of an index."""
    seen = list[str]()
    for name in names:
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or "`" in name:
            advice = "It has characters that show, and no backtick. Rename the column in your data."
            raise ValueError(f"{name!r:.60} cannot be the name of a column that is kept. {advice}")
        if len(name) > _MAX_NAME_CHARACTERS:
            raise ValueError(f"The name of a column has {_MAX_NAME_CHARACTERS} characters or fewer: {name!r:.60}.")
        if name in OWN_NAMES:
            raise ValueError(f"Every index has {name!r}: it needs not be kept. If it is another one, rename it.")
        if name in seen:
            raise ValueError(f"The column {name!r} is to be kept twice.")
        seen.append(name)
    if len(seen) > _MAX_COLUMNS:
        raise ValueError(f"An index keeps {_MAX_COLUMNS} columns or fewer, got {len(seen)}.")


def _plain(given: Any) -> Any:
    """A value as JSON has it, a cell as it is; None if it is missing, empty or not finite.

    Raises:
        ValueError: if it is bytes.
    """
    if hasattr(given, "item") and callable(given.item):
        given = given.item()  # a scalar of numpy
    if isinstance(given, str):
        return given or None
    if isinstance(given, bytes | bytearray | memoryview):
        raise ValueError("A value is bytes, and only text, numbers and true or false are kept. Convert the column.")
    if given is None or isinstance(given, bool | int | list | dict):
        return given
    if isinstance(given, Integral):
        return int(given)
    if isinstance(given, Real | Decimal):
        return float(given) if math.isfinite(given) else None
    return given.isoformat() if isinstance(given, date | time) else str(given)


def _kind(value: Any) -> type | None:
    """The narrowest type that holds a plain value; None if it is missing."""
    if isinstance(value, Cell):
        value = _read_cell(value)
    if value is None:
        return None
    if isinstance(value, int) and not _in_range(value):
        return str
    return type(value) if type(value) in KINDS else str


def _in_range(number: int) -> bool:
    return -(2**63) <= number < 2**63


def _text(value: Any) -> str:
    """A plain value as text: strings as they are, others as JSON; raises ValueError for what UTF-8 cannot hold."""
    try:
        text = str(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        text.encode()
    except (UnicodeEncodeError, RecursionError) as error:
        raise ValueError(f"A value cannot be kept: {error}.") from None
    return text


def _read_cell(cell: Cell) -> str | int | float | bool:
    """The number or the truth value that a cell is written as; the cell itself, if it is neither."""
    if _WHOLE.fullmatch(cell):
        return int(cell)
    if _DECIMAL.fullmatch(cell) and not cell.lstrip("-").isdecimal() and math.isfinite(value := float(cell)):
        return value
    return _TRUTH.get(cell.lower(), str(cell))


def _column_values(column: pa.ChunkedArray) -> list[Value]:
    if column.type != pa.string():
        return list(column.to_pylist())
    return [None if data is None else data.decode(errors="replace") for data in column.cast(pa.binary()).to_pylist()]
