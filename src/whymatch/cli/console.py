"""Standard input, output and error, as the verbs use them: texts read, errors reported, trainings watched."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from whymatch.progress import progress_bar
from whymatch.reading import MEGABYTE, decoded
from whymatch.show.words import plain

if TYPE_CHECKING:
    from whymatch.learning.train import Watch


def complain(message: object) -> None:
    """Prints one line to standard error, whatever the message holds; nothing where standard error is closed."""
    if sys.stderr is not None:
        print(f"whymatch: {plain(str(message))}", file=sys.stderr)


def discard_output() -> None:
    """Discards what is still to be printed, so that Python does not try again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def multiply_in_one_thread() -> None:
    """Has numpy multiply in one thread, in a process that has not loaded it yet and aligns few texts.

    Products are then so small that several threads wait for each other longer than they compute.
    """
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def read_text(source: str, *, max_mb: float, encoding: str) -> str:
    """The text of a file, or of standard input for `-`. Raises ValueError for more than `max_mb` megabytes."""
    return decoded(*read_bytes(source, max_mb=max_mb), encoding)


def read_bytes(source: str, *, max_mb: float) -> tuple[bytes, str]:
    """The bytes of a file, or of standard input for `-`, and what to call it. Raises as `read_text`."""
    name = "standard input" if source == "-" else source
    if source != "-" and Path(source).is_dir():
        raise ValueError(f"{source} is a folder. Give a text file, - for standard input, or --text for plain texts.")
    with standard_input() if source == "-" else Path(source).open("rb") as file:
        data = file.read(int(max_mb * MEGABYTE) + 1)
    if len(data) > max_mb * MEGABYTE:
        raise ValueError(f"{name} is larger than {max_mb:g} MB. Raise the limit with --max-mb, or cut the text.")
    return data, name


def read_document(source: str, *, max_mb: float, encoding: str) -> str:
    """The text of a file of text, Markdown, HTML or DOCX, or of standard input for `-`. Raises as `read_text`."""
    from whymatch.datasets.office import document_text

    data, name = read_bytes(source, max_mb=max_mb)
    return document_text(data, name, encoding=encoding, max_mb=max_mb)


def check_outputs(files: Iterable[Path]) -> None:
    """Raises ValueError, before slow work starts, if one of some files cannot be written."""
    for file in files:
        if file.is_dir() or not file.parent.is_dir():
            raise ValueError(f"{file} cannot be written: it is a folder, or there is no folder {file.parent}.")


def standard_input() -> BinaryIO:
    """The bytes of standard input. Raises ValueError where it is closed."""
    if sys.stdin is None:
        raise ValueError("Standard input is closed.")
    return sys.stdin.buffer


@contextmanager
def training_progress() -> Iterator["Watch"]:
    """Yields what a training reports to: lines, and a bar for the texts that are encoded and the items learned from."""
    from whymatch.learning.fit import TrainingProgress
    from whymatch.learning.settings import Settings
    from whymatch.learning.train import Watch

    with progress_bar("training", 1, "loss", "speed") as update:

        def show(run: Settings, progress: TrainingProgress) -> None:
            update(
                progress.done,
                total=progress.items,
                description=f"epoch {progress.epoch + 1} of {run.schedule.epochs}",
                loss=f"loss {progress.loss:.3f}",
                speed=f"{progress.speed:.0f}/s",
            )

        def encoded(done: int, texts: int) -> None:
            update(done, total=texts, description="encoding")

        yield Watch(lambda line: print(line, file=sys.stderr), encoded, show)
