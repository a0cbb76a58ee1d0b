"""ERASER's layout is read with its evidence where people marked it, and bad rows are named."""

import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from whymatch.datasets.eraser import read_eraser
from whymatch.datasets.prepare import prepare

DOCUMENT = "The cat sat .\n\nIt was cold .\nThe dog ran away .\n"


def write(folder: Path, rows: list[dict[str, Any]], *, zipped: bool = False) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "a.txt").write_text(DOCUMENT)
    (folder / "docs" / "b.txt").write_text("Birds fly .\n")
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (folder / f"test.jsonl{'.gz' if zipped else ''}").write_bytes(gzip.compress(data) if zipped else data)


def row(**changes: Any) -> dict[str, Any]:
    evidence = {"docid": "a.txt", "start_token": 8, "end_token": 13, "text": "The dog ran away ."}
    return {
        "annotation_id": "a.txt:0:1",
        "classification": "True",
        "docids": None,
        "evidences": [[evidence]],
        "query": "Who ran ? || the dog",
        **changes,
    }


@pytest.mark.parametrize("zipped", [False, True])
def test_a_row_is_a_pair_of_question_and_answer_with_sentences(tmp_path: Path, zipped: bool) -> None:
    write(tmp_path, [row()], zipped=zipped)
    (pair,) = read_eraser(tmp_path, "test")
    assert pair.left.pieces == ["Who ran ?", "the dog"]
    assert pair.right.pieces == ["The cat sat .", "It was cold .", "The dog ran away ."]
    assert pair.label == "True"
    assert pair.right_rationale is not None
    assert [pair.right.text[a:b] for a, b in pair.right_rationale] == ["The dog ran away ."]
    assert pair.left_rationale is None


@pytest.mark.parametrize("name", ["../secret", "../../secret", "a/../../secret", "absolute", "link", "folder/secret"])
@pytest.mark.parametrize("place", ["docids", "evidence", "annotation_id"])
def test_a_row_cannot_name_a_file_outside_docs(tmp_path: Path, name: str, place: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "secret").write_text("The secret .\n")
    (data / "secret").write_text("The secret .\n")
    if name == "absolute":
        name = str(tmp_path / "secret")
    evidence = {"docid": name, "start_token": 0, "end_token": 1, "text": "The"}
    choices: dict[str, dict[str, Any]] = {
        "docids": {"docids": [name], "evidences": []},
        "evidence": {"evidences": [[evidence]]},
        "annotation_id": {"evidences": [], "annotation_id": f"{name}:0:1"},
    }
    write(data, [row(**choices[place])])
    (data / "docs" / "link").symlink_to(tmp_path / "secret")
    (data / "docs" / "folder").symlink_to(tmp_path)
    with pytest.raises(ValueError, match=r"test\.jsonl, line 1: .* leads out of"):
        list(read_eraser(data, "test"))
    for split in ("train", "val"):
        (data / f"{split}.jsonl").write_bytes((data / "test.jsonl").read_bytes())
    with pytest.raises(ValueError, match="leads out of"):
        prepare("eraser", [data], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_several_documents_are_one_text(tmp_path: Path) -> None:
    evidence = {"docid": "b.txt", "start_token": 1, "end_token": 2, "text": "fly"}
    write(tmp_path, [row(docids=["a.txt", "b.txt"], evidences=[[evidence]], query="Birds fly")])
    (pair,) = read_eraser(tmp_path, "test")
    assert pair.left.pieces == ["Birds fly"]
    assert pair.right.pieces[-1] == "Birds fly ."
    assert [pair.right.text[a:b] for a, b in pair.right_rationale or ()] == ["fly"]


def test_a_row_without_evidence_finds_its_document_by_its_id(tmp_path: Path) -> None:
    write(tmp_path, [row(evidences=[])])
    (pair,) = read_eraser(tmp_path, "test")
    assert len(pair.right) == 3
    assert pair.right_rationale == ()


@pytest.mark.parametrize(
    "bad",
    [
        {"query": None},
        {"docids": ["missing.txt"]},
        {"evidences": [[{"docid": "a.txt", "start_token": 8, "end_token": 99}]]},
        {"evidences": [[{"docid": "a.txt", "start_token": 3, "end_token": 3}]]},
        {"evidences": [[{"docid": "a.txt"}]]},
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, bad: dict[str, Any]) -> None:
    write(tmp_path, [row(), row(**bad)])
    with pytest.raises(ValueError, match=r"test\.jsonl, line 2"):
        list(read_eraser(tmp_path, "test"))


def test_another_layout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no docs folder"):
        list(read_eraser(tmp_path, "val"))
    write(tmp_path, [row()])
    with pytest.raises(ValueError, match=r"no val\.jsonl"):
        list(read_eraser(tmp_path, "val"))


def test_multirc_is_read_in_full() -> None:
    folder = Path(os.environ.get("WHYMATCH_DATA", "")) / "multirc"
    if not folder.is_dir():
        pytest.skip("MultiRC is not there: name the folder of the data sets with WHYMATCH_DATA")
    pairs = list(read_eraser(folder, "test"))
    assert len(pairs) == 4848
    assert Counter(len(pair.left) for pair in pairs) == {2: 4848}
    for pair in pairs:
        starts = {span.start for span in pair.right.spans}
        assert pair.right_rationale
        assert all(span.start in starts for span in pair.right_rationale)
