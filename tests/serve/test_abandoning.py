"""A real encoder under the batcher: work that nobody waits for stops between two batches, and costs nobody else."""

import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.serve.serving import until
from whymatch.matching.aligner import Aligner
from whymatch.serve.answering import answers
from whymatch.serve.batching import Batcher
from whymatch.serve.models import Limits, Models
from whymatch.serve.questions import Question, pairing
from whymatch.serve.schemas import AlignRequest
from whymatch.text.encoders import network as networks
from whymatch.text.encoders.sentence import SentenceEncoder

LONG = "\n".join(f"the cat sat on the mat {number} and the dog ran away {number * 7} very cold" for number in range(30))
ROUND = 400  # tokens in a round: less than there are in LONG


class Watched:
    """A model that counts the batches that it reads, and calls a function before each."""

    def __init__(self, model: Any) -> None:
        self.model, self.batches = model, 0
        self.before: Callable[[int], object] = lambda number: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def __call__(self, **inputs: Any) -> Any:
        self.batches += 1
        self.before(self.batches)
        return self.model(**inputs)


class Desk:
    """Questions about texts, answered by a small encoder in batches of one line or two."""

    def __init__(self, folder: Path) -> None:
        encoder = SentenceEncoder(folder, device="cpu", backend="torch")
        assert isinstance(encoder.network, networks.Network)
        self.model = Watched(encoder.network.model)
        encoder.network = replace(encoder.network, model=self.model)
        aligner = Aligner("line", encoder, "cosine", below=0.5)
        self.models = Models({"line": aligner}, None, None, Limits(round_tokens=ROUND))
        self.batcher: Batcher[Question, bytes] = Batcher(
            partial(answers, self.models), max_questions=8, max_size=ROUND, max_waiting=10**6, slice_seconds=0
        )

    def question(self, left: str, right: str) -> Question:
        return pairing(self.models, AlignRequest(left=left, right=right, spans="line"))

    def ask(self, question: Question) -> "Future[bytes]":
        return self.batcher.put(question, question.size)

    def finish(self) -> None:
        """Answers everything that was asked, and what is asked meanwhile."""
        self.batcher.start()
        until(lambda: self.batcher.unanswered == 0)
        self.batcher.stop()

    def alone(self, question: Question) -> tuple[dict[str, Any], int]:
        """The answer to a question by itself, and how many batches that took."""
        before = self.model.batches
        (found,) = answers(self.models, [question])
        assert isinstance(found, bytes)
        taken, self.model.batches = self.model.batches - before, before
        return json.loads(found), taken


@pytest.fixture
def desk(roberta: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setitem(networks.MAX_TOKENS_PER_BATCH, "cpu", 64)
    return Desk(roberta)


def same(answer: "Future[bytes]", expected: dict[str, Any]) -> bool:
    """Whether an answer is the expected one, but for rounding: the batches of other rounds are padded differently."""
    found = json.loads(answer.result(0))
    assert found.keys() == expected.keys()
    assert [link["at"] for link in found["links"]] == [link["at"] for link in expected["links"]]
    assert found["score"] == pytest.approx(expected["score"], abs=1e-5)
    return bool(found["left"] == expected["left"] and found["right"] == expected["right"])


def test_a_question_that_nobody_waits_for_is_abandoned_between_two_batches(desk: Desk) -> None:
    large, small = desk.question(LONG, "a dog"), desk.question("the cat", "a cat\nit ran")
    (expected, small_batches), (_, all_batches) = desk.alone(small), desk.alone(large)
    asked = {"large": desk.ask(large)}

    def leave(number: int) -> None:
        if number == 3:
            asked["large"].cancel()
            asked["small"] = desk.ask(small)

    desk.model.before = leave
    desk.finish()
    assert asked["large"].cancelled()
    assert desk.model.batches == 3 + small_batches < all_batches
    assert same(asked["small"], expected)


def test_what_was_taken_back_leaves_the_other_questions_of_its_round_as_they_were(desk: Desk) -> None:
    questions = [desk.question(f"the cat sat\non mat {number}", f"a cat\nit is {number}") for number in range(3)]
    expected = [desk.alone(question)[0] for question in questions]
    first, gone, last = map(desk.ask, questions)
    desk.model.before = lambda number: gone.cancel()
    desk.finish()
    assert desk.batcher.rounds == 1
    assert gone.cancelled()
    assert same(first, expected[0])
    assert same(last, expected[2])


def test_small_questions_are_let_in_between_the_batches_of_a_large_one(desk: Desk) -> None:
    large, small = desk.question(LONG, "a dog\n" + LONG), desk.question("the cat", "a cat\nit ran")
    assert large.size > ROUND > small.size
    of_large, of_small = desk.alone(large)[0], desk.alone(small)[0]
    asked = {"large": desk.ask(large)}
    done: list[str] = []

    def ask_more(number: int) -> None:
        if number in (2, 4):
            asked[f"small {number}"] = desk.ask(small)
            asked[f"small {number}"].add_done_callback(lambda _: done.append(f"small {number}"))

    asked["large"].add_done_callback(lambda _: done.append("large"))
    desk.model.before = ask_more
    desk.finish()
    assert done == ["small 2", "small 4", "large"]
    assert same(asked["large"], of_large)
    assert same(asked["small 2"], of_small)
    assert same(asked["small 4"], of_small)


def test_a_large_question_is_abandoned_while_a_small_one_that_was_let_in_is_answered(desk: Desk) -> None:
    large, small = desk.question(LONG, "a dog"), desk.question("the cat", "a cat\nit ran")
    expected, all_batches = desk.alone(small)[0], desk.alone(large)[1]
    asked = {"large": desk.ask(large)}

    def ask_more(number: int) -> None:
        if number == 2:
            asked["small"] = desk.ask(small)
        elif number == 3:  # the first batch of the small one
            asked["large"].cancel()

    desk.model.before = ask_more
    desk.finish()
    assert asked["large"].cancelled()
    assert same(asked["small"], expected)
    assert desk.model.batches < all_batches
