"""`whymatch index`: a corpus into an index that can be searched."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whymatch.cli.console import complain
from whymatch.progress import progress_bar

if TYPE_CHECKING:
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
    parser.add_argument("--id", default="id", metavar="NAME", help="the field with the id (default: id)")
    parser.add_argument("--text", default="text", metavar="NAME", help="the field with the text (default: text)")
    parser.add_argument("--prune", action="store_true", help="delete documents that CORPUS does not have")
    parser.add_argument("--delete", nargs="+", metavar="ID", help="delete documents, instead of reading a CORPUS")
    parser.add_argument("--max-mb", type=float, default=5, help="size of a text (default: 5)")
    parser.add_argument("--limit", type=int, default=2000, help="spans in a text (default: 2000)")
    parser.add_argument("--ray", metavar="ADDRESS", help="encode on a Ray cluster; local: on all of this machine")
    parser.add_argument("--encoding", default="utf-8", help="of the files (default: utf-8)")
    parser.set_defaults(run=run, after_interrupt=_advice_after_interrupt)


def run(settings: argparse.Namespace) -> int:
    """Indexes, says what was done, and returns the exit status: 2 where rows were bad."""
    if (settings.corpus is None) == (settings.delete is None):
        raise ValueError("Give a CORPUS and the folder INDEX, or INDEX and --delete ID …. See whymatch index --help.")
    if settings.max_mb <= 0:
        raise ValueError(f"--max-mb takes a size above 0, got {settings.max_mb:g}.")
    if settings.limit < 1:
        raise ValueError(f"--limit takes a number of spans, 1 or more, got {settings.limit}.")
    if settings.prune and settings.ray is not None:
        raise ValueError("--prune does not go with --ray: run it once more without.")
    if settings.delete is not None:
        return _delete(settings)
    from whymatch.datasets.documents import CorpusFiles
    from whymatch.search.index import Index

    corpus = CorpusFiles(settings.corpus, settings.id, settings.text, settings.encoding, settings.max_mb)
    corpus.check()  # before a model is loaded
    index = Index.create(settings.index, load_matcher(settings.model))
    index.aligner.limit = settings.limit
    build = _build_here if settings.ray is None else _build_on_ray
    report = build(settings, index, corpus)
    print(_summary(report, len(index), settings.index))
    if report.bad:
        complain(f"rows that could not be indexed: {report.bad}.")
    return 2 if report.bad else 0


def _build_here(settings: argparse.Namespace, index: "Index", corpus: "CorpusFiles") -> "BuildReport":
    from whymatch.search.building import build

    size = corpus.size
    with progress_bar("indexing", size, "speed") as update:

        def show(bytes_read: int, report: "BuildReport") -> None:
            update(bytes_read, speed=f"{report.rate:.1f} documents/s")

        report = build(index, corpus, complain, show, prune=settings.prune)
        update(size)
    if settings.prune and report.bad:
        complain("nothing was pruned: a row that could not be read may be a document that is there.")
    return report


def _build_on_ray(settings: argparse.Namespace, index: "Index", corpus: "CorpusFiles") -> "BuildReport":
    from whymatch.search.building import build_on_ray

    with progress_bar("indexing", None, "speed") as update:

        def show(done: int, total: int, report: "BuildReport") -> None:
            update(done, total=total, speed=f"{done / max(report.seconds, 1e-9):.1f} documents/s")

        return build_on_ray(index, corpus, partial(load_matcher, settings.model), settings.ray, complain, show)


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


def load_matcher(model: Path | None) -> "Aligner | Ranker":
    """The ranker in a folder, or the default aligner."""
    if model is None:
        from whymatch.matching.aligner import Aligner

        return Aligner()
    from whymatch.matching.ranker import Ranker

    return Ranker.from_pretrained(model)


def open_index(settings: argparse.Namespace) -> "Index":
    """The index in the folder INDEX, with the model that it was written with."""
    from whymatch.search.index import Index
    from whymatch.search.store import Store

    store = Store.open(settings.index)  # refused before a model is read
    return Index(store, load_matcher(settings.model))
