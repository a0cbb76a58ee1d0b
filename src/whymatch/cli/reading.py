"""Texts from files, standard input and the command line, with limits."""

import sys
from pathlib import Path
from typing import BinaryIO

from whymatch.reading import MEGABYTE, decoded


def read_text(source: str, *, most: float, encoding: str) -> str:
    """The text of a file, or of standard input for `-`."""
    name = "standard input" if source == "-" else source
    if source == "-":
        data = standard_input().read(int(most * MEGABYTE) + 1)
    else:
        path = Path(source)
        if path.is_dir():
            raise ValueError(
                f"{source} is a folder. Give a text file, - for standard input, or --text for plain texts."
            )
        with path.open("rb") as file:
            data = file.read(int(most * MEGABYTE) + 1)
    if len(data) > most * MEGABYTE:
        raise ValueError(f"{name} is larger than {most:g} MB. Raise the limit with --max-mb, or cut the text.")
    return decoded(data, name, encoding)


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise ValueError("Standard input is closed.")
    return sys.stdin.buffer
