"""The table that holds an index: LanceDB, embedded, one row per document, every change one transaction."""

import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS, IvfSq
from lancedb.query import LanceVectorQueryBuilder, MatchQuery

from whymatch.search.columns import Columns
from whymatch.search.entries import ENTRY_COLUMNS, Entry, from_arrow, pooled
from whymatch.search.filters import condition, explained

PROBED_PARTITIONS = 32  # of the index of pooled vectors
PROBED_SPAN_PARTITIONS = 8  # of the index of spans' vectors, for each span of a query; 16 find hardly more
_SPANS_PER_PARTITION = 4096  # Lance would take 8,192 rows, of several spans each; it joins partitions below 2,048
MIN_INDEXED_ROWS = 2000  # fewer vectors are compared one by one as fast
OLD_VERSIONS_KEPT_FOR = timedelta(minutes=30)  # how long a reader may work on an old version
_TABLE = "documents"
_WAYS = 3  # in which candidates are looked for, at the same time
_MAX_QUERY_SPANS = 64
_MAX_QUERY_WORDS = 256  # distinct ones
_RANK_FUSION = 60  # the usual constant of reciprocal rank fusion
_MAX_SECONDS_RETRYING = 120.0  # while other writers come first
_MAX_IDS_PER_QUERY = 1000
_DAMAGE_ADVICE = "If it is damaged, delete the folder and index the corpus again"
_Value = TypeVar("_Value")


class Candidate(NamedTuple):
    """A document worth aligning, and its places, from 1, among the nearest by "text", by "spans" and by "words"."""

    entry: Entry
    places: Mapping[str, int]

    @property
    def fused(self) -> float:
        """The sum of its reciprocal ranks: high is good."""
        return sum(1 / (_RANK_FUSION + place) for place in self.places.values())


class Selected(NamedTuple):
    """The documents for which a filter holds: LanceDB's condition, and how many there are."""

    condition: str
    documents: int


class Store:
    """One version of the table, until `refresh` or a change of its own moves on to the newest."""

    def __init__(self, folder: Path, table: lancedb.table.Table) -> None:
        self.folder = folder
        self.table = table
        self.columns = Columns.of_schema(table.schema)
        """What is kept of documents beside their texts."""
        self.indexed_columns = self._indexed_columns()
        self._counted = (-1, 0)  # a version, and the number of its documents

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Whether there is a table in a folder."""
        return (folder / f"{_TABLE}.lance").is_dir()

    @classmethod
    def open(cls, folder: Path) -> "Store":
        """The table in a folder; raises ValueError if there is none, or a damaged one."""
        if not cls.is_in(folder):
            raise ValueError(f"There is no index in {folder}. Make one: whymatch index CORPUS {folder}.")
        try:
            return cls(folder, lancedb.connect(str(folder)).open_table(_TABLE))
        except Exception as error:  # a damaged file leads LanceDB to errors of any kind
            raise ValueError(f"The index in {folder} is damaged: {error}. {_DAMAGE_ADVICE}.") from None

    @classmethod
    def create(cls, folder: Path, schema: pa.Schema) -> "Store":
        """A new table in a folder, or the one that is there; raises ValueError if the folder holds anything else."""
        folder.mkdir(parents=True, exist_ok=True)
        others = {path.name for path in folder.iterdir()} - {f"{_TABLE}.lance", "parts"}
        if others and not cls.is_in(folder):
            raise ValueError(f"{folder} is no index, and holds {min(others)}. Name a new or an empty folder.")
        database = lancedb.connect(str(folder))
        try:
            table = database.create_table(_TABLE, schema=schema)
        except ValueError:  # perhaps another writer has made it just now
            table = database.open_table(_TABLE)
        store = cls(folder, table)
        store._ensure_indices()
        return store

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    @property
    def version(self) -> int:
        return int(self.table.version)

    def refresh(self) -> None:
        """Moves on to the newest version."""
        self.table.checkout_latest()
        self.indexed_columns = self._indexed_columns()

    def __len__(self) -> int:
        with self._errors_name_folder():
            version, (counted, number) = self.version, self._counted
            if counted != version:
                number = int(self.table.count_rows())
                self._counted = version, number  # if another thread has changed it meanwhile, it is counted again
        return number

    def merge(self, rows: pa.Table, *, replace: bool) -> int:
        """Inserts rows with new ids and, with `replace`, replaces those whose ids are there; the number written."""

        def change() -> int:
            merge = self.table.merge_insert("id").when_not_matched_insert_all()
            result = (merge.when_matched_update_all() if replace else merge).execute(rows)
            return int(result.num_inserted_rows + result.num_updated_rows)

        return self._retried(change)

    def rewrite(self, rows: pa.Table) -> None:
        """Writes rows in the place of those with the same ids whose documents have not changed since they were read.

        Whole rows: for some of the columns alone, Lance would read the others of all documents into memory.
        """
        unchanged = "target.seal = source.seal"
        self._retried(lambda: self.table.merge_insert("id").when_matched_update_all(where=unchanged).execute(rows))

    def delete(self, ids: Iterable[str]) -> int:
        """Deletes the rows of these ids; the number of rows that were there."""

        def change(batch: Sequence[str]) -> int:
            return int(self.table.delete(_id_is_one_of(batch)).num_deleted_rows)

        return sum(self._retried(partial(change, batch)) for batch in _batches_of_ids([*dict.fromkeys(ids)]))

    def read(self, query: Callable[[], _Value]) -> _Value:
        """The result of a query, on the newest version where the one looked at is gone; OSErrors name the folder."""
        with self._errors_name_folder():
            try:
                return query()
            except RuntimeError:
                before = self.version
                self.refresh()
                if self.version == before:
                    raise
                return query()

    def batches(self, names: Sequence[str], size: int = 1024, *, where: str | None = None) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, or of those for which a condition holds, up to `size` rows at a time."""

        def query() -> Iterator[pa.RecordBatch]:
            rows = self.table.search() if where is None else self.table.search().where(where)
            return iter(rows.select([*names]).limit(max(1, len(self))).to_batches(size))

        rows = self.read(query)
        while True:
            with self._errors_name_folder():
                batch = next(rows, None)
            if batch is None:
                return
            yield batch

    def rows(self, ids: Sequence[str], names: Sequence[str]) -> pa.Table:
        """These columns of the rows of some ids, in any order."""

        def query(batch: Sequence[str]) -> pa.Table:
            return self.table.search().where(_id_is_one_of(batch)).select([*names]).limit(_MAX_IDS_PER_QUERY).to_arrow()

        empty = self.schema.empty_table().select([*names])
        return pa.concat_tables([empty, *(self.read(partial(query, batch)) for batch in _batches_of_ids(ids))])

    def selected(self, where: str) -> "Selected":
        """The documents for which a filter holds; raises ValueError if it cannot be used."""
        known = condition(where, self.columns)
        try:
            return Selected(known, int(self.table.count_rows(known)))
        except (ValueError, RuntimeError) as error:
            if isinstance(error, ValueError) or "filter expression" in str(error):
                raise explained(error, where, self.columns) from None
        return Selected(known, self.read(lambda: int(self.table.count_rows(known))))  # another version, or an OSError

    def candidates(
        self, text: str, vectors: np.ndarray, number: int, among: "Selected | None" = None
    ) -> list[Candidate]:
        """The `number` documents nearest to a text with these vectors in each of three ways, best fused ranks first.

        They are looked for among all documents, or among those that were selected.
        """

        ways: Mapping[str, Callable[[], pa.Table]] = {
            "text": partial(self._near_texts, pooled(vectors), number, among),
            "spans": partial(self._near_spans, vectors, number, among),
            "words": partial(self._with_words, text, number, among),
        }

        def query() -> tuple[list[pa.Table], list[Entry]]:
            with ThreadPoolExecutor(_WAYS, "whymatch search") as threads:  # of their own: a fork keeps no thread
                near = [*threads.map(lambda way: way(), ways.values())]
            return near, self._entries(pa.concat_tables([rows.select(["id", "_rowid"]) for rows in near]))

        near, read = self.read(query)
        entries = {entry.id: entry for entry in read}
        places: dict[str, dict[str, int]] = {}
        for way, rows in zip(ways, near, strict=True):
            for place, id_ in enumerate(rows.column("id").to_pylist(), start=1):
                places.setdefault(id_, {})[way] = place
        candidates = (Candidate(entries[id_], own) for id_, own in places.items())
        return sorted(candidates, key=lambda candidate: -candidate.fused)

    def _entries(self, found: pa.Table) -> list[Entry]:
        """The documents of the ids of a query, by the numbers of their rows, or by ids where rows have moved since."""
        numbers = dict(zip(found.column("id").to_pylist(), found.column("_rowid").to_pylist(), strict=True))
        if not numbers:
            return []
        rows = self.table.take_row_ids([*numbers.values()]).select(self.entry_columns).to_arrow()
        if {*rows.column("id").to_pylist()} != numbers.keys():
            rows = self.rows([*numbers], self.entry_columns)
        return from_arrow(rows, self.folder, self.columns)

    @property
    def entry_columns(self) -> list[str]:
        """The columns that an entry is read from."""
        return [*ENTRY_COLUMNS, *self.columns.fields.values()]

    def entries(self, ids: Sequence[str], *, skip_damaged: bool = False) -> list[Entry]:
        """The documents of these ids that there are, in any order, damaged ones too or without them.

        Raises:
            OSError: naming the first damaged document, unless those are skipped.
        """
        return from_arrow(self.rows(ids, self.entry_columns), self.folder, self.columns, skip_damaged=skip_damaged)

    def nearest_texts(self, vector: np.ndarray, number: int) -> list[str]:
        """The ids of the documents whose pooled vectors are nearest to a pooled vector."""
        return list(self.read(lambda: self._near_texts(vector, number).column("id").to_pylist()))

    def nearest_spans(self, vectors: np.ndarray, number: int) -> list[str]:
        """The ids of the documents with the highest sum, over these spans, of the similarity of their nearest span.

        Where an index of the vectors finds no span of a document, the least similarity that it found counts.
        """
        return list(self.read(lambda: self._near_spans(vectors, number).column("id").to_pylist()))

    def _near_texts(self, vector: np.ndarray, number: int, among: Selected | None = None) -> pa.Table:
        return self._nearest("pooled", vector, number, PROBED_PARTITIONS, among).to_arrow()

    def _near_spans(self, vectors: np.ndarray, number: int, among: Selected | None = None) -> pa.Table:
        chosen = np.linspace(0, len(vectors) - 1, min(len(vectors), _MAX_QUERY_SPANS)).astype(int)
        return self._nearest("vectors", vectors[chosen], number, PROBED_SPAN_PARTITIONS, among).to_arrow()

    def _nearest(
        self, column: str, vectors: np.ndarray, number: int, partitions: int, among: Selected | None
    ) -> LanceVectorQueryBuilder:
        query = self.table.search(vectors.astype(np.float32), vector_column_name=column, query_type="vector")
        nearest = query.distance_type("cosine").nprobes(partitions).limit(number)
        if among is not None:  # where few are selected, more partitions are probed
            nearest = nearest.where(among.condition, prefilter=True).maximum_nprobes(0)
        return nearest.select(["id", "_distance"]).with_row_id(True)

    def _with_words(self, text: str, number: int, among: Selected | None = None) -> pa.Table:
        """The rows that share words with a text, by BM25; none where there is no full-text index yet."""
        words = [*dict.fromkeys(re.findall(r"\w+", text.lower()))][:_MAX_QUERY_WORDS]
        if not words or "text" not in self.indexed_columns:
            return self.table.schema.empty_table().select(["id"]).append_column("_rowid", pa.array([], pa.uint64()))
        query = self.table.search(MatchQuery(" ".join(words), "text"), query_type="fts").limit(number)
        if among is not None:
            query = query.where(among.condition, prefilter=True)
        return query.select(["id", "_score"]).with_row_id(True).to_arrow()

    def compact(self) -> None:
        """Joins small files, adds new rows to the indices, and drops versions that nobody reads any more."""
        self._ensure_indices()
        self._unless_in_conflict(lambda: self.table.optimize(cleanup_older_than=OLD_VERSIONS_KEPT_FOR))

    def _ensure_indices(self) -> None:
        """Makes a full-text index, and from many rows on those of the pooled and of the spans' vectors."""
        if "text" not in self.indexed_columns:
            self._unless_in_conflict(lambda: self.table.create_index("text", config=FTS()))
        for column in ("pooled", "vectors"):
            if column not in self.indexed_columns and len(self) >= MIN_INDEXED_ROWS:
                partitions = None if column == "pooled" else max(1, self._count_spans() // _SPANS_PER_PARTITION)
                config = IvfSq(distance_type="cosine", num_partitions=partitions, max_iterations=10, sample_rate=64)
                self._unless_in_conflict(partial(self.table.create_index, column, config=config))
        self.indexed_columns = self._indexed_columns()

    def _count_spans(self) -> int:
        """The number of spans of all documents."""
        batches = self.batches(["spans"])
        return sum(
            int(np.sum(batch.column("spans").value_lengths().to_numpy(zero_copy_only=False))) for batch in batches
        )

    def _indexed_columns(self) -> set[str]:
        return {column for index in self.table.list_indices() for column in index.columns}

    def _retried(self, change: Callable[[], _Value]) -> _Value:
        """Makes a change, again where another writer came first; raises OSError if it cannot be made."""
        end, pause = time.monotonic() + _MAX_SECONDS_RETRYING, 0.05
        while True:
            try:
                return change()
            except (OSError, RuntimeError, ValueError) as error:
                if not _is_conflict(error) or time.monotonic() > end:
                    raise OSError(f"The index in {self.folder} cannot be written: {error}") from error
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(2.0, 2 * pause)
            self.refresh()

    def _unless_in_conflict(self, change: Callable[[], object]) -> None:
        """Makes a change that can wait for another time, unless another writer came first."""
        try:
            change()
        except (OSError, RuntimeError, ValueError) as error:
            if not _is_conflict(error):
                raise
            self.refresh()

    @contextmanager
    def _errors_name_folder(self) -> Iterator[None]:
        """Turns what LanceDB raises over missing or damaged files into an OSError that names the folder."""
        try:
            yield
        except OSError:
            raise
        except Exception as error:  # of any kind, panics of its own included
            raise OSError(f"The index in {self.folder} cannot be read: {error}. {_DAMAGE_ADVICE}.") from error


def _is_conflict(error: Exception) -> bool:
    return "conflict" in str(error).lower()


def _batches_of_ids(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """As many ids at a time as a query takes."""
    for start in range(0, len(ids), _MAX_IDS_PER_QUERY):
        yield ids[start : start + _MAX_IDS_PER_QUERY]


def _id_is_one_of(ids: Iterable[str]) -> str:
    """The condition of a query that a row has one of these ids."""
    quoted = ", ".join("'" + id_.replace("'", "''") + "'" for id_ in ids)
    return f"id IN ({quoted})" if quoted else "false"
