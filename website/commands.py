"""The reference of the command line: what every verb says of itself with --help."""

import argparse
import os
from collections.abc import Iterator
from unittest.mock import patch

from whymatch.cli import command_line

_ABOUT = """# The command line

Every verb explains itself with `--help`; this page is what they say. `whymatch --version` prints the version, and
`whymatch doctor` says what works on this machine and what is missing for which verb.
"""


def commands_page() -> str:
    """The page, in Markdown."""
    with patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}):
        parts = [f"## {name}\n\n```text\n{text.rstrip()}\n```\n" for name, text in _help_texts(command_line())]
    return "\n".join([_ABOUT, *parts])


def _help_texts(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """The names of verbs and of their verbs, with their help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                yield verb.prog, verb.format_help()
                yield from _help_texts(verb)
