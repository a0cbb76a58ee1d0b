"""Static encoders: means of token vectors, from files of model2vec and of word vectors, without their libraries."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

import whymatch as wm
from tests.conftest import SPOKEN
from tests.text.encoders.families import TOKENS, write_model2vec
from whymatch.text.encoders.naming import encoder_for
from whymatch.text.encoders.static import StaticEncoder
from whymatch.text.spans import whole
from whymatch.text.vectors import WordVectors, read_vectors

VECTORS = np.random.default_rng(0).standard_normal((len(TOKENS), 6)).astype(np.float32)
TEXTS = ["the cat sat", "The CAT sat on the mat", "zzz", "the zzz", "", "a" * 400, "it is cold " * 300, "漢字", "x y z"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_model2vec(tmp_path / "static", VECTORS)
    return tmp_path / "static"


def vectors_of(encoder: Any, texts: list[str]) -> np.ndarray:
    return np.concatenate(encoder.encode(texts, [[wm.Span(0, len(text))] for text in texts]))


def by_hand(folder: Path, text: str, unit: bool = True) -> np.ndarray:
    """The mean of the vectors of known tokens, from the files."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    stored = load_file(folder / "model.safetensors")
    numbers = [number for number in tokenizer.encode(text, add_special_tokens=False).ids if number != 1]
    rows = stored["embeddings"].astype(np.float32)
    rows = rows[[int(stored["mapping"][number]) for number in numbers]] if "mapping" in stored else rows[numbers]
    if "weights" in stored:
        rows = rows * stored["weights"][numbers][:, None].astype(np.float32)
    mean = rows.mean(axis=0) if numbers else np.zeros(rows.shape[1], np.float32)
    return mean / max(float(np.linalg.norm(mean)), 1e-30) if unit else mean


KINDS: dict[str, dict[str, Any]] = {
    "plain": {"embeddings": VECTORS},
    "half precision": {"embeddings": VECTORS.astype(np.float16)},
    "whole numbers": {"embeddings": np.rint(30 * VECTORS).astype(np.int8)},
    "weights": {"embeddings": VECTORS, "weights": np.linspace(0.1, 2, len(TOKENS))},
    "shared rows": {
        "embeddings": VECTORS[:5].copy(),
        "weights": np.linspace(0.1, 2, len(TOKENS)).astype(np.float32),
        "mapping": np.arange(len(TOKENS)) % 5,
    },
}


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_means_of_those_of_the_known_tokens_however_long_the_text(
    kind: str, unit: bool, tmp_path: Path
) -> None:
    write_model2vec(tmp_path, config={"model_type": "model2vec", "normalize": unit}, **KINDS[kind])
    encoder = StaticEncoder(tmp_path)
    expected = [by_hand(tmp_path, text, unit) for text in TEXTS]
    np.testing.assert_allclose(vectors_of(encoder, TEXTS), expected, rtol=1e-4, atol=1e-5)
    assert encoder.size == 6


@given(texts=st.lists(st.one_of(st.text(max_size=30), st.lists(st.sampled_from(TOKENS)).map(" ".join)), max_size=6))
def test_vectors_of_any_texts_are_finite_and_the_same_alone(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    place = tmp_path_factory.getbasetemp() / "static"
    if not place.exists():
        write_model2vec(place, VECTORS)
    encoder = StaticEncoder(place)
    split = [whole(text) for text in texts]
    together = encoder.encode(texts, split)
    for text, own, rows in zip(texts, split, together, strict=True):
        assert rows.shape == (len(own), 6)
        assert rows.dtype == np.float32
        assert np.isfinite(rows).all()
        np.testing.assert_allclose(rows, encoder.encode([text], [own])[0], rtol=0, atol=1e-6)


def test_a_piece_is_read_if_half_of_its_tokens_are_known(folder: Path) -> None:
    encoder = StaticEncoder(folder)
    assert encoder.reads(["the cat", "the zzz", "zzz qqq cat", "", "漢字"]) == [True, True, False, False, False]
    assert encoder.token_counts(["the cat", "", "zzz it"]) == [2, 0, 2]


def test_its_folder_is_enough_to_align(folder: Path) -> None:
    for encode in (folder, str(folder), StaticEncoder(folder)):
        aligner = wm.Aligner("line", encode, "cosine")
        assert aligner.encoder.name == "static"
        assert aligner.align("the cat\nit is cold", "cold\na cat", wm.Exactly(2)).to_pharaoh() == "0-1 1-0"
    assert isinstance(encoder_for("word", folder), StaticEncoder)
    with pytest.raises(ValueError, match="static is a static encoder, and has no layers"):
        encoder_for("word", folder, layer=2)


def test_neither_torch_nor_transformers_nor_openvino_is_loaded(folder: Path) -> None:
    code = (
        "import sys, whymatch as wm\n"
        f"why = wm.Aligner('line', {str(folder)!r}, 'cosine').align('the cat', 'a cat', wm.Exactly(1))\n"
        "assert len(why.links) == 1\n"
        "print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = {module.split(".")[0] for module in ran.stdout.split()}
    assert "tokenizers" in modules
    assert not modules & {"torch", "transformers", "openvino", "model2vec", "huggingface_hub"}


def test_without_a_folder_the_error_says_what_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="No static model ships with whymatch: in place of 'static', give the folder"):
        wm.Aligner(encode="static")
    write_model2vec(tmp_path / "static", VECTORS)
    assert wm.Aligner(encode="static").encoder.name == "static"


@pytest.mark.parametrize("kind", [wm.SentenceEncoder, wm.WordEncoder])
def test_a_transformer_encoder_says_that_a_model_is_static(kind: Any, folder: Path) -> None:
    with pytest.raises(ValueError, match=r"is a static one \(model2vec\). Use wm.StaticEncoder"):
        kind(folder)


def _rewritten(folder: Path, **changed: Any) -> None:
    save_file(load_file(folder / "model.safetensors") | changed, folder / "model.safetensors")


BROKEN: dict[str, tuple[Any, str]] = {
    "no weights": (lambda folder: (folder / "model.safetensors").unlink(), "there is no model.safetensors"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "there is no tokenizer.json"),
    "cut off": (lambda folder: (folder / "model.safetensors").write_bytes(b"\x08" + bytes(20)), "cannot be loaded"),
    "no JSON": (lambda folder: (folder / "tokenizer.json").write_text("{"), "tokenizer.json is damaged"),
    "other weights": (
        lambda folder: save_file({"weight": VECTORS}, folder / "model.safetensors"),
        "no embeddings, but weight",
    ),
    "too few rows": (
        lambda folder: _rewritten(folder, embeddings=VECTORS[:3].copy()),
        rf"vectors of the shape \(3, 6\), and tokenizer.json {len(TOKENS)} tokens",
    ),
    "one number": (lambda folder: _rewritten(folder, embeddings=VECTORS[:, 0].copy()), "vectors of the shape"),
    "NaN": (lambda folder: _rewritten(folder, embeddings=VECTORS * np.float32(np.nan)), "holds NaN or infinity"),
    "few weights": (lambda folder: _rewritten(folder, weights=np.ones(3)), "and tokenizer.json"),
    "a wrong row": (
        lambda folder: _rewritten(folder, mapping=np.full(len(TOKENS), 10**6)),
        "names rows that there are not",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_damaged_model_is_an_error_in_words(kind: str, folder: Path) -> None:
    breaking, message = BROKEN[kind]
    breaking(folder)
    with pytest.raises(ValueError, match=f"The model in .*static cannot be loaded: .*{message}|{message}"):
        wm.Aligner(encode=folder)


def test_a_link_out_of_the_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").rename(tmp_path / "elsewhere")
    (folder / "model.safetensors").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="leads out of"):
        StaticEncoder(folder)


def test_another_kind_of_model_is_refused(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ValueError, match=r"it is no static model: its config.json has the model_type 'bert'"):
        StaticEncoder(folder)


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    rows = [f"{word} {' '.join(f'{value:.5f}' for value in row)}" for word, row in zip(SPOKEN, VECTORS, strict=False)]
    (tmp_path / "glove.txt").write_text("\n".join(rows))
    return tmp_path / "glove.txt"


def test_frequent_words_count_less_where_a_file_has_them_first(glove: Path) -> None:
    encoder = wm.Aligner(encode=glove).encoder
    assert isinstance(encoder, StaticEncoder)
    first, last, both = vectors_of(encoder, ["the", "very", "the very"])
    shares = np.linalg.norm(first) / np.linalg.norm(VECTORS[0]), np.linalg.norm(last) / np.linalg.norm(VECTORS[14])
    assert 0 < shares[0] < shares[1] < 1
    np.testing.assert_allclose(both, (first + last) / 2, rtol=1e-5)
    assert encoder.reads(["the cat", "zzz", "zzz cat"]) == [True, False, True]


def test_words_of_unknown_frequency_count_the_same(glove: Path) -> None:
    vectors = read_vectors(glove)
    for unsorted in (WordVectors("mine", vectors.words, vectors.vectors), read_vectors(glove, keep=SPOKEN)):
        encoder = StaticEncoder(unsorted)
        expected = np.mean([VECTORS[0], VECTORS[14]], axis=0)
        np.testing.assert_allclose(vectors_of(encoder, ["the very"])[0], expected, atol=1e-4)
