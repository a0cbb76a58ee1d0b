"""Checkpoints: safetensors and JSON, written whole or not at all, and read only if nobody touched them."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from whymatch.files import whole_folder

KEEP = 2  # the last one, and one before it in case the last is damaged


def save_checkpoint(folder: Path, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any]) -> Path:
    """Writes one checkpoint into a folder of its own: a crash leaves all of it or nothing."""
    target = folder / f"step-{step:09d}"
    for draft in folder.glob(".step-*.draft"):  # of a run that was killed
        shutil.rmtree(draft, ignore_errors=True)
    data = save({name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()})
    record = {"step": step, "state": dict(state)}
    try:
        with whole_folder(target, replace=True) as draft:
            (draft / "tensors.safetensors").write_bytes(data)
            (draft / "state.json").write_text(json.dumps({**record, "sha256": digest(data, record)}, allow_nan=False))
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}; the last checkpoint is kept", str(target)) from None
    for old in sorted(folder.glob("step-*"))[:-KEEP]:
        shutil.rmtree(old)
    return target


def load_checkpoint(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any], list[str]] | None:
    """The newest checkpoint that is whole, and what was wrong with newer ones; None if there is none at all."""
    complaints: list[str] = []
    for path in sorted(folder.glob("step-*"), reverse=True):
        try:
            record = json.loads((path / "state.json").read_text())
            data = (path / "tensors.safetensors").read_bytes()
            if digest(data, {"step": record["step"], "state": record["state"]}) != record["sha256"]:
                raise ValueError("it is not what was written")
            return load(data), {**record["state"], "step": record["step"]}, complaints
        except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
            complaints.append(f"{path} is damaged and was left aside: {error}.")
    if complaints:
        raise ValueError(f"No checkpoint in {folder} can be read. {' '.join(complaints)}")
    return None


def digest(data: bytes, record: Mapping[str, Any]) -> str:
    """A hash of the tensors and of the state beside them."""
    return hashlib.sha256(data + json.dumps(record, sort_keys=True).encode()).hexdigest()
