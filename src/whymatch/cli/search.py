"""`whymatch search`: documents of an index that match a text, and why."""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whymatch.cli.align import add_encoder_options, chosen_constraint
from whymatch.cli.console import check_outputs, complain, multiply_in_one_thread, read_text
from whymatch.cli.index import open_index
from whymatch.files import write_whole
from whymatch.show.words import number, plain, shortened, value_text
from whymatch.transport.constraints import EXAMPLES

if TYPE_CHECKING:
    from whymatch.matching.parts import Link
    from whymatch.search.results import Explanation, Hit, SearchResults

_MAX_VALUE_CHARACTERS = 24  # of a value that is kept of a document


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("search", help="which documents of an index match a text, and why")
    parser.add_argument("index", metavar="INDEX", type=Path, help="the folder of an index")
    parser.add_argument("query", nargs="?", metavar="QUERY", help="a text, or - for standard input")
    parser.add_argument("--queries", type=Path, metavar="FILE", help="many: JSON lines, CSV or Parquet, as a corpus")
    parser.add_argument("--top-k", type=int, default=10, metavar="K", help="how many documents (default: 10)")
    constraints = f"{EXAMPLES} (default: the model's, or every link with evidence)"
    parser.add_argument("--constraint", metavar="C", help=constraints)
    parser.add_argument(
        "--below", type=float, metavar="X", help="with up-to and each: link only pairs that cost less than X, in bits"
    )
    parser.add_argument("--candidates", type=int, default=75, help="in each of three ways (default: 75)")
    where = (
        "only documents for which this holds, such as: year > 2019 AND topic = 'unix'; columns that index --keep kept"
    )
    parser.add_argument("--where", metavar="FILTER", help=where)
    parser.add_argument("--model", type=Path, metavar="RUN", help="the trained ranker that the index was written with")
    add_encoder_options(parser, "that of the index, by its name")
    parser.add_argument(
        "--explain", nargs=2, metavar=("A", "B"), help="and why A ranks above B: places, from 1, or ids"
    )
    parser.add_argument("--html", type=Path, metavar="F", help="write the results as a web page")
    parser.add_argument("--trec", type=Path, metavar="F", help="write a TREC run file")
    parser.add_argument("--json", action="store_true", help="print JSON, one line per query, instead of a table")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> int:
    """Searches, prints, and returns the exit status: 2 where queries were bad."""
    if (settings.query is None) == (settings.queries is None):
        raise ValueError("Give a QUERY, or many with --queries FILE. See whymatch search --help.")
    if settings.queries is not None and (settings.html or settings.explain):
        raise ValueError("--html and --explain go with one QUERY.")
    check_outputs([settings.trec], [settings.queries], page=settings.html)
    if settings.queries is None:
        multiply_in_one_thread()
    constraint = chosen_constraint(settings)
    from whymatch.text.encoders import unread_notes

    index = open_index(settings, settings.index, settings.where)
    bad, trec_lines = 0, []
    for place, query_id, text in _queries(settings):
        try:
            if isinstance(text, ValueError):
                raise text
            options = {"candidates": settings.candidates, "where": settings.where}
            results = index.search(text, settings.top_k, constraint, **options)
        except ValueError as error:
            if settings.queries is None:
                raise
            bad += 1
            complain(f"{place}: {error}")
            continue
        if notes := unread_notes(index.aligner.encoder, [(str(place), text)]):
            complain(" ".join(notes))
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
    from whymatch.datasets.documents import CorpusFiles

    for row in CorpusFiles(settings.queries):
        yield row.place, row.id, row.error or row.text


def _show(results: "SearchResults", query_id: str, settings: argparse.Namespace) -> None:
    """Prints the results of one query, and writes their page."""
    if settings.html:
        write_whole(settings.html, results.to_html())
    explanation = results.explain(*settings.explain) if settings.explain else None
    if settings.json:
        explained = {} if explanation is None else {"explanation": explanation.to_dict()}
        print(json.dumps({"id": query_id, **results.to_dict(), **explained}, ensure_ascii=False, allow_nan=False))
        return
    if settings.queries is not None:
        print(f"{plain(query_id)}: {shortened(results.query)}")
    print(_table(results))
    if explanation is not None:
        print(f"\n{_in_words(explanation)}")
    if settings.html:
        print(f"Page: {settings.html}")


def _table(results: "SearchResults") -> str:
    """The results, each with what it is worth and its strongest link."""
    from whymatch.show.terminal import table

    if not results.hits:
        return "Nothing was found: there are no documents, or the filter holds for none."
    worth = [_worth(hit) for hit in results]
    rows = []
    for rank, (hit, values) in enumerate(zip(results, worth, strict=True), start=1):
        texts = [shortened(text) for text in hit.links[0].texts] if hit.links else ["(no link)", ""]
        kept = [shortened(value_text(value), _MAX_VALUE_CHARACTERS) for value in hit.metadata.values()]
        rows.append([str(rank), shortened(hit.id), *kept, *values.values(), str(len(hit.links)), *texts])
    names = [shortened(name, _MAX_VALUE_CHARACTERS) for name in results[0].metadata]
    return table(["#", "document", *names, *worth[0], "links", "strongest link: query", "document's span"], rows)


def _worth(hit: "Hit") -> dict[str, str]:
    """What a result is worth, the answer first, by the names of columns."""
    from whymatch.show.words import percent, short

    if hit.bits is None or hit.e_value is None:
        values = {} if hit.probability is None else {"probability": percent(hit.probability)}
        return {**values, "score": number(hit.score)}
    return {"probability": percent(hit.probability), "e-value": short(hit.e_value), "bits": f"{hit.bits:.1f}"}


def _in_words(explanation: "Explanation") -> str:
    """Why one result ranks above another, span by span of the query."""
    from whymatch.show.terminal import table

    def linked(links: "Sequence[Link]") -> str:
        return " · ".join(shortened(link.texts[1]) for link in links) or "(no link)"

    above, below = explanation.above, explanation.below
    decimals = 3 if above.bits is None else 1
    rows = [
        [f"{each.adds:+.{decimals}f}", shortened(each.text), linked(each.above), linked(each.below)]
        for each in explanation.differences
    ]
    return f"{_lead(explanation)}\n\n{table(['adds', 'query', plain(above.id), plain(below.id)], rows)}"


def _lead(explanation: "Explanation") -> str:
    """Which result ranks above which, and by how much."""
    above, below = explanation.above, explanation.below
    names = [plain(hit.id) for hit in (above, below)]
    if above.bits is None:
        scores = [number(hit.score) for hit in (above, below)]
        head = f"{names[0]} ({scores[0]}) ranks above {names[1]} ({scores[1]}) by {number(explanation.lead)}"
        return f"{head}; what each span of the query adds to that:"
    sizes = [len(hit.alignment.right) for hit in (above, below)]
    bits = [f"{hit.score:.1f} bits in {size} spans" for hit, size in zip((above, below), sizes, strict=True)]
    head = f"{names[0]} ({bits[0]}) ranks above {names[1]} ({bits[1]})"
    if explanation.lead < 0:
        head += ", which has more bits, but chance gives more to texts of its size"
    return f"{head}; what each span of the query adds to the difference of {explanation.lead:+.1f} bits:"
