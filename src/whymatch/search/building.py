"""A corpus into an index: streamed, resumable, bad rows reported and left out."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from whymatch.search.corpus import Place, Row
from whymatch.search.encoding import outcomes
from whymatch.search.index import Index
from whymatch.search.rows import digest

TOGETHER = 64  # documents in a transaction


@dataclass
class Report:
    """How it went so far: documents written, documents that were there already, bad rows, and seconds."""

    written: int = 0
    there: int = 0
    deleted: int = 0
    bad: int = 0
    encoding: float = 0.0
    """Seconds of splitting and encoding."""
    began: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def rate(self) -> float:
        """Documents a second."""
        return self.written / max(self.seconds, 1e-9)


def build(
    index: Index,
    rows: Iterable[Row],
    complain: Callable[[Place, ValueError], None],
    progress: Callable[[Place, Report], None] = lambda place, report: None,
    *,
    prune: bool = False,
    together: int = TOGETHER,
) -> Report:
    """Makes an index hold the documents of a corpus: new ones are added, changed ones replaced, others left alone.

    Ended at any moment and called again, it goes on where it was: what is there with the same text is not encoded
    again. `prune` deletes documents that the corpus does not have; not where a row was bad, which may be one of them.
    """
    report, known = Report(), index.digests()
    seen: set[str] = set()
    for some in chunks(rows, together):
        good = {}
        for row in some:
            if row.error is not None:
                report.bad += 1
                complain(row.place, row.error)
            else:
                seen.add(row.id)
                same = known.get(row.id) == digest(row.text)
                report.there += same
                if not same:
                    good[row.id] = row
        write(index, good, report, complain)
        progress(some[-1].place, report)
    if prune and not report.bad:
        report.deleted = index.delete(known.keys() - seen)
    index.compact()
    return report


def write(index: Index, rows: dict[str, Row], report: Report, complain: Callable[[Place, ValueError], None]) -> None:
    """Encodes and writes some rows, in one transaction."""
    start = time.perf_counter()
    encoded = outcomes(index.aligner, {id_: row.text for id_, row in rows.items()})
    report.encoding += time.perf_counter() - start
    for id_, found in encoded.items():
        if isinstance(found, ValueError):
            report.bad += 1
            complain(rows[id_].place, found)
    report.written += index.write(
        [found for found in encoded.values() if not isinstance(found, ValueError)], replacing=True
    )


def chunks(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    stream = iter(rows)
    while some := list(islice(stream, size)):
        yield some
