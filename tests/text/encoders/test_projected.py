"""Vectors under a map: encoded once for a text and its spans, and mapped only where the map learns."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import whymatch as wm
from tests.learning.planted import LINKS, SIZE, Planted, PlantedTask, planted
from whymatch.learning import Projected, Transport
from whymatch.learning.fit import Fitting, Schedule
from whymatch.text.document import document
from whymatch.text.spans import SPLITTERS, Span
from whymatch.transport import Temperature

WORDS = ["cat", "sat", "mat"]


class Counted:
    """A vector of lengths and places for each span, and the texts that were asked for."""

    name, contextual, size = "counted", True, 3

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        self.asked += texts
        return [
            np.array([[start, end, len(text)] for start, end in own], dtype=np.float32).reshape(-1, 3)
            for text, own in zip(texts, spans, strict=True)
        ]


@given(
    asked=st.lists(
        st.lists(
            st.tuples(st.sampled_from(["", "cat sat\nmat", "cat\nsat sat"]), st.sampled_from(["word", "line", "text"])),
            max_size=4,
        ),
        max_size=5,
    )
)
def test_what_is_known_is_what_would_be_encoded(asked: list[list[tuple[str, str]]]) -> None:
    encoder = Projected(Counted(), 3)
    for batch in asked:
        texts = [document(text, SPLITTERS[split]) for text, split in batch]
        arguments = [text.text for text in texts], [text.spans for text in texts]
        vectors, expected = encoder.encode(*arguments), Counted().encode(*arguments)
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(vectors, expected, strict=True))


def test_a_text_is_encoded_once_for_each_way_of_splitting_it() -> None:
    base = Counted()
    encoder = Projected(base, 3)
    text = "cat sat\nmat"
    for split, times in (("word", 1), ("word", 1), ("line", 2), ("line", 2), ("word", 2)):
        one = document(text, SPLITTERS[split])
        assert len(encoder.encode([text], [one.spans])[0]) == len(one)
        assert base.asked == [text] * times


@pytest.mark.parametrize("learned", [True, False])
def test_a_map_that_is_not_learned_stays_the_identity(learned: bool) -> None:
    tasks, vectors = planted(24, seed=0)
    torch.manual_seed(0)
    encoder = Projected(vectors, SIZE, learned=learned)
    rule = Transport(wm.Exactly(LINKS), Temperature(0.1))
    model = wm.Classifier(wm.Aligner("line", encoder), rule, ["no", "yes"], hidden=8)
    before = {name: weight.clone() for name, weight in model.head.named_parameters()}

    def loss(batch: Sequence[Planted]) -> torch.Tensor:
        logits, _ = model.logits([(task.left, task.similar) for task in batch])
        gold = torch.tensor([int(task.agree) for task in batch])
        return torch.nn.functional.cross_entropy(logits, gold, reduction="none")

    task = PlantedTask(model, loss, lambda: -loss(tasks[16:]).mean().item())
    Fitting[Planted](task, Schedule(3, 8, rate=0.03)).run(tasks[:16])
    assert torch.equal(encoder.map.weight, torch.eye(SIZE)) is not learned
    assert all(not torch.equal(weight, before[name]) for name, weight in model.head.named_parameters())
    pieces = tasks[0].left
    mapped = encoder.encode([pieces.text], [pieces.spans])[0]
    assert np.array_equal(mapped, np.stack([vectors.vectors[piece] for piece in pieces.pieces])) is not learned
