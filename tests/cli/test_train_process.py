"""`whymatch train` as a process of its own, with a person at the terminal."""

import re
import sys
from pathlib import Path

import pytest

from tests.cli.running import at_a_terminal
from tests.cli.test_train import pairs, settings

__all__ = ["pairs"]  # a fixture


@pytest.mark.usefixtures("minilm")
def test_a_person_sees_the_epoch_the_loss_and_the_speed(pairs: Path, tmp_path: Path) -> None:
    text = f"task = 'classify'\ndata = '{pairs}'\n[rule]\nconstraint = 'exactly:1'\n[schedule]\nepochs = 2\n"
    command = [sys.executable, "-m", "whymatch", "train", settings(tmp_path, text), "--out", str(tmp_path / "run")]
    ran = at_a_terminal(command)
    assert ran.status == 0, ran.err
    assert re.fullmatch(r"validation macro F1 \d\.\d+, model in .*\n", ran.out)
    assert "encoding" in ran.err
    assert re.search(r"epoch 2 of 2 .* loss \d\.\d+ +\d+/s", ran.err)
