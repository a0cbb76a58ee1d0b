"""The command line: one file a verb; a verb calls the library and prints."""

import argparse
import os
import sys
from collections.abc import Sequence

from whymatch import __doc__ as question
from whymatch import __version__
from whymatch.cli import align, reproduce

VERBS = (align, reproduce)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit status."""
    parser = argparse.ArgumentParser(prog="whymatch", description=question)
    parser.add_argument("--version", action="version", version=f"whymatch {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in VERBS:
        verb.add_to(verbs)
    settings = parser.parse_args(arguments)
    try:
        status = int(settings.run(settings) or 0)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(
            f"whymatch: {error.filename}: {error.strerror}" if error.filename else f"whymatch: {error}", file=sys.stderr
        )
        return 2
    except ValueError as error:
        print(f"whymatch: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("whymatch: interrupted", file=sys.stderr)
        return 130
