"""Where models come from: what is given, what is installed, and nothing from the network unasked."""

import json
import shutil
import socket
import sys
from pathlib import Path

import pytest

from whymatch.text.encoders import models
from whymatch.text.encoders.models import BUNDLE, MINILM, load, locate
from whymatch.text.encoders.word import WordEncoder
from whymatch.text.spans import words


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No sockets, and an empty cache."""

    def refuse(*arguments: object, **settings: object) -> None:
        raise AssertionError("a network call that nobody asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))


def test_a_folder_is_taken_as_it_is(minilm: Path, no_network: None) -> None:
    assert locate(minilm) == minilm


def test_the_bundled_model_is_found_without_running_its_package(minilm: Path, no_network: None) -> None:
    assert locate(MINILM) == minilm
    assert BUNDLE not in sys.modules


@pytest.mark.usefixtures("no_network")
def test_a_model_that_is_nowhere_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "bundle", lambda: None)
    with pytest.raises(ValueError, match=r"not on this machine.*whymatch\[bundled\].*download=True"):
        locate(MINILM)
    with pytest.raises(ValueError, match=r"some/model is not on this machine\. Give the path"):
        locate("some/model")
    with pytest.raises(ValueError, match=r"no config\.json"):
        locate(tmp_path)
    with pytest.raises(ValueError, match="is not on this machine"):
        locate("no such thing: at all")


def test_other_weights_in_the_bundle_are_refused(minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / BUNDLE
    shutil.copytree(minilm, package / "model")
    (package / "__init__.py").touch()
    with (package / "model" / "model.safetensors").open("r+b") as file:
        file.seek(10**6)
        file.write(b"x")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match="SHA-256"):
        locate(MINILM)


def test_the_local_cache_is_read(roberta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = tmp_path / "models--some--model" / "snapshots" / "abc"
    shutil.copytree(roberta, snapshot)
    refs = snapshot.parent.parent / "refs"
    refs.mkdir()
    (refs / "main").write_text("abc")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert locate("some/model") == snapshot


def test_pickled_weights_are_not_loaded(roberta: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(roberta, folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(folder)


def test_a_damaged_model_is_an_error_in_words(roberta: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(roberta, folder)
    (folder / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(folder)


def test_code_in_a_folder_is_not_run(roberta: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(roberta, folder)
    trap = tmp_path / "it_ran"
    (folder / "own.py").write_text(f"open({str(trap)!r}, 'w').close()\n")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(folder)
    assert not trap.exists()


def test_models_that_count_places_from_after_padding_take_long_texts(roberta: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, MPNetConfig, MPNetModel

    tokenizer = AutoTokenizer.from_pretrained(roberta, model_max_length=10**30)
    tokenizer.save_pretrained(tmp_path)
    config = MPNetConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=40,
        pad_token_id=1,
    )
    MPNetModel(config).save_pretrained(tmp_path)  # type: ignore[no-untyped-call]
    network = load(tmp_path)
    assert network.room == 38
    text = "the cat sat on the mat " * 40
    found = WordEncoder(tmp_path).encode([text], [words(text)])[0]
    assert len(found) == 240
    assert found.isfinite().all()
