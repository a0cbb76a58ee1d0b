"""Points between the batches of long work at which whoever started the work may step in, or end it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_STEP_IN: ContextVar[Callable[[], None] | None] = ContextVar("step_in", default=None)


def interruption_point() -> None:
    """Calls the function that `at_interruption_points` set for the work that is under way, if there is one."""
    step_in = _STEP_IN.get()
    if step_in is not None:
        step_in()


@contextmanager
def at_interruption_points(step_in: Callable[[], None]) -> Iterator[None]:
    """Has a function called at every interruption point of the work in this block; what it raises ends the work.

    >>> with at_interruption_points(lambda: print("between two batches")):
    ...     interruption_point()
    between two batches
    """
    before = _STEP_IN.set(step_in)
    try:
        yield
    finally:
        _STEP_IN.reset(before)
