"""Progress of long work on standard error: a bar at a terminal, a line that changes in a notebook, lines in a log."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any, TypeAlias

SECONDS_BETWEEN_LINES = 30.0  # where standard error is no terminal
SECONDS_BEFORE_SHOWN = 2.0  # of a call for which nobody has asked to see progress
_SECONDS_BETWEEN_REWRITES = 0.2
Update: TypeAlias = Callable[..., None]
"""Takes the number done so far, and by name values for columns, `total` and `description`."""


def is_watched() -> bool:
    """Whether a person sees standard error, and can be shown a progress bar."""
    return sys.stderr is not None and sys.stderr.isatty() and find_spec("rich") is not None


def in_notebook() -> bool:
    """Whether this process answers a notebook."""
    return "ipykernel" in sys.modules and sys.stderr is not None


@contextmanager
def call_progress(description: str, total: int, shown: bool | None) -> Iterator[Update]:
    """Yields what a call of the library reports to.

    `shown` is whether progress is shown: at once if true, and never if false. If it is None, a person at a terminal or
    in a notebook sees that of a call that takes longer than `SECONDS_BEFORE_SHOWN`, and nobody else sees any.
    """
    if shown is False or (shown is None and not (is_watched() or in_notebook())):
        yield _silent
        return
    began, bar = time.monotonic(), list[Update]()
    with ExitStack() as stack:

        def update(done: int, **values: Any) -> None:
            if not bar and (shown or time.monotonic() - began >= SECONDS_BEFORE_SHOWN):
                bar.append(stack.enter_context(progress_bar(description, total)))
            for show in bar:
                show(done, **values)

        yield update


@contextmanager
def progress_bar(description: str, total: int | None, *columns: str) -> Iterator[Update]:
    """Yields a function that takes the number done so far, and by name values for `columns`, `total`, `description`.

    Shows a bar at a terminal, and a line now and then in a log file or a pipe.
    """
    if sys.stderr is None or int(os.environ.get("RANK", "0")) > 0:  # of several processes only the first one reports
        yield _silent
    elif is_watched():
        yield from _bar(description, total, columns)
    elif in_notebook():
        yield from _changing_line(description, total)
    else:
        yield _lines(description, total)


def _silent(done: int, **values: Any) -> None:
    """Reports nothing."""


def _bar(description: str, total: int | None, columns: tuple[str, ...]) -> Iterator[Update]:
    """A bar at a terminal; nothing while another one is shown there."""
    from rich.console import Console
    from rich.errors import LiveError
    from rich.progress import Progress

    shown: list[Any] = [*Progress.get_default_columns(), *(f"{{task.fields[{name}]}}" for name in columns)]
    progress = Progress(*shown, console=Console(stderr=True), redirect_stdout=False, redirect_stderr=True)
    try:
        progress.start()
    except LiveError:
        yield _silent
        return
    fields: dict[str, Any] = dict.fromkeys(columns, "")
    task = progress.add_task(description, total=total, **fields)

    def update(done: int, **values: Any) -> None:
        progress.update(task, completed=done, **values)

    try:
        yield update
    finally:
        progress.stop()


def _changing_line(description: str, total: int | None) -> Iterator[Update]:
    """One line that is written again and again, which notebooks show as it changes."""
    written, length = 0.0, 0

    def update(done: int, **values: Any) -> None:
        nonlocal written, length
        now = time.monotonic()
        if now - written >= _SECONDS_BETWEEN_REWRITES:
            written = now
            line = _line(description, total, done, values)
            print(f"\r{line:<{length}}", end="", file=sys.stderr, flush=True)
            length = len(line)

    try:
        yield update
    finally:
        if length:
            print(f"\r{'':<{length}}\r", end="", file=sys.stderr, flush=True)


def _lines(description: str, total: int | None) -> Update:
    """One line every `SECONDS_BETWEEN_LINES`."""
    written = time.monotonic()

    def update(done: int, **values: Any) -> None:
        nonlocal written
        if time.monotonic() - written < SECONDS_BETWEEN_LINES:
            return
        written = time.monotonic()
        print(_line(description, total, done, values), file=sys.stderr, flush=True)

    return update


def _line(description: str, total: int | None, done: int, values: dict[str, Any]) -> str:
    name, size = values.pop("description", description), values.pop("total", total)
    share = f"{done / size:.0%}" if size else f"{done:,}"
    return f"{name}: {', '.join([share, *map(str, values.values())])}"
