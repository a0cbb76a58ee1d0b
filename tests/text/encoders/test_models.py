"""Where models come from: what is given, what is installed, and nothing from the network unasked."""

import shutil
import socket
import sys
from pathlib import Path

import pytest

from whymatch.text.encoders import models
from whymatch.text.encoders.models import BUNDLE, MINILM, load, locate


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
