"""Progress on standard error: a bar at a terminal, and a line now and then in a log file or a pipe."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whymatch.learning.train import Watch


SECONDS_BETWEEN_LINES = 30.0


def watched() -> bool:
    """Whether a person sees standard error, and can be shown a bar."""
    return sys.stderr is not None and sys.stderr.isatty() and find_spec("rich") is not None


@contextmanager
def bar(description: str, total: int | None, *more: str) -> Iterator[Callable[..., None]]:
    """A function that takes what is done so far, and values for the columns `more`; `total` and `description` too."""
    if sys.stderr is None or int(os.environ.get("RANK", "0")) > 0:  # of several processes the first one reports
        yield lambda done, **values: None
        return
    if not watched():
        yield _lines(description, total)
        return
    from rich.console import Console
    from rich.progress import Progress

    columns: list[Any] = [*Progress.get_default_columns(), *(f"{{task.fields[{name}]}}" for name in more)]
    console = Console(stderr=True)
    with Progress(*columns, console=console, redirect_stdout=False, redirect_stderr=True) as progress:
        fields: dict[str, Any] = dict.fromkeys(more, "")
        task = progress.add_task(description, total=total, **fields)

        def update(done: int, **values: Any) -> None:
            progress.update(task, completed=done, **values)

        yield update


def _lines(description: str, total: int | None) -> Callable[..., None]:
    """As `bar`, for standard error that is no terminal: one line every `SECONDS_BETWEEN_LINES`."""
    written = time.monotonic()

    def update(done: int, **values: Any) -> None:
        nonlocal written
        if time.monotonic() - written < SECONDS_BETWEEN_LINES:
            return
        written = time.monotonic()
        what, size = values.pop("description", description), values.pop("total", total)
        share = f"{done / size:.0%}" if size else f"{done:,}"
        print(f"{what}: {', '.join([share, *map(str, values.values())])}", file=sys.stderr, flush=True)

    return update


@contextmanager
def training() -> Iterator["Watch"]:
    """What a training tells: lines, and a bar for the texts that are encoded and the items that are learned from."""
    from whymatch.learning.fit import Progress
    from whymatch.learning.settings import Settings
    from whymatch.learning.train import Watch

    with bar("training", 1, "loss", "speed") as update:

        def show(run: Settings, progress: Progress) -> None:
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
