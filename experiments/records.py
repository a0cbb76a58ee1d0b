"""What was measured, one JSON per run, with when, on what and by which code."""

import json
import platform
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import torch

from whymatch.files import read_json, write_whole


def slug(name: str) -> str:
    """A name as that of a file.

    >>> slug("OT (exact k = 2)")
    'ot-exact-k-2'
    """
    letters = "".join(letter if letter.isalnum() else "-" for letter in name.lower())
    return "-".join(part for part in letters.split("-") if part)


def write_run(file: Path, record: dict[str, Any]) -> None:
    """Writes a run with the date, the commit and the hardware."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    threads = torch.get_num_threads()
    made = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "hardware": gpu or f"{platform.machine()}, {threads} thread{'s' * (threads > 1)}",
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps({**record, **made}, indent=1))


def read_runs(folder: Path) -> list[dict[str, Any]]:
    """The runs in a folder, by the names of their files; files that cannot be read are left out."""
    records = (read_json(file) for file in sorted(folder.glob("*.json")))
    return [record for record in records if isinstance(record, dict) and "results" in record]


@cache
def commit() -> str | None:
    """The commit of the code when this was first called; marked as dirty where files differ from it."""
    try:
        last, changed = (
            subprocess.run(["git", *arguments], check=False, capture_output=True, text=True).stdout.strip()
            for arguments in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "src", "experiments/*.py"])
        )
    except OSError:
        return None
    return f"{last}{'-dirty' * bool(changed)}" if last else None


def markdown(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a Markdown table, whose first column has no name.

    >>> markdown(["P@1"], [["**OT**", "96.9"]])
    ['| | P@1 |', '|---|---|', '| **OT** | 96.9 |']
    """
    columns = [*columns]
    lines = [f"| | {' | '.join(columns)} |", f"|{'---|' * (len(columns) + 1)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


def origin(command: str, runs: Sequence[dict[str, Any]]) -> list[str]:
    """Where the numbers of a table come from: command, hardware, time and commits."""
    commits = ", ".join(sorted({run["commit"] for run in runs if run["commit"]})) or "none"
    hardware = "; ".join(sorted({run["hardware"] for run in runs}))
    seconds = sum(run["seconds"] for run in runs)
    time = f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{max(seconds, 2):.0f} seconds"
    return [f"`python -m experiments {command}`", hardware, time, commits]
