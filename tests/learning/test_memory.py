"""Vectors are shared by runs with the same model, and outlast a process."""

from pathlib import Path

import numpy as np

from tests.text.encoders.test_projected import Counted
from whymatch.learning.memory import Memory
from whymatch.learning.sections import EncoderSettings
from whymatch.learning.settings import Settings
from whymatch.text.document import document
from whymatch.text.encoders.trainable import Projected
from whymatch.text.spans import words

BUNDLED = Settings("classify", "data")


def encoded(memory: Memory, settings: Settings, text: str) -> tuple[np.ndarray, list[str]]:
    """The vectors of a text by a new encoder, and what it was asked for."""
    counted = Counted()
    encoder = Projected(counted, 3)
    memory.share(encoder, settings)
    (vectors,) = encoder.encode([text], [document(text, words).spans])
    memory.keep()
    return vectors, counted.asked


def test_processes_side_by_side_lose_nothing_of_each_other(tmp_path: Path) -> None:
    one, other = Memory(tmp_path), Memory(tmp_path)
    for memory, text in ((one, "a b"), (other, "c d"), (one, "e"), (other, "f")):
        assert encoded(memory, BUNDLED, text)[1] == [text]
    later = Memory(tmp_path)
    for text in ("a b", "c d", "e", "f"):
        vectors, asked = encoded(later, BUNDLED, text)
        assert not asked
        assert np.array_equal(vectors, encoded(Memory(), BUNDLED, text)[0])


def test_vectors_of_a_model_whose_files_have_changed_are_not_used(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    settings = Settings("classify", "data", encoder=EncoderSettings(model=str(model)))
    vectors = tmp_path / "vectors"
    assert encoded(Memory(vectors), settings, "a b")[1] == ["a b"]
    assert not encoded(Memory(vectors), settings, "a b")[1]
    (model / "config.json").write_text("{ }")
    assert encoded(Memory(vectors), settings, "a b")[1] == ["a b"]
    assert encoded(Memory(vectors), BUNDLED, "a b")[1] == ["a b"]
