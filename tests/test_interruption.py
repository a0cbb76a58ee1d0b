"""Whoever started the work that is under way steps in at its interruption points, and nobody else."""

import pytest

from whymatch.interruption import at_interruption_points, interruption_point


def test_the_innermost_work_decides_and_the_outer_one_goes_on() -> None:
    seen: list[str] = []

    def outer() -> None:
        seen.append("outer")
        with at_interruption_points(lambda: seen.append("inner")):
            interruption_point()

    with at_interruption_points(outer):
        interruption_point()
        interruption_point()
    interruption_point()
    assert seen == ["outer", "inner"] * 2


def test_what_is_raised_at_an_interruption_point_ends_the_work_and_leaves_nothing_behind() -> None:
    def stop() -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"), at_interruption_points(stop):
        interruption_point()
    interruption_point()
