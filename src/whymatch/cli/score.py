"""`whymatch score`: the scores and links of many pairs, by all processors of a machine or by a cluster."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whymatch.cli.align import chosen_constraint
from whymatch.cli.console import complain
from whymatch.progress import progress_bar
from whymatch.transport.constraints import EXAMPLES

if TYPE_CHECKING:
    from whymatch.matching.aligner import Aligner
    from whymatch.matching.ranker import Ranker


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("score", help="score millions of pairs; started again, it goes on where it was")
    parser.add_argument("pairs", metavar="PAIRS", type=Path, help="Parquet or JSON lines, or a folder of them")
    parser.add_argument("out", metavar="OUT", type=Path, help="the folder that Parquet files are written to")
    parser.add_argument("--left", default="left", metavar="NAME", help="the field with one text (default: left)")
    parser.add_argument("--right", default="right", metavar="NAME", help="the field with the other (default: right)")
    parser.add_argument("--model", type=Path, metavar="RUN", help="a trained ranker (default: MiniLM, sentences)")
    parser.add_argument("--constraint", help=f"{EXAMPLES} (default: the model's, up-to:1)")
    parser.add_argument("--below", type=float, help="for up-to and each: link pairs that cost less")
    parser.add_argument("--ray", metavar="ADDRESS", default="local", help="a Ray cluster (default: local)")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> int:
    """Scores, and returns the exit status: 2 where pairs could not be aligned."""
    from whymatch.search.encoding import aligner_and_constraint
    from whymatch.search.pairs import PairFiles, score_on_ray

    pairs = PairFiles(settings.pairs, settings.left, settings.right)
    pairs.files()  # refused before a model is read
    constraint = chosen_constraint(settings)
    made = partial(_load_matcher, settings.model)
    if constraint is not None and constraint.thresholded and settings.below is None:
        constraint = constraint.resolved(aligner_and_constraint(made())[0].below)
    rows = bad = 0
    with progress_bar("scoring", None) as update:
        for done, total in score_on_ray(pairs, settings.out, made, constraint, settings.ray):
            rows, bad = rows + done.rows, bad + len(done.complaints)
            for complaint in done.complaints:
                complain(complaint)
            update(rows, total=total)
    print(f"{rows - bad:,} pairs scored, in {settings.out}")
    if bad:
        complain(f"pairs that could not be scored: {bad}.")
    return 2 if bad else 0


def _load_matcher(model: Path | None) -> "Aligner | Ranker":
    """The ranker in a folder, or the default aligner."""
    if model is None:
        from whymatch.matching.aligner import Aligner

        return Aligner()
    from whymatch.matching.ranker import Ranker

    return Ranker.from_pretrained(model)
