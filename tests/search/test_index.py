"""An index keeps what it was given, once, and refuses what it cannot keep."""

import json
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import whymatch as wm
from tests.search.encoding import WordSums, aligner, post, posts
from whymatch.datasets.documents import CorpusFiles
from whymatch.search import index as module
from whymatch.search import store
from whymatch.search.building import build
from whymatch.search.encoding import INDEX_FORMAT
from whymatch.search.entries import table_schema
from whymatch.search.index import Index
from whymatch.search.store import Store


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index.create(tmp_path / "index", aligner())


def test_what_was_added_comes_back_with_its_spans_and_vectors(index: Index) -> None:
    documents = posts(5)
    assert index.add(documents) == len(index) == 5
    for id_, text in documents.items():
        assert id_ in index
        assert index[id_].text == text
        assert index[id_].pieces == text.split("\n")
    (entry,) = index.entries(["post-3"])
    (vectors,) = WordSums().encode([entry.text], [entry.document.spans])
    np.testing.assert_array_equal(entry.vectors, vectors.astype(np.float16).astype(np.float32))


def test_adding_twice_changes_nothing_and_replacing_does(index: Index) -> None:
    assert index.add(posts(3)) == 3
    assert index.add({"post-1": "Something else", "post-9": post(9)}) == 1
    assert index["post-1"].text == post(1)
    assert index.replace({"post-1": "Something else"}) == 1
    assert index["post-1"].text == "Something else"
    assert sorted(index.ids()) == ["post-0", "post-1", "post-2", "post-9"]


def test_deleted_documents_are_found_no_more(index: Index) -> None:
    index.add({**posts(3), "o'x": "The o'x sleeps"})
    assert index.search("The o'x sleeps")[0].id == "o'x"
    assert index.delete(["o'x", "nobody"]) == 1
    assert "o'x" not in index
    assert all(hit.id != "o'x" for hit in index.search("The o'x sleeps"))
    with pytest.raises(TypeError, match="list of ids"):
        index.delete("post-1")


def test_a_reader_keeps_its_view_while_a_writer_works(index: Index) -> None:
    index.add(posts(3))
    reader = Index.open(index.store.folder, aligner())
    index.replace({"post-0": "A new text"})
    index.delete(["post-1"])
    index.compact()
    assert reader["post-0"].text == post(0)
    assert (len(reader), len(index)) == (3, 2)
    assert {hit.id for hit in reader.search(post(1))} == set(posts(3))
    reader.refresh()
    assert reader["post-0"].text == "A new text"
    assert "post-1" not in reader
    assert len(reader) == 2


def test_a_reader_whose_version_is_gone_moves_on(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.add(posts(3))
    reader = Index.open(index.store.folder, aligner())
    monkeypatch.setattr(store, "OLD_VERSIONS_KEPT_FOR", timedelta(milliseconds=1))
    index.replace({"post-0": "A new text"})
    index.add(posts(3, 3))
    index.compact()
    found = reader.search("A new text")[0].text == "A new text"
    assert (found, len(reader)) in ((True, 6), (False, 3))  # the old version, where it is still in memory, or the new
    looked = []

    def gone() -> int:
        looked.append(reader.store.version)
        if len(looked) == 1:
            raise RuntimeError("LanceError(IO): no such file")
        return len(reader)

    index.add(posts(1, 6))
    assert reader.store.read(gone) == 7
    assert looked[0] < looked[1] == index.store.version
    looked.clear()
    with pytest.raises(OSError, match="cannot be read: LanceError"):
        reader.store.read(gone)  # of the newest version: there is nothing to move on to


def test_a_damaged_index_is_reported(index: Index) -> None:
    index.add(posts(3))
    for file in index.store.folder.rglob("data/*.lance"):
        file.write_bytes(b"nothing")
    with pytest.raises(OSError, match="cannot be read"):
        Index.open(index.store.folder, aligner()).search(post(1))
    for file in index.store.folder.rglob("*.manifest"):
        file.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is damaged"):
        Index.open(index.store.folder, aligner())


def test_compaction_is_scheduled_and_loses_nothing(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_CHANGES_BEFORE_COMPACTION", 4)
    for number in range(9):
        index.add(posts(2, 2 * number))
    fragments = index.store.table.stats()["fragment_stats"]["num_fragments"]
    assert fragments < 9
    assert sorted(index.ids()) == sorted(posts(18))
    assert index.search(post(7))[0].id == "post-7"


def test_many_documents_get_an_index_of_vectors_that_finds_them(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MIN_INDEXED_ROWS", 300)
    index.add(posts(400))
    index.compact()
    assert index.store.indexed_columns == {"text", "pooled", "vectors"}
    index.add(posts(5, 400))  # after the index was made
    for number in (3, 399, 402):
        best = index.search(post(number))[0]
        assert best.id == f"post-{number}"
        assert best.places == {"text": 1, "spans": 1, "words": 1}


@pytest.mark.parametrize("documents", [{"a": " "}, {"": "text"}, {"a": "one\n" * 3000}, {3: "text"}, {"a": "\ud800"}])
def test_what_cannot_be_kept_is_refused_and_nothing_is_written(index: Index, documents: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"Document .*: "):
        index.add({"good": "A good text", **documents})
    assert len(index) == 0


def test_an_index_of_another_encoder_is_refused(index: Index) -> None:
    folder = index.store.folder
    with pytest.raises(ValueError, match="other weights of sums of words"):
        Index.open(folder, aligner("other"))
    with pytest.raises(ValueError, match=r"'line'.*'sentence'.*index the corpus again"):
        Index.open(folder, wm.Aligner("sentence", WordSums()))
    with pytest.raises(ValueError, match="other weights"):
        Index.create(folder, aligner("other"))


def test_an_index_knows_its_backend_and_takes_vectors_of_another_precision(minilm: Path, tmp_path: Path) -> None:
    written, other = (
        wm.Aligner("line", wm.SentenceEncoder(minilm, backend=backend)) for backend in ("openvino float32", "torch")
    )
    Index.create(tmp_path, written).add({"a": "The cat sat.", "b": "It rains."})
    bfloat16 = wm.Aligner("line", wm.SentenceEncoder(minilm, backend="openvino bfloat16"))
    for reader in (written, other, bfloat16):
        index = Index.open(tmp_path, reader)
        assert index.identity.backend == "openvino float32"
        assert index.search("A cat was sitting.")[0].id == "a"


def test_an_index_of_a_newer_format_is_refused(index: Index, tmp_path: Path) -> None:
    about = json.loads(index.identity.to_json()) | {"format": INDEX_FORMAT + 1, "version": "9.9"}
    Store.create(tmp_path / "newer", table_schema(64, json.dumps(about).encode()))
    with pytest.raises(ValueError, match=rf"format {INDEX_FORMAT + 1}, written by whymatch 9.9.*newer whymatch"):
        Index.open(tmp_path / "newer")


def test_a_folder_without_an_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="There is no index"):
        Index.open(tmp_path)
    Store.create(tmp_path, pa.schema([pa.field("id", pa.string())]).append(pa.field("text", pa.string())))
    with pytest.raises(ValueError, match="no index of whymatch"):
        Index.open(tmp_path)


def test_encoders_that_read_pairs_are_refused(tmp_path: Path) -> None:
    encoder = WordSums()
    encoder.jointly = True  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="reads both texts together"):
        Index.create(tmp_path, wm.Aligner("line", encoder, below=0.5))


def written(folder: Path, documents: dict[str, str]) -> Path:
    file = folder / "corpus.jsonl"
    file.write_text("".join(json.dumps({"id": id_, "text": text}) + "\n" for id_, text in documents.items()))
    return file


def test_building_again_writes_what_changed_alone(index: Index, tmp_path: Path) -> None:
    complaints: list[str] = []
    documents = posts(10)
    first = build(index, CorpusFiles(written(tmp_path, documents)), complaints.append, documents_per_transaction=3)
    assert (first.written, first.unchanged, first.bad) == (10, 0, 0)
    changed = {**documents, "post-4": "Another text"}
    del changed["post-5"]
    again = build(index, CorpusFiles(written(tmp_path, changed)), complaints.append, prune=True)
    assert (again.written, again.unchanged, again.deleted) == (1, 8, 1)
    assert complaints == []
    assert {id_: index[id_].text for id_ in index.ids()} == changed


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("Dear cat")
    with pytest.raises(ValueError, match=r"is no index, and holds letters.txt. Name a new or an empty folder."):
        Index.create(tmp_path, aligner())
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]
