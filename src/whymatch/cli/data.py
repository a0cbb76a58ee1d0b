"""`whymatch data`: converts official files of a data set into our layout, and says where to find them."""

import argparse
from pathlib import Path
from typing import Any

from whymatch.datasets.catalog import NAMES, OFFICIAL, SOURCES


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("data", help="prepare a data set, or say where its files are found")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="what each data set is, where it is found, under which licence")
    listing.set_defaults(run=run_list)
    preparing = actions.add_parser("prepare", help="check official files, convert them, print their statistics")
    preparing.add_argument("name", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    preparing.add_argument(
        "--from", dest="sources", type=Path, nargs="+", required=True, metavar="PATH", help="folders or files"
    )
    preparing.add_argument("--out", type=Path, help="a new folder (default: only check, and print the statistics)")
    preparing.add_argument("--seed", type=int, default=0, help="of splits and negatives (default: 0)")
    preparing.add_argument("--hard", action="store_true", help="ranking: negatives by BM25, not random ones")
    preparing.add_argument(
        "--negatives", type=int, metavar="N", help="ranking: dissimilar documents per query (default: the paper's)"
    )
    preparing.add_argument(
        "--annotation",
        choices=["first", "second", "majority"],
        default="first",
        help="esnli: whose marks are the rationale",
    )
    preparing.add_argument(
        "--query",
        choices=["parts", "whole", "one"],
        default="parts",
        help="multirc: question and answer as two spans, as two and both as a third (whole), or as one span",
    )
    preparing.set_defaults(run=run_prepare)


def run_list(settings: argparse.Namespace) -> None:
    """Prints every data set; nothing is downloaded."""
    for number, source in enumerate(SOURCES):
        print(f"{'' if number == 0 else chr(10)}{source.name}: {source.what}")
        for what, value in (("from", source.where), ("files", source.files), ("licence", source.licence)):
            print(f"  {what + ':':<9}{value}")


def run_prepare(settings: argparse.Namespace) -> None:
    """Prepares a data set, and prints its statistics beside the published ones."""
    from whymatch.datasets.conversion import statistics_table
    from whymatch.datasets.prepare import Choices, prepare
    from whymatch.progress import progress_bar
    from whymatch.show.terminal import table

    name, out = settings.name, settings.out
    choices = Choices(settings.seed, settings.hard, settings.negatives, settings.annotation, settings.query)
    with progress_bar("reading", None) as update:
        statistics = prepare(
            name, settings.sources, out, choices, lambda done, split: update(done, description=f"{split}: {done:,}")
        )
    print(table([name, "here", "official" if name in OFFICIAL else "paper"], statistics_table(name, statistics)))
    if out is not None:
        print(f"\nIn our layout: {out}")
