"""Reads the folder of a Hugging Face model as data: it runs no code, opens no pickle and follows no link out of it."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from safetensors import deserialize, safe_open

from whymatch.files import file_digest, inside

CONFIG, WEIGHTS, SHARDS = "config.json", "model.safetensors", "model.safetensors.index.json"
STATIC = "model2vec"
"""The model_type of static models."""
_ADAPTER = "adapter_config.json"
_TOKENIZER_SETTINGS = "tokenizer_config.json", "special_tokens_map.json"
_TOKENIZER_DATA = "tokenizer.json", "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt"
"""The files of a tokenizer with fixed names; vocabularies of SentencePiece are `*.model`."""

_CHOOSES_CODE = re.compile(
    r"auto_map|.*_implementation.*|(kernel|fusion|distributed)_config|use_kernels|transformers_weights|(torch_)?dtype",
    re.DOTALL,
)
"""Settings of config.json that choose code or files, some of them on the hub. They are left out: the model is built by
the code of transformers, with weights in single precision from model.safetensors."""
_TOKENIZER_CHOOSES_CODE = re.compile(
    r"auto_map|init_inputs|name_or_path|chat_template|vocab|merges|.*_files?", re.DOTALL
)
"""Settings of a tokenizer that choose code or files, which are left out too."""
_QUANTISED = "quantization_config", "compression_config"
_FAST_TOKENIZERS = {
    *("BertTokenizer", "DistilBertTokenizer", "MPNetTokenizer", "RobertaTokenizer", "XLMRobertaTokenizer"),
    *("PreTrainedTokenizer", "TokenizersBackend"),
}
"""Tokenizers of which it is known, without loading transformers, that they are fast ones; each also as `…Fast`."""
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1"}
_TYPES |= {"BOOL": "?", "BF16": ""}
"""The types of safetensors that are read, as those of numpy, which has no bfloat16."""


def member(folder: Path, name: str) -> Path:
    """The path of a file in a model's folder; links may lead only to files of the folder or of the hub's own cache.

    Raises:
        ValueError: if the name or a link leads elsewhere.
    """
    try:
        return inside(folder, name)
    except ValueError as error:
        snapshots = next((parent for parent in folder.absolute().parents if parent.name == "snapshots"), None)
        if snapshots is not None and ".." not in Path(name).parts and not Path(name).is_absolute():
            path = (folder / name).resolve()  # snapshots/REVISION/NAME is a link to blobs/HASH
            if path.parent == (snapshots.parent / "blobs").resolve():
                return path
        raise ValueError(f"{error} Copy what belongs to the model into its folder.") from None


def read_json(folder: Path, name: str) -> Any:
    """What a JSON file of a model's folder holds.

    Raises:
        ValueError: if the file is missing, is damaged or leads out of the folder.
    """
    path = member(folder, name)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror or error}.") from None
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply.") from None
    except ValueError as error:
        raise ValueError(f"{name} is damaged: {error}") from None


def read_object(folder: Path, name: str) -> dict[str, Any]:
    """The JSON object in a file of a model's folder; raises ValueError as `read_json`, and for any other value."""
    values = read_json(folder, name)
    if not isinstance(values, dict):
        raise ValueError(f"{name} must hold a JSON object, and holds a {type(values).__name__}.")
    return values


def is_static(folder: Path) -> bool:
    """Whether a folder holds a static model; a damaged config.json is reported where the model is loaded."""
    with suppress(ValueError):
        return read_object(folder, CONFIG).get("model_type") == STATIC
    return False


def check_not_static(folder: Path) -> None:
    """Raises ValueError if a folder holds a static model, which is no transformer."""
    if is_static(folder):
        raise ValueError(
            f"The model in {folder} is a static one ({STATIC}). Use wm.StaticEncoder, or Aligner(encode=…)."
        )


def read_config(folder: Path) -> dict[str, Any]:
    """The model's config.json without settings that choose code.

    Raises:
        ValueError: if the folder holds an adapter or quantised weights, which take more than transformers to read.
    """
    if (folder / _ADAPTER).exists():
        raise ValueError(
            f"it holds an adapter ({_ADAPTER}), which is not loaded. "
            "Merge it into the weights (merge_and_unload of peft) and save the merged model."
        )
    config: dict[str, Any] = _without_code(read_object(folder, CONFIG))
    return config


def _without_code(values: Any) -> Any:
    """A configuration, those inside of it included, without settings that choose code."""
    if isinstance(values, list):
        return [_without_code(value) for value in values]
    if not isinstance(values, dict):
        return values
    if quantised := next((key for key in _QUANTISED if values.get(key)), None):
        raise ValueError(
            f"its weights are quantised ({quantised}), which is not read. Use the weights in full precision."
        )
    return {key: _without_code(value) for key, value in values.items() if not _CHOOSES_CODE.fullmatch(key)}


def _weight_files(folder: Path) -> list[str]:
    """The names of the files that hold the weights, and of their index if they are in several.

    Raises:
        ValueError: if there are none in safetensors, or if the index names a file outside of the folder.
    """
    if (folder / WEIGHTS).is_file():
        return [WEIGHTS]
    if not (folder / SHARDS).is_file():
        pickled = next((path.name for kind in ("*.bin", "*.pt", "*.pth", "*.ckpt") for path in folder.glob(kind)), None)
        advice = (
            f"A pickle like {pickled} can run code and is never opened: if you trust it, convert it to {WEIGHTS} "
            "(save_pretrained of transformers does)."
            if pickled
            else f"Weights are read from {WEIGHTS} or {SHARDS}."
        )
        raise ValueError(f"there is no {WEIGHTS} in it. {advice}")
    named = read_object(folder, SHARDS).get("weight_map")
    if not isinstance(named, dict) or not named or not all(isinstance(name, str) for name in named.values()):
        raise ValueError(f"{SHARDS} must name a file for each weight (weight_map).")
    shards = sorted(set(named.values()))
    for name in shards:
        if not name.endswith(".safetensors"):
            raise ValueError(f"{SHARDS} names {name!r:.80}, which is no safetensors file.")
        member(folder, name)
    return [SHARDS, *shards]


def read_weights(folder: Path) -> dict[str, np.ndarray]:
    """The weights by name, from safetensors alone, in single precision."""
    weights: dict[str, np.ndarray] = {}
    for name in _weight_files(folder):
        if name != SHARDS:
            weights |= read_arrays(member(folder, name))
    return weights


def read_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights by name, without reading them."""
    shapes: dict[str, tuple[int, ...]] = {}
    for file in _weight_files(folder):
        if file != SHARDS:
            with safe_open(member(folder, file), framework="np") as stored:
                shapes |= {name: tuple(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118
    return shapes


def read_arrays(file: Path) -> dict[str, np.ndarray]:
    """The arrays in a file of safetensors, numbers with fractions in single precision.

    Raises:
        ValueError: if numbers are of a type that is not read.
        SafetensorError: if the file is damaged.
    """
    with safe_open(file, framework="np") as stored:
        kinds = {name: stored.get_slice(name).get_dtype() for name in stored.keys()}  # noqa: SIM118
        for name, kind in kinds.items():
            if kind not in _TYPES:
                raise ValueError(f"{name!r:.80} in {file.name} has numbers of the type {kind}, which is not read.")
        if "BF16" not in kinds.values():
            return {name: _single(stored.get_tensor(name)) for name in kinds}
    arrays = {}
    for name, values in deserialize(file.read_bytes()):  # type: ignore[no-untyped-call]
        if values["dtype"] == "BF16":  # the upper half of float32
            array = (np.frombuffer(values["data"], "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            array = _single(np.frombuffer(values["data"], _TYPES[values["dtype"]]))
        arrays[name] = array.reshape(values["shape"])
    return arrays


def _single(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32, copy=False) if values.dtype.kind == "f" else values


def weights_digest(folder: Path) -> str:
    """The SHA-256 of the file that holds the weights; where they are in several, that of the list of theirs."""
    digests = [file_digest(member(folder, name)) for name in _weight_files(folder) if name != SHARDS]
    return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


def copy_files(folder: Path, names: Iterable[str], target: Path) -> None:
    """Copies files of a model's folder into another one, links as what they lead to."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(member(folder, name), target / name)


def _tokenizer_files(folder: Path) -> list[str]:
    """The names of the tokenizer's files that there are."""
    named = [name for name in (*_TOKENIZER_SETTINGS, *_TOKENIZER_DATA) if (folder / name).is_file()]
    return [*named, *sorted(path.name for path in folder.glob("*.model") if path.is_file())]


def model_files(folder: Path) -> list[str]:
    """The names of all files that a transformer and its tokenizer are loaded from."""
    return [CONFIG, *_weight_files(folder), *_tokenizer_files(folder)]


def file_stamps(folder: Path) -> tuple[tuple[str, int, int, int], ...]:
    """What changes when a file that a transformer and its tokenizer are loaded from does."""
    stamps = [(name, member(folder, name).stat()) for name in model_files(folder)]
    return tuple((name, stamp.st_ino, stamp.st_size, stamp.st_mtime_ns) for name, stamp in stamps)


def tokenizer_settings(folder: Path, name: str) -> dict[str, Any]:
    """What a file of settings of a tokenizer says, without settings that choose code or files.

    Raises:
        ValueError: if it is damaged, or asks for a tokenizer that gives no offsets.
    """
    settings = read_object(folder, name)
    check_tokenizer_class(settings.get("tokenizer_class"))
    return {key: value for key, value in settings.items() if not _TOKENIZER_CHOOSES_CODE.fullmatch(key)}


def all_tokenizer_settings(folder: Path) -> dict[str, Any]:
    """What all files of settings of a tokenizer say together."""
    settings: dict[str, Any] = {}
    for name in reversed(_TOKENIZER_SETTINGS):
        if (folder / name).is_file():
            settings |= tokenizer_settings(folder, name)
    return settings


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Yields a temporary folder with what transformers may see of a model: its configuration and its tokenizer.

    Settings that choose code or name files are left out, and there are no other files, so that no version of
    transformers can find a pickle or code there.
    """
    with TemporaryDirectory(prefix="whymatch-") as temporary:
        stage = Path(temporary)
        config = read_config(folder)
        check_tokenizer_class(config.get("tokenizer_class"))
        (stage / CONFIG).write_text(json.dumps(config), encoding="utf-8")
        for name in _tokenizer_files(folder):
            if name not in _TOKENIZER_SETTINGS:
                shutil.copyfile(member(folder, name), stage / name)
                continue
            (stage / name).write_text(json.dumps(tokenizer_settings(folder, name)), encoding="utf-8")
        yield stage


def check_tokenizer_class(name: object) -> None:
    """Raises ValueError unless a name is that of a fast tokenizer, or of none that transformers knows.

    transformers takes any of its classes here, those of models included; it has a default for names unknown to it.
    """
    if name is None:
        return
    if not isinstance(name, str):
        raise ValueError(f"tokenizer_class must be a name, and is {name!r:.80}.")
    if name.removesuffix("Fast") in _FAST_TOKENIZERS and name != "PreTrainedTokenizer":
        return
    import transformers

    kinds = [getattr(transformers, known, None) for known in (name, name.removesuffix("Fast"))]
    kind = next((kind for kind in kinds if kind is not None), None)
    if kind is not None and not (isinstance(kind, type) and issubclass(kind, transformers.PreTrainedTokenizerFast)):
        raise ValueError(f"its tokenizer is a {name:.80}, which gives no offsets. Use a model with a fast tokenizer.")
