"""What sentence-transformers' modules.json asks for: how tokens are pooled, and the layers after that.

Modules are built here from JSON and safetensors. A module of another kind would have to be imported by the name that
the folder gives it, and could run any code: it is refused.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from safetensors import SafetensorError

from whymatch.arrays import array_namespace
from whymatch.text.encoders.folders import WEIGHTS, member, model_files, read_arrays, read_json, read_object
from whymatch.text.encoders.windows import Rows

MODULES, LIMITS, _PROMPTS = "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"
_KINDS = "Transformer", "Pooling", "Dense", "Normalize"
_TEXT_VECTOR = "sentence_embedding"  # what sentence-transformers calls the vector of a text
_ANY_LENGTH = 10**9  # tokens
_Activation: TypeAlias = Callable[[np.ndarray], np.ndarray]


def _gelu(values: np.ndarray) -> np.ndarray:
    return values * (1 + np.vectorize(math.erf, otypes=[np.float32])(values / math.sqrt(2))) / 2


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return (1 + np.tanh(values / 2)) / 2  # no overflow


_ACTIVATIONS: dict[str, _Activation] = {
    "torch.nn.modules.activation.GELU": _gelu,
    "torch.nn.modules.activation.ReLU": lambda values: np.maximum(values, 0),
    "torch.nn.modules.activation.Sigmoid": _sigmoid,
    "torch.nn.modules.activation.Tanh": np.tanh,
    "torch.nn.modules.linear.Identity": lambda values: values,
}
_ADVICE = (
    "Only Transformer, Pooling (by the mean or the first token), Dense and Normalize are loaded. Use another model, "
    "or encode the spans with sentence-transformers yourself and give their vectors to Precomputed."
)


@dataclass(frozen=True)
class Normalize:
    """Scales vectors (…, dimensions) to length 1: arrays of numpy, or tensors of torch with their gradients."""

    def __call__(self, vectors: Rows) -> Rows:
        xp = array_namespace(vectors)
        return vectors / xp.clip(xp.linalg.vector_norm(vectors, axis=-1, keepdims=True), min=1e-12)


@dataclass(frozen=True, eq=False)
class Dense:
    """A linear layer and its activation, on arrays of numpy."""

    weight: np.ndarray
    """(outputs, inputs)"""
    bias: np.ndarray | float
    activation: _Activation

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        return self.activation(vectors @ self.weight.T + self.bias)


@dataclass(frozen=True, eq=False)
class Pooling:
    """How a sentence model makes one vector of a text's tokens."""

    room: int
    """Tokens that are read together, special ones included."""
    by_mean: bool
    """Whether the vector is the mean over the tokens. Otherwise it is that of the first token."""
    layers: tuple[Dense | Normalize, ...]
    """What the vector goes through after that: linear layers with activations, and scaling to length 1."""
    files: tuple[str, ...] = ()
    """The names of the files that this was read from."""

    @property
    def learned(self) -> bool:
        """Whether the layers after pooling have weights."""
        return any(isinstance(layer, Dense) for layer in self.layers)

    @property
    def unit(self) -> bool:
        """Whether vectors are scaled to length 1 at the end."""
        return len(self.layers) > 0 and isinstance(self.layers[-1], Normalize)

    def size(self, hidden: int) -> int:
        """The length of the vectors where those of tokens have the length `hidden`."""
        return next((len(layer.weight) for layer in reversed(self.layers) if isinstance(layer, Dense)), hidden)

    def finished(self, vectors: Rows) -> Rows:
        """(texts, dimensions): pooled vectors after all layers."""
        for layer in self.layers:
            vectors = layer(vectors)
        return vectors


def read_pooling(folder: Path) -> Pooling:
    """What the folder of a sentence model says. One without modules.json, as RoBERTa's, is pooled by the mean.

    Raises:
        ValueError: naming the module that is not known here, or the file that is damaged.
    """
    try:
        return _read_pooling(folder)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"The model in {folder} cannot be loaded: {error}") from error


def sentence_files(folder: Path) -> list[str]:
    """The names of all files that a sentence model is loaded from."""
    return [*model_files(folder), *read_pooling(folder).files]


def _read_pooling(folder: Path) -> Pooling:
    if not (folder / MODULES).is_file():
        return Pooling(_ANY_LENGTH, True, (Normalize(),))
    modules = _read_modules(folder)
    files = [MODULES, *(name for name in (LIMITS, _PROMPTS) if (folder / name).is_file())]
    by_mean, layers = True, list[Dense | Normalize]()
    for kind, place in modules[1:]:
        name = f"{place}/config.json"
        if kind == "Normalize" and not (folder / name).is_file():
            layers.append(Normalize())
            continue
        settings = read_object(folder, name)
        files.append(name)
        if kind == "Pooling":
            by_mean = _pools_by_mean(settings)
            continue
        for key in ("module_input_name", "module_output_name"):
            if settings.get(key) not in (None, _TEXT_VECTOR):
                raise ValueError(f"its {kind} has {key} {settings[key]!r:.80}, not {_TEXT_VECTOR!r}. {_ADVICE}")
        if kind == "Dense":
            files.append(f"{place}/{WEIGHTS}")
        layers.append(_read_dense(folder, place, settings) if kind == "Dense" else Normalize())
    if _PROMPTS in files and read_object(folder, _PROMPTS).get("default_prompt_name") is not None:
        raise ValueError(f"{_PROMPTS} puts a prompt before every text (default_prompt_name). {_ADVICE}")
    limits = read_object(folder, LIMITS) if LIMITS in files else {}
    if limits.get("do_lower_case"):
        raise ValueError(f"{LIMITS} lets texts be lower-cased before the tokenizer (do_lower_case). {_ADVICE}")
    room = limits.get("max_seq_length") or _ANY_LENGTH
    if not isinstance(room, int) or room < 4:
        raise ValueError(f"{LIMITS} has max_seq_length {room!r:.40}, which must be 4 or more.")
    return Pooling(room, by_mean, tuple(layers), tuple(files))


def _read_modules(folder: Path) -> list[tuple[str, str]]:
    """The kind of each module, and its folder relative to that of the model.

    A module that is not sentence-transformers' own is refused, whatever it calls itself.
    """
    listed = read_json(folder, MODULES)
    if not isinstance(listed, list) or not all(isinstance(module, dict) for module in listed):
        raise ValueError(f"{MODULES} must hold a list of JSON objects.")
    modules = []
    for module in listed:
        name, place = str(module.get("type")), module.get("path")
        package, _, kind = name.rpartition(".")
        if package.split(".")[0] != "sentence_transformers" or kind not in _KINDS:
            raise ValueError(f"{MODULES} lists a module of the type {name!r:.120}, which could run any code. {_ADVICE}")
        if not isinstance(place, str):
            raise ValueError(f"{MODULES} must give every module a path, and gives {place!r:.80}.")
        modules.append((kind, member(folder, place).relative_to(folder.resolve()).as_posix()))
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or {*kinds[2:]} - {"Dense", "Normalize"} or modules[0][1] != ".":
        order = "a Transformer in its own folder, a Pooling, and then any Dense and Normalize"
        raise ValueError(f"{MODULES} lists {', '.join(kinds) or 'nothing'}, and must list {order}. {_ADVICE}")
    return modules


def _pools_by_mean(settings: Mapping[str, Any]) -> bool:
    """Whether the mean is taken, and not the first token; other ways are refused by name."""
    modes = settings.get("pooling_mode")  # a word, or several, since sentence-transformers 5.4
    if modes is None:
        switched = [key.removeprefix("pooling_mode_") for key, on in settings.items() if on and "pooling_mode_" in key]
        modes = [name.removesuffix("_tokens").removesuffix("_token") for name in switched]
    modes = [modes] if isinstance(modes, str) else modes or ["mean"]
    if modes not in (["mean"], ["cls"]):
        raise ValueError(f"it pools by {modes!r:.120}. {_ADVICE}")
    return bool(modes == ["mean"])


def _read_dense(folder: Path, place: str, settings: Mapping[str, Any]) -> Dense:
    """A linear layer and its activation, with weights from safetensors."""
    activation = settings.get("activation_function", "torch.nn.modules.activation.Tanh")
    if not isinstance(activation, str) or activation not in _ACTIVATIONS:
        known = ", ".join(name.rpartition(".")[2] for name in _ACTIVATIONS)
        raise ValueError(f"the Dense in {place} has the activation {activation!r:.120}; known are {known}. {_ADVICE}")
    if settings.get("use_residual"):
        raise ValueError(f"the Dense in {place} adds its input to its output (use_residual). {_ADVICE}")
    if not (folder / place / WEIGHTS).is_file():
        raise ValueError(
            f"the Dense in {place} has no {WEIGHTS}. Weights in a pickle (pytorch_model.bin) could run code and are "
            f"never opened: if you trust them, save the model again with sentence-transformers, which writes {WEIGHTS}."
        )
    tensors = read_arrays(member(folder, f"{place}/{WEIGHTS}"))
    weight = tensors.get("linear.weight")
    sizes = settings.get("in_features"), settings.get("out_features")
    if weight is None or weight.ndim != 2 or sizes != (weight.shape[1], weight.shape[0]):
        shape = None if weight is None else tuple(weight.shape)
        raise ValueError(f"the Dense in {place} is for {sizes[0]} to {sizes[1]} numbers, and its weights are {shape}.")
    expected = {"linear.weight": weight.shape}
    if settings.get("bias", True):
        expected["linear.bias"] = weight.shape[:1]
    if {name: tensor.shape for name, tensor in tensors.items()} != expected:
        raise ValueError(f"the Dense in {place} must have {', '.join(expected)}, and has {', '.join(tensors)}.")
    return Dense(weight, tensors.get("linear.bias", 0.0), _ACTIVATIONS[activation])
