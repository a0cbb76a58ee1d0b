"""Encoders that users bring: models with `encode`, and functions, by duck typing; what is wrong with one is said."""

import pickle
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import whymatch as wm
from tests.text.encoders.families import TOKENS, write_model2vec
from whymatch.matching.shipped import shipped_background
from whymatch.text.encoders.models import MINILM
from whymatch.text.encoders.own import FunctionEncoder, given_encoder
from whymatch.text.spans import whole

LEFT = "My wifi drops every few minutes. I use a Dell laptop. I reinstalled the driver."
RIGHT = "Hello everybody. The wifi drops again and again. I have reinstalled the driver twice."


def letters(texts: list[str], seed: int = 0) -> np.ndarray:
    """Which groups of three letters a text has, hashed: the more two texts share, the closer they are."""
    rows = np.zeros((len(texts), 256))
    for row, text in zip(rows, texts, strict=True):
        padded = f"  {text.lower()} "
        for place in range(len(padded) - 2):
            row[zlib.crc32(f"{seed}{padded[place : place + 3]}".encode()) % 256] += 1
    return rows


def scaled(texts: list[str], *, seed: int = 0, scale: float) -> np.ndarray:
    return scale * letters(texts, seed)


class Model:
    """A model as those of sentence-transformers and model2vec are."""

    def __init__(self, base: str | None = None) -> None:
        self.base_model_name = base

    def encode(self, sentences: Sequence[str], show_progress_bar: bool = False) -> np.ndarray:
        return letters([*sentences])


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Backgrounds are encoded once for all tests, and kept out of the user's folder of caches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def vectors_of(encoder: Any, texts: Sequence[str]) -> np.ndarray:
    return np.concatenate(encoder.encode(texts, [whole(text) for text in texts]))


KINDS = {
    "a function": letters,
    "a function of torch": lambda texts: torch.tensor(letters(texts), requires_grad=True, dtype=torch.float64),
    "in half precision": lambda texts: torch.tensor(letters(texts)).to(torch.bfloat16),
    "lists": lambda texts: letters(texts).tolist(),
    "a list of tensors": lambda texts: [*torch.tensor(letters(texts))],
    "whole numbers": lambda texts: letters(texts).astype(np.int64),
    "a partial function": partial(letters, seed=0),
    "a model": Model(),
    "a method": Model().encode,
}


@pytest.mark.parametrize("kind", KINDS)
@given(texts=st.lists(st.text(min_size=1).filter(lambda text: whole(text)), min_size=1, max_size=4))
def test_vectors_are_those_of_the_function_for_each_span(kind: str, texts: list[str]) -> None:
    encoder = given_encoder(KINDS[kind])
    split = [whole(text) for text in texts]
    expected = letters([text[start:end] for text, own in zip(texts, split, strict=True) for start, end in own])
    assert np.array_equal(vectors_of(encoder, texts), expected.astype(np.float32))


@pytest.mark.parametrize("encode", [letters, Model()], ids=["a function", "a model"])
def test_one_line_aligns_with_evidence(encode: Any) -> None:
    why = wm.Aligner(encode=encode).align(LEFT, RIGHT)
    assert {link.at for link in why.links} == {(0, 1), (2, 2)}
    assert why.probability is not None
    assert why.probability > 0.5
    other = wm.Aligner(encode=encode).align(LEFT, "Boil the eggs for ten minutes. Peel them under cold water.")
    assert other.probability is not None
    assert other.probability < 0.3


def test_each_distinct_span_is_encoded_once_and_never_too_many_at_a_time() -> None:
    asked = list[list[str]]()

    def counted(texts: list[str]) -> np.ndarray:
        asked.append(texts)
        return letters(texts)

    texts = [f"text {number % 1500}" for number in range(2000)]
    vectors = vectors_of(FunctionEncoder(counted), texts)
    assert vectors.shape == (2000, 256)
    assert [len(batch) for batch in asked] == [1024, 476]
    assert all(isinstance(batch, list) for batch in asked)


def test_empty_texts_have_no_vectors() -> None:
    assert wm.Aligner(encode=letters).align("", "A cat sat.").links == ()
    assert [own.shape[0] for own in FunctionEncoder(letters).encode(["", ""], [[], []])] == [0, 0]


@pytest.mark.parametrize(
    ("given_value", "name"),
    [
        (letters, "letters"),
        (partial(letters, seed=1), "letters"),
        (Model(), "Model"),
        (Model("potion"), "Model from potion"),
        (Model("potion").encode, "Model from potion"),
    ],
)
def test_an_encoder_is_called_what_it_was_given_as(given_value: Any, name: str) -> None:
    assert given_encoder(given_value).name == name
    assert FunctionEncoder(given_value, name="v2").name == "v2"


def test_the_name_of_the_bundled_model_is_refused_since_its_background_ships() -> None:
    with pytest.raises(ValueError, match="is the name of the model that ships"):
        FunctionEncoder(letters, name=MINILM)


class Untold:
    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[wm.Span]]) -> list[np.ndarray]:
        raise AssertionError


@pytest.mark.parametrize(
    ("given_value", "message"),
    [
        (3, "int is no function, and has no method encode"),
        ([1.0], "list is no function, and has no method encode"),
        (Model, r"Model is a class, and no encoder yet: give Model\(…\)"),
        (wm.SentenceEncoder, "SentenceEncoder is a class"),
        (torch.nn.Linear(2, 2), r"Linear has no method encode\(texts\). Give a function that calls it"),
        (Untold(), "Untold has encode.texts, spans., and lacks name and contextual"),
    ],
)
def test_what_is_no_encoder_is_refused_at_once(given_value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        wm.Aligner(encode=given_value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda texts: letters(texts)[0],
            r"one row per text, \(4, dimensions\) for 4 texts, and gave one of the shape \(256",
        ),
        (lambda texts: letters(texts)[:-1], r"\(4, dimensions\) for 4 texts, and gave one of the shape \(3, 256\)"),
        (lambda texts: letters(texts)[..., None], r"of the shape \(4, 256, 1\)"),
        (lambda texts: letters(texts)[:, :0], r"of the shape \(4, 0\)"),
        (lambda texts: None, "gave a NoneType: values of the type object are no real numbers"),
        (lambda texts: texts, "gave a list: values of the type <U.* are no real numbers"),
        (lambda texts: letters(texts) * 1j, "complex128 are no real numbers"),
        (lambda texts: [[1.0]] * 3 + [[1.0, 2.0]], "gave a list: "),
        (lambda texts: torch.eye(4).to_sparse(), "gave a Tensor: "),
    ],
    ids=range(9),
)
def test_what_is_no_array_of_one_row_per_text_is_refused_in_words(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"{message}"):
        wm.Aligner("line", function).align("a\nb", "c\nd", wm.Exactly(1))


def test_rows_that_change_their_length_are_refused() -> None:
    encoder = FunctionEncoder(lambda texts: letters(texts)[:, : 10 * len(texts)], name="odd")
    vectors_of(encoder, ["a", "b"])
    with pytest.raises(TypeError, match="odd gave rows of 20 numbers before, and now of 10"):
        vectors_of(encoder, ["a"])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_a_text_with_nan_is_named_and_changes_nothing_for_others(value: float) -> None:
    def spoilt(texts: list[str]) -> np.ndarray:
        return letters(texts) + np.array([[value if "bad" in text else 0.0] for text in texts])

    pairs = [("a cat", "the cat"), ("bad cat", "the cat")]
    good, bad = wm.Aligner("line", spoilt, "cosine").outcomes(pairs, wm.Exactly(1))
    assert good == wm.Aligner("line", FunctionEncoder(letters, spoilt.__qualname__), "cosine").align(
        *pairs[0], wm.Exactly(1)
    )
    assert isinstance(bad, ValueError)
    assert "NaN or infinity" in str(bad)
    assert "spoilt gave them for 'bad cat'" in str(bad)


def test_a_background_with_nan_is_refused() -> None:
    def spoilt(texts: list[str]) -> np.ndarray:
        return letters(texts) * np.array([[np.nan if "water" in text else 1.0] for text in texts])

    with pytest.raises(ValueError, match=r"NaN or infinity: .*spoilt gave them for '.*water"):
        wm.Aligner(encode=spoilt).align("A cat sat.", "The cat sat.")


def test_errors_of_the_function_itself_reach_the_caller() -> None:
    def failing(texts: list[str]) -> np.ndarray:
        raise ConnectionError("the service is down")

    with pytest.raises(ConnectionError, match="the service is down"):
        wm.Aligner("line", failing, "cosine").align("a", "b", wm.Exactly(1))


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_functions_of_one_name_have_backgrounds_of_their_own(scale: float) -> None:
    made = {}
    for seed in (0, 1):
        encoder = FunctionEncoder(partial(scaled, seed=seed, scale=scale), name="mine")
        aligner = wm.Aligner("line", encoder)
        made[seed] = shipped_background(aligner)
        rows = aligner.encoder.encode([made[seed].documents[0].text], [made[seed].documents[0].spans])[0]
        np.testing.assert_allclose(made[seed].vectors[: len(rows)], rows, rtol=0, atol=1e-3 * made[seed].vectors.max())
        assert shipped_background(wm.Aligner("line", encoder)).digest == made[seed].digest
    assert made[0].digest != made[1].digest
    assert not np.array_equal(made[0].vectors, made[1].vectors)


def test_the_length_of_vectors_changes_nothing_about_the_evidence() -> None:
    left, right = (
        wm.Aligner(encode=FunctionEncoder(partial(scaled, scale=scale), name="mine")).align(LEFT, RIGHT)
        for scale in (1.0, 1e-6)
    )
    assert left.bits == pytest.approx(right.bits, rel=0.01)


def test_an_index_is_refused_for_another_function_of_the_same_name(tmp_path: Path) -> None:
    def mine(texts: list[str]) -> np.ndarray:
        return letters(texts)

    documents = {str(number): f"Document {number} is about cats." for number in range(5)}
    index = wm.Index.create(tmp_path / "index", wm.Aligner(encode=mine))
    assert index.add(documents) == 5
    assert wm.Index.open(tmp_path / "index", wm.Aligner(encode=mine)).search("cats", 1).hits
    other = FunctionEncoder(partial(letters, seed=1), name=given_encoder(mine).name)
    with pytest.raises(ValueError, match=r"written with other weights of .*mine than are given now"):
        wm.Index.open(tmp_path / "index", wm.Aligner(encode=other))
    with pytest.raises(ValueError, match=r"written with .*mine over spans .* and now there is letters"):
        wm.Index.open(tmp_path / "index", wm.Aligner(encode=letters))


def test_a_background_is_refused_for_another_function_of_the_same_name() -> None:
    texts = [f"Text {number} is about a cat.\nIt has number {number * 7}." for number in range(150)]
    aligners = [wm.Aligner("line", FunctionEncoder(partial(letters, seed=seed), name="mine")) for seed in (0, 1)]
    background = wm.Background.of(texts, aligners[0])
    again = wm.Aligner("line", aligners[0].encoder, background=background)
    assert again.align("Text 3 is about a cat.", "About a cat is text 3.").judgement is not None
    other = wm.Aligner("line", aligners[1].encoder, background=background)
    with pytest.raises(ValueError, match="made with other vectors than mine gives now"):
        other.align("Text 3 is about a cat.", "About a cat is text 3.")


def test_functions_that_can_be_pickled_are() -> None:
    encoder = pickle.loads(pickle.dumps(FunctionEncoder(letters)))
    assert np.array_equal(vectors_of(encoder, ["a cat"]), vectors_of(FunctionEncoder(letters), ["a cat"]))


def test_a_model_of_sentence_transformers_gives_what_our_own_encoder_gives(roberta: Path) -> None:
    from sentence_transformers import SentenceTransformer

    aligner = wm.Aligner("line", SentenceTransformer(str(roberta), device="cpu"))
    assert aligner.encoder.name.startswith("SentenceTransformer")
    texts = ["the cat sat on the mat", "it is very cold today", "A dog?"]
    ours = vectors_of(wm.SentenceEncoder(roberta, backend="torch", device="cpu"), texts)
    theirs = vectors_of(aligner.encoder, texts)
    np.testing.assert_allclose(theirs / np.linalg.norm(theirs, axis=1, keepdims=True), ours, rtol=0, atol=1e-5)
    lines = [f"the dog {number} ran\nit is cold {number}" for number in range(120)]
    with_background = wm.Aligner("line", aligner.encoder, background=wm.Background.of(lines, aligner))
    assert with_background.align("the dog 3 ran\na mat", "the dog 3 ran").probability is not None


def test_a_static_model_of_model2vec_gives_what_our_own_encoder_gives(tmp_path: Path) -> None:
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed: pip install model2vec")
    write_model2vec(tmp_path, np.random.default_rng(0).standard_normal((len(TOKENS), 8)).astype(np.float32))
    model = model2vec.StaticModel.from_pretrained(tmp_path)
    encoder = wm.Aligner(encode=model).encoder
    assert encoder.name.startswith("StaticModel")
    texts = ["the cat sat", "it is cold today", "zzz", "the zzz"]
    np.testing.assert_allclose(vectors_of(encoder, texts), vectors_of(wm.StaticEncoder(tmp_path), texts), atol=1e-6)
