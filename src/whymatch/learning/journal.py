"""What a run measures, kept as it goes."""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from whymatch.reading import json_lines, opened, write_json_lines


class Journal:
    """`metrics.jsonl` in a folder, a line a measurement, and the same for TensorBoard where it is installed.

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
