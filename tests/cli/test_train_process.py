"""`whymatch train` as a process of its own, with a person at the terminal."""

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.running import LIMIT
from tests.cli.test_train import pairs, settings

__all__ = ["pairs"]  # a fixture


@pytest.mark.usefixtures("minilm")
def test_a_person_sees_the_epoch_the_loss_and_the_speed(pairs: Path, tmp_path: Path) -> None:
    text = f"task = 'classify'\ndata = '{pairs}'\n[rule]\nconstraint = 'exactly:1'\n[schedule]\nepochs = 2\n"
    command = [sys.executable, "-m", "whymatch", "train", settings(tmp_path, text), "--out", str(tmp_path / "run")]
    screen, terminal = pty.openpty()
    seen = bytearray()

    def watch() -> None:
        with suppress(OSError):  # the terminal was closed
            while part := os.read(screen, 4096):
                seen.extend(part)

    watching = Thread(target=watch)
    watching.start()
    environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm"}
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=terminal, check=False, timeout=LIMIT, env=environment, text=True
    )
    os.close(terminal)
    watching.join(timeout=LIMIT)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert ran.returncode == 0, shown
    assert re.fullmatch(r"validation \d\.\d+, model in .*\n", ran.stdout)
    assert "encoding" in shown
    assert re.search(r"epoch 2 of 2 .* loss \d\.\d+ +\d+/s", shown)
