"""Vectors on OpenVINO are those on torch, for every family and every text, and depend on nothing else in a batch."""

import copy
import json
import pickle
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

from tests.text.encoders.families import FAMILIES, LETTERS, WORDS
from whymatch.text.encoders import backends
from whymatch.text.encoders.architecture import buckets
from whymatch.text.encoders.backends import load_frozen
from whymatch.text.encoders.compiled import CompiledNetwork, load_compiled, native_precision
from whymatch.text.encoders.context import WordEncoder
from whymatch.text.encoders.folders import read_weights
from whymatch.text.encoders.graph import build_graph
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.encoders.windows import WindowNetwork, mean_rows, ranges, summed_rows
from whymatch.text.spans import whole, words

COSINE = {"bfloat16": 0.9995, "float32": 0.99999}
HOSTILE = [
    "",
    " \t\n",
    "\x00\x01\x1f",
    "\u200b\u202e\ufeff",
    "😀👩\u200d👧 é\u0301 ok?",
    "漢字 カタカナ",
    "שלום עולم",
    "วันนี้",
    "the cat sat on the mat " * 200,
    "a" * 700,
    "." * 300,
    "[CLS] <s> </s> [SEP] <pad> [PAD] a <pad>b<mask> [MASK] <unk> [UNK]",
    "<pad><pad><pad>",
    "The CAT, Ünbelievable! 3.14",
    "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}stanbul ß ﬁ",
]
LONG = st.lists(
    st.sampled_from([*WORDS, *LETTERS, "<pad>", "[PAD]", "漢字", "😀", "zzz"]), min_size=60, max_size=400
).map(" ".join)
"""Longer than the window of any family here."""
TEXTS = st.lists(
    st.one_of(
        st.text(max_size=40),
        st.lists(st.sampled_from([*WORDS, *LETTERS, "<pad>", "[PAD]"]), max_size=90).map(" ".join),
    ),
    min_size=1,
    max_size=4,
)


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("family")
    FAMILIES[request.param](path)
    return path


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bert")
    FAMILIES["bert"](path)
    return path


def windows_of(network: WindowNetwork, texts: list[str]) -> list[list[int]]:
    """Each text in windows, as encoders cut it."""
    return [
        network.window(tokens.ids[start : start + network.fits])
        for tokens in network.tokens(texts)
        for start in range(0, max(len(tokens), 1), network.fits)
    ]


def states(network: WindowNetwork, windows: list[list[int]], layer: int | None) -> list[np.ndarray]:
    """(tokens, size) for each window."""
    with network.frozen():
        rows, first_rows = network.read(windows, layer)
    return [np.asarray(rows[first : first + len(window)]) for first, window in zip(first_rows, windows, strict=True)]


def least_cosine(ours: np.ndarray, theirs: np.ndarray) -> float:
    norms = np.linalg.norm(ours, axis=-1) * np.linalg.norm(theirs, axis=-1)
    cosines = np.where(norms > 0, (ours * theirs).sum(axis=-1) / np.where(norms > 0, norms, 1), 1.0)
    return float(cosines.min(initial=1.0))


def test_tokens_are_those_of_transformers(folder: Path) -> None:
    compiled, torch_network = load_frozen(folder, "cpu", "openvino"), load_frozen(folder, "cpu", "torch")
    for ours, theirs in zip(compiled.tokens(HOSTILE), torch_network.tokens(HOSTILE), strict=True):
        assert ours.ids == theirs.ids
        assert ours.offsets == theirs.offsets
    for name in ("before", "after", "room", "fits", "size", "layers", "unknown_token"):
        assert getattr(compiled, name) == getattr(torch_network, name), name
    assert compiled.reads(HOSTILE) == torch_network.reads(HOSTILE)
    assert compiled.token_counts(HOSTILE) == torch_network.token_counts(HOSTILE)


@pytest.mark.parametrize("precision", COSINE)
def test_every_layer_of_hostile_texts_is_that_of_torch(precision: str, folder: Path) -> None:
    compiled, on_torch = load_compiled(folder, precision), load_frozen(folder, "cpu", "torch")
    windows = windows_of(compiled, HOSTILE)
    for layer in (*range(compiled.layers + 1), None):
        for ours, theirs in zip(states(compiled, windows, layer), states(on_torch, windows, layer), strict=True):
            assert ours.shape == theirs.shape
            assert least_cosine(ours, theirs) >= COSINE[precision]


@settings(max_examples=25)
@given(texts=TEXTS)
def test_vectors_of_any_texts_are_those_of_torch(folder: Path, texts: list[str]) -> None:
    spans = [whole(text) for text in texts]
    for precision, least in COSINE.items():
        for kind in (SentenceEncoder, WordEncoder):
            ours, theirs = (
                np.concatenate(kind(folder, backend=backend).encode(texts, spans))
                for backend in (f"openvino {precision}", "torch")
            )
            assert least_cosine(ours, theirs) >= least


@settings(max_examples=10)
@given(texts=st.lists(LONG, min_size=1, max_size=2), data=st.data())
def test_every_layer_of_any_long_texts_is_that_of_torch(folder: Path, texts: list[str], data: st.DataObject) -> None:
    on_torch = load_frozen(folder, "cpu", "torch")
    layer = data.draw(st.integers(0, on_torch.layers))
    windows = windows_of(on_torch, texts)
    expected = states(on_torch, windows, layer)
    for precision, least in COSINE.items():
        for ours, theirs in zip(states(load_compiled(folder, precision), windows, layer), expected, strict=True):
            assert least_cosine(ours, theirs) >= least
    spans = [words(text) for text in texts]
    for precision, least in COSINE.items():
        ours, theirs = (
            np.concatenate(WordEncoder(folder, layer=layer, backend=backend).encode(texts, spans))
            for backend in (f"openvino {precision}", "torch")
        )
        assert least_cosine(ours, theirs) >= least


@pytest.mark.parametrize("precision", COSINE)
def test_vectors_of_the_bundled_model_are_those_of_torch(precision: str, minilm: Path) -> None:
    spans = [whole(text) for text in HOSTILE]
    pairs = [
        (kind(minilm, backend=f"openvino {precision}", **layer), kind(minilm, backend="torch", **layer))
        for kind, layer in ((SentenceEncoder, {}), *((WordEncoder, {"layer": layer}) for layer in (0, 3, 6)))
    ]
    for encoders in pairs:
        ours, theirs = (np.concatenate(encoder.encode(HOSTILE, spans)) for encoder in encoders)
        assert least_cosine(ours, theirs) >= COSINE[precision]


@pytest.mark.parametrize("precision", COSINE)
@pytest.mark.parametrize("model", ["minilm", "bert"])
def test_a_window_is_the_same_to_the_bit_whatever_stands_beside_it(
    precision: str, model: str, request: pytest.FixtureRequest
) -> None:
    network = load_compiled(request.getfixturevalue(model), precision)
    windows = windows_of(network, [*HOSTILE, *(" ".join(WORDS[:count]) for count in range(1, 25))])
    together = states(network, windows, None)
    backwards = states(network, windows[::-1], None)[::-1]
    alone = [states(network, [window], None)[0] for window in windows]
    for first, second, third in zip(together, backwards, alone, strict=True):
        assert np.array_equal(first, second)
        assert np.array_equal(first, third)


def test_relative_distances_are_those_of_mpnet() -> None:
    place = torch.arange(514)
    untyped: Any = MPNetEncoder
    theirs = untyped.relative_position_bucket(place[None, :] - place[:, None], num_buckets=32)
    assert np.array_equal(buckets(514), theirs.numpy())


def test_layers_above_the_chosen_one_are_not_computed(folder: Path) -> None:
    network = load_compiled(folder)
    stored = read_weights(folder)
    names = network.architecture.stored_names({name: values.shape for name, values in stored.items()})
    weights = {name: stored[own] for name, own in names.items()}
    for layer in range(network.layers + 1):
        operations = build_graph(network.architecture, weights, layer).get_ops()
        assert [operation.get_type_name() for operation in operations].count("ScaledDotProductAttention") == layer
    assert WordEncoder(folder).layer == 1
    assert 1 in network._requests


def test_the_backend_says_what_computes(bert: Path) -> None:
    assert SentenceEncoder(bert).backend == f"openvino {native_precision()}"
    assert WordEncoder(bert, backend="openvino float32").backend == "openvino float32"
    assert SentenceEncoder(bert, backend="torch").backend == "torch float32"
    for backend in backends.BACKENDS:
        assert load_frozen(bert, "cpu", backend).backend.startswith(backend)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"backend": "onnx"}, r"no backend 'onnx'. Choose from openvino, openvino bfloat16"),
        ({"backend": "openvino", "device": "cuda"}, "OpenVINO computes on the CPU, and the device is 'cuda'"),
    ],
)
def test_a_backend_that_cannot_be_had_is_refused(arguments: dict[str, str], message: str, bert: Path) -> None:
    with pytest.raises(ValueError, match=message):
        SentenceEncoder(bert, **arguments)  # type: ignore[arg-type]


def test_a_gpu_that_torch_can_use_comes_first(
    bert: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(backends, "_load_on_torch", lambda folder, device: (folder, device))
    monkeypatch.setattr(backends, "_GPU_DEVICES", (str(tmp_path),))
    taken: list[Any] = [load_frozen(bert), load_frozen(bert, "cuda:1")]
    assert taken == [(bert, None), (bert, "cuda:1")]
    assert load_frozen(bert, "cpu").backend == f"openvino {native_precision()}"
    monkeypatch.setattr(backends, "_GPU_DEVICES", (str(tmp_path / "missing"),))
    assert load_frozen(bert).backend == f"openvino {native_precision()}"
    assert not caplog.records  # nobody has to be told


@pytest.fixture
def changed(bert: Path, tmp_path: Path) -> Any:
    """Writes a copy of the model with settings changed."""

    def written(name: str, **values: object) -> Path:
        target = tmp_path / "model"
        shutil.copytree(bert, target, dirs_exist_ok=True)
        content = json.loads((target / name).read_text()) if (target / name).exists() else {}
        (target / name).write_text(json.dumps(content | values))
        return target

    return written


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("config.json", {"model_type": "electra"}, "the type 'electra' are not of the BERT family"),
        ("config.json", {"hidden_act": "silu"}, "its activation is 'silu'"),
        ("config.json", {"is_decoder": True}, "config.json sets is_decoder"),
        ("tokenizer_config.json", {"do_lower_case": False}, r"tokenizer.json and the settings of its tokenizer differ"),
        ("tokenizer_config.json", {"unk_token": "[NEW]"}, r"settings of its tokenizer add the token '\[NEW\]'"),
        ("added_tokens.json", {"<new>": 200}, "add the token '<new>'"),
    ],
)
def test_other_models_run_on_torch_and_one_line_says_why(
    name: str, values: dict[str, object], reason: str, changed: Any, caplog: pytest.LogCaptureFixture
) -> None:
    folder = changed(name, **values)
    backends._say_once.cache_clear()
    if "electra" not in reason:  # whose weights have other names
        for _ in range(2):
            assert load_frozen(folder, "cpu").backend == "torch float32"
        (record,) = caplog.records
        assert record.name == "whymatch"
        assert "runs on torch, and not on OpenVINO" in record.getMessage()
    with pytest.raises(ValueError, match=f"does not run on OpenVINO: .*{reason}"):
        load_frozen(folder, "cpu", "openvino")


def test_without_openvino_torch_computes_and_one_line_says_so(
    bert: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    backends._say_once.cache_clear()
    monkeypatch.setattr(backends, "find_spec", lambda name: None if name == "openvino" else object())
    for _ in range(2):
        assert SentenceEncoder(bert, device="cpu").backend == "torch float32"
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "openvino is not installed (pip install openvino)."
    ]


WITHOUT = """
import sys
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name in {missing!r} else find(name, *rest)
import whymatch as wm
print(wm.SentenceEncoder({folder!r}, device="cpu").backend)
"""


def encoder_without(missing: set[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    """A process that loads a model where some packages are not installed."""
    code = WITHOUT.format(missing=missing, folder=str(folder))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_model_that_needs_torch_says_so_where_there_is_none(changed: Any) -> None:
    ran = encoder_without({"torch", "transformers"}, changed("config.json", hidden_act="silu"))
    assert "needs torch and transformers, since its activation is 'silu'; transformers is not installed" in ran.stderr
    assert "pip install 'whymatch[train]'" in ran.stderr


def test_without_openvino_a_process_says_so_in_one_line_and_goes_on(bert: Path) -> None:
    ran = encoder_without({"openvino"}, bert)
    assert ran.stdout == "torch float32\n"
    assert re.fullmatch(
        r"The model in .* runs on torch, and not on OpenVINO, which is faster: openvino is not installed .*\n",
        ran.stderr,
    )


def test_with_neither_openvino_nor_torch_the_error_says_what_to_install(bert: Path) -> None:
    ran = encoder_without({"openvino", "torch", "transformers"}, bert)
    assert ran.returncode == 1
    last = ran.stderr.splitlines()[-1]
    assert "needs torch and transformers, since openvino is not installed (pip install openvino)" in last
    assert "pip install 'whymatch[train]'" in last


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"hidden_size": 64}, r"weights are not those of its config.json: embeddings.* is \(\d+, 32\), and not"),
        ({"num_hidden_layers": 4}, "encoder.layer.3.* is missing"),
        ({"num_attention_heads": 5}, "a size of 32 cannot be shared by 5"),
        ({"hidden_size": -1}, "hidden_size -1, which must be a whole number"),
        ({"vocab_size": 10**6}, r"word_embeddings.weight is \(\d+, 32\), and not \(1000000, 32\)"),
        ({"max_position_embeddings": 3}, "position_embeddings.weight"),
    ],
    ids=str,
)
def test_sizes_that_are_not_those_of_the_weights_are_refused(
    values: dict[str, object], message: str, changed: Any
) -> None:
    folder = changed("config.json", **values)
    with pytest.raises(ValueError, match=f"cannot be loaded: .*{message}"):
        load_frozen(folder, "cpu")
    with pytest.raises(ValueError, match=r"cannot be loaded|are not those of its config\.json"):
        load_frozen(folder, "cpu", "torch")


def test_a_token_without_a_vector_is_an_error_and_not_another_vector(changed: Any) -> None:
    folder = changed("config.json", vocab_size=20)
    tensors = load_file(folder / "model.safetensors")
    tensors["embeddings.word_embeddings.weight"] = tensors["embeddings.word_embeddings.weight"][:20].clone()
    save_file(tensors, folder / "model.safetensors")
    encoder = SentenceEncoder(folder, backend="openvino")
    assert np.isfinite(encoder.encode(["the cat"], [whole("the cat")])[0]).all()
    with pytest.raises(ValueError, match="which its model has not"):
        encoder.encode(["z"], [whole("z")])


@pytest.mark.parametrize("stored", [torch.bfloat16, torch.float16, torch.float64], ids=str)
def test_weights_of_any_precision_are_read(stored: torch.dtype, bert: Path, tmp_path: Path) -> None:
    shutil.copytree(bert, tmp_path, dirs_exist_ok=True)
    tensors = load_file(tmp_path / "model.safetensors")
    save_file({name: tensor.to(stored) for name, tensor in tensors.items()}, tmp_path / "model.safetensors")
    text = "the cat sat on the mat"
    ours, theirs = (
        SentenceEncoder(tmp_path, backend=backend).encode([text], [whole(text)])[0]
        for backend in ("openvino float32", "torch")
    )
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-6)


@pytest.mark.parametrize("old", [False, True])
def test_weights_with_a_head_or_with_old_names_are_found(old: bool, bert: Path, tmp_path: Path) -> None:
    shutil.copytree(bert, tmp_path, dirs_exist_ok=True)
    tensors = load_file(tmp_path / "model.safetensors")
    renamed = {
        f"bert.{name.replace('Norm.weight', 'Norm.gamma').replace('Norm.bias', 'Norm.beta') if old else name}": tensor
        for name, tensor in tensors.items()
    }
    save_file(renamed, tmp_path / "model.safetensors")
    windows = [[2, 6, 7, 8, 3]]
    ours, theirs = (states(load_compiled(place, "float32"), windows, None)[0] for place in (tmp_path, bert))
    assert np.array_equal(ours, theirs)


def test_a_model_that_changed_on_disk_is_loaded_anew(bert: Path, tmp_path: Path) -> None:
    shutil.copytree(bert, tmp_path, dirs_exist_ok=True)
    before = load_compiled(tmp_path)
    assert load_compiled(tmp_path) is before
    windows = [[2, 6, 7, 3]]
    known = states(before, windows, 1)[0]
    tensors = load_file(tmp_path / "model.safetensors")
    save_file({name: tensor * 2 for name, tensor in tensors.items()}, tmp_path / "model.safetensors")
    assert not np.array_equal(states(load_compiled(tmp_path), windows, 1)[0], known)
    assert np.array_equal(states(before, windows, 1)[0], known)
    with pytest.raises(ValueError, match="files have changed since it was loaded"):
        states(before, windows, 2)  # never the layers of two models


def test_networks_are_copied_and_pickled_as_their_folders(bert: Path) -> None:
    encoder = SentenceEncoder(bert, backend="openvino float32")
    expected = encoder.encode(["a cat"], [whole("a cat")])[0]
    for copied in (pickle.loads(pickle.dumps(encoder)), copy.deepcopy(encoder)):
        assert isinstance(copied.network, CompiledNetwork)
        assert copied.backend == "openvino float32"
        assert np.array_equal(copied.encode(["a cat"], [whole("a cat")])[0], expected)


def test_threads_share_a_network(bert: Path) -> None:
    encoder = SentenceEncoder(bert)
    texts = [" ".join(WORDS[number % 20 :]) for number in range(64)]
    expected = [encoder.encode([text], [whole(text)])[0] for text in texts]
    with ThreadPoolExecutor(8) as threads:
        vectors = threads.map(lambda text: encoder.encode([text], [whole(text)])[0], texts)
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(vectors, expected, strict=True))


@given(counts=st.lists(st.integers(0, 4), max_size=9), seed=st.integers(0, 9))
def test_sums_of_rows_are_the_same_for_arrays_and_tensors(counts: list[int], seed: int) -> None:
    sizes = np.array(counts, dtype=np.int64)
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(7, 3)).astype(np.float32)
    rows = draw.integers(0, 7, sizes.sum())
    ends = np.cumsum(sizes)
    expected = np.array([vectors[rows[end - size : end]].sum(axis=0) for end, size in zip(ends, sizes, strict=True)])
    expected = expected.reshape(-1, 3)
    for given_vectors in (vectors, torch.from_numpy(vectors)):
        np.testing.assert_allclose(summed_rows(given_vectors, rows, sizes), expected, atol=1e-5)
        means = mean_rows(given_vectors, rows, sizes)
        np.testing.assert_allclose(means, expected / np.maximum(sizes, 1)[:, None], atol=1e-5)
    starts = draw.integers(0, 5, len(sizes))
    listed = [number for start, size in zip(starts, sizes, strict=True) for number in range(start, start + size)]
    assert ranges(starts, sizes).tolist() == listed
