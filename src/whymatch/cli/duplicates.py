"""`whymatch duplicates`: the near-duplicate pairs of an index, with their links."""

import argparse
import json
from pathlib import Path
from typing import Any


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("duplicates", help="the near-duplicate pairs of an index, with their links")
    parser.add_argument("index", metavar="INDEX", type=Path, help="the folder of an index")
    parser.add_argument("--below", type=float, default=0.15, metavar="X", help="the most a link costs (default: 0.15)")
    parser.add_argument(
        "--least", type=float, default=0.8, metavar="S", help="share of both texts that is in links (default: 0.8)"
    )
    parser.add_argument("--neighbours", type=int, default=10, help="documents each is compared with (default: 10)")
    parser.add_argument("--model", type=Path, metavar="RUN", help="the trained ranker that the index was written with")
    parser.add_argument("--json", action="store_true", help="print JSON lines with links and offsets")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> None:
    """Prints each pair when it is found."""
    from whymatch.cli.console import progress_bar
    from whymatch.cli.index import open_index
    from whymatch.search.duplicates import duplicates
    from whymatch.show.words import plain

    index = open_index(settings, alone=True)
    with progress_bar("comparing", len(index)) as progress:
        for pair in duplicates(
            index, below=settings.below, least=settings.least, neighbours=settings.neighbours, progress=progress
        ):
            if settings.json:
                print(json.dumps(pair.to_dict(), ensure_ascii=False, allow_nan=False), flush=True)
            else:
                links = "1 link" if len(pair.alignment.links) == 1 else f"{len(pair.alignment.links)} links"
                print(f"{pair.overlap:.0%}\t{plain(pair.left)}\t{plain(pair.right)}\t{links}", flush=True)
