"""Vectors on disk are those that were computed, and a file that is none costs nothing but time."""

from pathlib import Path

import pytest
import torch

from whymatch.text.document import document
from whymatch.text.encoders import known as module
from whymatch.text.encoders.known import Known
from whymatch.text.spans import SPLITTERS

TEXTS = ["A cat sat.\nIt slept.", "", "naïve 🐈"]


def filled() -> Known:
    known, chance = Known(), torch.Generator().manual_seed(0)
    for text in TEXTS:
        for split in ("word", "line"):
            spans = document(text, SPLITTERS[split]).spans
            known.put(text, spans, torch.randn(len(spans), 3, generator=chance))
    return known


def test_what_is_written_is_read_to_the_bit(tmp_path: Path) -> None:
    known = filled()
    known.write(tmp_path / "new" / "vectors.safetensors")
    again = Known.read(tmp_path / "new" / "vectors.safetensors")
    assert again.kept == known.kept
    assert [(text, spans) for text, spans, _ in again] == [(text, spans) for text, spans, _ in known]
    assert all(torch.equal(a, b) for (_, _, a), (_, _, b) in zip(again, known, strict=True) if len(a))


def test_nothing_at_all_is_written_and_read(tmp_path: Path) -> None:
    Known().write(tmp_path / "vectors.safetensors")
    assert not list(Known.read(tmp_path / "vectors.safetensors"))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_that_is_not_whole_is_nothing(share: float, tmp_path: Path) -> None:
    file = tmp_path / "vectors.safetensors"
    filled().write(file)
    data = file.read_bytes()
    file.write_bytes(data[: int(share * len(data))])
    assert not list(Known.read(file))
    assert not list(Known.read(tmp_path / "nowhere"))


def test_no_more_is_kept_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    known = filled()
    assert known.kept <= 2
    assert known.kept == sum(len(vectors) for _, _, vectors in known)
