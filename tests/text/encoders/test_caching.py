"""Vectors on disk are those that were computed, for that encoder, and a file that is none costs nothing but time."""

import logging
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from inspect import getsource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whymatch as wm
from tests.text.encoders.test_projected import Counted
from whymatch.learning import Projected
from whymatch.matching.shipped import shipped_background
from whymatch.text.document import document
from whymatch.text.encoders import caching as module
from whymatch.text.encoders.caching import PROBES, CachedEncoder, KnownVectors, VectorCache, encoder_key
from whymatch.text.spans import SPLITTERS, Span, words

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


class Lengths(Counted):
    """Vectors that depend on `weight`, under a name that does not say so; the probes are not counted."""

    contextual = False

    def __init__(self, weight: float = 1.0, **attributes: Any) -> None:
        super().__init__()
        self.weight = weight
        self.__dict__ |= attributes

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        vectors = super().encode(texts, spans)
        self.asked = [text for text in self.asked if text not in PROBES]
        return [rows * np.float32(self.weight) + np.float32(self.weight - 1) ** 2 for rows in vectors]


def read(encoder: Any, *texts: str) -> list[np.ndarray]:
    vectors: list[np.ndarray] = encoder.encode(texts, [words(text) for text in texts])
    return vectors


def asked_of(encoder: CachedEncoder | Projected) -> list[str]:
    """The texts that the encoder inside was asked for."""
    asked: list[str] = encoder.encoder.asked  # type: ignore[attr-defined]
    return asked


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.safetensors"))


def test_each_text_is_encoded_once_by_all_encoders_with_the_same_vectors(tmp_path: Path) -> None:
    expected = read(Lengths(), "a b", "c", "a b")
    for number in range(3):
        inner = Lengths()
        encoder = CachedEncoder(inner, tmp_path)
        vectors = read(encoder, "a b", "c", "a b")
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(vectors, expected, strict=True))
        assert inner.asked == ([] if number else ["a b", "c"])
        encoder.keep()
    assert len(files_in(tmp_path)) == 1


def test_the_same_text_in_other_spans_is_another_one(tmp_path: Path) -> None:
    encoder = CachedEncoder(Lengths(), tmp_path)
    for spans in ([Span(0, 1)], [Span(0, 1), Span(2, 3)], [Span(0, 3)]):
        (ours,), (theirs,) = encoder.encode(["a b"], [spans]), Lengths().encode(["a b"], [spans])
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    "other",
    [Lengths(1.5), Lengths(-1.0), Lengths(backend="openvino bfloat16"), Lengths(name="another")],
    ids=["other weights", "opposite weights", "another backend", "another name"],
)
def test_vectors_of_another_encoder_are_not_used(other: Lengths, tmp_path: Path) -> None:
    first = CachedEncoder(Lengths(), tmp_path)
    read(first, "a b")
    first.keep()
    (ours,) = read(CachedEncoder(other, tmp_path), "a b")
    assert other.asked == ["a b"]
    assert np.array_equal(ours, other.encode(["a b"], [words("a b")])[0])


def test_vectors_of_a_model_whose_files_have_changed_are_not_used(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    before = encoder_key(Lengths(folder=model))
    assert before == encoder_key(Lengths(folder=model)) != encoder_key(Lengths())
    (model / "config.json").write_text("{ }")
    assert before != encoder_key(Lengths(folder=model))


@given(noise=st.floats(-1e-6, 1e-6), seed=st.integers(0, 99))
@settings(max_examples=50)
def test_rounding_changes_the_key_of_an_encoder_hardly_ever(noise: float, seed: int) -> None:
    rows = np.random.default_rng(seed).standard_normal((2, 64))
    before, after = module._sketch(rows), module._sketch(rows + noise * np.abs(rows))
    assert np.abs(before - after).max() <= 0.0101  # one digit at the most, and mostly none
    assert not np.array_equal(before, module._sketch(-rows))
    assert not np.array_equal(before, module._sketch(2 * rows))


def test_what_the_encoder_has_is_had_through_the_cache(roberta: Path, tmp_path: Path) -> None:
    inner = wm.SentenceEncoder(roberta)
    encoder = CachedEncoder(inner, tmp_path)
    assert (encoder.name, encoder.contextual, encoder.size) == (inner.name, False, 32)
    assert (encoder.backend, encoder.folder) == (inner.backend, roberta)
    assert encoder.reads(["the cat"]) == inner.reads(["the cat"])
    assert encoder.token_counts(["the cat"]) == inner.token_counts(["the cat"])
    assert not hasattr(encoder, "jointly")
    again = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(read(again, "the cat")[0], read(inner, "the cat")[0])
    aligner = wm.Aligner("line", encoder, "cosine")
    assert aligner.align("the cat", "the cat", wm.Exactly(1)) == wm.Aligner("line", inner, "cosine").align(
        "the cat", "the cat", wm.Exactly(1)
    )


def test_a_cached_encoder_has_the_background_of_its_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    inner = Lengths()
    plain = shipped_background(wm.Aligner("line", inner))
    inner.asked.clear()
    assert shipped_background(wm.Aligner("line", CachedEncoder(inner, tmp_path / "vectors"))).digest == plain.digest
    assert not inner.asked


def test_encoders_without_vectors_of_their_own_are_refused(tmp_path: Path) -> None:
    class Together(Lengths):
        jointly = True

    with pytest.raises(TypeError, match="counted reads both texts together, so that no vectors"):
        CachedEncoder(Together(), tmp_path)
    with pytest.raises(TypeError, match="projected has weights that are trained"):
        CachedEncoder(Projected(Lengths(), 3), tmp_path)


def test_vectors_that_are_not_finite_or_too_few_are_not_kept(tmp_path: Path) -> None:
    class Bad(Lengths):
        def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
            vectors = super().encode(texts, spans)
            kinds = {"nan": lambda rows: rows * np.nan, "few": lambda rows: rows[:0]}
            return [kinds.get(text, lambda rows: rows)(rows) for text, rows in zip(texts, vectors, strict=True)]

    encoder = CachedEncoder(Bad(), tmp_path)
    read(encoder, "nan", "few", "good")
    asked_of(encoder).clear()
    read(encoder, "nan", "few", "good")
    assert asked_of(encoder) == ["nan", "few"]


def test_a_folder_that_cannot_be_written_costs_a_line_and_no_vectors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    encoder = CachedEncoder(Lengths(), tmp_path / "file")
    with caplog.at_level(logging.WARNING):
        read(encoder, "a b")
        encoder.keep()
    (record,) = caplog.records
    assert "Vectors are not kept in" in record.getMessage()


def test_processes_side_by_side_lose_nothing_of_each_other(tmp_path: Path) -> None:
    one, other = (CachedEncoder(Lengths(), tmp_path) for _ in range(2))
    for encoder, text in ((one, "a b"), (other, "c d"), (one, "e"), (other, "f"), (one, "f")):
        read(encoder, text)
        assert asked_of(encoder)[-1] == text
        encoder.keep()
    later = CachedEncoder(Lengths(), tmp_path)
    read(later, "a b", "c d", "e", "f")
    assert not asked_of(later)


def test_runs_share_the_vectors_of_a_frozen_encoder(tmp_path: Path) -> None:
    asked = []
    for cache in (VectorCache(tmp_path), VectorCache(tmp_path), VectorCache()):
        projection = Projected(Lengths(), 3)
        cache.share(projection)
        read(projection, "a b")
        cache.keep()
        asked.append(asked_of(projection))
    assert asked == [["a b"], [], ["a b"]]


def test_a_full_folder_loses_what_was_read_the_longest_ago(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        encoder = CachedEncoder(Lengths(name=f"encoder {number}"), tmp_path)
        read(encoder, "a b")
        encoder.keep()
        for file in files_in(tmp_path):
            os.utime(file, (file.stat().st_atime, file.stat().st_mtime - 100))  # time passes
    size = files_in(tmp_path)[0].stat().st_size
    CachedEncoder(Lengths(name="encoder 0"), tmp_path)  # is read
    monkeypatch.setattr(module, "MAX_BYTES_ON_DISK", 3 * size + 10)
    last = CachedEncoder(Lengths(name="the last"), tmp_path)
    read(last, "a b")
    last.keep()
    assert sum(file.stat().st_size for file in files_in(tmp_path)) <= 3 * size + 10
    left = [encoder_key(Lengths(name=name)) for name in ("the last", "encoder 0", "encoder 5")]
    assert {file.parent.name for file in files_in(tmp_path)} == {*left}


def test_many_small_files_become_one_and_nothing_is_lost(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(module._MAX_SMALL_FILES + 1)]
    for text in texts:
        encoder = CachedEncoder(Lengths(), tmp_path)
        read(encoder, text)
        encoder.keep()
    assert len(files_in(tmp_path)) == len(texts)
    for _ in range(2):
        later = CachedEncoder(Lengths(), tmp_path)
        read(later, *texts)
        assert not asked_of(later)
        assert len(files_in(tmp_path)) == 1


def test_what_killed_processes_have_left_is_cleared_away(tmp_path: Path) -> None:
    encoder = CachedEncoder(Lengths(), tmp_path)
    read(encoder, "a b")
    encoder.keep()
    drafts = [files_in(tmp_path)[0].parent / f".{name}.safetensors.0.draft" for name in ("old", "new")]
    for draft, age in zip(drafts, (2 * module._OLD_DRAFT, 0), strict=True):
        draft.write_bytes(b"half of it")
        os.utime(draft, (time.time() - age, time.time() - age))
    encoder.keep()
    assert [draft.exists() for draft in drafts] == [False, True]


class Plain:
    """An encoder that another process has too, without torch."""

    name, contextual = "plain", False

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        self.asked += [text for text in texts if text not in PROBES]
        given = zip(texts, spans, strict=True)
        return [np.array([[start, end, len(text)] for start, end in own]) for text, own in given]


WRITES = f"""
import sys
from collections.abc import Sequence
import numpy as np
from whymatch.text.encoders import caching
from whymatch.text.encoders.caching import PROBES
from whymatch.text.spans import Span, words
{getsource(Plain)}
caching._SECONDS_BETWEEN_WRITES = 0
encoder = caching.CachedEncoder(Plain(), sys.argv[1])
for number in range(10**6):
    encoder.encode([f"text {{number}}"], [words(f"text {{number}}")])
    print(number, flush=True)
"""


def test_a_kill_loses_nothing_that_was_written_and_leaves_nothing_wrong(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITES, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        written = [int(next(process.stdout)) for _ in range(5)]
        process.send_signal(signal.SIGKILL)
        process.wait()
    encoder = CachedEncoder(Plain(), tmp_path)
    texts = [f"text {number}" for number in written]
    for ours, theirs in zip(read(encoder, *texts), read(Plain(), *texts), strict=True):
        assert np.array_equal(ours, theirs)
    assert not asked_of(encoder)


def test_what_was_not_written_yet_is_written_when_the_process_ends(tmp_path: Path) -> None:
    code = WRITES.replace("10**6", "3").replace("caching._SECONDS_BETWEEN_WRITES = 0", "")
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True)
    encoder = CachedEncoder(Plain(), tmp_path)
    read(encoder, "text 0", "text 2")
    assert not asked_of(encoder)
