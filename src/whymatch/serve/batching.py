"""Questions that arrive together are answered together, by one thread."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Generic, TypeVar

from whymatch.serve.problems import Problem

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Waiting(Generic[Question, Answer]):
    """A question, how large it is, and the promise of an answer."""

    question: Question
    size: int
    answer: "Future[Answer]" = field(default_factory=Future)


class Batcher(Generic[Question, Answer]):
    """Takes what waits, up to `most` questions and `budget` in size, and answers it with one call, in one thread.

    Rounds take the smallest questions first, so that a large one does not hold up the rest; every other round begins
    with the oldest, so that none waits for ever. More than `waiting` in size is refused.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Question]], Sequence[Answer | Exception]],
        *,
        most: int,
        budget: int,
        waiting: int,
    ) -> None:
        self.answer, self.most, self.budget, self.room = answer, most, budget, waiting
        self.waiting: list[Waiting[Question, Answer]] = []
        self.changed = Condition()
        self.stopping = False
        self.rounds = 0
        self.answering = 0
        self.thread = Thread(target=self.work, name="answers", daemon=True)

    async def ask(self, question: Question, size: int) -> Answer:
        """The answer to a question, or what is wrong with it; a caller that is cancelled takes the question back."""
        return await asyncio.wrap_future(self.put(question, size))

    def put(self, question: Question, size: int) -> "Future[Answer]":
        """Leaves a question to be answered, if there is room for it."""
        found: Waiting[Question, Answer] = Waiting(question, size)
        with self.changed:
            self.check(size)
            self.waiting.append(found)
            self.changed.notify()
        return found.answer

    def check(self, size: int) -> None:
        """Raises if there is no room for questions of this size together."""
        if self.stopping:
            raise Problem(503, "The server is stopping.", retry_after=5)
        if self.waiting and sum(some.size for some in self.waiting) + size > self.room:
            raise Problem(503, "Too much text is waiting to be aligned. Try again soon.", retry_after=2)

    @property
    def unanswered(self) -> int:
        """Questions that wait, and those of the round that is under way."""
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

    def work(self) -> None:
        while some := self.take():
            given = [waiting for waiting in some if waiting.answer.set_running_or_notify_cancel()]
            self.answering = len(given)
            try:
                answers = self.answer([waiting.question for waiting in given]) if given else []
                assert len(answers) == len(given)
            except Exception as error:  # the thread lives on
                answers = [error for _ in given]
            for waiting, found in zip(given, answers, strict=True):
                if isinstance(found, Exception):
                    waiting.answer.set_exception(found)
                else:
                    waiting.answer.set_result(found)
            self.answering = 0

    def take(self) -> list[Waiting[Question, Answer]]:
        """The questions of the next round; none at the end."""
        with self.changed:
            self.changed.wait_for(lambda: self.waiting or self.stopping)
            self.rounds += 1
            order = sorted(self.waiting, key=lambda some: some.size)
            if self.waiting and self.rounds % 2:
                order = sorted(order, key=lambda some: some is not self.waiting[0])
            size, chosen = 0, list[Waiting[Question, Answer]]()
            for some in order[: self.most]:
                if chosen and size + some.size > self.budget:
                    break
                chosen.append(some)
                size += some.size
            taken = {id(some) for some in chosen}
            self.waiting = [some for some in self.waiting if id(some) not in taken]
            return chosen
