"""A corpus as a table that is written again with further columns, as CSV that a spreadsheet can open.

Rows that were CSV stay as they were. Texts that come into CSV from elsewhere are no formulas there.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from whymatch.datasets.documents import UNTYPED_ENDINGS, CorpusFiles
from whymatch.files import whole_file
from whymatch.reading import MEGABYTE, delimiter, ending, table_cells
from whymatch.show.words import no_formula, value_text


@dataclass(frozen=True)
class CorpusTable:
    """The rows of a corpus with their columns: all of a CSV file's, else id, text and what is kept."""

    corpus: CorpusFiles

    @property
    def _is_table(self) -> bool:
        return self.corpus.path.is_file() and ending(self.corpus.path) in UNTYPED_ENDINGS

    @cached_property
    def header(self) -> list[str]:
        """The names of the columns.

        Raises:
            ValueError: if the file has no row with them.
        """
        if not self._is_table:
            return [self.corpus.id, self.corpus.text, *self.corpus.keep]
        return next(cells for cells in self._cells() if isinstance(cells, list))

    def rows(self) -> Iterator[tuple[str, list[str]]]:
        """The id and the cells of every row, in their order; a row that is no document has no id."""
        corpus = iter(self.corpus)
        if not self._is_table:
            for row in corpus:
                if row.error is None:
                    yield row.id, row_of(row.id, row.text, *map(row.metadata.get, self.corpus.keep))
            return
        in_header = True
        for cells in self._cells():
            if in_header and isinstance(cells, list):
                in_header = False
                continue
            row = next(corpus)
            if isinstance(cells, list):
                yield "" if row.error else row.id, cells

    def _cells(self) -> Iterator[list[str] | ValueError]:
        max_bytes = int(self.corpus.max_mb * MEGABYTE)
        rows = table_cells(self.corpus.path, encoding=self.corpus.encoding, max_bytes=max_bytes)
        return (cells for _, cells, _ in rows)


def row_of(*values: Any) -> list[str]:
    """Values as the cells of a row, none of which a spreadsheet takes for a formula."""
    return [as_cell(value) for value in values]


def as_cell(value: Any) -> str:
    """A value as a cell, which no spreadsheet takes for a formula.

    >>> [as_cell(value) for value in ("=1+1", -5, None, [1, "a"])]
    ["'=1+1", '-5', '', '[1, "a"]']
    """
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value_text(value)
    return no_formula(text) if isinstance(value, str) else text


def write_table(file: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Writes CSV, or TSV by the file's ending, as UTF-8, the whole file or nothing of it."""
    with whole_file(file) as draft, draft.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter=delimiter(file))
        writer.writerow(header)
        writer.writerows(rows)
