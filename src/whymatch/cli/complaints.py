"""What goes wrong, in one line on standard error."""

import os
import sys

from whymatch.show.words import plain


def complain(message: object) -> None:
    """One line, whatever the message holds; nothing where standard error is closed."""
    if sys.stderr is not None:
        print(f"whymatch: {plain(str(message))}", file=sys.stderr)


def discard_output() -> None:
    """What is still to be printed goes nowhere, so that Python does not try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
