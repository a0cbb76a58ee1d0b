"""Texts from files, standard input and the command line, with limits."""

import sys
from pathlib import Path

MEGABYTE = 10**6


def read_text(source: str, *, most: float, encoding: str) -> str:
    """The text of a file, or of standard input for `-`."""
    name = "standard input" if source == "-" else source
    if source == "-":
        data = sys.stdin.buffer.read(int(most * MEGABYTE) + 1)
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
    if b"\0" in data and not encoding.lower().startswith(("utf-16", "utf_16", "utf-32", "utf_32")):
        raise ValueError(f"{name} is a binary file: it holds zero bytes. Give a text file.")
    try:
        text = data.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise ValueError(f"There is no encoding {encoding!r}. Try utf-8 or latin-1.") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not {encoding}: byte {error.start} fits nothing. Name its --encoding.") from None
    return text
