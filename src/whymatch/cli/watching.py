"""Progress bars on standard error, where a person is watching; nothing in a pipe, and nothing without rich."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whymatch.learning.train import Watch


def watched() -> bool:
    """Whether a person sees standard error, and can be shown a bar; of several processes the first shows it."""
    return (
        int(os.environ.get("RANK", "0")) == 0
        and sys.stderr is not None
        and sys.stderr.isatty()
        and find_spec("rich") is not None
    )


@contextmanager
def bar(description: str, total: int | None, *more: str) -> Iterator[Callable[..., None]]:
    """A function that takes what is done so far, and values for the columns `more`."""
    if not watched():
        yield lambda done, **values: None
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
