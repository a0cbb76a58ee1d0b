"""The command line: one file per verb, which calls the library and prints; `console.py` is what they share."""

import argparse
import sys
import traceback
from collections.abc import Sequence
from errno import ENOSPC
from typing import Any

from whymatch import __doc__ as question
from whymatch import __version__
from whymatch.cli import (
    align,
    bitext,
    calibrate,
    check,
    compare,
    completion,
    data,
    doctor,
    duplicates,
    evaluate,
    index,
    score,
    search,
    serve,
    study,
    train,
    tune,
)
from whymatch.cli.console import complain, discard_output

_VERBS = (
    align,
    check,
    compare,
    bitext,
    calibrate,
    index,
    search,
    duplicates,
    serve,
    score,
    data,
    train,
    tune,
    evaluate,
    study,
    doctor,
    completion,
)
_EXTRAS = ("lancedb", "ray", "fastapi", "uvicorn", "prometheus_client", "torch", "transformers")
"""Modules of extras, which may be missing."""
FAULT = 3
"""The exit status of an error that nobody expected."""


class _VerbParser(argparse.ArgumentParser):
    """Takes options between the other arguments too: "check answer.txt --json docs"."""

    _is_parsing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        has_actions = any(action.nargs == argparse.PARSER for action in self._actions)
        if self._is_parsing or has_actions or "--" in (args or ()):
            return super().parse_known_args(args, namespace)
        self._is_parsing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_parsing = False


def command_line() -> argparse.ArgumentParser:
    """The verbs and their options."""
    parser = argparse.ArgumentParser(prog="whymatch", description=question)
    parser.add_argument("--version", action="version", version=f"whymatch {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True, parser_class=_VerbParser)
    for verb in _VERBS:
        verb.add_to(verbs)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb; returns the exit status."""
    settings = command_line().parse_args(arguments)
    try:
        return _run(settings)
    except Exception:  # Python would exit with 1, which is a verdict of --strict and --exit-code
        traceback.print_exc()
        complain("this error is a fault of whymatch. Please report it with the lines above.")
        return FAULT


def _run(settings: argparse.Namespace) -> int:
    """Runs the verb; an error that a user can mend is a line and an exit status."""
    try:
        if sys.stdout is None:
            raise ValueError("Standard output is closed: there is nowhere to print to.")
        status = int(settings.run(settings) or 0)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader has seen enough
        discard_output()
        return 0
    except OSError as error:
        if error.filename is None and error.errno == ENOSPC:
            discard_output()
        complain(f"{error.filename}: {error.strerror}" if error.filename else error)
        return 2
    except ValueError as error:
        complain(error)
        return 2
    except ModuleNotFoundError as error:
        advised = "pip install" in str(error)
        if error.name not in _EXTRAS and not advised:
            raise
        complain(error if advised else f"This needs {error.name}: pip install 'whymatch[train]'.")
        return 2
    except MemoryError:
        complain("There is not enough memory for these texts. Use larger spans, or cut the texts.")
        return 2
    except KeyboardInterrupt:
        complain(
            f"interrupted. {settings.after_interrupt(settings)}" if "after_interrupt" in settings else "interrupted"
        )
        return 130  # as shells have it
