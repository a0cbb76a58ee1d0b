"""`whymatch study`: people judge the links of models that they do not know."""

import argparse
import json
from pathlib import Path
from typing import Any

from whymatch.cli.serve import add_address, admission
from whymatch.files import check_new, write_whole

PORT = 8010


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("study", help="let people judge rationales, and see what they say")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    add_create(actions)
    serving = actions.add_parser("serve", help="the page on which people judge")
    serving.add_argument("study", metavar="STUDY", type=Path, help="a folder of whymatch study create")
    add_address(serving, PORT)
    serving.set_defaults(run=run_serve)
    reporting = actions.add_parser("report", help="ratings, accepted links and agreement")
    reporting.add_argument("study", metavar="STUDY", type=Path, help="a folder of whymatch study create")
    reporting.add_argument("--html", type=Path, metavar="F", help="write the report as a web page")
    reporting.add_argument("--figure", type=Path, metavar="F", help="write the bars as .svg, .pdf or .png")
    reporting.add_argument("--json", action="store_true", help="print JSON instead of a table")
    reporting.set_defaults(run=run_report)
    exporting = actions.add_parser("export", help="accepted links as data in ERASER's layout, to train on")
    exporting.add_argument("study", metavar="STUDY", type=Path, help="a folder of whymatch study create")
    exporting.add_argument("out", metavar="OUT", type=Path, help="a new folder")
    exporting.add_argument("--least", type=int, default=1, metavar="N", help="people who judged a link (default: 1)")
    exporting.add_argument("--label", help="of pairs that have none")
    exporting.add_argument("--seed", type=int, default=0, help="of the splits (default: 0)")
    exporting.set_defaults(run=run_export)


def add_create(actions: Any) -> None:
    creating = actions.add_parser("create", help="draw up a study from pairs of texts and models")
    creating.add_argument(
        "pairs", metavar="PAIRS", type=Path, help='JSON lines with "left" and "right", or the folder of a data set'
    )
    creating.add_argument("out", metavar="OUT", type=Path, nargs="?", help="a new folder; it may stand last, too")
    creating.add_argument(
        "--models",
        nargs="+",
        required=True,
        metavar="M",
        help="folders of whymatch train, exactly:2, up-to:1, one-to:1, balanced, softmax:0.1, sparsemax:1, entmax15:1",
    )
    creating.add_argument(
        "--ask", choices=["ratings", "links", "both"], default="both", help="for ratings from 0 to 2, verdicts on links"
    )
    creating.add_argument("--spans", default="sentence", help="sentence (default), word, paragraph, line, text, punkt")
    creating.add_argument("--split", default="test", help="of a data set (default: test)")
    creating.add_argument("--sample", type=int, metavar="N", help="so many of the pairs, by chance (default: all)")
    creating.add_argument(
        "--top", type=int, metavar="N", help="links of attention (default: as many as the others have on a pair)"
    )
    creating.add_argument("--title", default="Which links explain the match?", help="what people read first")
    creating.add_argument("--seed", type=int, default=0, help="of the pairs that --sample draws (default: 0)")
    creating.set_defaults(run=run_create)


def run_create(settings: argparse.Namespace) -> None:
    """Draws up a study and says how large it is."""
    names, out = settings.models, settings.out
    if out is None:  # PAIRS --models A B OUT: the last of them is no model
        *names, last = names
        out = Path(last)
        if not names or ":" in last or last == "balanced" or (out.is_dir() and any(out.iterdir())):
            raise ValueError(f"Name the folder to write last, and the models before it; {last!r} is no new folder.")
    from whymatch.study.creating import create, draw, read_pairs
    from whymatch.study.folder import write_study
    from whymatch.study.models import compared
    from whymatch.text.spans import splitter

    check_new(out)  # before any work
    splitter(settings.spans)
    pairs = draw(read_pairs(settings.pairs, settings.spans, settings.split), settings.sample, settings.seed)
    models = [compared(name, settings.spans) for name in names]
    study = create(pairs, models, title=settings.title, asked=settings.ask, top=settings.top)
    write_study(study, out)
    print(f"{len(study.items)} items to judge, of {len(pairs)} pairs and {len(names)} models, in {out}")
    print(f"Next: whymatch study serve {out}")


def run_serve(settings: argparse.Namespace) -> None:
    """Serves the page until it is stopped."""
    from whymatch.serve.running import run
    from whymatch.serve.study import guarded
    from whymatch.study.folder import open_study

    study, answers = open_study(settings.study)
    run(guarded(study, answers, **admission(settings)), settings.host, settings.port, announce)


def announce(url: str) -> None:
    print(f"Judge at {url} (Ctrl-C stops)", flush=True)


def run_report(settings: argparse.Namespace) -> None:
    """Prints what people said."""
    from whymatch.show.terminal import table
    from whymatch.study.folder import open_study
    from whymatch.study.report import report, rows

    study, answers = open_study(settings.study)
    found = report(study, answers.all())
    if settings.html:
        from whymatch.show.ratings import page

        write_whole(settings.html, page(found))
    if settings.figure:
        draw_figure(found, settings.figure)
    if settings.json:
        print(json.dumps(found, ensure_ascii=False, allow_nan=False))
        return
    print(table(*rows(found)))
    print(f"\n{len(study.items)} items. Mean with 95% interval over pairs; number of answers.")
    for person in found["annotators"]:
        print(f"{person['name']}: {person['complete']} of {len(study.items)} items complete")
    for file in filter(None, (settings.html, settings.figure)):
        print(f"Report: {file}")


def draw_figure(found: dict[str, Any], file: Path) -> None:
    try:
        from whymatch.show.figures import rated_bars
    except ModuleNotFoundError:
        raise ValueError("A figure needs matplotlib: pip install 'whymatch[figures]'.") from None
    rated_bars(found, file)


def run_export(settings: argparse.Namespace) -> None:
    """Writes accepted links as a data set."""
    from whymatch.study.export import export
    from whymatch.study.folder import open_study

    study, answers = open_study(settings.study)
    counts = export(study, answers.all(), settings.out, least=settings.least, label=settings.label, seed=settings.seed)
    print(", ".join(f"{split} {number}" for split, number in counts.items()) + f" pairs, in {settings.out}")
