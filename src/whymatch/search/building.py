"""A corpus into an index, in one process or by many workers: streamed, resumable, bad rows reported and left out."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from whymatch.datasets.documents import CorpusFiles, CorpusRow
from whymatch.search.columns import Columns, Metadata
from whymatch.search.encoding import AlignerOrRanker, make_entries, unread_languages
from whymatch.search.entries import Entry, from_arrow, metadata_digest, text_digest
from whymatch.search.index import Index
from whymatch.search.scale import WorkPart, cut_into_parts, run_parts

DOCUMENTS_PER_TRANSACTION = 64  # that are encoded together
_MERGED_PER_TRANSACTION = 512  # documents that workers have encoded


@dataclass
class BuildReport:
    """What was done so far."""

    written: int = 0
    unchanged: int = 0
    deleted: int = 0
    bad: int = 0
    encoding_seconds: float = 0.0
    """The time of splitting and encoding."""
    unread: Counter[str] = field(default_factory=Counter)
    """How many of those written are in a language that the encoder does not read, by its name."""
    began: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def rate(self) -> float:
        """Documents written per second."""
        return self.written / max(self.seconds, 1e-9)


def build(
    index: Index,
    rows: Iterable[CorpusRow],
    complain: Callable[[str], None],
    progress: Callable[[int, BuildReport], None] = lambda bytes_read, report: None,
    *,
    prune: bool = False,
    documents_per_transaction: int = DOCUMENTS_PER_TRANSACTION,
) -> BuildReport:
    """Makes an index hold the documents of a corpus: new ones are added, changed ones replaced, others left alone.

    Ended at any moment and called again, it goes on where it was: documents that are there with the same text are not
    encoded again, also where their metadata have changed. `prune` deletes documents that the corpus does not have,
    unless a row was bad: it may be one of them.
    """
    report, known = BuildReport(), index.digests()
    seen: set[str] = set()
    stream = iter(rows)
    while batch := list(islice(stream, documents_per_transaction)):
        seen.update(row.id for row in batch if row.error is None)
        start = time.perf_counter()
        entries, complaints = encode_rows(index, batch, known)
        report.encoding_seconds += time.perf_counter() - start
        for complaint in complaints:
            complain(complaint)
        report.bad += len(complaints)
        report.unchanged += len(batch) - len(entries) - len(complaints)
        report.written += index.write(entries, replace=True)
        report.unread.update(unread_languages(index.aligner.encoder, entries))
        progress(batch[-1].bytes_read, report)
    if prune and not report.bad:
        report.deleted = index.delete(known.keys() - seen)
    index.compact()
    return report


def kept_columns(corpus: CorpusFiles) -> Columns:
    """The columns that a corpus is to be indexed with, their types inferred from all of its rows."""
    return Columns.inferred(corpus.keep, (row.metadata for row in corpus if row.error is None))


def encode_rows(
    index: Index, rows: Sequence[CorpusRow], known: Mapping[str, tuple[bytes, bytes]]
) -> tuple[list[Entry], list[str]]:
    """The entries of rows that differ from the known digests, and complaints about bad rows.

    Rows whose text is known are not encoded: their entries are those of the index, with other metadata.
    """
    complaints, new, metadata = list[str](), dict[str, CorpusRow](), dict[str, Metadata]()
    for row in rows:
        try:
            if row.error is not None:
                raise row.error
            kept = index.columns.metadata(row.metadata)
        except ValueError as error:
            complaints.append(f"{row.place}: {error}")
            continue
        if known.get(row.id) != (text_digest(row.text), metadata_digest(kept)):
            new[row.id], metadata[row.id] = row, kept
    same = [id_ for id_, row in new.items() if id_ in known and known[id_][0] == text_digest(row.text)]
    outcomes: dict[str, Entry | ValueError] = {
        entry.id: entry for entry in index.store.entries(same, skip_damaged=True) if entry.text == new[entry.id].text
    }
    outcomes |= make_entries(index.aligner, {id_: row.text for id_, row in new.items() if id_ not in outcomes})
    complaints += [f"{new[id_].place}: {bad}" for id_, bad in outcomes.items() if isinstance(bad, ValueError)]
    entries = [entry.with_metadata(metadata[id_]) for id_, entry in outcomes.items() if isinstance(entry, Entry)]
    return entries, complaints


def build_on_ray(
    index: Index,
    corpus: CorpusFiles,
    make_matcher: Callable[[], AlignerOrRanker],
    address: str,
    complain: Callable[[str], None],
    progress: Callable[[int, int, BuildReport], None] = lambda done, total, report: None,
    *,
    rows_per_part: int | None = None,
) -> BuildReport:
    """As `build`, with workers that encode; all of them must see the corpus and the folder of the index.

    Parts lie in the folder until their documents are in the table; called again, it goes on with those that are there.
    """
    report = BuildReport()
    corpus = replace(corpus, path=corpus.path.absolute())  # a worker stands in another folder
    home = index.store.folder.absolute()
    row_counts, repeated = _survey(corpus)
    limit = index.aligner.limit
    facts = [index.identity.to_json().decode(), str(index.columns), asdict(corpus), repeated, limit]
    parts = cut_into_parts(row_counts, home / "parts", facts, rows_per_part)
    total, done = sum(part.rows for part in parts), 0
    rows_of = {part.out: part.rows for part in parts}
    for result in run_parts(parts, partial(_IndexingWorker, corpus, repeated, home, make_matcher, limit), address):
        done += rows_of[result.out]
        report.bad += len(result.complaints)
        for complaint in result.complaints:
            complain(complaint)
        progress(done, total, report)
    for part in parts:
        for batch in parquet.ParquetFile(part.out).iter_batches(batch_size=_MERGED_PER_TRANSACTION):
            rows = pa.Table.from_batches([batch]).cast(index.store.schema)
            report.written += index.merge(rows, replace=True)
            entries = from_arrow(rows, home, index.columns)
            report.unread.update(unread_languages(index.aligner.encoder, entries))
    report.unchanged = total - report.bad - report.written
    shutil.rmtree(home / "parts", ignore_errors=True)
    index.compact()
    return report


class _IndexingWorker:
    """Reads and encodes documents that the index does not have; `repeated` has the first places of repeated ids."""

    def __init__(
        self,
        corpus: CorpusFiles,
        repeated: dict[str, str],
        folder: Path,
        make_matcher: Callable[[], AlignerOrRanker],
        limit: int,
    ) -> None:
        self.corpus, self.repeated = corpus, repeated
        self.index = Index.open(folder, make_matcher())
        self.index.aligner.limit = limit
        self.known = self.index.digests()

    def work(self, part: WorkPart) -> tuple[pa.Table, list[str]]:
        """The rows of the documents that are new or changed, and complaints about bad ones."""
        tables, complaints = [self.index.store.schema.empty_table()], []
        stream = map(self._unless_repeated, part.rows_from(self.corpus.rows))
        while batch := list(islice(stream, DOCUMENTS_PER_TRANSACTION)):
            entries, bad = encode_rows(self.index, batch, self.known)
            complaints += bad
            if entries:
                tables.append(self.index.to_rows(entries))
        return pa.concat_tables(tables), complaints

    def _unless_repeated(self, row: CorpusRow) -> CorpusRow:
        first = self.repeated.get(row.id, row.place)
        return row if row.error is not None or first == row.place else row.repeating(first)


def _survey(corpus: CorpusFiles) -> tuple[list[tuple[Path, int]], dict[str, str]]:
    """The files of a corpus with the number of their rows, and the first place of every id that is repeated."""
    row_counts: list[tuple[Path, int]] = []
    first: dict[str, str] = {}
    repeated: dict[str, str] = {}
    for file in corpus.files():
        if corpus.is_text(file):  # one document, whose id is its path
            row_counts.append((file, 1))
            continue
        rows = 0
        for row in corpus.rows(file):
            rows += 1
            if row.error is None and first.setdefault(row.id, row.place) != row.place:
                repeated[row.id] = first[row.id]
        row_counts.append((file, rows))
    return row_counts, repeated
