"""The folder of a model is data: whatever lies in it, no code runs, and no pickle or outside file is opened."""

import json
import pickle
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from whymatch.text.document import joined
from whymatch.text.encoders.backends import load_frozen
from whymatch.text.encoders.context import WordEncoder
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.encoders.tuned import FineTuned, InContext

TEXT = joined(["the cat sat on the mat", "it is very cold today"])
PICKLES = [
    "pytorch_model.bin",
    "pytorch_model-00001-of-00001.bin",
    "adapter_model.bin",
    "training_args.bin",
    "optimizer.pt",
    "model.pth",
    "model.ckpt",
    "vocab.pkl",
    "vocab.bin",
    "tokenizer.pkl",
    ".metadata",
    "1_Pooling/pytorch_model.bin",
    "2_Dense/pytorch_model.bin",
]
TRANSFORMER = {"type": "sentence_transformers.models.Transformer", "path": ""}
POOLING = {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}
DENSE = {"type": "sentence_transformers.models.Dense", "path": "2_Dense"}
DENSE_SETTINGS = {"in_features": 32, "out_features": 8, "bias": True}
opened: list[str] = []


def note_opened(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str):
        opened.append(arguments[0])


sys.addaudithook(note_opened)


class Trap:
    """What leaves a mark when a pickle of it is opened."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return Path.touch, (self.mark,)


@pytest.fixture(params=[None, "torch"], ids=["OpenVINO first", "torch"])
def backend(request: pytest.FixtureRequest) -> str | None:
    """A folder is refused, or read, whichever library would compute."""
    value: str | None = request.param
    return value


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """What exists once code of the folder has run."""
    return tmp_path / "mark"


@pytest.fixture
def folder(roberta: Path, tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A model with a pickle wherever a loader could look for one, and with code; sockets are out of reach."""
    folder = tmp_path / "model"
    shutil.copytree(roberta, folder)
    (folder / "1_Pooling").mkdir()
    write(folder, "1_Pooling/config.json", {"pooling_mode_mean_tokens": True})
    (folder / "2_Dense").mkdir()
    write(folder, "modules.json", [TRANSFORMER, POOLING])
    for name in PICKLES:
        (folder / name).write_bytes(pickle.dumps(Trap(mark)))
    (folder / "own.py").write_text(f"import pathlib\npathlib.Path({str(mark)!r}).touch()\nclass Module: pass\n")
    (tmp_path / "outside").mkdir()
    shutil.copytree(folder / "1_Pooling", tmp_path / "outside" / "1_Pooling")

    def refuse(*arguments: object, **settings: object) -> None:
        raise AssertionError("a network call that nobody asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    opened.clear()
    yield folder
    assert not mark.exists()
    assert [path for path in opened if any(path == str(folder / name) for name in PICKLES)] == []


def write(folder: Path, name: str, values: object) -> None:
    (folder / name).write_text(json.dumps(values))


def change(folder: Path, name: str, **settings: object) -> None:
    file = folder / name
    write(folder, name, {**(json.loads(file.read_text()) if file.exists() else {}), **settings})


def test_the_traps_work(folder: Path, mark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (folder / "pytorch_model.bin").open("rb") as file:
        pickle.load(file)
    assert mark.exists()
    assert str(folder / "pytorch_model.bin") in opened
    mark.unlink()
    monkeypatch.syspath_prepend(str(folder))
    __import__("own")
    assert mark.exists()
    mark.unlink()
    opened.clear()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("config.json", {"auto_map": {"AutoConfig": "own.Module", "AutoModel": "own.Module"}}),
        ("config.json", {"transformers_weights": "adapter_model.bin"}),
        ("config.json", {"_attn_implementation": "someone/kernel"}),
        ("config.json", {"attn_implementation": "kernels-community/flash-attn"}),
        ("config.json", {"experts_implementation": "someone/kernel"}),
        ("config.json", {"dtype": "float16"}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["own.Module", "own.Module"]}}),
        ("tokenizer_config.json", {"tokenizer_class": "OwnTokenizer"}),
        ("tokenizer_config.json", {"vocab_file": "/etc/hostname", "tokenizer_file": "../outside/tokenizer.json"}),
        ("tokenizer_config.json", {"init_inputs": ["/etc/hostname"]}),
        ("tokenizer_config.json", {"fast_tokenizer_files": ["tokenizer.4.0.0.json", "../x"]}),
        ("special_tokens_map.json", {"vocab_file": "/etc/hostname", "tokenizer_file": "/etc/hostname"}),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "kind",
    [
        SentenceEncoder,
        WordEncoder,
        partial(SentenceEncoder, backend="torch"),
        partial(WordEncoder, backend="torch"),
        FineTuned,
        InContext,
    ],
)
def test_settings_that_choose_code_or_files_change_nothing(
    kind: type[SentenceEncoder], name: str, settings: dict[str, object], folder: Path
) -> None:
    expected = kind(folder, device="cpu").encode([TEXT.text], [TEXT.spans])[0]
    change(folder, name, **settings)
    vectors = kind(folder, device="cpu").encode([TEXT.text], [TEXT.spans])[0]
    assert np.array_equal(vectors, expected)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("config.json", {"model_type": "own", "auto_map": {"AutoConfig": "own.Module"}}, "own"),
        ("config.json", {"quantization_config": {"quant_method": "gptq", "bits": 4}}, "quantised.*full precision"),
        ("config.json", {"tokenizer_class": "AutoModel"}, "AutoModel.*fast tokenizer"),
        ("config.json", {"model_type": "timm_wrapper", "architecture": "hf-hub:someone/model"}, "cannot be loaded"),
        ("config.json", {"model_type": "detr"}, "cannot be loaded"),
        ("adapter_config.json", {"peft_type": "LORA", "base_model_name_or_path": "someone/model"}, "adapter.*Merge"),
        ("tokenizer_config.json", {"tokenizer_class": "AutoModel"}, "AutoModel.*fast tokenizer"),
        ("tokenizer_config.json", {"tokenizer_class": "RagRetriever"}, "RagRetriever.*fast tokenizer"),
        ("tokenizer_config.json", {"tokenizer_class": "BertJapaneseTokenizer"}, "Japanese.*fast tokenizer"),
        ("tokenizer_config.json", {"tokenizer_class": ["own"]}, "must be a name"),
    ],
    ids=str,
)
def test_what_takes_other_code_is_refused(
    name: str, settings: dict[str, object], message: str, folder: Path, backend: str | None
) -> None:
    change(folder, name, **settings)
    with pytest.raises(ValueError, match=message) as raised:
        load_frozen(folder, "cpu", backend)
    assert str(folder) in str(raised.value)


@pytest.mark.parametrize(
    "kind",
    [
        "own.Module",
        "own.Transformer",
        "os.system",
        "sentence_transformers.models.WordEmbeddings",
        "sentence_transformers.models.LSTM",
        "sentence_transformers_evil.Dense",
        None,
        3,
    ],
)
@pytest.mark.parametrize("encoder", [SentenceEncoder, FineTuned])
def test_unknown_modules_are_refused_by_name(encoder: type[SentenceEncoder], kind: object, folder: Path) -> None:
    write(folder, "modules.json", [TRANSFORMER, POOLING, {"type": kind, "path": "2_Dense"}])
    with pytest.raises(ValueError, match=r"Only Transformer, Pooling.*Dense and Normalize are loaded") as raised:
        encoder(folder, device="cpu")
    assert str(kind) in str(raised.value)
    assert str(folder) in str(raised.value)


@pytest.mark.parametrize("modules", [[], [POOLING], [TRANSFORMER], [POOLING, TRANSFORMER], [TRANSFORMER, POOLING] * 2])
def test_modules_in_another_order_are_refused(modules: list[dict[str, str]], folder: Path, backend: str | None) -> None:
    write(folder, "modules.json", modules)
    with pytest.raises(ValueError, match="must list a Transformer"):
        SentenceEncoder(folder, device="cpu", backend=backend)


@pytest.mark.parametrize("path", ["../outside/1_Pooling", "{outside}/1_Pooling", "link", "link/../..", "a\0b", 3, None])
def test_paths_of_modules_stay_inside(path: object, folder: Path, backend: str | None) -> None:
    outside = folder.parent / "outside"
    (folder / "link").symlink_to(outside / "1_Pooling")
    path = path.format(outside=outside) if isinstance(path, str) else path
    write(folder, "modules.json", [TRANSFORMER, {**POOLING, "path": path}])
    with pytest.raises(ValueError, match=r"leads out of|no name of a file|give every module a path"):
        SentenceEncoder(folder, device="cpu", backend=backend)


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "model.safetensors", "modules.json", "1_Pooling/config.json"]
)
def test_links_that_lead_out_are_refused(name: str, folder: Path, backend: str | None) -> None:
    moved = folder.parent / "outside" / "moved"
    (folder / name).rename(moved)
    (folder / name).symlink_to(moved)
    with pytest.raises(ValueError, match="leads out of"):
        SentenceEncoder(folder, device="cpu", backend=backend)


def test_links_of_the_hubs_cache_are_followed(folder: Path, tmp_path: Path, backend: str | None) -> None:
    """As the cache has them: snapshots/REVISION/NAME is a link to blobs/HASH."""
    blobs, snapshot = tmp_path / "models--a--b" / "blobs", tmp_path / "models--a--b" / "snapshots" / "123"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, name in enumerate([path.relative_to(folder) for path in folder.rglob("*.*") if path.suffix == ".json"]):
        (blobs / str(number)).write_bytes((folder / name).read_bytes())
        (snapshot / name).parent.mkdir(exist_ok=True)
        (snapshot / name).symlink_to(blobs / str(number))
    shutil.copyfile(folder / "model.safetensors", blobs / "weights")
    (snapshot / "model.safetensors").symlink_to(blobs / "weights")
    vectors, expected = (
        SentenceEncoder(source, device="cpu", backend=backend).encode([TEXT.text], [TEXT.spans])
        for source in (snapshot, folder)
    )
    assert np.array_equal(vectors[0], expected[0])
    (snapshot / "vocab.txt").symlink_to(folder.parent / "outside" / "1_Pooling" / "config.json")
    with pytest.raises(ValueError, match="leads out of"):
        SentenceEncoder(snapshot, device="cpu", backend=backend)


@pytest.mark.parametrize(
    "activation", ["own.Module", "os.system", "torch.load", "torch.nn.modules.linear.Bilinear", "Tanh", 3, None]
)
def test_activations_that_are_not_known_are_refused_by_name(
    activation: object, folder: Path, backend: str | None
) -> None:
    write(folder, "modules.json", [TRANSFORMER, POOLING, DENSE])
    write(folder, "2_Dense/config.json", {**DENSE_SETTINGS, "activation_function": activation})
    save_file(
        {"linear.weight": torch.zeros(8, 32), "linear.bias": torch.zeros(8)}, folder / "2_Dense/model.safetensors"
    )
    with pytest.raises(ValueError, match=r"the activation .*known are GELU, ReLU, Sigmoid, Tanh, Identity") as raised:
        SentenceEncoder(folder, device="cpu", backend=backend)
    assert repr(activation) in str(raised.value)


def test_dense_weights_in_a_pickle_are_refused(folder: Path, backend: str | None) -> None:
    write(folder, "modules.json", [TRANSFORMER, POOLING, DENSE])
    write(folder, "2_Dense/config.json", DENSE_SETTINGS)
    with pytest.raises(ValueError, match=r"2_Dense has no model\.safetensors.*never opened.*save the model again"):
        SentenceEncoder(folder, device="cpu", backend=backend)


@pytest.mark.parametrize(
    "weights",
    [
        {"linear.weight": torch.zeros(8, 31), "linear.bias": torch.zeros(8)},
        {"linear.weight": torch.zeros(8, 32)},
        {"linear.weight": torch.zeros(8, 32), "linear.bias": torch.zeros(8), "more": torch.zeros(1)},
        {"linear.bias": torch.zeros(8)},
    ],
    ids=lambda weights: " ".join(f"{name}{tuple(tensor.shape)}" for name, tensor in weights.items()),
)
def test_dense_weights_that_do_not_fit_are_refused(
    weights: dict[str, torch.Tensor], folder: Path, backend: str | None
) -> None:
    write(folder, "modules.json", [TRANSFORMER, POOLING, DENSE])
    write(folder, "2_Dense/config.json", DENSE_SETTINGS)
    save_file(weights, folder / "2_Dense/model.safetensors")
    with pytest.raises(ValueError, match="cannot be loaded"):
        SentenceEncoder(folder, device="cpu", backend=backend)


def test_weights_in_a_pickle_alone_are_refused(folder: Path, backend: str | None) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"no model\.safetensors in it.*never opened.*convert it"):
        load_frozen(folder, "cpu", backend)


@pytest.mark.parametrize("shard", ["../outside/model.safetensors", "{outside}/model.safetensors", "pytorch_model.bin"])
def test_shards_outside_or_pickled_are_refused(shard: str, folder: Path, backend: str | None) -> None:
    outside = folder.parent / "outside"
    (folder / "model.safetensors").rename(outside / "model.safetensors")
    names = load_file(outside / "model.safetensors")
    write(folder, "model.safetensors.index.json", {"weight_map": dict.fromkeys(names, shard.format(outside=outside))})
    with pytest.raises(ValueError, match=r"leads out of|no safetensors file"):
        load_frozen(folder, "cpu", backend)


def test_weights_in_several_files_are_read_together(folder: Path, backend: str | None) -> None:
    expected = WordEncoder(folder, device="cpu", backend=backend).encode([TEXT.text], [TEXT.spans])[0]
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    half = {name: f"model-0000{1 + number % 2}-of-00002.safetensors" for number, name in enumerate(tensors)}
    for shard in set(half.values()):
        save_file({name: tensors[name] for name in tensors if half[name] == shard}, folder / shard)
    write(folder, "model.safetensors.index.json", {"metadata": {}, "weight_map": half})
    assert np.array_equal(
        WordEncoder(folder, device="cpu", backend=backend).encode([TEXT.text], [TEXT.spans])[0], expected
    )


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "modules.json", "1_Pooling/config.json"])
@pytest.mark.parametrize(
    "content", ["", "[" * 100_000, "3", "[3]", "null", '"\\ud800"', "\xff"], ids=lambda text: text[:8]
)
def test_damaged_settings_are_refused_in_words(name: str, content: str, folder: Path, backend: str | None) -> None:
    (folder / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=r"model cannot be loaded: .*json"):
        SentenceEncoder(folder, device="cpu", backend=backend)
