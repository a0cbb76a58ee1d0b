"""Files of data sets, plain or gzipped; what is wrong with one is said with its line."""

import codecs
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from whymatch.files import whole_file

MEGABYTE = 10**6
BAD_ROW = (KeyError, TypeError, AttributeError, ValueError, OSError, RecursionError)


def find(folders: Iterable[Path], *names: str) -> Path | None:
    """The first file of one of these names, plain or gzipped, in any of the folders."""
    files = (folder / f"{name}{end}" for folder in folders for name in names for end in ("", ".gz"))
    return next((file for file in files if file.is_file()), None)


@contextmanager
def opened(file: Path) -> Iterator[BinaryIO]:
    """The bytes of a file; one that ends in the middle of its compression is called damaged."""
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as data:
            yield cast(BinaryIO, data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{file} is damaged: {error}.") from None


@contextmanager
def at(file: Path, number: int) -> Iterator[None]:
    """What goes wrong in one row is raised with its file and line."""
    try:
        yield
    except BAD_ROW as error:
        said = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{file}, line {number}: {said}") from error


def numbered(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 text with their numbers, from 1, without their line breaks."""
    with opened(file) as data:
        for number, line in enumerate(data, start=1):
            with at(file, number):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            yield number, text


def write_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes JSON lines, whole or not at all."""
    with whole_file(file) as draft, draft.open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def fields(file: Path, *counts: int) -> Iterator[tuple[int, list[str]]]:
    """The fields between tabs of every line that is not empty, which are as many as one of `counts`."""
    for number, line in numbered(file):
        found = line.split("\t")
        if line and len(found) not in counts:
            wanted = " or ".join(map(str, counts))
            raise ValueError(
                f"{file}, line {number}: a row has {wanted} fields between tabs, this one has {len(found)}."
            )
        if line:
            yield number, found


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


def lines(file: BinaryIO, most: int) -> Iterator[bytes]:
    """The lines of a file; of one longer than `most` bytes, the first `most` + 1."""
    while data := file.readline(most + 1):
        yield data
        while data and not data.endswith(b"\n"):
            data = file.readline(MEGABYTE)
