"""Standard input, output and error, as the verbs use them: texts read, errors reported, trainings watched."""

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
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


@contextmanager
def cleaned_up_when_ended() -> Iterator[None]:
    """Has a process that is told to end leave the block first, so that what is temporary in it is deleted."""
    if current_thread() is not main_thread():  # where Python sets no handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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


def read_document(source: str, *, max_mb: float, encoding: str, marked: bool = False) -> str:
    """The text of a file of text, Markdown, HTML or DOCX, or of standard input for `-`. Raises as `read_text`.

    With `marked`, the headings and header rows of HTML are marked as in Markdown.
    """
    from whymatch.datasets.office import document_text

    data, name = read_bytes(source, max_mb=max_mb)
    return document_text(data, name, encoding=encoding, max_mb=max_mb, marked=marked)


def check_outputs(
    outputs: Iterable[Path | None], inputs: Iterable[str | Path | None] = (), *, page: Path | None = None
) -> None:
    """Raises ValueError, before slow work starts, for a file that cannot be written, or that should be left as it is.

    An output may be none of the inputs, by whatever name, and no file of a folder that is read; and no file may be
    written twice. A web page is written to a
    file that ends as one: another is likely to be somebody's text.
    """
    written = list[Path]()
    read = [Path(file) for file in inputs if file is not None and file != "-"]
    for file in (page, *outputs):
        if file is None:
            continue
        if file.is_dir() or not file.parent.is_dir():
            raise ValueError(f"{file} cannot be written: it is a folder, or there is no folder {file.parent}.")
        if file is page and file.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"A web page is written to a file that ends in .html, got {file}.")
        if any(_same_file(file, other) for other in read):
            raise ValueError(f"This would write over {file}, which is read. Name another file.")
        if any(_same_file(file, other) for other in written):
            raise ValueError(f"This would write {file} twice. Name two files.")
        written.append(file)


def _same_file(one: Path, other: Path) -> bool:
    """Whether two names are of one file, or the second is of a folder that holds the first."""
    if one.exists() and other.is_dir():
        return one.resolve().is_relative_to(other.resolve())
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


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
