"""Word vectors are read as they were written, or refused with the line that is wrong."""

import gzip
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from whymatch.text.vectors import hashes, read_vectors

TABLE = {"cat": [1.0, 0.5, -2.0], "Dog": [0.0, 1e-3, 4.0], "...": [3.0, 3.0, 3.0]}
LINES = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in TABLE.items())


@pytest.mark.parametrize("name", ["glove.txt", "wiki.vec", "glove.txt.gz", "wiki.vec.gz"])
def test_text_formats(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    text = (f"{len(TABLE)} 3\n" if ".vec" in name else "") + LINES
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    vectors = read_vectors(file)
    assert set(vectors.words) == set(TABLE)
    for word, vector in TABLE.items():
        np.testing.assert_array_equal(vectors.of([word])[0], np.array(vector, np.float32))
    assert set(read_vectors(file, keep=["CAT"]).words) == {"cat"}


def test_words_with_blanks_as_glove_has_them(tmp_path: Path) -> None:
    file = tmp_path / "glove.txt"
    file.write_text("cat 1 2\n. . 3 4\n")
    assert read_vectors(file).of([". ."]).tolist() == [[3, 4]]


@pytest.mark.parametrize("line", ["dog 1 2", "dog 1 2 x", "dog 1 2 nan", "1 2 3"])
def test_a_bad_line_is_named(line: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.txt"
    file.write_text(f"cat 1 2 3\n{line}\n")
    with pytest.raises(ValueError, match="line 2"):
        read_vectors(file)


def test_no_vectors_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.vec").write_text("0 300\n")
    with pytest.raises(ValueError, match="holds no vectors"):
        read_vectors(tmp_path / "empty.vec")
    with pytest.raises(ValueError, match="no spaCy vectors"):
        read_vectors(tmp_path)


def test_hashes_are_spacys() -> None:
    # Written down from spaCy's own tables: the attribute "coffee" is its documentation's example.
    assert hashes(["coffee"]).tolist() == [3197928453018144401]
    assert hashes(["I", "love"]).tolist() == [4690420944186131903, 3702023516439754181]
    assert hashes([""]).shape == (1,)


def test_spacy_folders(tmp_path: Path) -> None:
    msgpack = pytest.importorskip("msgpack", reason="msgpack is not installed")
    vocab = tmp_path / "pipeline" / "vocab"
    vocab.mkdir(parents=True)
    words = ["cat", "a longer word of more than eight bytes", "unlisted"]
    keys = hashes(words).tolist()
    (vocab / "strings.json").write_text(json.dumps(words))
    (vocab / "key2row").write_bytes(msgpack.packb({keys[0]: 1, keys[1]: 0}))
    with (vocab / "vectors").open("wb") as file:
        np.save(file, np.array([[1, 2], [3, 4]], dtype=np.float32))
    vectors = read_vectors(vocab.parent)
    assert vectors.of(words).tolist() == [[3, 4], [1, 2], [0, 0]]
    kept = read_vectors(vocab.parent, keep=["Cat"])
    assert (kept.words, kept.vectors.tolist()) == ({"cat": 0}, [[3, 4]])


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """A small folder of spaCy's."""
    msgpack = pytest.importorskip("msgpack", reason="msgpack is not installed")
    (tmp_path / "strings.json").write_text('["cat"]')
    (tmp_path / "key2row").write_bytes(msgpack.packb({hashes(["cat"]).tolist()[0]: 0}))
    with (tmp_path / "vectors").open("wb") as file:
        np.save(file, np.eye(2, dtype=np.float32))
    assert read_vectors(tmp_path).of(["cat"]).tolist() == [[1, 0]]
    return tmp_path


class Trap:
    """What leaves a mark when a pickle of it is opened."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.mark,)


def test_pickles_in_spacy_folders_are_not_opened(pipeline: Path) -> None:
    mark = pipeline / "mark"
    array = np.array([Trap(mark)], dtype=object)
    for name in ("key2row", "vectors", "strings.json"):
        content = (pipeline / name).read_bytes()
        with (pipeline / name).open("wb") as file:
            np.save(file, array, allow_pickle=True)
        with pytest.raises(ValueError, match=f"{name} is damaged"):
            read_vectors(pipeline)
        (pipeline / name).write_bytes(pickle.dumps(Trap(mark)))
        with pytest.raises(ValueError, match=f"{name} is damaged"):
            read_vectors(pipeline)
        (pipeline / name).write_bytes(content)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("strings.json", b"{}"),
        ("strings.json", b"[1]"),
        ("strings.json", b"[" * 100_000),
        ("strings.json", b"\xff"),
        ("key2row", b""),
        ("key2row", b"\x91" * 10_000),
        ("key2row", b"\x81\x01\xa1a"),  # a number to a word
        ("key2row", b"\x93\x01\x02\x03"),
        ("vectors", b""),
        ("vectors", b"PK\x03\x04"),
        (
            "vectors",
            b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (10000000000000, 9)}  \n",
        ),
        ("vectors", b"\x93NUMPY\x01\x00\x36\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,)}  \n"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_damaged_spacy_folders_are_refused_in_words(name: str, content: bytes, pipeline: Path) -> None:
    (pipeline / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name} is damaged"):
        read_vectors(pipeline)


def test_a_table_with_other_numbers_than_finite_ones_is_refused(pipeline: Path) -> None:
    for table in (np.array([[1, np.nan]], np.float32), np.eye(2, dtype=np.int32), np.zeros(3, np.float32)):
        with (pipeline / "vectors").open("wb") as file:
            np.save(file, table)
        with pytest.raises(ValueError, match="vectors is damaged"):
            read_vectors(pipeline)


def test_words_with_half_a_character_are_read(pipeline: Path) -> None:
    (pipeline / "strings.json").write_text('["cat", "\\ud800"]')
    assert set(read_vectors(pipeline).words) == {"cat"}


def test_words_that_spacy_numbers_by_itself_are_found(tmp_path: Path) -> None:
    msgpack = pytest.importorskip("msgpack", reason="msgpack is not installed")
    (tmp_path / "strings.json").write_text("[]")
    (tmp_path / "key2row").write_bytes(msgpack.packb({401: 0, 432: 1, 449: 2, 451: 3}))  # as en_core_web_md has them
    with (tmp_path / "vectors").open("wb") as file:
        np.save(file, np.eye(4, dtype=np.float32))
    vectors = read_vectors(tmp_path)
    assert [vectors.number(word) for word in ("agent", "number", "root", "acl", "acomp")] == [0, 1, 2, 3, -1]


def test_a_file_that_ends_early_is_damaged(tmp_path: Path) -> None:
    file = tmp_path / "short.vec.gz"
    file.write_bytes(gzip.compress(LINES.encode())[:-9])
    with pytest.raises(ValueError, match="is damaged"):
        read_vectors(file)
