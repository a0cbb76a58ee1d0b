"""Where a server listens, and whom it lets in."""

import argparse
from pathlib import Path
from typing import Any

PORT = 8000


def add_address(parser: argparse.ArgumentParser, port: int = PORT) -> None:
    """Adds what every server takes."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: this machine alone)")
    parser.add_argument("--port", type=int, default=port, help=f"0 takes a free one (default: {port})")
    parser.add_argument("--allow-host", action="append", default=[], metavar="NAME", help="a name that it answers to")
    parser.add_argument("--token-file", type=Path, metavar="F", help="the token (default: WHYMATCH_TOKEN)")
    parser.add_argument("--no-token", action="store_true", help="let others in without a token")


def who(settings: argparse.Namespace) -> dict[str, Any]:
    """The hosts and the token that the settings name, as `Rules` takes them."""
    from whymatch.serve.running import hosts_for, token_for

    token = token_for(settings.host, settings.token_file, switched_off=settings.no_token)
    return {"hosts": hosts_for(settings.host, settings.allow_host), "token": token}
