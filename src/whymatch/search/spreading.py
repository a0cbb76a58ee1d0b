"""A corpus into an index, encoded by many workers: parts of it become Parquet, and then one table."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from whymatch.matching.aligner import Aligner
from whymatch.matching.ranker import Ranker
from whymatch.search.building import Report
from whymatch.search.corpus import Corpus, Row
from whymatch.search.encoding import outcomes
from whymatch.search.index import Index
from whymatch.search.rows import digest, to_arrow
from whymatch.search.scale import Part, Slice, cut, run

TOGETHER = 64  # documents that are encoded at a time
WRITTEN = 512  # documents in a transaction


@dataclass(frozen=True)
class Encode:
    """How a worker is made: the corpus that it reads, the index that it works for, and what encodes."""

    corpus: Corpus
    doubled: dict[str, str]
    """Where ids stand first that stand in several places."""
    index: Path
    matcher: Callable[[], Aligner | Ranker]
    limit: int

    def __call__(self) -> "Encoder":
        return Encoder(self)


class Encoder:
    """Reads documents, and encodes those that the index does not have."""

    def __init__(self, made: Encode) -> None:
        self.corpus, self.doubled = made.corpus, made.doubled
        index = Index.open(made.index, made.matcher())
        self.aligner = index.aligner
        self.aligner.limit = made.limit
        self.known, self.schema = index.digests(), index.store.schema

    def work(self, part: Part) -> tuple[pa.Table, list[str]]:
        """The rows of the documents that are new or changed."""
        tables, complaints = [self.schema.empty_table()], []
        rows = (row for some in part.slices for row in self.read(some))
        while some := list(islice(rows, TOGETHER)):
            complaints += [f"{row.place}: {row.error}" for row in some if row.error is not None]
            new = {row.id: row for row in some if row.error is None and self.known.get(row.id) != digest(row.text)}
            found = outcomes(self.aligner, {id_: row.text for id_, row in new.items()})
            complaints += [f"{new[id_].place}: {e}" for id_, e in found.items() if isinstance(e, ValueError)]
            entries = [entry for entry in found.values() if not isinstance(entry, ValueError)]
            if entries:
                tables.append(to_arrow(entries, self.schema))
        return pa.concat_tables(tables), complaints

    def read(self, some: Slice) -> Iterator[Row]:
        file = Path(some.file)
        for row in islice(self.corpus.rows(file, 0), some.first, some.last):
            before = self.doubled.get(row.id, str(row.place))
            error = None if before == str(row.place) else ValueError(f"the id {row.id!r:.60} came before, in {before}.")
            yield row if row.error or not error else row._replace(error=error)


def surveyed(corpus: Corpus) -> tuple[list[tuple[Path, int]], dict[str, str]]:
    """The files of a corpus with the number of their rows, and where ids stand first that stand in several places."""
    counts: list[tuple[Path, int]] = []
    first: dict[str, str] = {}
    doubled: dict[str, str] = {}
    for file in corpus.files():
        if corpus.reader(file) == corpus.read_text:  # one text, whose id is its path
            counts.append((file, 1))
            continue
        rows = 0
        for row in corpus.rows(file, 0):
            rows += 1
            if row.error is None and first.setdefault(row.id, str(row.place)) != str(row.place):
                doubled[row.id] = first[row.id]
        counts.append((file, rows))
    return counts, doubled


def build_on_ray(
    index: Index,
    corpus: Corpus,
    matcher: Callable[[], Aligner | Ranker],
    address: str,
    complain: Callable[[str], None],
    progress: Callable[[int, int, Report], None] = lambda done, rows, report: None,
    *,
    size: int | None = None,
) -> Report:
    """As `build`, with workers that encode; the folder of the index must be seen by all of them.

    Parts lie in the folder until their documents are in the table; started again, it goes on with those that are there.
    """
    report = Report()
    corpus = replace(corpus, path=corpus.path.absolute())  # a worker stands in another folder
    home = index.store.folder.absolute()
    folder = home / "parts"
    counts, doubled = surveyed(corpus)
    made = Encode(corpus, doubled, home, matcher, index.aligner.limit)
    about = [index.identity.to_json().decode(), asdict(corpus), doubled, made.limit]
    parts = cut(counts, folder, about, size)
    total, done = sum(part.rows for part in parts), 0
    rows = {part.out: part.rows for part in parts}
    for some in run(parts, made, address):
        done += rows[some.out]
        report.bad += len(some.complaints)
        for complaint in some.complaints:
            complain(complaint)
        progress(done, total, report)
    load(index, (Path(part.out) for part in parts), report)
    report.there = total - report.bad - report.written
    shutil.rmtree(folder, ignore_errors=True)
    index.compact()
    return report


def load(index: Index, files: Iterable[Path], report: Report) -> None:
    """Puts the documents of parts into the table."""
    for file in files:
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=WRITTEN):
            rows = pa.Table.from_batches([batch]).cast(index.store.schema)
            report.written += index.changed(index.store.merge(rows, replace=True))
