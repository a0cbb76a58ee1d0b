"""`whymatch index`: a corpus into an index that can be searched."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whymatch.cli.align import add_encoder_options
from whymatch.cli.console import complain
from whymatch.progress import progress_bar
from whymatch.show.words import plain
from whymatch.text.spans import splitter

if TYPE_CHECKING:
    from collections.abc import Callable

    from whymatch.datasets.documents import CorpusFiles
    from whymatch.matching.aligner import Aligner
    from whymatch.matching.ranker import Ranker
    from whymatch.search.building import BuildReport
    from whymatch.search.index import Index


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("index", help="make a corpus searchable; started again, it goes on where it was")
    parser.add_argument(
        "corpus", nargs="?", metavar="CORPUS", type=Path, help="JSON lines, CSV, Parquet, or a folder of text files"
    )
    parser.add_argument("index", metavar="INDEX", type=Path, help="the folder of the index")
    parser.add_argument("--model", type=Path, metavar="RUN", help="a trained ranker (default: MiniLM, sentences)")
    add_encoder_options(parser)
    add_corpus_options(parser)
    parser.add_argument("--prune", action="store_true", help="delete documents that CORPUS does not have")
    parser.add_argument("--delete", nargs="+", metavar="ID", help="delete documents, instead of reading a CORPUS")
    parser.add_argument("--ray", metavar="ADDRESS", help="encode on a Ray cluster; local: on all of this machine")
    parser.set_defaults(run=run, after_interrupt=_advice_after_interrupt)


def add_corpus_options(parser: "argparse._ActionsContainer") -> None:
    """Adds the options that say how a corpus is read, and what is kept of it."""
    parser.add_argument("--id", default="id", metavar="NAME", help="the field with the id (default: id)")
    parser.add_argument("--text", default="text", metavar="NAME", help="the field with the text (default: text)")
    title = "the field whose text is put before that of the document (default: title, where there is one)"
    parser.add_argument("--title", metavar="NAME", help=title)
    keep = "fields that are kept with each document: shown, and for search --where"
    parser.add_argument("--keep", nargs="+", action="extend", metavar="COLUMN", help=keep)
    spans = "sentence (default), word, paragraph, line, text or punkt: how texts are cut, now and in every search"
    parser.add_argument("--spans", metavar="S", help=spans)
    parser.add_argument("--max-mb", type=float, default=5, help="size of a text (default: 5)")
    parser.add_argument("--limit", type=int, default=2000, help="spans in a text (default: 2000)")
    parser.add_argument("--encoding", default="utf-8", help="of the files (default: utf-8)")


def run(settings: argparse.Namespace) -> int:
    """Indexes, says what was done, and returns the exit status: 2 where rows were bad."""
    if (settings.corpus is None) == (settings.delete is None):
        raise ValueError("Give a CORPUS and the folder INDEX, or INDEX and --delete ID …. See whymatch index --help.")
    if settings.prune and settings.ray is not None:
        raise ValueError("--prune does not go with --ray: run it once more without.")
    if settings.delete is not None:
        return _delete(settings)
    from whymatch.text.encoders import unread_documents_note

    index, corpus = index_for(settings, settings.corpus, settings.index)
    if settings.ray is None:
        report = build_here(index, corpus, prune=settings.prune)
        if settings.prune and report.bad:
            complain("nothing was pruned: a row that could not be read may be a document that is there.")
    else:
        report = _build_on_ray(settings, index, corpus)
    print(_summary(report, len(index), settings.index))
    if index.columns:
        print(f"Kept with each document: {plain(str(index.columns))}.")
    if note := unread_documents_note(index.aligner.encoder, report.unread, report.written):
        complain(note)
    if report.bad:
        complain(f"rows that could not be indexed: {report.bad}.")
    return 2 if report.bad else 0


def index_for(
    settings: argparse.Namespace, path: Path, folder: Path, *, numbered: bool = False
) -> "tuple[Index, CorpusFiles]":
    """The index in a folder, new or there already, and the corpus that it is to hold, as `add_corpus_options` say.

    What an index keeps that is there already is kept of every corpus. Files and columns are checked before a model is
    loaded. `numbered` says whether documents without an id are called by their line.
    """
    if settings.max_mb <= 0:
        raise ValueError(f"--max-mb takes a size above 0, got {settings.max_mb:g}.")
    if settings.limit < 1:
        raise ValueError(f"--limit takes a number of spans, 1 or more, got {settings.limit}.")
    if settings.spans is not None and settings.model is not None:
        raise ValueError("--spans does not go with --model: a trained ranker knows how it cuts texts.")
    _check_model(settings)
    if settings.spans is not None:
        splitter(settings.spans)  # raises for a name that there is not
    from whymatch.datasets.documents import CorpusFiles
    from whymatch.search.building import kept_columns
    from whymatch.search.index import Index
    from whymatch.search.store import Store

    there = Index(Store.open(folder)) if Store.is_in(folder) else None
    known = () if there is None else tuple(there.columns.fields)
    names = known if settings.keep is None else tuple(settings.keep)
    if there is not None and {*names} != {*known}:
        kept = str(there.columns) or "no columns"
        raise ValueError(f"The index in {folder} keeps {kept}: leave --keep out, or index into another folder.")
    reading = settings.id, settings.text, settings.encoding, settings.max_mb, settings.title
    corpus = CorpusFiles(path, *reading, names, numbered)
    corpus.check()
    keep = None if there is not None else {one.name: one.kind for one in kept_columns(corpus)}
    own_spans = None if there is None else there.identity.known_spans
    matcher = None
    if there is None or not _takes_own(settings) or settings.spans not in (None, own_spans):
        matcher = load_matcher(settings, settings.spans or own_spans)
    index = Index.create(folder, matcher, keep=keep)
    index.aligner.limit = settings.limit
    return index, corpus


def build_here(index: "Index", corpus: "CorpusFiles", *, prune: bool = False) -> "BuildReport":
    """Makes the index hold the corpus, with a bar."""
    from whymatch.search.building import build

    size = corpus.size
    with progress_bar("indexing", size, "speed") as update:

        def show(bytes_read: int, report: "BuildReport") -> None:
            update(bytes_read, speed=f"{report.rate:.1f} documents/s")

        report = build(index, corpus, complain, show, prune=prune)
        update(size)
    return report


def _build_on_ray(settings: argparse.Namespace, index: "Index", corpus: "CorpusFiles") -> "BuildReport":
    from whymatch.search.building import build_on_ray

    make: Callable[[], Aligner | Ranker] = index.identity.aligner
    if not _takes_own(settings):
        make = partial(load_matcher, settings, index.identity.known_spans)
    with progress_bar("indexing", None, "speed") as update:

        def show(done: int, total: int, report: "BuildReport") -> None:
            update(done, total=total, speed=f"{done / max(report.seconds, 1e-9):.1f} documents/s")

        return build_on_ray(index, corpus, make, settings.ray, complain, show)


def _advice_after_interrupt(settings: argparse.Namespace) -> str:
    return f"Documents that are in {settings.index} are kept. Start the same command again to go on."


def _delete(settings: argparse.Namespace) -> int:
    from whymatch.search.index import Index

    index = Index.open(settings.index)
    missing = [id_ for id_ in dict.fromkeys(settings.delete) if id_ not in index]
    deleted = index.delete(settings.delete)
    for id_ in missing:
        complain(f"there is no document {id_!r:.60} in {settings.index}.")
    print(f"{deleted} deleted, {len(index):,} documents in {settings.index}")
    return 2 if missing else 0


def _summary(report: "BuildReport", documents: int, folder: Path) -> str:
    counts = [f"{report.written:,} written"]
    counts += [f"{report.unchanged:,} there already"] if report.unchanged else []
    counts += [f"{report.deleted:,} deleted"] if report.deleted else []
    return f"{', '.join(counts)}; {documents:,} documents in {folder} ({report.rate:.1f} documents/s)"


def load_matcher(settings: argparse.Namespace, spans: str | None = None) -> "Aligner | Ranker":
    """The ranker that --model names, or an aligner of these spans with the encoder that --encoder names.

    Sentences and MiniLM by default.
    """
    if settings.model is None:
        from whymatch.matching.aligner import Aligner
        from whymatch.text.encoders.naming import encoder_for

        spans = spans or "sentence"
        return Aligner(spans, encoder_for(spans, settings.encoder, download=settings.download))
    from whymatch.matching.ranker import Ranker

    return Ranker.from_pretrained(settings.model)


def open_index(settings: argparse.Namespace, folder: Path, where: str | None = None) -> "Index":
    """The index in a folder, with what --model or --encoder names, or else with the encoder that wrote it.

    Raises:
        ValueError: if there is none, or the filter is bad, or it was written with another encoder.
    """
    _check_model(settings)
    from whymatch.search.index import Index
    from whymatch.search.store import Store

    index = Index(Store.open(folder))  # refused before a model is read, as a filter is
    if where is not None:
        index.store.selected(where)
    return index if _takes_own(settings) else Index(index.store, load_matcher(settings, index.identity.known_spans))


def _takes_own(settings: argparse.Namespace) -> bool:
    """Whether an index that is there is read with the encoder that wrote it, since no other is named."""
    return settings.model is None and settings.encoder is None


def _check_model(settings: argparse.Namespace) -> None:
    """Raises ValueError if both a ranker and an encoder are named."""
    if settings.model is not None and settings.encoder is not None:
        raise ValueError("--encoder does not go with --model: a trained ranker has its own encoder.")
