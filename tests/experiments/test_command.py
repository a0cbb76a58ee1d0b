"""`python -m experiments` as a user runs it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.__main__ import main

CLONE = Path(__file__).parents[2]


def test_it_prints_the_counts_it_promises_and_draws_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "demo.png"
    assert main(["heatmap", "--out", str(picture)]) == 0
    out = capsys.readouterr().out
    rows = {line.split("  ")[0]: re.split(r"\s{2,}", line) for line in out.splitlines() if "(" in line}
    assert int(rows["Balanced()"][3]) <= 49
    assert rows["OneTo(k=1)"][3] == "20"
    assert int(rows["UpTo(k=1, below=0.5)"][3]) < 20
    assert rows["Exactly(k=4)"][3] == "4"
    assert "late interaction (MaxSim)" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_written_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "experiments", "heatmap", "--out", str(tmp_path / "missing" / "demo.png")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CLONE)
    assert ran.returncode == 2
    assert ran.stderr.startswith("experiments: ")
    assert "Traceback" not in ran.stderr
