"""Questions that arrive together are answered together, by one thread; small ones are answered in between."""

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


class _Abandoned(BaseException):
    """Raised at an interruption point of a round that nobody waits for. An `Exception` would be taken for an answer."""


@dataclass(frozen=True, eq=False)
class _Waiting(Generic[Question, Answer]):
    """A question with its size, and the future of its answer, which is cancelled when nobody waits for it."""

    question: Question
    size: int
    answer: "Future[Answer]" = field(default_factory=Future)


class Batcher(Generic[Question, Answer]):
    """Answers up to `max_questions` waiting questions of `max_size` in all with one call, in a thread of its own.

    Rounds take the smallest questions first; every other round begins with the oldest, so that none waits for ever. A
    question larger than `max_size` has a round of its own. At its interruption points, small questions that have come
    since are answered, after each `slice_seconds` of its own work. A round that nobody waits for any more ends at its
    next interruption point. When large or small questions of more than `max_waiting` in size wait, more of that kind
    are refused.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Question]], Sequence[Answer | Exception]],
        *,
        max_questions: int,
        max_size: int,
        max_waiting: int,
        slice_seconds: float = 0.1,
    ) -> None:
        self.answer, self.slice_seconds = answer, slice_seconds
        self.max_questions, self.max_size, self.max_waiting = max_questions, max_size, max_waiting
        self.rounds = 0
        self._waiting: list[_Waiting[Question, Answer]] = []
        self._answering = 0
        self._changed = Condition()
        self._stopping = False
        self._thread = Thread(target=self._work, name="answers", daemon=True)

    async def ask(self, question: Question, size: int) -> Answer:
        """The answer to a question, or what is wrong with it; a caller that is cancelled withdraws the question."""
        return await asyncio.wrap_future(self.put(question, size))

    def put(self, question: Question, size: int) -> "Future[Answer]":
        """The future of an answer, which `cancel` withdraws. Raises a `Problem` if too much waits."""
        new: _Waiting[Question, Answer] = _Waiting(question, size)
        with self._changed:
            if self._stopping:
                raise Problem(503, "The server is stopping.", retry_after=5)
            self._drop_cancelled()
            sizes = [waiting.size for waiting in self._waiting if self._is_large(waiting) == self._is_large(new)]
            if sizes and sum(sizes) + size > self.max_waiting:
                raise Problem(503, "Too much text is waiting to be aligned. Try again soon.", retry_after=2)
            self._waiting.append(new)
            self._changed.notify()
        return new.answer

    @property
    def unanswered(self) -> int:
        """The number of questions that wait or are being answered."""
        return len(self._waiting) + self._answering

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Answers what waits, and ends the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._stopping)
                batch = self._take(inf)
                if not batch and self._stopping:
                    return
            self._answer_round(batch)

    def _answer_round(self, batch: Sequence[_Waiting[Question, Answer]]) -> None:
        """Answers questions with one call, unless all of them are withdrawn before it is done."""
        if not batch:
            return
        resumed = time.monotonic()

        def interrupt() -> None:
            nonlocal resumed
            if all(waiting.answer.cancelled() for waiting in batch):
                raise _Abandoned
            if self._is_large(batch[0]) and time.monotonic() - resumed >= self.slice_seconds:
                with self._changed:
                    small = self._take(self.max_size)
                self._answer_round(small)
                resumed = time.monotonic()

        answers: Sequence[Answer | Exception] = []
        try:
            with at_interruption_points(interrupt):
                answers = self.answer([waiting.question for waiting in batch])
            assert len(answers) == len(batch)
        except _Abandoned:
            pass
        except Exception as error:  # the thread lives on
            answers = [error for _ in batch]
        for waiting, answer in zip(batch, answers, strict=False):
            with suppress(InvalidStateError):  # it was withdrawn
                if isinstance(answer, Exception):
                    waiting.answer.set_exception(answer)
                else:
                    waiting.answer.set_result(answer)
        self._answering -= len(batch)

    def _take(self, largest: float) -> list[_Waiting[Question, Answer]]:
        """Takes the questions of the next round from those that wait and are no larger than `largest`."""
        self._drop_cancelled()
        suited = [waiting for waiting in self._waiting if waiting.size <= largest]
        self.rounds += bool(suited)
        order = sorted(suited, key=lambda waiting: waiting.size)
        if suited and self.rounds % 2:
            order.sort(key=lambda waiting: waiting is not suited[0])
        size, batch = 0, list[_Waiting[Question, Answer]]()
        for waiting in order[: self.max_questions]:
            size += waiting.size
            if batch and size > self.max_size:
                break
            batch.append(waiting)
        self._waiting = [waiting for waiting in self._waiting if waiting not in batch]
        self._answering += len(batch)
        return batch

    def _drop_cancelled(self) -> None:
        self._waiting = [waiting for waiting in self._waiting if not waiting.answer.cancelled()]

    def _is_large(self, waiting: _Waiting[Question, Answer]) -> bool:
        return waiting.size > self.max_size
