"""Where a server listens, and whom it lets in."""

import argparse
from pathlib import Path
from typing import Any


def add_address(parser: argparse.ArgumentParser, port: int) -> None:
    """Adds what every server takes."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: this machine alone)")
    parser.add_argument("--port", type=int, default=port, help=f"default: {port}; 0 takes one that is free")
    parser.add_argument("--token-file", type=Path, metavar="F", help="the token that requests need (or WHYMATCH_TOKEN)")
    parser.add_argument("--no-token", action="store_true", help="let everybody in who can reach the address")
    parser.add_argument("--allow-host", action="append", default=[], metavar="NAME", help="a name that proxies send on")


def who(settings: argparse.Namespace) -> dict[str, Any]:
    """The hosts and the token that the settings name."""
    from whymatch.serve.running import hosts_for, token_for

    proxied = bool(settings.allow_host)
    token = token_for(settings.host, settings.token_file, switched_off=settings.no_token, proxied=proxied)
    return {"hosts": hosts_for(settings.host, settings.allow_host, token=token is not None), "token": token}
