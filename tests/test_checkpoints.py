"""Whoever started the work that is under way steps in at its checkpoints, and nobody else."""

import pytest

from whymatch.checkpoints import at_checkpoints, checkpoint


def test_the_innermost_work_decides_and_the_outer_one_goes_on() -> None:
    seen: list[str] = []

    def outer() -> None:
        seen.append("outer")
        with at_checkpoints(lambda: seen.append("inner")):
            checkpoint()

    with at_checkpoints(outer):
        checkpoint()
        checkpoint()
    checkpoint()
    assert seen == ["outer", "inner"] * 2


def test_what_is_raised_at_a_checkpoint_ends_the_work_and_leaves_nothing_behind() -> None:
    def stop() -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"), at_checkpoints(stop):
        checkpoint()
    checkpoint()
