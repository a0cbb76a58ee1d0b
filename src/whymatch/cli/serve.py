"""`whymatch serve`: alignment, ranking and search over HTTP, with a page for people."""

import argparse
from pathlib import Path
from typing import Any


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("serve", help="align, rank and search over HTTP, with a page for people")
    parser.add_argument("--model", type=Path, metavar="RUN", help="a trained ranker (default: MiniLM)")
    models = "in place of MiniLM: multilingual, or a model's folder or name; it aligns no words"
    parser.add_argument("--encoder", metavar="MODEL", help=models)
    parser.add_argument("--index", type=Path, metavar="INDEX", help="the folder of an index to search")
    add_address(parser, 8000)
    parser.add_argument("--requests", type=int, default=64, metavar="N", help="worked on at once (default: 64)")
    parser.add_argument("--seconds", type=float, default=30, metavar="S", help="for a request (default: 30)")
    parser.add_argument("--characters", type=int, default=100_000, metavar="N", help="in a request (default: 100000)")
    tokens = "that the model reads for a request; each dot is one (default: 25000)"
    parser.add_argument("--tokens", type=int, default=25_000, metavar="N", help=tokens)
    parser.add_argument(
        "--limit", dest="spans", type=int, default=500, metavar="N", help="spans in a text (default: 500)"
    )
    parser.add_argument("--matrix", type=int, default=40_000, metavar="N", help="pairs of spans (default: 40000)")
    parser.set_defaults(run=run)


def add_address(parser: argparse.ArgumentParser, port: int) -> None:
    """Adds the options that every server has: where it listens, and whom it lets in."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: this machine alone)")
    parser.add_argument("--port", type=int, default=port, help=f"default: {port}; 0 takes one that is free")
    parser.add_argument("--token-file", type=Path, metavar="F", help="the token that requests need (or WHYMATCH_TOKEN)")
    parser.add_argument("--no-token", action="store_true", help="let everybody in who can reach the address")
    parser.add_argument("--allow-host", action="append", default=[], metavar="NAME", help="a name that proxies send on")


def admission(settings: argparse.Namespace) -> dict[str, Any]:
    """The hosts and the token that the settings name, as servers take them."""
    from whymatch.serve.running import hosts_for, token_for

    proxied = bool(settings.allow_host)
    token = token_for(settings.host, settings.token_file, switched_off=settings.no_token, proxied=proxied)
    return {"hosts": hosts_for(settings.host, settings.allow_host, token=token is not None), "token": token}


def run(settings: argparse.Namespace) -> None:
    """Serves until it is told to stop."""
    from whymatch.serve.models import Limits
    from whymatch.serve.running import run as serve

    if settings.model is not None and settings.encoder is not None:
        raise ValueError("--encoder does not go with --model: a trained ranker has its own encoder.")
    admitted = admission(settings)
    names = ("requests", "seconds", "characters", "tokens", "spans", "matrix")
    limits = Limits(**{name: getattr(settings, name) for name in names})
    if settings.index is not None:
        from whymatch.search.store import Store

        Store.open(settings.index)  # refused before a model is read
    from whymatch.serve.app import create

    app = create(settings.model, settings.index, encoder=settings.encoder, limits=limits, **admitted)
    serve(app, settings.host, settings.port, lambda url: print(f"whymatch serves at {url}", flush=True))
    if (error := app.state.service.error) is not None:
        raise error
