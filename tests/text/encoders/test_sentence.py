"""Sentence vectors are those of sentence-transformers, whatever stands beside a sentence."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from whymatch.text.document import joined
from whymatch.text.encoders.sentence import SentenceEncoder, read_pooling

PIECES = ["A cat sat on the mat.", "Quantum chromodynamics!", "é", "👩\u200d👧 ok?", "the " * 150, "שלום עולם", "a cat"]


def vectors(encoder: SentenceEncoder, pieces: list[str]) -> torch.Tensor:
    document = joined(pieces)
    return encoder.encode([document.text], [document.spans])[0]


@pytest.fixture(scope="module")
def encoder(minilm: Path) -> SentenceEncoder:
    return SentenceEncoder(minilm, device="cpu")


def test_vectors_equal_those_of_sentence_transformers(encoder: SentenceEncoder, minilm: Path) -> None:
    peer = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    theirs = peer.SentenceTransformer(str(minilm), device="cpu").encode(PIECES, convert_to_tensor=True)
    torch.testing.assert_close(vectors(encoder, PIECES), theirs.clone(), rtol=0, atol=2e-6)


def test_neighbours_change_a_vector_by_rounding_alone(encoder: SentenceEncoder) -> None:
    alone = torch.cat([vectors(encoder, [piece]) for piece in PIECES])
    torch.testing.assert_close(vectors(encoder, PIECES), alone, rtol=0, atol=2e-6)
    torch.testing.assert_close(vectors(encoder, PIECES[::-1]), alone.flip(0), rtol=0, atol=2e-6)


def test_the_same_piece_is_encoded_once_and_has_one_vector(encoder: SentenceEncoder) -> None:
    twice = vectors(encoder, ["a cat", "a dog", "a cat"])
    assert torch.equal(twice[0], twice[2])
    assert encoder.encode(["", "x"], [[], []])[0].shape == (0, 384)
    assert encoder.encode([], []) == []


def test_the_end_of_a_long_span_counts(encoder: SentenceEncoder) -> None:
    start = "the weather is fine today and so on " * 60
    one, other = vectors(encoder, [start + "nuclear physics " * 60, start + "fried bananas " * 60])
    assert one @ other < 0.95  # sentence-transformers cuts both off at the same words
    torch.testing.assert_close(one.norm(), torch.tensor(1.0))


def test_a_model_without_pooling_is_pooled_by_the_mean(roberta: Path) -> None:
    encoder = SentenceEncoder(roberta, device="cpu")
    pieces = ["the cat sat", "it is very cold today " * 40]
    assert vectors(encoder, pieces).shape == (2, 32)
    assert vectors(encoder, pieces).isfinite().all()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"pooling_mode_mean_tokens": True}, (256, True, True)),
        ({"pooling_mode_cls_token": True}, (256, False, True)),
        ({"pooling_mode": "cls"}, (256, False, True)),
        ({"pooling_mode_max_tokens": True}, None),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}, None),
    ],
)
def test_pooling_is_read_from_the_model(
    settings: dict[str, object], expected: object, minilm: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(minilm, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    assert read_pooling(folder) == expected


def test_other_kinds_of_model_are_handed_to_sentence_transformers(minilm: Path, tmp_path: Path) -> None:
    peer = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    folder = tmp_path / "model"
    shutil.copytree(minilm, folder)
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps(
            {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": True}
        )
    )
    theirs = peer.SentenceTransformer(str(folder), device="cpu").encode(PIECES, convert_to_tensor=True)
    ours = vectors(SentenceEncoder(folder, device="cpu"), PIECES)
    torch.testing.assert_close(ours, theirs.clone(), rtol=0, atol=2e-6)
