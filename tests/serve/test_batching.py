"""Questions that wait are answered together, the right ones by the right answers."""

import asyncio
from collections.abc import Sequence
from threading import Event
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.interruption import interruption_point
from whymatch.serve.answering import together_or_alone
from whymatch.serve.batching import Batcher
from whymatch.serve.problems import Problem


class Desk:
    """Answers with squares, refuses 10, fails at 13, and remembers its rounds; closed until it is opened."""

    def __init__(self, **limits: int) -> None:
        self.open, self.busy = Event(), Event()
        self.rounds: list[list[int]] = []
        limits = {"max_questions": 8, "max_size": 100, "max_waiting": 10**6} | limits
        self.batcher: Batcher[int, int] = Batcher(self.answer, **limits, slice_seconds=0)
        self.batcher.start()

    def answer(self, questions: Sequence[int]) -> list[int | Exception]:
        self.busy.set()
        self.open.wait()
        self.rounds.append([*questions])
        if 13 in questions:
            raise RuntimeError("everything fails")
        return [ValueError(f"no {number}") if number == 10 else number**2 for number in questions]


def asked(desk: Desk, questions: Sequence[int], size: int = 1) -> list[int | BaseException]:
    """Answers to questions that wait while the desk is busy with another one, whose round is the first."""

    async def run() -> list[int | BaseException]:
        first = asyncio.ensure_future(desk.batcher.ask(0, 1))
        await asyncio.to_thread(desk.busy.wait)
        work = [asyncio.ensure_future(desk.batcher.ask(number, size)) for number in questions]
        await asyncio.sleep(0)
        desk.open.set()
        await first
        return [*await asyncio.gather(*work, return_exceptions=True)]

    try:
        return asyncio.run(run())
    finally:
        desk.open.set()
        desk.batcher.stop()


def test_what_waits_is_answered_in_one_round() -> None:
    desk = Desk()
    assert asked(desk, range(1, 9)) == [number**2 for number in range(1, 9)]
    assert [len(some) for some in desk.rounds] == [1, 8]


def test_a_round_has_no_more_than_its_number_and_its_size() -> None:
    desk = Desk(max_questions=3)
    asked(desk, range(1, 8))
    assert [len(some) for some in desk.rounds] == [1, 3, 3, 1]
    desk = Desk(max_size=20)
    asked(desk, range(1, 6), size=10)
    assert [len(some) for some in desk.rounds] == [1, 2, 2, 1]


def test_a_question_that_is_larger_than_a_round_has_one_of_its_own() -> None:
    desk = Desk(max_size=20)
    assert asked(desk, [2, 3], size=50) == [4, 9]
    assert [len(some) for some in desk.rounds] == [1, 1, 1]


def test_a_bad_question_fails_alone() -> None:
    desk = Desk()
    first, bad, last = asked(desk, [3, 10, 4])
    assert (first, last) == (9, 16)
    assert isinstance(bad, ValueError)


def test_the_thread_outlives_a_round_that_fails() -> None:
    desk = Desk(max_questions=1)
    bad, good = asked(desk, [13, 5])
    assert isinstance(bad, RuntimeError)
    assert good == 25


def test_a_large_question_is_overtaken_by_small_ones_but_not_for_ever() -> None:
    desk = Desk(max_size=10, max_questions=4)

    async def run() -> None:
        first = asyncio.ensure_future(desk.batcher.ask(0, 1))
        await asyncio.to_thread(desk.busy.wait)
        large = asyncio.ensure_future(desk.batcher.ask(100, 50))
        small = [asyncio.ensure_future(desk.batcher.ask(number, 1)) for number in range(20, 32)]
        await asyncio.sleep(0)
        desk.open.set()
        await asyncio.gather(first, large, *small)

    asyncio.run(run())
    desk.batcher.stop()
    place = [100 in some for some in desk.rounds].index(True)
    assert desk.rounds[place] == [100]
    assert place <= 2


def test_a_question_that_was_taken_back_is_not_answered() -> None:
    desk = Desk(max_questions=1)

    async def run() -> None:
        first = asyncio.ensure_future(desk.batcher.ask(0, 1))
        await asyncio.to_thread(desk.busy.wait)
        gone, kept = (asyncio.ensure_future(desk.batcher.ask(number, 1)) for number in (7, 8))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        desk.open.set()
        assert await kept == 64
        await first

    asyncio.run(run())
    desk.batcher.stop()
    assert [number for some in desk.rounds for number in some] == [0, 8]


def test_a_round_that_everybody_left_ends_at_its_next_interruption_point() -> None:
    begun = Event()

    def answer(questions: Sequence[int]) -> list[int | Exception]:
        begun.set()
        while 7 in questions:  # it would take for ever
            interruption_point()
            sleep(0.001)
        return [*questions]

    batcher: Batcher[int, int] = Batcher(answer, max_questions=8, max_size=100, max_waiting=100)
    batcher.start()

    async def run() -> None:
        gone = asyncio.ensure_future(batcher.ask(7, 1))
        await asyncio.to_thread(begun.wait)
        gone.cancel()
        assert await batcher.ask(8, 1) == 8

    asyncio.run(run())
    batcher.stop()
    assert batcher.unanswered == 0


def test_large_questions_that_wait_do_not_keep_small_ones_out() -> None:
    desk = Desk(max_size=10, max_waiting=25)
    first = desk.batcher.put(0, 1)
    desk.busy.wait()
    large, small = desk.batcher.put(20, 20), [desk.batcher.put(number, 10) for number in (2, 3)]
    for size in (11, 10):
        with pytest.raises(Problem, match="Too much text"):
            desk.batcher.put(4, size)
    desk.open.set()
    desk.batcher.stop()
    assert [some.result(0) for some in (first, large, *small)] == [0, 400, 4, 9]


def test_questions_that_were_taken_back_take_no_room() -> None:
    desk = Desk(max_waiting=25)
    first = desk.batcher.put(0, 1)
    desk.busy.wait()
    for _ in range(10):
        desk.batcher.put(5, 20).cancel()
    kept = desk.batcher.put(6, 20)
    desk.open.set()
    desk.batcher.stop()
    assert (first.result(0), kept.result(0)) == (0, 36)
    assert desk.rounds == [[0], [6]]


def test_too_much_is_refused_at_once() -> None:
    desk = Desk(max_waiting=25)
    *found, refused = asked(desk, [1, 2, 3], size=10)
    assert found == [1, 4]
    assert isinstance(refused, Problem)
    assert refused.status == 503
    assert "Retry-After" in refused.headers


def test_stopping_answers_what_waits_and_takes_nothing_more() -> None:
    desk = Desk()
    desk.open.set()
    futures = [desk.batcher.put(number, 1) for number in range(5)]
    desk.batcher.stop()
    assert [future.result(0) for future in futures] == [0, 1, 4, 9, 16]
    with pytest.raises(Problem, match="stopping"):
        desk.batcher.put(1, 1)


@given(items=st.lists(st.integers(0, 9), max_size=12), bad=st.sets(st.integers(0, 9), max_size=3))
def test_what_cannot_be_answered_fails_alone(items: list[int], bad: set[int]) -> None:
    def squares(numbers: Sequence[int]) -> list[int]:
        if bad & {*numbers}:
            raise ValueError("one of them is bad")
        return [number**2 for number in numbers]

    answered = together_or_alone(squares, items)
    assert len(answered) == len(items)
    for item, answer in zip(items, answered, strict=True):
        assert isinstance(answer, Exception) if item in bad else answer == item**2
