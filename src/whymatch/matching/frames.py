"""Alignments of many pairs, and frames of pandas, polars, pyarrow and datasets: texts in, alignments out as columns.

A library is imported where a frame of it is asked for, and never otherwise.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, SupportsIndex, TypeAlias, TypeVar, overload

from whymatch.matching.alignment import Alignment
from whymatch.matching.parts import Link
from whymatch.reading import listed

Frame = TypeVar("Frame")
"""A data frame of pandas or polars, a table of pyarrow, or a Dataset of Hugging Face's datasets."""
Outcome: TypeAlias = Alignment | ValueError
_Kind: TypeAlias = type | Mapping[str, type]
"""What a column holds: texts, numbers, or for each row a list of records with these fields."""
_LINK: Mapping[str, type] = {
    **dict.fromkeys(("left", "right"), str),
    **dict.fromkeys(("left_start", "left_end", "right_start", "right_end"), int),
    **dict.fromkeys(("bits", "cost", "share"), float),
    "relation": str,
}
_CONFLICT: Mapping[str, type] = dict.fromkeys(("kind", "left", "right"), str)
_COLUMNS: Mapping[str, _Kind] = {
    "probability": float,
    "verdict": str,
    "bits": float,
    "links": _LINK,
    "conflicts": _CONFLICT,
}
_ERROR = "error"


class Alignments(list[Alignment]):
    """The alignments of many pairs, in the order of the pairs: a list that can become a data frame."""

    @overload
    def __getitem__(self, place: SupportsIndex) -> Alignment: ...
    @overload
    def __getitem__(self, place: slice) -> "Alignments": ...
    def __getitem__(self, place: SupportsIndex | slice) -> "Alignment | Alignments":
        return Alignments(super().__getitem__(place)) if isinstance(place, slice) else super().__getitem__(place)

    def to_frame(self, library: str = "pandas") -> Any:
        """A row per alignment: both texts, probability, verdict, bits, links and conflicts.

        A link is a dictionary with the texts and offsets of its two spans, its bits, cost, share and relation; a
        conflict one with its kind and the words on both sides. Numbers are missing where costs are no evidence.

        Args:
            library: what the frame is of: pandas, polars, pyarrow or datasets.

        Raises:
            ValueError: if there is no such library.
            ModuleNotFoundError: if it is not installed.
        """
        if library not in _LIBRARIES:
            raise ValueError(f"A frame is of {', '.join(_LIBRARIES)}; got {library!r}.")
        texts = {"left": [why.left.text for why in self], "right": [why.right.text for why in self]}
        kinds = {"left": str, "right": str, **_COLUMNS}
        return _LIBRARIES[library]().made(kinds, texts | _values(self))


def with_alignments(
    frame: Frame,
    left: Any,
    right: Any,
    outcomes_of: Callable[[list[tuple[Any, Any]]], Sequence[Outcome]],
) -> Frame:
    """The frame with the alignments of two of its columns as further columns.

    `outcomes_of` gives the alignment of each pair, or what is wrong with it.

    Raises:
        TypeError: if it is no frame of a known library.
        ValueError: if it has no such column, or one of the columns that are added.
    """
    library = _library_of(frame)
    names = library.names(frame)
    for name in (left, right):
        if name not in names:
            raise ValueError(f"The frame has no column {name!r:.60}. It has: {listed(names)}.")
        if (count := names.count(name)) > 1:
            raise ValueError(f"The frame has {count} columns {name!r:.60}. Rename all but one of them.")
    taken = [name for name in (*_COLUMNS, _ERROR) if name in names]
    if taken:
        raise ValueError(f"The frame has a column {taken[0]!r}, which alignments are to be in. Rename it or drop it.")
    texts = zip(library.column(frame, left), library.column(frame, right), strict=True)
    outcomes = outcomes_of([*texts])
    errors = [str(one) if isinstance(one, ValueError) else None for one in outcomes]
    return library.extended(frame, {**_COLUMNS, _ERROR: str}, {**_values(outcomes), _ERROR: errors})


def _values(outcomes: Sequence[Outcome]) -> dict[str, list[Any]]:
    """The values of each column of `_COLUMNS`; those of errors are missing, or empty lists."""
    rows = [
        (one.probability, one.verdict, one.bits, [_link(link) for link in one.links], _conflicts(one))
        if isinstance(one, Alignment)
        else (None, None, None, [], [])
        for one in outcomes
    ]
    return {name: [row[place] for row in rows] for place, name in enumerate(_COLUMNS)}


def _link(link: Link) -> dict[str, Any]:
    relation = None if link.relation is None else link.relation.name
    values = (*link.texts, *link.left, *link.right, link.bits, link.cost, link.share, relation)
    return dict(zip(_LINK, values, strict=True))


def _conflicts(why: Alignment) -> list[dict[str, str]]:
    """The words of both texts that contradict each other; those of one conflict that are apart have an ellipsis."""
    return [
        {
            "kind": one.kind,
            "left": " … ".join(why.left[span] for span in one.left),
            "right": " … ".join(why.right[span] for span in one.right),
        }
        for link in why.links
        for one in link.conflicts
    ]


class _Library(Protocol):
    """What is asked of frames of one library."""

    def names(self, frame: Any) -> list[Any]:
        """The names of its columns."""

    def column(self, frame: Any, name: Any) -> list[Any]:
        """The values of a column, those that are missing as None."""

    def extended(self, frame: Any, kinds: Mapping[str, _Kind], values: Mapping[str, list[Any]]) -> Any:
        """The frame with more columns."""

    def made(self, kinds: Mapping[str, _Kind], values: Mapping[str, list[Any]]) -> Any:
        """A frame of these columns."""


class _Pandas:
    def names(self, frame: Any) -> list[Any]:
        if frame.columns.nlevels > 1:
            raise ValueError("The names of the frame's columns have several levels: give a frame whose names have one.")
        return [*frame.columns]

    def column(self, frame: Any, name: Any) -> list[Any]:
        series = frame[name]
        values = zip(series.tolist(), series.isna().tolist(), strict=True)
        return [None if missing else value.tolist() if hasattr(value, "tolist") else value for value, missing in values]

    def extended(self, frame: Any, kinds: Mapping[str, _Kind], values: Mapping[str, list[Any]]) -> Any:
        return frame.assign(**self._columns(kinds, values, frame.index))

    def made(self, kinds: Mapping[str, _Kind], values: Mapping[str, list[Any]]) -> Any:
        return import_module("pandas").DataFrame(self._columns(kinds, values, None))

    def _columns(self, kinds: Mapping[str, _Kind], values: Mapping[str, list[Any]], index: Any) -> dict[str, Any]:
        series = import_module("pandas").Series
        return {name: series(own, index=index, dtype=self._dtype(kinds[name])) for name, own in values.items()}

    def _dtype(self, kind: _Kind) -> str:
        return "float64" if kind is float else "str" if kind is str else "object"


class _Polars:
    def names(self, frame: Any) -> list[Any]:
        return [*frame.columns]

    def column(self, frame: Any, name: Any) -> list[Any]:
        return list(frame[name].to_list())

    def extended(self, frame: Any, kinds: Mapping[str, _Kind], values: Mapping[str, list[Any]]) -> Any:
        return frame.with_columns(self.made(kinds, values).get_columns())

    def made(self, kinds: Mapping[str, _Kind], values: Mapping[str, list[Any]]) -> Any:
        polars = import_module("polars")
        plain = {float: polars.Float64, int: polars.Int64, str: polars.String}
        types = {
            name: _typed(kind, plain, lambda fields: polars.List(polars.Struct(fields))) for name, kind in kinds.items()
        }
        return polars.DataFrame(values, schema=types)


class _Pyarrow:
    def names(self, frame: Any) -> list[Any]:
        return [*frame.column_names]

    def column(self, frame: Any, name: Any) -> list[Any]:
        return list(frame.column(name).to_pylist())

    def extended(self, frame: Any, kinds: Mapping[str, _Kind], values: Mapping[str, list[Any]]) -> Any:
        made = self.made(kinds, values)
        for field in made.schema:
            frame = frame.append_column(field, made.column(field.name))
        return frame

    def made(self, kinds: Mapping[str, _Kind], values: Mapping[str, list[Any]]) -> Any:
        arrow = import_module("pyarrow")
        plain = {float: arrow.float64(), int: arrow.int64(), str: arrow.string()}
        types = {
            name: _typed(kind, plain, lambda fields: arrow.list_(arrow.struct(fields))) for name, kind in kinds.items()
        }
        return arrow.table({name: arrow.array(own, types[name]) for name, own in values.items()})


class _Datasets:
    def names(self, frame: Any) -> list[Any]:
        return [*frame.column_names]

    def column(self, frame: Any, name: Any) -> list[Any]:
        return [*frame[name]]

    def extended(self, frame: Any, kinds: Mapping[str, _Kind], values: Mapping[str, list[Any]]) -> Any:
        datasets, made = import_module("datasets"), self.made(kinds, values)
        if len(frame):
            return datasets.concatenate_datasets([frame, made], axis=1)
        features = datasets.Features({**frame.features, **made.features})  # which concatenating nothing would lose
        return datasets.Dataset.from_dict({name: [] for name in features}, features)

    def made(self, kinds: Mapping[str, _Kind], values: Mapping[str, list[Any]]) -> Any:
        datasets = import_module("datasets")
        schema = _Pyarrow().made(kinds, {name: [] for name in kinds}).schema
        return datasets.Dataset.from_dict(dict(values), datasets.Features.from_arrow_schema(schema))


def _typed(kind: _Kind, plain: Mapping[type, Any], records: Callable[[dict[str, Any]], Any]) -> Any:
    """The type of a column, as a library has it, of the types of plain values and that of lists of records."""
    if isinstance(kind, type):
        return plain[kind]
    return records({name: plain[field] for name, field in kind.items()})


_LIBRARIES: Mapping[str, Callable[[], _Library]] = {
    "pandas": _Pandas,
    "polars": _Polars,
    "pyarrow": _Pyarrow,
    "datasets": _Datasets,
}
_FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table", "datasets": "Dataset"}


def _library_of(frame: object) -> _Library:
    """The library of a frame, or of what its class is made of; raises TypeError for other objects."""
    for kind in type(frame).__mro__:
        name = kind.__module__.partition(".")[0]
        if _FRAMES.get(name) == kind.__name__:
            return _LIBRARIES[name]()
    came = f"{type(frame).__module__}.{type(frame).__qualname__}"
    lazy = " Call .collect() on it first." if hasattr(frame, "collect") else ""
    split = " Give one of its splits." if isinstance(frame, dict) and hasattr(frame, "column_names") else ""
    kinds = "a DataFrame of pandas or polars, a Table of pyarrow, or a Dataset of datasets"
    raise TypeError(f"A frame is {kinds}; got {came}.{lazy}{split}")
