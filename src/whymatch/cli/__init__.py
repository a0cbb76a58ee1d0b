"""The command line: one file a verb; a verb calls the library and prints."""

import argparse
import os
import sys
from collections.abc import Sequence

from whymatch import __doc__ as question
from whymatch import __version__
from whymatch.cli import demo

VERBS = (demo,)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit status."""
    parser = argparse.ArgumentParser(prog="whymatch", description=question)
    parser.add_argument("--version", action="version", version=f"whymatch {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in VERBS:
        verb.add_to(verbs)
    settings = parser.parse_args(arguments)
    try:
        settings.run(settings)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError) as error:
        print(f"whymatch: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("whymatch: interrupted", file=sys.stderr)
        return 130
    return 0
