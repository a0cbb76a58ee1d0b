"""Texts from files, standard input and the command line, with limits."""

import codecs
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MEGABYTE = 10**6


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


def decoded(data: bytes, name: str, encoding: str) -> str:
    """Bytes as text, or why they are none."""
    try:
        known = codecs.lookup(encoding).name  # one name for all spellings
    except (LookupError, ValueError):
        raise ValueError(f"There is no encoding {encoding!r}. Try utf-8 or latin-1.") from None
    if b"\0" in data and not known.startswith(("utf-16", "utf-32")):
        raise ValueError(f"{name} is a binary file: it holds zero bytes. Give a text file.")
    try:
        return data.decode("utf-8-sig" if known == "utf-8" else known)
    except LookupError:
        raise ValueError(f"{encoding!r} is no encoding of texts. Try utf-8 or latin-1.") from None
    except UnicodeError as error:
        at = f"byte {error.start} fits nothing" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ValueError(f"{name} is not {encoding}: {at}. Name its --encoding.") from None


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise ValueError("Standard input is closed.")
    return sys.stdin.buffer


def lines(file: BinaryIO, most: int) -> Iterator[bytes]:
    """The lines of a file; of one longer than `most` bytes, the first `most` + 1."""
    while data := file.readline(most + 1):
        yield data
        while data and not data.endswith(b"\n"):
            data = file.readline(MEGABYTE)
