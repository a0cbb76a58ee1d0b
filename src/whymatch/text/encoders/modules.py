"""What sentence-transformers' modules.json asks for: how tokens are pooled, and the layers after that.

Modules are built here from JSON and safetensors. A module of another kind would have to be imported by the name that
the folder gives it, and could run any code: it is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from whymatch.text.encoders.folders import WEIGHTS, member, model_files, read_object, read_objects

MODULES, LIMITS, PROMPTS = "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"
KNOWN = ("Transformer", "Pooling", "Dense", "Normalize")
POOLED = "sentence_embedding"  # what sentence-transformers calls the vector of a text
ANY_LENGTH = 10**9  # tokens
ACTIVATIONS: dict[str, type[nn.Module]] = {
    "torch.nn.modules.activation.GELU": nn.GELU,
    "torch.nn.modules.activation.ReLU": nn.ReLU,
    "torch.nn.modules.activation.Sigmoid": nn.Sigmoid,
    "torch.nn.modules.activation.Tanh": nn.Tanh,
    "torch.nn.modules.linear.Identity": nn.Identity,
}
TANH = "torch.nn.modules.activation.Tanh"  # where a Dense names none
ADVICE = (
    "Only Transformer, Pooling (by the mean or the first token), Dense and Normalize are loaded. Use another model, "
    "or encode the spans with sentence-transformers yourself and give their vectors to Precomputed."
)


class Normalize(nn.Module):
    """Scales vectors (…, dimensions) to length 1."""

    def forward(self, vectors: Tensor) -> Tensor:
        return nn.functional.normalize(vectors, dim=-1)


@dataclass(frozen=True, eq=False)
class Pooling:
    """How a sentence model makes one vector of a text's tokens."""

    room: int
    """Tokens that are read together, special ones included."""
    by_mean: bool
    """Whether the vector is the mean over the tokens. Otherwise it is that of the first token."""
    layers: nn.Sequential
    """What the vector goes through after that: linear layers, activations, scaling to length 1."""
    files: tuple[str, ...] = ()
    """The names of the files that this was read from."""

    @property
    def learned(self) -> bool:
        """Whether the layers after pooling have weights."""
        return any(True for _ in self.layers.parameters())

    @property
    def unit(self) -> bool:
        """Whether vectors are scaled to length 1 at the end."""
        return len(self.layers) > 0 and isinstance(self.layers[-1], Normalize)

    def size(self, hidden: int) -> int:
        """The length of the vectors where those of tokens have the length `hidden`."""
        return next((layer.out_features for layer in reversed(self.layers) if isinstance(layer, nn.Linear)), hidden)


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
        return Pooling(ANY_LENGTH, True, nn.Sequential(Normalize()))
    modules = [(_kind(module), _place(folder, module)) for module in read_objects(folder, MODULES)]
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != ["Transformer", "Pooling"] or {*kinds[2:]} - {"Dense", "Normalize"} or modules[0][1] != ".":
        order = "a Transformer in its own folder, a Pooling, and then any Dense and Normalize"
        raise ValueError(f"{MODULES} lists {', '.join(kinds) or 'nothing'}, and must list {order}. {ADVICE}")
    files = [MODULES, *(name for name in (LIMITS, PROMPTS) if (folder / name).is_file())]
    settings: list[dict[str, Any]] = []
    for kind, place in modules[1:]:
        name = f"{place}/config.json"
        needed = kind != "Normalize" or (folder / name).is_file()
        settings.append(read_object(folder, name) if needed else {})
        files += [name] * needed + [f"{place}/{WEIGHTS}"] * (kind == "Dense")
    by_mean = _pools_by_mean(settings[0])
    layers: list[nn.Module] = []
    for (kind, place), values in zip(modules[2:], settings[1:], strict=True):
        _check_names(kind, values)
        layers += _read_dense(folder, place, values) if kind == "Dense" else [Normalize()]
    _check_prompts(folder)
    return Pooling(_room(folder), by_mean, nn.Sequential(*layers).eval().requires_grad_(False), tuple(files))


def _kind(module: Mapping[str, Any]) -> str:
    """The kind of a module; one that is not sentence-transformers' own is refused, whatever it calls itself."""
    name = module.get("type")
    package, _, kind = str(name).rpartition(".")
    if package.split(".")[0] != "sentence_transformers" or kind not in KNOWN:
        raise ValueError(f"{MODULES} lists a module of the type {str(name)!r:.120}, which could run any code. {ADVICE}")
    return kind


def _place(folder: Path, module: Mapping[str, Any]) -> str:
    """The folder of a module, relative to that of the model."""
    name = module.get("path")
    if not isinstance(name, str):
        raise ValueError(f"{MODULES} must give every module a path, and gives {name!r:.80}.")
    return member(folder, name).relative_to(folder.resolve()).as_posix()


def _pools_by_mean(settings: Mapping[str, Any]) -> bool:
    """Whether the mean is taken, and not the first token; other ways are refused by name."""
    modes = settings.get("pooling_mode")  # a word, or several, since sentence-transformers 5.4
    if modes is None:
        switched = [key.removeprefix("pooling_mode_") for key, on in settings.items() if on and "pooling_mode_" in key]
        modes = [name.removesuffix("_tokens").removesuffix("_token") for name in switched]
    modes = [modes] if isinstance(modes, str) else modes or ["mean"]
    if modes not in (["mean"], ["cls"]):
        raise ValueError(f"it pools by {modes!r:.120}. {ADVICE}")
    return bool(modes == ["mean"])


def _check_names(kind: str, settings: Mapping[str, Any]) -> None:
    """Raises ValueError for a module that reads or writes anything but the vector of a text."""
    for key in ("module_input_name", "module_output_name"):
        if settings.get(key) not in (None, POOLED):
            raise ValueError(f"its {kind} has {key} {settings[key]!r:.80}, and must have {POOLED!r}. {ADVICE}")


def _read_dense(folder: Path, place: str, settings: Mapping[str, Any]) -> list[nn.Module]:
    """A linear layer and its activation, with weights from safetensors."""
    activation = settings.get("activation_function", TANH)
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        known = ", ".join(name.rpartition(".")[2] for name in ACTIVATIONS)
        raise ValueError(f"the Dense in {place} has the activation {activation!r:.120}; known are {known}. {ADVICE}")
    if settings.get("use_residual"):
        raise ValueError(f"the Dense in {place} adds its input to its output (use_residual). {ADVICE}")
    if not (folder / place / WEIGHTS).is_file():
        raise ValueError(
            f"the Dense in {place} has no {WEIGHTS}. Weights in a pickle (pytorch_model.bin) could run code and are "
            f"never opened: if you trust them, save the model again with sentence-transformers, which writes {WEIGHTS}."
        )
    tensors = load_file(member(folder, f"{place}/{WEIGHTS}"))
    weight = tensors.get("linear.weight")
    sizes = settings.get("in_features"), settings.get("out_features")
    if weight is None or weight.ndim != 2 or sizes != (weight.shape[1], weight.shape[0]):
        shape = None if weight is None else tuple(weight.shape)
        raise ValueError(f"the Dense in {place} is for {sizes[0]} to {sizes[1]} numbers, and its weights are {shape}.")
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bool(settings.get("bias", True)))
    layer.load_state_dict({name.removeprefix("linear."): tensor for name, tensor in tensors.items()})
    return [layer, ACTIVATIONS[activation]()]


def _check_prompts(folder: Path) -> None:
    """Raises ValueError if sentence-transformers would put a prompt before every text."""
    if (folder / PROMPTS).is_file() and read_object(folder, PROMPTS).get("default_prompt_name") is not None:
        raise ValueError(f"{PROMPTS} puts a prompt before every text (default_prompt_name). {ADVICE}")


def _room(folder: Path) -> int:
    """How many tokens are read together."""
    limits = read_object(folder, LIMITS) if (folder / LIMITS).is_file() else {}
    if limits.get("do_lower_case"):
        raise ValueError(f"{LIMITS} lets texts be lower-cased before the tokenizer (do_lower_case). {ADVICE}")
    room = limits.get("max_seq_length") or ANY_LENGTH
    if not isinstance(room, int) or room < 4:
        raise ValueError(f"{LIMITS} has max_seq_length {room!r:.40}, which must be 4 or more.")
    return room
