"""Questions that arrive together are answered together, by one thread; small ones are let in between."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from threading import Condition, Thread
from typing import Generic, TypeVar

from whymatch.interruption import at_interruption_points
from whymatch.serve.problems import Problem

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Abandoned(BaseException):
    """Raised at an interruption point of a round that nobody waits for. An `Exception` would be taken for an answer."""


@dataclass(frozen=True, eq=False)
class Waiting(Generic[Question, Answer]):
    """A question, how large it is, and the promise of an answer, which is cancelled when nobody waits for it."""

    question: Question
    size: int
    answer: "Future[Answer]" = field(default_factory=Future)


class Batcher(Generic[Question, Answer]):
    """Takes what waits, up to `most` questions and `budget` in size, and answers it with one call, in one thread.

    Rounds take the smallest questions first; every other round begins with the oldest, so that none waits for ever. A
    question that is larger than `budget` has a round of its own. At its interruption points, small questions that have
    come since are answered, after each `slice_seconds` of its own work. A round that nobody waits for any more ends at
    its next interruption point. When more than `waiting` in size of large or of small questions waits, more of that
    kind are refused.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Question]], Sequence[Answer | Exception]],
        *,
        most: int,
        budget: int,
        waiting: int,
        slice_seconds: float = 0.1,
    ) -> None:
        self.answer, self.most, self.budget, self.room = answer, most, budget, waiting
        self.slice_seconds = slice_seconds
        self.waiting: list[Waiting[Question, Answer]] = []
        self.changed = Condition()
        self.stopping = False
        self.rounds = 0
        self.answering = 0
        self.thread = Thread(target=self._work, name="answers", daemon=True)

    async def ask(self, question: Question, size: int) -> Answer:
        """The answer to a question, or what is wrong with it; a caller that is cancelled takes the question back."""
        return await asyncio.wrap_future(self.put(question, size))

    def put(self, question: Question, size: int) -> "Future[Answer]":
        """Leaves a question to be answered, or raises a `Problem` if too much waits; `cancel` takes it back."""
        found: Waiting[Question, Answer] = Waiting(question, size)
        with self.changed:
            if self.stopping:
                raise Problem(503, "The server is stopping.", retry_after=5)
            self._drop_cancelled()
            before = [some.size for some in self.waiting if self._is_large(some) == self._is_large(found)]
            if before and sum(before) + size > self.room:
                raise Problem(503, "Too much text is waiting to be aligned. Try again soon.", retry_after=2)
            self.waiting.append(found)
            self.changed.notify()
        return found.answer

    @property
    def unanswered(self) -> int:
        """Questions that wait, and those of rounds that are under way."""
        return len(self.waiting) + self.answering

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        """Answers what waits, and ends the thread."""
        with self.changed:
            self.stopping = True
            self.changed.notify()
        if self.thread.is_alive():
            self.thread.join()

    def _work(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.waiting or self.stopping)
                chosen = self._take(inf)
                if not chosen and self.stopping:
                    return
            self._answer_round(chosen)

    def _answer_round(self, chosen: Sequence[Waiting[Question, Answer]]) -> None:
        """Answers questions with one call, unless all of them are taken back before it is done."""
        if not chosen:
            return
        resumed = time.monotonic()

        def step_in() -> None:
            nonlocal resumed
            if all(waiting.answer.cancelled() for waiting in chosen):
                raise Abandoned
            if self._is_large(chosen[0]) and time.monotonic() - resumed >= self.slice_seconds:
                with self.changed:
                    small = self._take(self.budget)
                self._answer_round(small)
                resumed = time.monotonic()

        answers: Sequence[Answer | Exception] = []
        try:
            with at_interruption_points(step_in):
                answers = self.answer([waiting.question for waiting in chosen])
            assert len(answers) == len(chosen)
        except Abandoned:
            pass
        except Exception as error:  # the thread lives on
            answers = [error for _ in chosen]
        for waiting, found in zip(chosen, answers, strict=False):
            with suppress(InvalidStateError):  # it was taken back
                if isinstance(found, Exception):
                    waiting.answer.set_exception(found)
                else:
                    waiting.answer.set_result(found)
        self.answering -= len(chosen)

    def _take(self, largest: float) -> list[Waiting[Question, Answer]]:
        """Takes the questions of the next round from those that wait and are no larger than `largest`."""
        self._drop_cancelled()
        suited = [some for some in self.waiting if some.size <= largest]
        self.rounds += bool(suited)
        order = sorted(suited, key=lambda some: some.size)
        if suited and self.rounds % 2:
            order = sorted(order, key=lambda some: some is not suited[0])
        size, chosen = 0, list[Waiting[Question, Answer]]()
        for some in order[: self.most]:
            if chosen and size + some.size > self.budget:
                break
            chosen.append(some)
            size += some.size
        taken = {id(some) for some in chosen}
        self.waiting = [some for some in self.waiting if id(some) not in taken]
        self.answering += len(chosen)
        return chosen

    def _drop_cancelled(self) -> None:
        self.waiting = [some for some in self.waiting if not some.answer.cancelled()]

    def _is_large(self, waiting: Waiting[Question, Answer]) -> bool:
        return waiting.size > self.budget
