"""Small files, written whole or not at all."""

import json
from pathlib import Path
from typing import Any


def write_whole(file: Path, text: str) -> None:
    """By a rename: a crash leaves the old file or the new one."""
    draft = file.with_name(f".{file.name}.draft")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(file)) from None


def read_json(file: Path) -> Any:
    """What a file holds; None where there is none, or none that can be read."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
