"""A split is read once, and anew when its files have changed; what a caller does with it stays with the caller."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.datasets.test_prepare import eraser_folder
from tests.datasets.writing import read_rows, write_rows
from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair


def rows(*names: str) -> list[dict[str, Any]]:
    return [{"id": name, "left": f"A {name}.", "right": f"B {name}. C.", "label": "yes"} for name in names]


def ids(folder: Path, split: str = "train", spans: str = "sentence") -> list[str]:
    return [record.id for record in read_split(folder, split, "classify", spans)]


def test_a_split_that_did_not_change_is_read_once(tmp_path: Path) -> None:
    write_rows(tmp_path / "train.jsonl", rows("x", "y"))
    first, second = (read_split(tmp_path, "train", "classify", "sentence") for _ in range(2))
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_files_that_changed_are_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    write_rows(file, rows("x", "y"))
    assert ids(tmp_path) == ["x", "y"]
    when = file.stat().st_mtime_ns
    write_rows(file, rows("z", "w"))
    os.utime(file, ns=(when, when + 1))  # as long as before, and later
    assert ids(tmp_path) == ["z", "w"]
    write_rows(file, rows("x"))
    os.utime(file, ns=(when, when + 1))  # at the same time, as clocks tick, and shorter
    assert ids(tmp_path) == ["x"]
    file.unlink()
    with pytest.raises(ValueError, match=r"no train\.jsonl"):
        ids(tmp_path)
    write_rows(tmp_path / "train.jsonl.gz", rows("zipped"))
    assert ids(tmp_path) == ["zipped"]


def test_splits_and_spans_are_not_mixed_up(tmp_path: Path) -> None:
    for split in ("train", "val"):
        write_rows(tmp_path / f"{split}.jsonl", rows(split))
        os.utime(tmp_path / f"{split}.jsonl", ns=(1, 1))
    assert (ids(tmp_path), ids(tmp_path, "val")) == (["train"], ["val"])
    for spans, number in (("sentence", 2), ("word", 5), ("text", 1), ("sentence", 2)):
        (pair,) = read_split(tmp_path, "val", "classify", spans)
        assert isinstance(pair, Pair)
        assert len(pair.right) == number


def test_a_callers_list_is_the_callers_own(tmp_path: Path) -> None:
    write_rows(tmp_path / "train.jsonl", rows("x", "y"))
    mine = read_split(tmp_path, "train", "classify", "sentence")
    mine.reverse()
    mine.pop()
    assert ids(tmp_path) == ["x", "y"]


def test_erasers_rows_are_read_anew_too(tmp_path: Path) -> None:
    folder = eraser_folder(tmp_path)
    assert len(ids(folder, "val")) == 3
    kept = read_rows(folder / "val.jsonl")[:2]
    write_rows(folder / "val.jsonl", kept)
    assert ids(folder, "val") == [row["annotation_id"] for row in kept]
