"""Millions of pairs of texts, scored with their links by many workers: Parquet or JSON lines in, Parquet out."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from whymatch.matching.aligner import Aligner
from whymatch.matching.alignment import Alignment
from whymatch.matching.ranker import Ranker
from whymatch.reading import MAX_ROW_BYTES, MEGABYTE, byte_lines, json_lines, opened, read_rows
from whymatch.search.identity import identify
from whymatch.search.scale import Done, Part, cut, run
from whymatch.search.scoring import parts as parts_of
from whymatch.transport.constraints import Constraint

TOGETHER = 256  # pairs that are aligned at a time
ENDINGS = (".parquet", ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
LINK = pa.struct(
    [(name, pa.int32()) for name in ("left_start", "left_end", "right_start", "right_end")]
    + [(name, pa.float64()) for name in ("cost", "share")]
)
SCHEMA = pa.schema(
    [
        ("file", pa.string()),
        ("row", pa.int64()),
        ("id", pa.string()),
        ("score", pa.float64()),
        ("links", pa.list_(LINK)),
        ("error", pa.string()),
    ]
)


class PairRow(NamedTuple):
    """A pair of texts with its number in a file, from 1, and what is wrong with it."""

    number: int
    id: str | None
    left: str
    right: str
    error: str | None = None


@dataclass(frozen=True)
class Pairs:
    """Files with two texts a row; an `id` is kept, if there is one."""

    path: Path
    left: str = "left"
    right: str = "right"

    def files(self) -> list[Path]:
        """What is read, in order."""
        if not self.path.exists():
            raise ValueError(f"There is no {self.path}. Give Parquet, JSON lines, or a folder of such files.")
        inside = sorted(self.path.rglob("*")) if self.path.is_dir() else [self.path]
        found = [file for file in inside if file.is_file() and file.name.endswith(ENDINGS)]
        if not found:
            raise ValueError(f"{self.path} holds no pairs: files end in {', '.join(ENDINGS)}.")
        return found

    def counts(self) -> Iterator[tuple[Path, int]]:
        """The files with the number of their rows."""
        for file in self.files():
            if file.suffix == ".parquet":
                yield file, parquet.ParquetFile(file).metadata.num_rows
            else:
                with opened(file) as data:
                    yield file, sum(1 for _ in byte_lines(data, MEGABYTE))

    def rows(self, file: Path) -> Iterator[PairRow]:
        """The rows of a file, bad ones too."""
        for number, values in enumerate(self.values(file), start=1):
            yield self.row(number, values)

    def values(self, file: Path) -> Iterator[dict[str, Any] | ValueError]:
        if file.suffix == ".parquet":
            yield from (row.values for row in read_rows(file, (), ("id", self.left, self.right)))
            return
        with opened(file) as data:  # blank lines are counted as rows
            yield from (values for _, values in json_lines(data, max_bytes=MAX_ROW_BYTES, skip_blank=False))

    def row(self, number: int, values: dict[str, Any] | ValueError) -> PairRow:
        if isinstance(values, ValueError):
            return PairRow(number, None, "", "", str(values))
        left, right = values.get(self.left), values.get(self.right)
        if not isinstance(left, str) or not isinstance(right, str):
            return PairRow(number, None, "", "", f'a row has two texts, "{self.left}" and "{self.right}".')
        id_ = values.get("id")
        return PairRow(number, None if id_ is None else str(id_), left, right)


@dataclass(frozen=True)
class Score:
    """How a worker is made: the pairs that it reads, what aligns them, and under which constraint."""

    pairs: Pairs
    matcher: Callable[[], Aligner | Ranker]
    constraint: Constraint | None

    def __call__(self) -> "Scorer":
        return Scorer(self)


class Scorer:
    """Aligns pairs; k is clipped where a text is short. A pair that cannot be aligned has its error beside it."""

    def __init__(self, made: Score) -> None:
        self.pairs = made.pairs
        self.aligner, own = parts_of(made.matcher())
        self.constraint = made.constraint or own

    def work(self, part: Part) -> tuple[pa.Table, list[str]]:
        found, complaints = [], []
        for some in part.slices:
            rows = islice(self.pairs.rows(Path(some.file)), some.first, some.last)
            while batch := list(islice(rows, TOGETHER)):
                good = [row for row in batch if row.error is None]
                outcomes = self.aligner.outcomes([(row.left, row.right) for row in good], self.constraint, clip=True)
                whys = dict(zip((row.number for row in good), outcomes, strict=True))
                found += [record(some.file, row, whys.get(row.number)) for row in batch]
        complaints = [f"{row['file']}, row {row['row']}: {row['error']}" for row in found if row["error"]]
        return pa.Table.from_pylist(found, schema=SCHEMA), complaints


def record(file: str, row: PairRow, why: Alignment | ValueError | None) -> dict[str, Any]:
    """A pair as a row of what comes out."""
    about = {"file": file, "row": row.number, "id": row.id}
    if not isinstance(why, Alignment):
        return {**about, "score": None, "links": [], "error": row.error or str(why)}
    links = [dict(zip(LINK.names, (*link.left, *link.right, link.cost, link.share), strict=True)) for link in why.links]
    return {**about, "score": why.score, "links": links, "error": None}


def score_on_ray(
    pairs: Pairs,
    out: Path,
    matcher: Callable[[], Aligner | Ranker],
    constraint: Constraint | None,
    address: str,
    *,
    size: int | None = None,
) -> Iterator[tuple[Done, int]]:
    """Writes a Parquet file a part into a folder; gives each when it is done, and the number of all rows."""
    pairs, out = replace(pairs, path=pairs.path.absolute()), out.absolute()  # a worker stands in another folder
    about = [fingerprint(matcher()), str(constraint), pairs.left, pairs.right]
    parts = cut(pairs.counts(), out, about, size)
    total = sum(part.rows for part in parts)
    for done in run(parts, Score(pairs, matcher, constraint), address):
        yield done, total


def fingerprint(matcher: Aligner | Ranker) -> str:
    """What tells a matcher from others, the same one after another training included."""
    aligner = parts_of(matcher)[0]
    parts = [identify(aligner).known, aligner.cost.to_list()]
    if (counts := aligner.cost.word_counts) is not None:
        parts += [counts.texts, sorted(counts.counts.items())]
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=16)
    for name, tensor in sorted(matcher.state_dict().items()) if isinstance(matcher, Ranker) else ():
        digest.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
