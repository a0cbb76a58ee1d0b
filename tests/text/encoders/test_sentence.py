"""Sentence vectors are those of sentence-transformers, whatever stands beside a sentence."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from whymatch.text.document import joined
from whymatch.text.encoders.modules import read_pooling
from whymatch.text.encoders.sentence import SentenceEncoder, pooled
from whymatch.text.encoders.tuned import FineTuned

PIECES = ["A cat sat on the mat.", "Quantum chromodynamics!", "é", "👩\u200d👧 ok?", "the " * 150, "שלום עולם", "a cat"]


def vectors(encoder: SentenceEncoder, pieces: list[str]) -> torch.Tensor:
    document = joined(pieces)
    return torch.from_numpy(encoder.encode([document.text], [document.spans])[0])


@pytest.fixture(scope="module", params=["openvino float32", "torch"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def encoder(backend: str, minilm: Path) -> SentenceEncoder:
    return SentenceEncoder(minilm, backend=backend)


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
    ("settings", "by_mean"),
    [
        ({"pooling_mode_mean_tokens": True}, True),
        ({"pooling_mode_cls_token": True}, False),
        ({"pooling_mode": "cls"}, False),
        ({"pooling_mode": ["mean"]}, True),
        ({}, True),
        ({"pooling_mode_max_tokens": True}, None),
        ({"pooling_mode": ["mean", "max"]}, None),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}, None),
    ],
    ids=str,
)
def test_pooling_is_read_from_the_model(
    settings: dict[str, object], by_mean: bool | None, minilm: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(minilm, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    if by_mean is None:
        with pytest.raises(ValueError, match=r"it pools by .*Only Transformer, Pooling"):
            read_pooling(folder)
    else:
        pooling = read_pooling(folder)
        assert (pooling.room, pooling.by_mean, pooling.unit, pooling.learned) == (256, by_mean, True, False)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}, "prompt before every text"),
        ("sentence_bert_config.json", {"do_lower_case": True}, "lower-cased"),
        ("sentence_bert_config.json", {"max_seq_length": 3}, "must be 4 or more"),
        ("2_Normalize/config.json", {"module_input_name": "token_embeddings"}, "Normalize has module_input_name"),
    ],
)
def test_what_would_change_vectors_is_refused(
    name: str, settings: dict[str, object], message: str, minilm: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(minilm, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "2_Normalize").mkdir()
    (folder / name).write_text(json.dumps(settings))
    with pytest.raises(ValueError, match=message):
        read_pooling(folder)


@pytest.fixture
def layered(roberta: Path, tmp_path: Path) -> Callable[..., Path]:
    """Writes a model with Dense layers, given as activation, input and output sizes and bias."""

    def written(*layers: tuple[nn.Module | None, int, int, bool], unit: bool) -> Path:
        folder = tmp_path / "model"
        shutil.copytree(roberta, folder)
        kinds = ["Transformer", "Pooling", *["Dense"] * len(layers), *["Normalize"] * unit]
        places = ["", *(f"{number}_{kind}" for number, kind in enumerate(kinds[1:], start=1))]
        modules = [
            {"idx": i, "name": str(i), "path": place, "type": f"sentence_transformers.models.{kind}"}
            for i, (kind, place) in enumerate(zip(kinds, places, strict=True))
        ]
        (folder / "modules.json").write_text(json.dumps(modules))
        (folder / "1_Pooling").mkdir()
        settings = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
        generator = torch.Generator().manual_seed(0)
        for place, (activation, size_in, size_out, bias) in zip(places[2:], layers, strict=False):
            (folder / place).mkdir()
            described: dict[str, object] = {"in_features": size_in, "out_features": size_out, "bias": bias}
            if activation is not None:
                kind = type(activation)
                described["activation_function"] = f"{kind.__module__}.{kind.__name__}"
            (folder / place / "config.json").write_text(json.dumps(described))
            weights = {"linear.weight": torch.randn(size_out, size_in, generator=generator)}
            weights |= {"linear.bias": torch.randn(size_out, generator=generator)} if bias else {}
            save_file(weights, folder / place / "model.safetensors")
        return folder

    return written


PIECES_OF_ROBERTA = ["the cat sat", "it is very cold today", "a dog ran away and away", "mat"]


@pytest.mark.parametrize("activation", [nn.Tanh(), nn.Identity(), nn.ReLU(), nn.GELU(), nn.Sigmoid(), None], ids=str)
@pytest.mark.parametrize("unit", [True, False])
def test_dense_layers_are_those_of_the_formula(
    activation: nn.Module | None, unit: bool, layered: Callable[..., Path], roberta: Path, backend: str
) -> None:
    folder = layered((activation, 32, 12, True), (nn.Identity(), 12, 5, False), unit=unit)
    encoder = SentenceEncoder(folder, backend=backend)
    ours, first, second = (
        vectors(encoder, PIECES_OF_ROBERTA),
        *(load_file(folder / place / "model.safetensors") for place in ("2_Dense", "3_Dense")),
    )
    mean = replace(read_pooling(roberta), layers=())
    with torch.no_grad():
        pooled_tokens = torch.as_tensor(pooled(encoder.network, PIECES_OF_ROBERTA, mean))
    hidden = (activation or nn.Tanh())(pooled_tokens @ first["linear.weight"].T + first["linear.bias"])
    expected = hidden @ second["linear.weight"].T
    expected = expected / expected.norm(dim=1, keepdim=True) if unit else expected
    torch.testing.assert_close(ours, expected)
    assert encoder.size == ours.shape[1] == 5
    assert encoder.encode(["", "x"], [[], []])[0].shape == (0, 5)


def test_vectors_after_dense_layers_equal_those_of_sentence_transformers(
    layered: Callable[..., Path], backend: str
) -> None:
    peer = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    folder = layered((nn.GELU(), 32, 12, True), (None, 12, 5, False), unit=True)
    theirs = peer.SentenceTransformer(str(folder), device="cpu").encode(PIECES_OF_ROBERTA, convert_to_tensor=True)
    ours = vectors(SentenceEncoder(folder, backend=backend), PIECES_OF_ROBERTA)
    torch.testing.assert_close(ours, theirs.clone(), rtol=0, atol=2e-6)


def test_a_model_that_sentence_transformers_wrote_is_read(roberta: Path, tmp_path: Path, backend: str) -> None:
    peer = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    kinds = peer.models
    transformer = kinds.Transformer(str(roberta))
    modules = [
        transformer,
        kinds.Pooling(32, "cls"),
        kinds.Dense(32, 7, activation_function=nn.ReLU()),
        kinds.Normalize(),
    ]
    model = peer.SentenceTransformer(modules=modules, device="cpu")
    model.save(str(tmp_path / "model"))
    ours = vectors(SentenceEncoder(tmp_path / "model", backend=backend), PIECES_OF_ROBERTA)
    theirs = model.encode(PIECES_OF_ROBERTA, convert_to_tensor=True)
    torch.testing.assert_close(ours, theirs.clone(), rtol=0, atol=2e-6)


def test_dense_layers_are_not_trained(layered: Callable[..., Path]) -> None:
    folder = layered((None, 32, 12, True), unit=False)
    with pytest.raises(ValueError, match="has a Dense layer, which is not trained"):
        FineTuned(folder, device="cpu")
