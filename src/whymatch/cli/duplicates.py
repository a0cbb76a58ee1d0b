"""`whymatch duplicates`: groups of documents of a corpus or an index that say the same, and why."""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from whymatch.cli.align import add_encoder_options
from whymatch.cli.console import check_outputs, cleaned_up_when_ended, complain
from whymatch.cli.index import add_corpus_options, build_here, index_for, open_index
from whymatch.files import write_whole
from whymatch.progress import progress_bar
from whymatch.show.words import percent, plain, short, shortened

if TYPE_CHECKING:
    from whymatch.datasets.tables import CorpusTable
    from whymatch.search.duplicates import DuplicateGroup, DuplicateGroups
    from whymatch.search.index import Index

_MAX_TEXT_CHARACTERS = 160  # of a document
_DOCUMENTS_AT_ONCE = 256  # that are read from an index
_CORPUS_OPTIONS = ("id", "text", "title", "keep", "spans", "max_mb", "limit", "encoding")
_ADDED = ("group", "matches", "probability", "reason")
"""The columns that --csv adds: a number, the id of the nearest in the group, and how and why they match."""


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("duplicates", help="groups of documents that say the same, and why")
    corpus = "JSON lines, CSV, Parquet, a folder of text files, or the folder of an index"
    parser.add_argument("corpus", metavar="CORPUS", type=Path, help=corpus)
    e_value = "the most documents that chance brings as close to a document (default: 0.01, and a probability of 0.5)"
    parser.add_argument("--e-value", type=float, metavar="E", help=e_value)
    least = "the least probability, instead of an e-value or beside it"
    parser.add_argument("--probability", type=float, metavar="P", help=least)
    near = "documents that each is aligned with, in each of two ways (default: 10)"
    parser.add_argument("--neighbours", type=int, default=10, metavar="N", help=near)
    parser.add_argument("--model", type=Path, metavar="RUN", help="the trained ranker that reads the texts")
    add_encoder_options(parser, "MiniLM, or that of an index")
    parser.add_argument("--json", action="store_true", help="print JSON, one line per group, with links and offsets")
    columns = f"write the rows of CORPUS with the columns {', '.join(_ADDED)}; tabs if it ends in .tsv"
    parser.add_argument("--csv", type=Path, metavar="FILE", help=columns)
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the groups as a web page")
    add_corpus_options(parser.add_argument_group("how CORPUS is read, where it is no index"))
    defaults = {name: parser.get_default(name) for name in _CORPUS_OPTIONS}
    parser.set_defaults(run=run, corpus_defaults=defaults)


def run(settings: argparse.Namespace) -> int:
    """Prints the groups, the surest first, and returns the exit status: 2 where rows were bad."""
    from whymatch.search.duplicates import check_limits, duplicates

    limits = {"e_value": settings.e_value, "probability": settings.probability}
    check_limits(**limits, neighbours=settings.neighbours)
    check_outputs([settings.csv], [settings.corpus], page=settings.html)
    with _opened(settings) as (index, table, bad):
        with progress_bar("comparing", len(index)) as progress:
            groups = duplicates(index, **limits, neighbours=settings.neighbours, progress=progress)
        if settings.csv:
            _write_csv(settings.csv, groups, index, table)
    if settings.html:
        write_whole(settings.html, groups.to_html())
    if settings.json:
        for number, group in enumerate(groups, start=1):
            print(json.dumps({"group": number, **group.to_dict()}, ensure_ascii=False, allow_nan=False))
    else:
        print("\n\n".join([groups.verdict, *map(_in_words, groups)]))
        written = {"Table": settings.csv, "Page": settings.html}
        print("".join(f"\n{name}: {file}" for name, file in written.items() if file), end="\n" * any(written.values()))
    for note in groups.notes:
        complain(note)
    if bad:
        complain(f"rows that could not be compared: {bad}.")
    return 2 if bad else 0


@contextmanager
def _opened(settings: argparse.Namespace) -> "Iterator[tuple[Index, CorpusTable | None, int]]":
    """The index of what is given, one that lasts as long as this if it is a corpus; its table; its bad rows."""
    from whymatch.datasets.tables import CorpusTable
    from whymatch.search.store import Store

    if Store.is_in(settings.corpus):
        for name, default in settings.corpus_defaults.items():
            if getattr(settings, name) != default:
                option = f"--{name.replace('_', '-')}"
                raise ValueError(f"{settings.corpus} is an index, which was made already: {option} goes with a corpus.")
        index = open_index(settings, settings.corpus)
        if settings.csv:
            _check_csv(settings, ["id", "text", *index.columns.fields])
        yield index, None, 0
        return
    with cleaned_up_when_ended(), TemporaryDirectory(prefix="whymatch-") as folder:
        index, corpus = index_for(settings, settings.corpus, Path(folder) / "index", numbered=settings.id == "id")
        table = CorpusTable(corpus)
        if settings.csv:
            _check_csv(settings, table.header)
        yield index, table, build_here(index, corpus).bad


def _check_csv(settings: argparse.Namespace, header: list[str]) -> None:
    """Raises ValueError, before slow work starts, if --csv cannot be written."""
    file = settings.csv
    if file.suffix == ".gz":
        raise ValueError(f"--csv writes no compressed files, got {file}. Leave .gz out.")
    taken = [name for name in _ADDED if name in header]
    if taken:
        raise ValueError(f"{settings.corpus} has a column {taken[0]!r}, which --csv is to add. Rename it or drop it.")


def _write_csv(file: Path, groups: "DuplicateGroups", index: "Index", table: "CorpusTable | None") -> None:
    """Writes the rows of the corpus, or of the index, with what was found of each."""
    from whymatch.datasets.tables import row_of, write_table

    added = {
        id_: row_of(number, *_nearest(group, id_))
        for number, group in enumerate(groups, start=1)
        for id_ in group.texts
    }
    header = ["id", "text", *index.columns.fields] if table is None else table.header
    rows = _rows_of(index) if table is None else table.rows()
    nothing = [""] * len(_ADDED)
    write_table(file, [*header, *_ADDED], (cells + added.get(id_, nothing) for id_, cells in rows))


def _nearest(group: "DuplicateGroup", id_: str) -> tuple[str, float | None, str]:
    """The document that one of a group matches most surely, how probably, and the spans that say most of why."""
    pair = group.surest(id_)
    own, other = (0, 1) if id_ == pair.left else (1, 0)
    reason = f"{pair.reason[own]} · {pair.reason[other]}" if pair.reason else "The texts are equal."
    return (pair.left, pair.right)[other], pair.probability, reason


def _rows_of(index: "Index") -> Iterator[tuple[str, list[str]]]:
    """The id and the cells of every document of an index."""
    from whymatch.datasets.tables import row_of

    ids = index.ids()
    while batch := [*islice(ids, _DOCUMENTS_AT_ONCE)]:
        for entry in index.entries(batch):
            yield entry.id, row_of(entry.id, entry.text, *entry.metadata.values())


def _in_words(group: "DuplicateGroup") -> str:
    """The documents of a group, and the pair that holds it together least surely."""
    weakest = group.weakest
    numbers = f"probability {percent(weakest.probability)}, e-value {short(weakest.e_value)}, {weakest.bits:.1f} bits"
    pair = "" if len(group.texts) == 2 else f", weakest between {plain(weakest.left)} and {plain(weakest.right)}"
    lines = [f"{len(group.texts):,} documents{pair}: {numbers}"]
    lines += [f"  {plain(id_)}: {shortened(text, _MAX_TEXT_CHARACTERS)}" for id_, text in group.texts.items()]
    if weakest.reason:
        left, right = map(shortened, weakest.reason)
        lines.append(f"  because: {left} · {right}")
    return "\n".join(lines)
