"""The table that holds an index: LanceDB, embedded, one row a document, every change one transaction."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import lancedb
import pyarrow as pa
from lancedb.index import FTS, IvfSq

TABLE = "documents"
INDEXED = 2000  # rows from which vectors get an index; fewer are compared one by one as fast
KEPT = timedelta(minutes=30)  # how long a reader may work on an old version
PATIENCE = 120.0  # seconds, while other writers come first
AT_ONCE = 1000  # ids in a condition
AGAIN = "If it is damaged, delete the folder and index the corpus again"
Value = TypeVar("Value")


class Store:
    """One version of the table, until `refresh` or a change of one's own moves on to the newest."""

    def __init__(self, folder: Path, table: Any) -> None:
        self.folder = folder
        self.table = table
        self.indices = self.indexed()

    @classmethod
    def open(cls, folder: Path) -> "Store":
        if not (folder / f"{TABLE}.lance").is_dir():
            raise ValueError(f"There is no index in {folder}. Make one: whymatch index CORPUS {folder}.")
        try:
            return cls(folder, lancedb.connect(str(folder)).open_table(TABLE))
        except Exception as error:  # a damaged file leads LanceDB to errors of any kind
            raise ValueError(f"The index in {folder} is damaged: {error}. {AGAIN}.") from None

    @classmethod
    def create(cls, folder: Path, columns: pa.Schema) -> "Store":
        """A new table, or the one that is there."""
        folder.mkdir(parents=True, exist_ok=True)
        others = {path.name for path in folder.iterdir()} - {f"{TABLE}.lance", "parts"}
        if others and not (folder / f"{TABLE}.lance").is_dir():
            raise ValueError(f"{folder} is no index, and holds {min(others)}. Name a new or an empty folder.")
        base = lancedb.connect(str(folder))
        try:
            table = base.create_table(TABLE, schema=columns)
        except ValueError:  # perhaps another writer has made it just now
            table = base.open_table(TABLE)
        store = cls(folder, table)
        store.ensure_indices()
        return store

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    @property
    def version(self) -> int:
        return int(self.table.version)

    def refresh(self) -> None:
        self.table.checkout_latest()
        self.indices = self.indexed()

    def __len__(self) -> int:
        with self.in_words():
            return int(self.table.count_rows())

    def merge(self, rows: pa.Table, *, replace: bool) -> int:
        """Inserts rows whose ids are new and, if told, replaces those of the others; how many rows that wrote."""

        def once() -> int:
            change = self.table.merge_insert("id").when_not_matched_insert_all()
            change = change.when_matched_update_all() if replace else change
            done = change.execute(rows)
            return int(done.num_inserted_rows + done.num_updated_rows)

        return self.patiently(once)

    def delete(self, ids: Iterable[str]) -> int:
        """Deletes the rows of these ids; how many there were."""

        def once(some: Sequence[str]) -> int:
            return int(self.table.delete(one_of(some)).num_deleted_rows)

        listed = [*dict.fromkeys(ids)]
        starts = range(0, len(listed), AT_ONCE)
        return sum(self.patiently(partial(once, listed[start : start + AT_ONCE])) for start in starts)

    def patiently(self, change: Callable[[], Value]) -> Value:
        """Makes a change, again where another writer came first."""
        end, pause = time.monotonic() + PATIENCE, 0.05
        while True:
            try:
                return change()
            except (OSError, RuntimeError, ValueError) as error:
                if "conflict" not in str(error).lower() or time.monotonic() > end:
                    raise OSError(f"The index in {self.folder} cannot be written: {error}") from error
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(2.0, 2 * pause)
            self.refresh()

    def read(self, query: Callable[[], Value]) -> Value:
        """What a query gives; on the newest version, where the one that was looked at is no longer kept.

        Raises:
            OSError: naming the folder, if the query cannot be answered.
        """
        with self.in_words():
            try:
                return query()
            except RuntimeError:
                before = self.version
                self.refresh()
                if self.version == before:
                    raise
                return query()

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Turns what LanceDB raises over files that are gone or damaged into an OSError that names the folder."""
        try:
            yield
        except OSError:
            raise
        except Exception as error:  # of any kind, panics of its own included
            raise OSError(f"The index in {self.folder} cannot be read: {error}. {AGAIN}.") from error

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Some columns of all rows."""
        return self.read(lambda: self.table.search().select([*names]).limit(max(1, len(self))).to_arrow())

    def batches(self, names: Sequence[str], size: int = 1024) -> Iterable[pa.RecordBatch]:
        """Some columns of all rows, a few rows at a time."""
        rows = iter(self.read(lambda: self.table.search().select([*names]).limit(max(1, len(self))).to_batches(size)))
        while True:
            with self.in_words():
                batch = next(rows, None)
            if batch is None:
                return
            yield batch

    def rows(self, ids: Sequence[str], names: Sequence[str]) -> pa.Table:
        """Some columns of the rows of these ids, in any order."""

        def once(some: Sequence[str]) -> pa.Table:
            return self.table.search().where(one_of(some)).select([*names]).limit(AT_ONCE).to_arrow()

        starts = range(0, max(1, len(ids)), AT_ONCE)
        return pa.concat_tables([self.read(partial(once, ids[start : start + AT_ONCE])) for start in starts])

    def ensure_indices(self) -> None:
        """A full-text index, and those of pooled vectors and of the spans' where there are many rows."""
        if "text" not in self.indices:
            self.courteously(lambda: self.table.create_index("text", config=FTS()))
        for column in ("pooled", "vectors"):
            if column not in self.indices and len(self) >= INDEXED:
                quick = IvfSq(distance_type="cosine", max_iterations=10, sample_rate=64)
                self.courteously(partial(self.table.create_index, column, config=quick))
        self.indices = self.indexed()

    def indexed(self) -> set[str]:
        """The columns that have an index."""
        return {column for index in self.table.list_indices() for column in index.columns}

    def compact(self) -> None:
        """Puts small files together, adds new rows to the indices, and drops versions that nobody reads any more."""
        self.ensure_indices()
        self.courteously(lambda: self.table.optimize(cleanup_older_than=KEPT))

    def courteously(self, change: Callable[[], object]) -> None:
        """Makes a change that another time would do for, unless another writer came first."""
        try:
            change()
        except (OSError, RuntimeError, ValueError) as error:
            if "conflict" not in str(error).lower():
                raise
            self.refresh()


def one_of(ids: Iterable[str]) -> str:
    """The condition that a row has one of these ids."""
    quoted = ", ".join("'" + id_.replace("'", "''") + "'" for id_ in ids)
    return f"id IN ({quoted})" if quoted else "false"
