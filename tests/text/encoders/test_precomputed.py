"""Vectors on disk are those that were computed, and a file that is none costs nothing but time."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whymatch.text.document import document
from whymatch.text.encoders import caching as module
from whymatch.text.encoders.caching import KnownVectors
from whymatch.text.spans import SPLITTERS, Span

TEXTS = ["A cat sat.\nIt slept.", "", "naïve 🐈"]


def filled() -> KnownVectors:
    known, chance = KnownVectors(), np.random.default_rng(0)
    for text in TEXTS:
        for split in ("word", "line"):
            spans = document(text, SPLITTERS[split]).spans
            known.put(text, spans, chance.standard_normal((len(spans), 3), dtype=np.float32))
    return known


def test_what_is_written_is_read_to_the_bit(tmp_path: Path) -> None:
    known = filled()
    known.write(tmp_path / "new")
    again = KnownVectors.read(tmp_path / "new")
    assert again.count == known.count
    assert [(text, spans) for text, spans, _ in again] == [(text, spans) for text, spans, _ in known]
    assert all(np.array_equal(a, b) for (_, _, a), (_, _, b) in zip(again, known, strict=True) if len(a))


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    KnownVectors().write(tmp_path)
    assert not [*tmp_path.iterdir()]
    filled().write(tmp_path)
    known = KnownVectors.read(tmp_path)
    known.write(tmp_path)
    (first,) = tmp_path.iterdir()
    known.put("new", (Span(0, 3),), np.ones((1, 3), np.float32))
    known.write(tmp_path)
    known.write(tmp_path)
    (second,) = {*tmp_path.iterdir()} - {first}
    assert second.stat().st_size < first.stat().st_size
    assert {text for text, _, _ in KnownVectors.read(tmp_path)} == {*TEXTS, "new"}


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_that_is_not_whole_is_nothing(share: float, tmp_path: Path) -> None:
    filled().write(tmp_path)
    (file,) = tmp_path.iterdir()
    data = file.read_bytes()
    file.write_bytes(data[: int(share * len(data))])
    assert not list(KnownVectors.read(tmp_path))
    assert not list(KnownVectors.read(tmp_path / "nowhere"))


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_a_flipped_bit_never_gives_other_vectors(place: float, bit: int, tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    shutil.rmtree(folder, ignore_errors=True)
    known = filled()
    known.write(folder)
    (file,) = folder.iterdir()
    data = bytearray(file.read_bytes())
    data[int(place * len(data))] ^= 1 << bit
    file.write_bytes(data)
    for text, spans, vectors in KnownVectors.read(folder):
        expected = known.get(text, spans)
        assert expected is not None
        assert np.array_equal(vectors, expected)


def test_no_more_is_kept_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_KNOWN_VECTORS", 2)
    known = filled()
    assert known.count <= 2
    assert known.count == sum(len(vectors) for _, _, vectors in known)
