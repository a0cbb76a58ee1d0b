"""`whymatch compare`: what changed between two versions of a document, and what of it matters."""

import argparse
import json
from pathlib import Path
from typing import Any

from whymatch.cli.align import check_size
from whymatch.cli.console import check_outputs, read_document

EPILOG = """exit status: 0, or with --exit-code 1 where the versions differ; 2 where something is wrong"""


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("compare", help="what changed between two versions of a document", epilog=EPILOG)
    documents = "text, Markdown, HTML or DOCX, or - for standard input"
    parser.add_argument("old", metavar="OLD", help=f"the old version: {documents}")
    parser.add_argument("new", metavar="NEW", help="the new version")
    blocks = "what is compared: block (headings, rows, and sentences of paragraphs, clauses and items; default), "
    parser.add_argument("--spans", default="block", help=blocks + "sentence, paragraph, line, text or punkt")
    parser.add_argument("--html", type=Path, metavar="F", help="write both versions side by side, as a web page")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a diff")
    relations = "do not read which words contradict each other, and what changed passages say of each other"
    parser.add_argument("--no-relations", dest="relations", action="store_false", help=relations)
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 where the versions differ")
    parser.add_argument("--max-mb", type=float, default=5, help="size of a text (default: 5)")
    parser.add_argument("--encoding", default="utf-8", help="of text and HTML (default: utf-8)")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> int:
    """Compares, prints, and returns the exit status."""
    check_size(settings)
    if settings.old == settings.new == "-":
        raise ValueError("Standard input can be one of the two versions, not both.")
    if settings.spans != "block":
        from whymatch.text.spans import splitter

        splitter(settings.spans)
    check_outputs([], [settings.old, settings.new], page=settings.html)
    limits = {"max_mb": settings.max_mb, "encoding": settings.encoding}
    texts = [read_document(source, **limits) for source in (settings.old, settings.new)]
    from whymatch.versions.comparing import compare

    comparison = compare(*texts, spans=settings.spans, relations=settings.relations)
    if settings.html:
        comparison.to_html(settings.html)
    if settings.json:
        print(json.dumps(comparison.to_dict(), ensure_ascii=False, allow_nan=False))
    else:
        from whymatch.show.changes import print_changes
        from whymatch.show.terminal import terminal

        print_changes(comparison.to_dict(), terminal())
        if settings.html:
            print(f"Page: {settings.html}")
    return int(settings.exit_code and not comparison.same)
