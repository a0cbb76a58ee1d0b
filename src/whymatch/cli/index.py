"""`whymatch index`: a corpus into an index that can be searched."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whymatch.cli.console import complain

if TYPE_CHECKING:
    from whymatch.matching.aligner import Aligner
    from whymatch.matching.ranker import Ranker
    from whymatch.search.building import Report
    from whymatch.search.corpus import Corpus, Place
    from whymatch.search.index import Index


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("index", help="make a corpus searchable; started again, it goes on where it was")
    parser.add_argument(
        "corpus", nargs="?", metavar="CORPUS", type=Path, help="JSON lines, CSV, Parquet, or a folder of text files"
    )
    parser.add_argument("out", metavar="OUT", type=Path, help="the folder of the index")
    parser.add_argument("--model", type=Path, metavar="RUN", help="a trained ranker (default: MiniLM, sentences)")
    parser.add_argument("--id", default="id", metavar="NAME", help="the field with the id (default: id)")
    parser.add_argument("--text", default="text", metavar="NAME", help="the field with the text (default: text)")
    parser.add_argument("--prune", action="store_true", help="delete documents that CORPUS does not have")
    parser.add_argument("--delete", nargs="+", metavar="ID", help="delete documents, instead of reading a CORPUS")
    parser.add_argument("--max-mb", type=float, default=5, help="size of a text (default: 5)")
    parser.add_argument("--limit", type=int, default=2000, help="spans in a text (default: 2000)")
    parser.add_argument("--ray", metavar="ADDRESS", help="encode on a Ray cluster; local: on all of this machine")
    parser.add_argument("--encoding", default="utf-8", help="of the files (default: utf-8)")
    parser.set_defaults(run=run, after_interrupt=advice)


def run(settings: argparse.Namespace) -> int:
    """Indexes, says what was done, and returns the exit status: 2 where rows were bad."""
    if (settings.corpus is None) == (settings.delete is None):
        raise ValueError("Give a CORPUS and the folder OUT, or OUT and --delete ID …. See whymatch index --help.")
    if settings.max_mb <= 0:
        raise ValueError(f"--max-mb takes a size above 0, got {settings.max_mb:g}.")
    if settings.limit < 1:
        raise ValueError(f"--limit takes a number of spans, 1 or more, got {settings.limit}.")
    if settings.delete is not None:
        return run_delete(settings)
    from whymatch.search.building import build
    from whymatch.search.corpus import Corpus
    from whymatch.search.index import Index

    corpus = Corpus(settings.corpus, settings.id, settings.text, settings.encoding, settings.max_mb)
    size = corpus.size
    corpus.check()  # before a model is loaded
    index = Index.create(settings.out, matcher(settings.model))
    index.aligner.limit = settings.limit

    from whymatch.cli.console import progress_bar

    if settings.ray is not None:
        report = on_ray(settings, index, corpus)
        return told(report, index, settings.out)
    with progress_bar("indexing", size, "speed") as update:

        def show(place: "Place", report: "Report") -> None:
            update(place.read, speed=f"{report.rate:.1f} documents/s")

        report = build(index, corpus, lambda place, error: complain(f"{place}: {error}"), show, prune=settings.prune)
        update(size)
    if settings.prune and report.bad:
        complain("nothing was pruned: a row that could not be read may be a document that is there.")
    return told(report, index, settings.out)


def advice(settings: argparse.Namespace) -> str:
    """How to go on after an interrupt."""
    return f"Documents that are in {settings.out} are kept. Start the same command again to go on."


def on_ray(settings: argparse.Namespace, index: "Index", corpus: "Corpus") -> "Report":
    """The same by workers of a cluster."""
    from whymatch.cli.console import progress_bar
    from whymatch.search.spreading import build_on_ray

    if settings.prune:
        raise ValueError("--prune does not go with --ray: run it once more without.")
    with progress_bar("indexing", None, "speed") as update:

        def show(done: int, rows: int, report: "Report") -> None:
            update(done, total=rows, speed=f"{done / max(report.seconds, 1e-9):.1f} documents/s")

        return build_on_ray(index, corpus, partial(matcher, settings.model), settings.ray, complain, show)


def told(report: "Report", index: "Index", out: Path) -> int:
    """Says what was done; the exit status."""
    print(summary(report, len(index), out))
    if report.bad:
        complain(f"rows that could not be indexed: {report.bad}.")
    return 2 if report.bad else 0


def run_delete(settings: argparse.Namespace) -> int:
    """Deletes documents by id."""
    from whymatch.search.index import Index

    index = Index.open(settings.out)
    missing = [id_ for id_ in dict.fromkeys(settings.delete) if id_ not in index]
    found = index.delete(settings.delete)
    for id_ in missing:
        complain(f"there is no document {id_!r:.60} in {settings.out}.")
    print(f"{found} deleted, {len(index):,} documents in {settings.out}")
    return 2 if missing else 0


def summary(report: "Report", documents: int, out: Path) -> str:
    """What was done, in a line."""
    parts = [f"{report.written:,} written"]
    parts += [f"{report.there:,} there already"] if report.there else []
    parts += [f"{report.deleted:,} deleted"] if report.deleted else []
    return f"{', '.join(parts)}; {documents:,} documents in {out} ({report.rate:.1f} documents/s)"


def matcher(model: Path | None, *, alone: bool = False) -> "Aligner | Ranker":
    """The ranker in a folder, or the untrained aligner, for which sentences may count alone, without their text."""
    if model is None:
        from whymatch.matching.aligner import Aligner
        from whymatch.search.index import untrained

        return Aligner() if alone else untrained()
    from whymatch.matching.ranker import Ranker

    return Ranker.from_pretrained(model)


def opened(settings: argparse.Namespace, *, alone: bool = False) -> Any:
    """The index in the folder OUT, with the model that it was written with."""
    from whymatch.search.index import Index
    from whymatch.search.store import Store

    store = Store.open(settings.out)  # refused before a model is read
    return Index(store, matcher(settings.model, alone=alone))
