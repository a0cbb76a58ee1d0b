"""`whymatch search` and `whymatch duplicates`: documents of an index that match a text or each other, and why."""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whymatch.cli.align import chosen_constraint
from whymatch.cli.console import complain, progress_bar, read_text
from whymatch.cli.index import open_index
from whymatch.files import write_whole
from whymatch.show.words import number, plain
from whymatch.transport.constraints import EXAMPLES

if TYPE_CHECKING:
    from whymatch.matching.alignment import Link
    from whymatch.search.results import Explanation, SearchResults

_MAX_SHOWN_CHARACTERS = 60  # of a span in a table


def add_to(verbs: Any) -> None:
    """Adds both verbs to the command line."""
    parser = verbs.add_parser("search", help="which documents of an index match a text, and why")
    parser.add_argument("index", metavar="INDEX", type=Path, help="the folder of an index")
    parser.add_argument("query", nargs="?", metavar="QUERY", help="a text, or - for standard input")
    parser.add_argument("--queries", type=Path, metavar="FILE", help="many: JSON lines, CSV or Parquet, as a corpus")
    parser.add_argument("--top-k", type=int, default=10, metavar="K", help="how many documents (default: 10)")
    constraints = f"{EXAMPLES} (default: the model's, or exactly:2)"
    parser.add_argument("--constraint", metavar="C", help=constraints)
    parser.add_argument(
        "--below", type=float, metavar="X", help="with up-to and each: link only pairs that cost less than X"
    )
    parser.add_argument("--candidates", type=int, default=100, help="in each of three ways (default: 100)")
    parser.add_argument("--model", type=Path, metavar="RUN", help="the trained ranker that the index was written with")
    parser.add_argument("--explain", nargs=2, metavar=("A", "B"), help="why A ranks above B: places, from 1, or ids")
    parser.add_argument("--html", type=Path, metavar="F", help="write the results as a web page")
    parser.add_argument("--trec", type=Path, metavar="F", help="write a TREC run file")
    parser.add_argument("--json", action="store_true", help="print JSON, one line per query, instead of a table")
    parser.set_defaults(run=run_search)
    _add_duplicates(verbs)


def _add_duplicates(verbs: Any) -> None:
    parser = verbs.add_parser("duplicates", help="the near-duplicate pairs of an index, with their links")
    parser.add_argument("index", metavar="INDEX", type=Path, help="the folder of an index")
    parser.add_argument("--below", type=float, default=0.15, metavar="X", help="the most a link costs (default: 0.15)")
    least = "share of both texts that is in links (default: 0.8)"
    parser.add_argument("--least", type=float, default=0.8, metavar="S", help=least)
    parser.add_argument("--neighbours", type=int, default=10, help="documents each is compared with (default: 10)")
    parser.add_argument("--model", type=Path, metavar="RUN", help="the trained ranker that the index was written with")
    parser.add_argument("--json", action="store_true", help="print JSON lines with links and offsets")
    parser.set_defaults(run=run_duplicates)


def run_search(settings: argparse.Namespace) -> int:
    """Searches, prints, and returns the exit status: 2 where queries were bad."""
    if (settings.query is None) == (settings.queries is None):
        raise ValueError("Give a QUERY, or many with --queries FILE. See whymatch search --help.")
    if settings.queries is not None and (settings.html or settings.explain):
        raise ValueError("--html and --explain go with one QUERY.")
    constraint = chosen_constraint(settings)
    thresholded = constraint is not None and constraint.thresholded
    index = open_index(settings, alone=thresholded)  # thresholds are known for sentences alone
    bad, trec_lines = 0, []
    for place, query_id, text in _queries(settings):
        try:
            if isinstance(text, ValueError):
                raise text
            results = index.search(text, settings.top_k, constraint, candidates=settings.candidates)
        except ValueError as error:
            if settings.queries is None:
                raise
            bad += 1
            complain(f"{place}: {error}")
            continue
        if settings.trec:
            trec_lines.append(results.to_trec(query_id))
        _show(results, query_id, settings)
    if settings.trec:
        write_whole(settings.trec, "".join(trec_lines))
    return 2 if bad else 0


def _queries(settings: argparse.Namespace) -> Iterator[tuple[object, str, str | ValueError]]:
    """The place, the id and the text of each query, or what is wrong with it."""
    if settings.queries is None:
        text = read_text("-", max_mb=5, encoding="utf-8") if settings.query == "-" else settings.query
        yield "the query", "1", text
        return
    from whymatch.search.corpus import CorpusFiles

    for row in CorpusFiles(settings.queries):
        yield row.place, row.id, row.error or row.text


def _show(results: "SearchResults", query_id: str, settings: argparse.Namespace) -> None:
    """Prints the results of one query, and writes their page."""
    if settings.html:
        write_whole(settings.html, results.to_html())
    explanation = results.explain(*map(_place_or_id, settings.explain)) if settings.explain else None
    if settings.json:
        explained = {} if explanation is None else {"explanation": explanation.to_dict()}
        print(json.dumps({"id": query_id, **results.to_dict(), **explained}, ensure_ascii=False, allow_nan=False))
        return
    if settings.queries is not None:
        print(f"{plain(query_id)}: {plain(results.query)[:_MAX_SHOWN_CHARACTERS]}")
    print(_table(results) if explanation is None else _in_words(explanation))
    if settings.html:
        print(f"Page: {settings.html}")


def _place_or_id(text: str) -> int | str:
    """A result's place, from 0, or its id."""
    return int(text) - 1 if text.isdecimal() else text


def _table(results: "SearchResults") -> str:
    """The results, each with its strongest link."""
    from whymatch.show.terminal import table

    rows = []
    for rank, hit in enumerate(results, start=1):
        texts = [_shortened(text) for text in hit.links[0].texts] if hit.links else ["(no link)", ""]
        rows.append([str(rank), _shortened(hit.id), number(hit.score), str(len(hit.links)), *texts])
    if not rows:
        return "Nothing was found: the index is empty."
    return table(["#", "document", "score", "links", "strongest link: query", "document's span"], rows)


def _in_words(explanation: "Explanation") -> str:
    """Why one result ranks above another, span by span of the query."""
    from whymatch.show.terminal import table

    def linked(links: "Sequence[Link]") -> str:
        return " · ".join(_shortened(link.texts[1]) for link in links) or "(no link)"

    above, below = explanation.above, explanation.below
    rows = [
        [f"{each.adds:+.3f}", _shortened(each.text), linked(each.above), linked(each.below)]
        for each in explanation.differences
    ]
    head = (
        f"{plain(above.id)} ({number(above.score)}) ranks above {plain(below.id)} ({number(below.score)}) "
        f"by {number(explanation.lead)}; what each span of the query adds to that:"
    )
    return f"{head}\n\n{table(['adds', 'query', plain(above.id), plain(below.id)], rows)}"


def _shortened(text: str) -> str:
    """The beginning of a text, without characters that a terminal would obey."""
    line = plain(text)
    return line if len(line) <= _MAX_SHOWN_CHARACTERS else f"{line[: _MAX_SHOWN_CHARACTERS - 1]}…"


def run_duplicates(settings: argparse.Namespace) -> None:
    """Prints each pair when it is found."""
    from whymatch.search.duplicates import duplicates

    index = open_index(settings, alone=True)
    options = {"below": settings.below, "least": settings.least, "neighbours": settings.neighbours}
    with progress_bar("comparing", len(index)) as progress:
        for pair in duplicates(index, **options, progress=progress):
            if settings.json:
                print(json.dumps(pair.to_dict(), ensure_ascii=False, allow_nan=False), flush=True)
            else:
                links = "1 link" if len(pair.alignment.links) == 1 else f"{len(pair.alignment.links)} links"
                print(f"{pair.overlap:.0%}\t{plain(pair.left)}\t{plain(pair.right)}\t{links}", flush=True)
