"""`whymatch study`: people judge the links of models that they do not know."""

import argparse
import json
from pathlib import Path
from typing import Any

from whymatch.cli.console import check_outputs
from whymatch.cli.serve import add_address, admission
from whymatch.files import check_new, write_whole
from whymatch.transport.constraints import EXAMPLES


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("study", help="let people judge rationales, and see what they say")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_create(actions)
    serving = actions.add_parser("serve", help="the page on which people judge")
    reporting = actions.add_parser("report", help="ratings, accepted links and agreement")
    exporting = actions.add_parser("export", help="accepted links as data in ERASER's layout, to train on")
    for action in (serving, reporting, exporting):
        action.add_argument("study", metavar="STUDY", type=Path, help="a folder of whymatch study create")
    add_address(serving, 8010)
    serving.set_defaults(run=run_serve)
    reporting.add_argument("--html", type=Path, metavar="F", help="write the report as a web page")
    reporting.add_argument("--figure", type=Path, metavar="F", help="write the bars as .svg, .pdf or .png")
    reporting.add_argument("--json", action="store_true", help="print JSON instead of a table")
    reporting.set_defaults(run=run_report)
    exporting.add_argument("out", metavar="OUT", type=Path, help="a new folder")
    exporting.add_argument("--least", type=int, default=1, metavar="N", help="people who judged a link (default: 1)")
    exporting.add_argument("--label", help="of pairs that have none")
    exporting.add_argument("--seed", type=int, default=0, help="of the splits (default: 0)")
    exporting.set_defaults(run=run_export)


def _add_create(actions: Any) -> None:
    parser = actions.add_parser("create", help="draw up a study from pairs of texts and models")
    pairs = 'JSON lines with "left" and "right", or the folder of a data set'
    parser.add_argument("pairs", metavar="PAIRS", type=Path, help=pairs)
    parser.add_argument("out", metavar="OUT", type=Path, nargs="?", help="a new folder; it may stand last, too")
    models = f"folders of whymatch train, {EXAMPLES}, softmax:0.1, sparsemax:1, entmax15:1"
    parser.add_argument("--models", nargs="+", required=True, metavar="M", help=models)
    asked = "for ratings from 0 to 2, verdicts on links"
    parser.add_argument("--ask", choices=["ratings", "links", "both"], default="both", help=asked)
    parser.add_argument("--spans", default="sentence", help="sentence (default), word, paragraph, line, text, punkt")
    parser.add_argument("--split", default="test", help="of a data set (default: test)")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of the pairs, by chance (default: all)")
    top_k = "links of attention (default: as many as the others have on a pair)"
    parser.add_argument("--top-k", type=int, metavar="K", help=top_k)
    parser.add_argument("--title", default="Which links explain the match?", help="what people read first")
    parser.add_argument("--seed", type=int, default=0, help="of the pairs that --sample draws (default: 0)")
    parser.set_defaults(run=run_create)


def run_create(settings: argparse.Namespace) -> None:
    """Creates a study and says how large it is."""
    names, out = settings.models, settings.out
    if out is None:  # PAIRS --models A B OUT: the last of them is no model
        *names, last = names
        out = Path(last)
        if not names or ":" in last or last == "balanced" or (out.is_dir() and any(out.iterdir())):
            raise ValueError(f"Name the folder to write last, and the models before it; {last!r} is no new folder.")
    from whymatch.study.answers import write_study
    from whymatch.study.creating import create, draw, read_pairs
    from whymatch.study.models import compared
    from whymatch.text.spans import splitter

    check_new(out)  # before any work
    splitter(settings.spans)
    pairs = draw(read_pairs(settings.pairs, settings.spans, settings.split), settings.sample, settings.seed)
    models = [compared(name, settings.spans) for name in names]
    study = create(pairs, models, title=settings.title, asked=settings.ask, top_k=settings.top_k)
    write_study(study, out)
    print(f"{len(study.items)} items to judge, of {len(pairs)} pairs and {len(names)} models, in {out}")
    print(f"Next: whymatch study serve {out}")


def run_serve(settings: argparse.Namespace) -> None:
    """Serves the page until it is stopped."""
    from whymatch.serve.running import run
    from whymatch.serve.study import guarded
    from whymatch.study.answers import open_study

    study, answers = open_study(settings.study)

    def announce(url: str) -> None:
        print(f"Judge at {url} (Ctrl-C stops)", flush=True)

    run(guarded(study, answers, **admission(settings)), settings.host, settings.port, announce)


def run_report(settings: argparse.Namespace) -> None:
    """Prints what people said."""
    from whymatch.show.terminal import table
    from whymatch.study.answers import open_study
    from whymatch.study.report import as_table, report

    check_outputs([settings.figure], page=settings.html)
    study, answers = open_study(settings.study)
    values = report(study, answers.all())
    if settings.html:
        from whymatch.show.html import report_page

        write_whole(settings.html, report_page(values))
    if settings.figure:
        try:
            from whymatch.show.figures import rated_bars
        except ModuleNotFoundError:
            raise ValueError("A figure needs matplotlib: pip install 'whymatch[figures]'.") from None
        rated_bars(values, settings.figure)
    if settings.json:
        print(json.dumps(values, ensure_ascii=False, allow_nan=False))
        return
    print(table(*as_table(values)))
    print(f"\n{len(study.items)} items. Mean with 95% interval over pairs; number of answers.")
    for person in values["annotators"]:
        print(f"{person['name']}: {person['complete']} of {len(study.items)} items complete")
    for file in filter(None, (settings.html, settings.figure)):
        print(f"Report: {file}")


def run_export(settings: argparse.Namespace) -> None:
    """Writes accepted links as a data set."""
    from whymatch.study.answers import open_study
    from whymatch.study.export import export

    study, answers = open_study(settings.study)
    counts = export(study, answers.all(), settings.out, least=settings.least, label=settings.label, seed=settings.seed)
    print(", ".join(f"{split} {number}" for split, number in counts.items()) + f" pairs, in {settings.out}")
