"""`whymatch serve`: alignment, ranking and search over HTTP, with a page for people."""

import argparse
from pathlib import Path
from typing import Any


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("serve", help="align, rank and search over HTTP, with a page for people")
    parser.add_argument("--model", type=Path, metavar="RUN", help="a trained ranker (default: MiniLM)")
    parser.add_argument("--index", type=Path, metavar="OUT", help="the folder of an index to search")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: this machine alone)")
    parser.add_argument("--port", type=int, default=8000, help="default: 8000; 0 takes one that is free")
    parser.add_argument("--token-file", type=Path, metavar="F", help="the token that requests need (or WHYMATCH_TOKEN)")
    parser.add_argument("--no-token", action="store_true", help="let everybody in who can reach the address")
    parser.add_argument("--allow-host", action="append", default=[], metavar="NAME", help="a name that proxies send on")
    parser.add_argument("--requests", type=int, default=64, metavar="N", help="worked on at once (default: 64)")
    parser.add_argument("--seconds", type=float, default=30, metavar="S", help="for a request (default: 30)")
    parser.add_argument("--characters", type=int, default=100_000, metavar="N", help="of a request (default: 100000)")
    parser.add_argument("--limit", type=int, default=500, metavar="N", help="spans in a text (default: 500)")
    parser.add_argument("--matrix", type=int, default=40_000, metavar="N", help="pairs of spans (default: 40000)")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> None:
    """Serves until it is told to stop."""
    from whymatch.serve.limits import Limits
    from whymatch.serve.running import hosts_for, token_for
    from whymatch.serve.running import run as serve

    token = token_for(settings.host, settings.token_file, switched_off=settings.no_token)
    limits = Limits(
        requests=settings.requests,
        seconds=settings.seconds,
        characters=settings.characters,
        spans=settings.limit,
        matrix=settings.matrix,
    )
    if settings.index is not None:
        from whymatch.search.store import Store

        Store.open(settings.index)  # refused before a model is read
    from whymatch.serve.app import create

    hosts = hosts_for(settings.host, settings.allow_host)
    app = create(settings.model, settings.index, limits=limits, token=token, hosts=hosts)
    serve(app, settings.host, settings.port, lambda url: print(f"whymatch serves at {url}", flush=True))
    if (error := app.state.service.error) is not None:
        raise error
