"""`whymatch serve`: alignment, ranking and search over HTTP, with a page for people."""

import argparse
from pathlib import Path
from typing import Any

from whymatch.cli.addresses import add_address, who


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("serve", help="align, rank and search over HTTP, with a page for people")
    parser.add_argument("--model", type=Path, metavar="RUN", help="a trained ranker (default: MiniLM)")
    parser.add_argument("--index", type=Path, metavar="OUT", help="the folder of an index to search")
    add_address(parser, 8000)
    parser.add_argument("--requests", type=int, default=64, metavar="N", help="worked on at once (default: 64)")
    parser.add_argument("--seconds", type=float, default=30, metavar="S", help="for a request (default: 30)")
    parser.add_argument("--characters", type=int, default=100_000, metavar="N", help="in a request (default: 100000)")
    read = "that the model reads for a request; each dot is one (default: 25000)"
    parser.add_argument("--tokens", type=int, default=25_000, metavar="N", help=read)
    parser.add_argument("--limit", type=int, default=500, metavar="N", help="spans in a text (default: 500)")
    parser.add_argument("--matrix", type=int, default=40_000, metavar="N", help="pairs of spans (default: 40000)")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> None:
    """Serves until it is told to stop."""
    from whymatch.serve.limits import Limits
    from whymatch.serve.running import run as serve

    admitted = who(settings)
    limits = Limits(
        requests=settings.requests,
        seconds=settings.seconds,
        characters=settings.characters,
        tokens=settings.tokens,
        spans=settings.limit,
        matrix=settings.matrix,
    )
    if settings.index is not None:
        from whymatch.search.store import Store

        Store.open(settings.index)  # refused before a model is read
    from whymatch.serve.app import create

    app = create(settings.model, settings.index, limits=limits, **admitted)
    serve(app, settings.host, settings.port, lambda url: print(f"whymatch serves at {url}", flush=True))
    if (error := app.state.service.error) is not None:
        raise error
