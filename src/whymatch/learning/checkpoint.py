"""What a training leaves in its folder: checkpoints, written whole or not at all, and the journal of its metrics."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from whymatch.files import whole_folder
from whymatch.reading import json_lines, opened, write_json_lines

CHECKPOINTS_KEPT = 2  # the last one, and one before it in case the last is damaged


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
            (draft / "state.json").write_text(json.dumps({**record, "sha256": _digest(data, record)}, allow_nan=False))
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}; the last checkpoint is kept", str(target)) from None
    for old in sorted(folder.glob("step-*"))[:-CHECKPOINTS_KEPT]:
        shutil.rmtree(old)
    return target


def load_checkpoint(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any], list[str]] | None:
    """The newest checkpoint that is whole, and what was wrong with newer ones; None if there is none at all."""
    complaints: list[str] = []
    for path in sorted(folder.glob("step-*"), reverse=True):
        try:
            record = json.loads((path / "state.json").read_text())
            data = (path / "tensors.safetensors").read_bytes()
            if _digest(data, {"step": record["step"], "state": record["state"]}) != record["sha256"]:
                raise ValueError("it is not what was written")
            return load(data), {**record["state"], "step": record["step"]}, complaints
        except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
            complaints.append(f"{path} is damaged and was left aside: {error}.")
    if complaints:
        raise ValueError(f"No checkpoint in {folder} can be read. {' '.join(complaints)}")
    return None


def _digest(data: bytes, record: Mapping[str, Any]) -> str:
    """A hash of the tensors and of the state beside them."""
    return hashlib.sha256(data + json.dumps(record, sort_keys=True).encode()).hexdigest()


def learned_state(model: nn.Module) -> dict[str, Tensor]:
    """The state of a model without its frozen weights, which are as the model was built."""
    frozen = _frozen(model)
    return {name: tensor for name, tensor in model.state_dict().items() if name not in frozen}


def restore(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Gives a model what `learned_state` kept; raises RuntimeError where it is that of another model."""
    missing, unknown = model.load_state_dict(state, strict=False)
    if odd := sorted({*missing} - _frozen(model)) + unknown:
        raise RuntimeError(f"{odd[0]} is in one of them alone.")


def _frozen(model: nn.Module) -> set[str]:
    weights = model.named_parameters(remove_duplicate=False)
    return {name for name, weight in weights if not weight.requires_grad}


class Journal:
    """`metrics.jsonl` in a folder, one line per measurement, and the same for TensorBoard where it is installed.

    A run that goes on from `step` leaves out what was measured after it, since it will be measured again.
    """

    def __init__(self, folder: Path, step: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "metrics.jsonl"
        if self.file.is_file():
            with opened(self.file) as data:
                rows = [row for _, row in json_lines(data) if not isinstance(row, ValueError)]  # a crash tears a line
            write_json_lines(self.file, (row for row in rows if row["step"] <= step))
        self.board: Any = None
        if find_spec("tensorboard") is not None:
            from torch.utils.tensorboard.writer import SummaryWriter

            self.board = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)

    def write(self, values: Mapping[str, float]) -> None:
        """Adds one line; `values` has the step that it belongs to."""
        with self.file.open("a") as file:
            file.write(json.dumps(dict(values)) + "\n")
        if self.board is not None:
            for name, value in values.items():
                if name != "step":
                    self.board.add_scalar(name, value, values["step"])
            self.board.flush()

    def close(self) -> None:
        if self.board is not None:
            self.board.close()
