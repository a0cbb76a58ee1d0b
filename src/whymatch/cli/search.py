"""`whymatch search`: the documents of an index that match a text, and why."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whymatch.cli.align import parse
from whymatch.cli.complaints import complain
from whymatch.cli.reading import read_text
from whymatch.files import write_whole

if TYPE_CHECKING:
    from whymatch.search.results import Explanation, Results

PIECE = 60  # characters of a span in a table


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("search", help="which documents of an index match a text, and why")
    parser.add_argument("out", metavar="OUT", type=Path, help="the folder of an index")
    parser.add_argument("query", nargs="?", metavar="QUERY", help="a text, or - for standard input")
    parser.add_argument("--queries", type=Path, metavar="FILE", help="many: JSON lines, CSV or Parquet, as a corpus")
    parser.add_argument("--top", type=int, default=10, help="how many documents (default: 10)")
    parser.add_argument(
        "--constraint",
        metavar="C",
        help="exactly:2, up-to:1, one-to:2 or balanced (default: the model's, or exactly:2)",
    )
    parser.add_argument("--below", type=float, metavar="X", help="with up-to: link only pairs that cost less than X")
    parser.add_argument("--candidates", type=int, default=100, help="in each of three ways (default: 100)")
    parser.add_argument("--model", type=Path, metavar="RUN", help="the trained ranker that the index was written with")
    parser.add_argument("--explain", nargs=2, metavar=("A", "B"), help="why A ranks above B: places, from 1, or ids")
    parser.add_argument("--html", type=Path, metavar="F", help="write the results as a web page")
    parser.add_argument("--trec", type=Path, metavar="F", help="write a TREC run file")
    parser.add_argument("--json", action="store_true", help="print JSON, one line a query, instead of a table")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> int:
    """Searches, prints, and returns the exit status."""
    if (settings.query is None) == (settings.queries is None):
        raise ValueError("Give a QUERY, or many with --queries FILE. See whymatch search --help.")
    if settings.queries is not None and (settings.html or settings.explain):
        raise ValueError("--html and --explain go with one QUERY.")
    constraint = parse(settings.constraint, settings.below)
    from whymatch.cli.index import opened

    thresholded = constraint is not None and constraint.thresholded
    index = opened(settings, alone=thresholded)  # thresholds are known for sentences alone
    if constraint is not None and thresholded and settings.below is None:
        constraint = constraint.resolved(index.aligner.below)
    bad, run_lines = 0, []
    for place, name, text in queries(settings):
        try:
            if isinstance(text, ValueError):
                raise text
            found = index.search(text, settings.top, constraint, candidates=settings.candidates)
        except ValueError as error:
            if settings.queries is None:
                raise
            bad += 1
            complain(f"{place}: {error}")
            continue
        if settings.trec:
            run_lines.append(found.to_trec(name))
        show(found, name, settings)
    if settings.trec:
        write_whole(settings.trec, "".join(run_lines))
    return 2 if bad else 0


def queries(settings: argparse.Namespace) -> Iterator[tuple[object, str, Any]]:
    """The place, the id and the text of each query, or what is wrong with it."""
    if settings.queries is None:
        text = read_text("-", most=5, encoding="utf-8") if settings.query == "-" else settings.query
        yield "the query", "1", text
        return
    from whymatch.search.corpus import Corpus

    for row in Corpus(settings.queries):
        yield row.place, row.id, row.error or row.text


def show(found: "Results", name: str, settings: argparse.Namespace) -> None:
    """Prints what was found for one query, and writes its page."""
    if settings.html:
        write_whole(settings.html, found.to_html())
    why = found.explain(*map(which, settings.explain)) if settings.explain else None
    if settings.json:
        values = {"id": name, **found.to_dict(), **({} if why is None else {"explanation": why.to_dict()})}
        print(json.dumps(values, ensure_ascii=False, allow_nan=False))
        return
    from whymatch.show.words import plain

    if settings.queries is not None:
        print(f"{plain(name)}: {plain(found.query)[:PIECE]}")
    print(table_of(found) if why is None else explained(why))
    if settings.html:
        print(f"Page: {settings.html}")


def which(text: str) -> int | str:
    """A result's place from 0, or its id."""
    return int(text) - 1 if text.isdecimal() else text


def table_of(found: "Results") -> str:
    """The results, each with its strongest link."""
    from whymatch.show.terminal import table
    from whymatch.show.words import number, plain

    rows = []
    for rank, hit in enumerate(found, start=1):
        texts = [shortened(plain(text)) for text in hit.links[0].texts] if hit.links else ["(no link)", ""]
        rows.append([str(rank), shortened(plain(hit.id)), number(hit.score), str(len(hit.links)), *texts])
    if not rows:
        return "Nothing was found: the index is empty."
    return table(["#", "document", "score", "links", "strongest link: query", "document's span"], rows)


def explained(why: "Explanation") -> str:
    """Why one result ranks above another, span by span of the query."""
    from whymatch.show.terminal import table
    from whymatch.show.words import number, plain

    def linked(links: Any) -> str:
        return " · ".join(shortened(plain(link.texts[1])) for link in links) or "(no link)"

    rows = [
        [f"{some.adds:+.3f}", shortened(plain(some.text)), linked(some.above), linked(some.below)]
        for some in why.differences
    ]
    head = (
        f"{plain(why.above.id)} ({number(why.above.score)}) ranks above {plain(why.below.id)} "
        f"({number(why.below.score)}) by {number(why.lead)}; what each span of the query adds to that:"
    )
    return f"{head}\n\n{table(['adds', 'query', plain(why.above.id), plain(why.below.id)], rows)}"


def shortened(text: str) -> str:
    return text if len(text) <= PIECE else f"{text[: PIECE - 1]}…"
