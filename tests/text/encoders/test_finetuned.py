"""A model or an adapter that learns starts as the frozen model, learns, and comes back from its folder."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import whymatch as wm
from whymatch.learning import Adapter, FineTuned, InContext
from whymatch.text.document import joined
from whymatch.text.encoders.adapter import Base, adapter_weights, write_adapter
from whymatch.text.encoders.models import MINILM, locate
from whymatch.text.encoders.tuning import TunedEncoder

TEXT = joined(["the cat sat on the mat", "it is very cold today " * 30, "a dog"])
PAIR = joined(TEXT.pieces[:1]), joined(TEXT.pieces[2:])
CLOSE: Any = {"rtol": 1.3e-6, "atol": 1e-5}
kinds = pytest.mark.parametrize(
    "adapter", [None, Adapter(4), Adapter(2, 1)], ids=["all weights", "rank 4", "one layer"]
)


def encoded(encoder: TunedEncoder | wm.SentenceEncoder) -> np.ndarray:
    return encoder.encode([TEXT.text], [TEXT.spans])[0]


def trained(encoder: TunedEncoder, steps: int = 5) -> wm.Ranker:
    """A ranker that has learned that the texts of a pair are similar."""
    model = wm.Ranker(wm.Aligner("line", encoder), wm.Exactly(1))
    rate = 1e-3 if encoder.adapter is None else 1e-2
    optimiser = torch.optim.Adam([weight for weight in model.parameters() if weight.requires_grad], lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        torch.autograd.backward(-model([PAIR]).score.sum())
        optimiser.step()
    return model.eval()


@kinds
def test_untrained_it_encodes_as_the_frozen_model(adapter: Adapter | None, roberta: Path) -> None:
    tuned = FineTuned(roberta, adapter=adapter, device="cpu")
    frozen = wm.SentenceEncoder(roberta, backend="openvino float32")
    for encoder in (tuned.train(), tuned.eval()):
        np.testing.assert_allclose(encoded(encoder), encoded(frozen), **CLOSE)


@kinds
def test_learning_changes_its_own_weights_and_nobody_elses(
    adapter: Adapter | None, roberta: Path, tmp_path: Path
) -> None:
    frozen = wm.SentenceEncoder(roberta, device="cpu")
    before = encoded(frozen)
    start = trained(FineTuned(roberta, adapter=adapter, device="cpu"), steps=0)([PAIR]).score.item()
    model = trained(FineTuned(roberta, adapter=adapter, device="cpu"))
    learned = model([PAIR]).score.item()
    assert learned > start + 1e-3
    assert np.array_equal(encoded(frozen), before)

    model.save_pretrained(tmp_path)
    assert wm.Ranker.from_pretrained(tmp_path)([PAIR]).score.item() == pytest.approx(learned, abs=1e-6)
    assert not [file for file in tmp_path.rglob("*") if file.suffix in (".bin", ".pt", ".pkl")]


@kinds
def test_exported_it_is_a_model_that_others_read(adapter: Adapter | None, roberta: Path, tmp_path: Path) -> None:
    """Those of an adapter have it merged into their weights."""
    model = trained(FineTuned(roberta, adapter=adapter, device="cpu"))
    assert isinstance(model.encoder, FineTuned)
    expected = encoded(model.encoder)
    model.encoder.export(tmp_path)
    np.testing.assert_allclose(encoded(wm.SentenceEncoder(tmp_path, backend="openvino float32")), expected, **CLOSE)
    again = FineTuned(tmp_path, device="cpu")
    assert again.adapter is None
    np.testing.assert_allclose(encoded(again), expected, **CLOSE)
    left, _ = PAIR
    peer = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    theirs = peer.SentenceTransformer(str(tmp_path), device="cpu").encode(left.pieces)
    np.testing.assert_allclose(model.encoder.encode([left.text], [left.spans])[0], theirs, **CLOSE)


@pytest.mark.parametrize("context", ["none", "text", "both"])
def test_the_folder_of_an_adapter_over_a_named_model_holds_the_adapter_alone(
    context: str, minilm: Path, tmp_path: Path
) -> None:
    encoder: TunedEncoder = FineTuned(adapter=Adapter(8), device="cpu")
    if context != "none":
        encoder = InContext(adapter=Adapter(8), jointly=context == "both", device="cpu")
    model = trained(encoder, steps=1)
    model.save_pretrained(tmp_path)
    assert sorted(file.name for file in (tmp_path / "encoder").rglob("*")) == ["adapter.safetensors"]
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 1.5e6
    again: Any = wm.Ranker.from_pretrained(tmp_path)
    assert (again.encoder.adapter, again.encoder.base) == (Adapter(8), encoder.base)
    assert again.encoder.name == encoder.name
    assert encoder.name.startswith(f"{MINILM}, adapter of rank 8")
    assert again([PAIR]).score.item() == pytest.approx(model([PAIR]).score.item(), abs=1e-6)
    state, expected = again.state_dict(), model.state_dict()
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[name].cpu(), expected[name]) for name in expected)


@pytest.fixture
def on_hub(roberta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small model under a name, as one that was downloaded: its folder, which tests may change."""
    folder = tmp_path / "hub" / "model"
    shutil.copytree(roberta, folder)

    def located(model: str | Path, *, download: bool = False) -> Path:
        return folder if model == "some/model" and folder.is_dir() else locate(model, download=download)

    monkeypatch.setattr("whymatch.text.encoders.tuning.locate", located)
    return folder


def test_a_base_that_is_missing_or_another_is_an_error_that_says_which(on_hub: Path, tmp_path: Path) -> None:
    model = trained(FineTuned("some/model", adapter=Adapter(2), device="cpu"))
    model.save_pretrained(tmp_path / "saved")
    assert wm.Ranker.from_pretrained(tmp_path / "saved")([PAIR]).score.item() == pytest.approx(
        model([PAIR]).score.item(), abs=1e-6
    )
    whole = FineTuned("some/model", device="cpu")
    with torch.no_grad():
        whole.model.embeddings.word_embeddings.weight.mul_(1.01)
    whole.export(on_hub)
    with pytest.raises(ValueError, match=r"trained over some/model with weights of the SHA-256 \w{64}, and those in"):
        wm.Ranker.from_pretrained(tmp_path / "saved")
    shutil.rmtree(on_hub)
    with pytest.raises(ValueError, match=r"needs its base, some/model\. The model some/model is not on this machine"):
        wm.Ranker.from_pretrained(tmp_path / "saved")


@pytest.mark.parametrize("name", ["/etc", "../model", "~/model", "", "a/b/c"])
def test_a_base_that_is_not_in_the_folder_is_named_and_no_path(name: str, roberta: Path, tmp_path: Path) -> None:
    encoder = FineTuned(roberta, adapter=Adapter(2), device="cpu")
    write_adapter(encoder.model, Adapter(2), Base(name, "0" * 64), tmp_path / "adapter.safetensors")
    with pytest.raises(ValueError, match="is no name of a model on the hub"):
        FineTuned(tmp_path)


def test_a_base_that_was_given_by_its_folder_is_saved_with_the_adapter(roberta: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    shutil.copytree(roberta, own)
    model = trained(FineTuned(own, adapter=Adapter(2), device="cpu"))
    expected = model([PAIR]).score.item()
    model.save_pretrained(tmp_path / "saved")
    weights = (own / "model.safetensors").read_bytes()
    (own / "model.safetensors").write_bytes(weights[:-4] + b"\0\0\0\1")
    with pytest.raises(ValueError, match=f"trained over own .* those in {own} have"):
        model.save_pretrained(tmp_path / "late")
    shutil.rmtree(own)
    again: Any = wm.Ranker.from_pretrained(tmp_path / "saved")
    assert again([PAIR]).score.item() == pytest.approx(expected, abs=1e-6)
    assert again.encoder.base.name == "own"


def test_a_folder_never_mixes_two_models(on_hub: Path, roberta: Path, tmp_path: Path) -> None:
    """Whatever was saved there before: an adapter with its base, one without, or a whole model."""
    encoders = [
        FineTuned(roberta, adapter=Adapter(2), device="cpu"),
        FineTuned("some/model", adapter=Adapter(3), device="cpu"),
        FineTuned(roberta, device="cpu"),
        FineTuned("some/model", adapter=Adapter(1), device="cpu"),
    ]
    for encoder in encoders:
        model = trained(encoder, steps=2)
        model.save_pretrained(tmp_path / "saved")
        again: Any = wm.Ranker.from_pretrained(tmp_path / "saved")
        assert again.encoder.adapter == encoder.adapter
        assert again.encoder.name == encoder.name
        assert again([PAIR]).score.item() == pytest.approx(model([PAIR]).score.item(), abs=1e-6)


def test_training_goes_on_from_an_adapter(roberta: Path, tmp_path: Path) -> None:
    model = trained(FineTuned(roberta, adapter=Adapter(2), device="cpu"))
    assert isinstance(model.encoder, FineTuned)
    model.encoder.write(tmp_path)
    again = FineTuned(tmp_path, adapter=Adapter(2), device="cpu")
    np.testing.assert_array_equal(encoded(again), encoded(model.encoder))
    before = {name: weight.clone() for name, weight in adapter_weights(again.model).items()}
    assert trained(again)([PAIR]).score.item() > model([PAIR]).score.item()
    assert not any(torch.equal(weight, before[name]) for name, weight in adapter_weights(again.model).items())
    with pytest.raises(ValueError, match=r"is an Adapter\(rank=2, .*\), and an Adapter\(rank=3, .*\) was asked for"):
        FineTuned(tmp_path, adapter=Adapter(3), device="cpu")
