"""Millions of pairs of texts, scored with their links by many workers: Parquet or JSON lines in, Parquet out."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from whymatch.cost import Background
from whymatch.cost.evidence import cost_facts
from whymatch.datasets.documents import files_in
from whymatch.matching.aligner import Aligner
from whymatch.matching.alignment import Alignment
from whymatch.reading import MAX_ROW_BYTES, MEGABYTE, JsonObject, byte_lines, json_lines, opened, read_rows
from whymatch.search.encoding import AlignerOrRanker, Identity, aligner_and_constraint
from whymatch.search.scale import PartResult, WorkPart, cut_into_parts, run_parts
from whymatch.text.encoders import Pair
from whymatch.transport.constraints import Constraint

_ENDINGS = (".parquet", ".jsonl", ".ndjson")
_PAIRS_PER_BATCH = 256  # that are aligned together
_LINK = pa.struct(
    [(name, pa.int32()) for name in ("left_start", "left_end", "right_start", "right_end")]
    + [(name, pa.float64()) for name in ("cost", "share")]
)
_SCHEMA = pa.schema(
    [
        ("file", pa.string()),
        ("row", pa.int64()),
        ("id", pa.string()),
        ("score", pa.float64()),
        ("p_value", pa.float64()),
        ("probability", pa.float64()),
        ("links", pa.list_(_LINK)),
        ("error", pa.string()),
    ]
)


class PairRow(NamedTuple):
    """A pair of texts with its number in a file, from 1, or what is wrong with it."""

    file: str
    number: int
    id: str | None = None
    left: str = ""
    right: str = ""
    error: str | None = None


@dataclass(frozen=True)
class PairFiles:
    """A file or a folder of files with two texts per row, in the fields `left` and `right`; an `id` is kept."""

    path: Path
    left: str = "left"
    right: str = "right"

    def files(self) -> list[Path]:
        """The files in the order in which they are read; raises ValueError if there is none."""
        return files_in(self.path, _ENDINGS, "pairs", "Parquet, JSON lines")

    def row_counts(self) -> Iterator[tuple[Path, int]]:
        """The files with the number of their rows."""
        for file in self.files():
            if file.suffix == ".parquet":
                yield file, parquet.read_metadata(file).num_rows
            else:
                with opened(file) as data:
                    yield file, sum(1 for _ in byte_lines(data, MEGABYTE))

    def rows(self, file: Path) -> Iterator[PairRow]:
        """The rows of a file, bad ones too."""
        if file.suffix == ".parquet":
            for number, row in enumerate(read_rows(file, (), ("id", self.left, self.right)), start=1):
                yield self._row(file, number, row.values)
        else:  # blank lines are counted as rows
            with opened(file) as data:
                for number, fields in json_lines(data, max_bytes=MAX_ROW_BYTES, skip_blank=False):
                    yield self._row(file, number, fields)

    def _row(self, file: Path, number: int, fields: JsonObject | ValueError) -> PairRow:
        if isinstance(fields, ValueError):
            return PairRow(str(file), number, error=str(fields))
        left, right, id_ = fields.get(self.left), fields.get(self.right), fields.get("id")
        if not isinstance(left, str) or not isinstance(right, str):
            return PairRow(str(file), number, error=f'a row has two texts, "{self.left}" and "{self.right}".')
        return PairRow(str(file), number, None if id_ is None else str(id_), left, right)


def score_on_ray(
    pairs: PairFiles,
    out: Path,
    make_matcher: Callable[[], AlignerOrRanker],
    constraint: Constraint | None,
    address: str,
    *,
    rows_per_part: int | None = None,
) -> Iterator[tuple[PartResult, int]]:
    """Writes one Parquet file per part into a folder; yields each result, and the number of the rows of all parts.

    k is clipped where a text is short. The constraint is by default that of the ranker, or the aligner's default. All
    pairs are judged against the texts of the first ones, or those that ship if these are few.
    """
    pairs, out = replace(pairs, path=pairs.path.absolute()), out.absolute()  # a worker stands in another folder
    matcher = make_matcher()
    aligner, _ = aligner_and_constraint(matcher)
    aligner.judge.fix_background(_split_pairs(pairs, aligner), pairs.path.name)
    background = aligner.judge.background
    digest = "" if background is None else background.digest
    facts = [fingerprint(matcher), str(constraint), pairs.left, pairs.right, digest]
    parts = cut_into_parts(pairs.row_counts(), out, facts, rows_per_part)
    total = sum(part.rows for part in parts)
    for result in run_parts(parts, partial(_ScoringWorker, pairs, make_matcher, constraint, background), address):
        yield result, total


def _split_pairs(pairs: PairFiles, aligner: Aligner) -> Iterator[Pair]:
    """The pairs of texts that can be split, for those that read the first ones."""
    for row in (row for file in pairs.files() for row in pairs.rows(file)):
        if row.error is None:
            with suppress(ValueError):
                yield aligner.split(row.left), aligner.split(row.right)


class _ScoringWorker:
    """Aligns pairs; a pair that cannot be aligned has its error in its row."""

    def __init__(
        self,
        pairs: PairFiles,
        make_matcher: Callable[[], AlignerOrRanker],
        constraint: Constraint | None,
        background: Background | None,
    ) -> None:
        self.pairs = pairs
        self.aligner, own_constraint = aligner_and_constraint(make_matcher())
        self.aligner.judge.background = background
        self.constraint = constraint or own_constraint

    def work(self, part: WorkPart) -> tuple[pa.Table, list[str]]:
        """The rows of a part with their scores and links, and complaints about bad ones."""
        records = []
        rows = part.rows_from(self.pairs.rows)
        while batch := list(islice(rows, _PAIRS_PER_BATCH)):
            good = [row for row in batch if row.error is None]
            outcomes = iter(self.aligner.outcomes([(row.left, row.right) for row in good], self.constraint, clip=True))
            records += [_record(row, next(outcomes) if row.error is None else None) for row in batch]
        complaints = [f"{each['file']}, row {each['row']}: {each['error']}" for each in records if each["error"]]
        return pa.Table.from_pylist(records, schema=_SCHEMA), complaints


def _record(row: PairRow, outcome: Alignment | ValueError | None) -> dict[str, Any]:
    """A pair as a row of what comes out."""
    origin = {"file": row.file, "row": row.number, "id": row.id}
    if not isinstance(outcome, Alignment):
        nothing = dict.fromkeys(("score", "p_value", "probability"))
        return {**origin, **nothing, "links": [], "error": row.error or str(outcome)}
    links = [(*link.left, *link.right, link.cost, link.share) for link in outcome.links]
    named = [dict(zip(_LINK.names, values, strict=True)) for values in links]
    judged = {"score": outcome.score, "p_value": outcome.p_value, "probability": outcome.probability}
    return {**origin, **judged, "links": named, "error": None}


def fingerprint(matcher: AlignerOrRanker) -> str:
    """A hash that differs between matchers whose scores may differ, such as two trainings of one."""
    aligner, _ = aligner_and_constraint(matcher)
    facts = [str(Identity.of(aligner)), *cost_facts(aligner.cost)]
    digest = hashlib.blake2b(repr(facts).encode(), digest_size=16)
    for name, tensor in () if isinstance(matcher, Aligner) else sorted(matcher.state_dict().items()):
        digest.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
