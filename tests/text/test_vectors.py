"""Word vectors are read as they were written, or refused with the line that is wrong."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from whymatch.text.vectors import hashes, read_vectors

TABLE = {"cat": [1.0, 0.5, -2.0], "Dog": [0.0, 1e-3, 4.0], "...": [3.0, 3.0, 3.0]}
LINES = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in TABLE.items())


@pytest.mark.parametrize("name", ["glove.txt", "wiki.vec", "glove.txt.gz", "wiki.vec.gz"])
def test_text_formats(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    text = (f"{len(TABLE)} 3\n" if ".vec" in name else "") + LINES
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    found = read_vectors(file)
    assert set(found.words) == set(TABLE)
    for word, vector in TABLE.items():
        torch.testing.assert_close(found.of([word])[0], torch.tensor(vector))
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
    found = read_vectors(vocab.parent)
    assert found.of(words).tolist() == [[3, 4], [1, 2], [0, 0]]
    kept = read_vectors(vocab.parent, keep=["Cat"])
    assert (kept.words, kept.vectors.tolist()) == ({"cat": 0}, [[3, 4]])


def test_words_that_spacy_numbers_by_itself_are_found(tmp_path: Path) -> None:
    msgpack = pytest.importorskip("msgpack", reason="msgpack is not installed")
    (tmp_path / "strings.json").write_text("[]")
    (tmp_path / "key2row").write_bytes(msgpack.packb({401: 0, 432: 1, 449: 2, 451: 3}))  # as en_core_web_md has them
    with (tmp_path / "vectors").open("wb") as file:
        np.save(file, np.eye(4, dtype=np.float32))
    found = read_vectors(tmp_path)
    assert [found.number(word) for word in ("agent", "number", "root", "acl", "acomp")] == [0, 1, 2, 3, -1]


def test_a_file_that_ends_early_is_damaged(tmp_path: Path) -> None:
    file = tmp_path / "short.vec.gz"
    file.write_bytes(gzip.compress(LINES.encode())[:-9])
    with pytest.raises(ValueError, match="is damaged"):
        read_vectors(file)
