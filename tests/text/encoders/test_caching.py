"""Vectors are shared by runs with the same model, and outlast a process."""

from pathlib import Path

import numpy as np
from whymatch.learning.caching import VectorCache

from tests.text.encoders.test_projected import Counted
from whymatch.text.document import document
from whymatch.text.encoders.trainable import Projected
from whymatch.text.spans import words

BUNDLED = None


def encoded(cache: VectorCache, model: str | None, text: str) -> tuple[np.ndarray, list[str]]:
    """The vectors of a text by a new encoder, and what it was asked for."""
    counted = Counted()
    encoder = Projected(counted, 3)
    cache.share(encoder, model)
    (vectors,) = encoder.encode([text], [document(text, words).spans])
    cache.keep()
    return vectors, counted.asked


def test_processes_side_by_side_lose_nothing_of_each_other(tmp_path: Path) -> None:
    one, other = VectorCache(tmp_path), VectorCache(tmp_path)
    for cache, text in ((one, "a b"), (other, "c d"), (one, "e"), (other, "f")):
        assert encoded(cache, BUNDLED, text)[1] == [text]
    later = VectorCache(tmp_path)
    for text in ("a b", "c d", "e", "f"):
        vectors, asked = encoded(later, BUNDLED, text)
        assert not asked
        assert np.array_equal(vectors, encoded(VectorCache(), BUNDLED, text)[0])


def test_vectors_of_a_model_whose_files_have_changed_are_not_used(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    vectors = tmp_path / "vectors"
    assert encoded(VectorCache(vectors), str(model), "a b")[1] == ["a b"]
    assert not encoded(VectorCache(vectors), str(model), "a b")[1]
    (model / "config.json").write_text("{ }")
    assert encoded(VectorCache(vectors), str(model), "a b")[1] == ["a b"]
    assert encoded(VectorCache(vectors), BUNDLED, "a b")[1] == ["a b"]
