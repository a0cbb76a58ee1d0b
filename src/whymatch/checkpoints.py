"""Checkpoints: long work calls `checkpoint` between its batches, and whoever started the work may step in there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_STEP_IN: ContextVar[Callable[[], None] | None] = ContextVar("step_in", default=None)


def checkpoint() -> None:
    """Calls the function that `at_checkpoints` set for the work that is under way, if there is one."""
    step_in = _STEP_IN.get()
    if step_in is not None:
        step_in()


@contextmanager
def at_checkpoints(step_in: Callable[[], None]) -> Iterator[None]:
    """Has a function called at every checkpoint of the work in this block; what it raises ends the work.

    >>> with at_checkpoints(lambda: print("between two batches")):
    ...     checkpoint()
    between two batches
    """
    before = _STEP_IN.set(step_in)
    try:
        yield
    finally:
        _STEP_IN.reset(before)
