"""`whymatch align` as a process: pipes, signals, full disks, closed streams."""

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NamedTuple

import pytest

from tests.cli.running import (
    COMMAND,
    DUPLICATE,
    GOOD,
    LONG,
    QUESTION,
    SHORT,
    Ran,
    at_a_terminal,
    refused,
    strict,
)
from whymatch.cli import main
from whymatch.cli.align import PAIRS_PER_BATCH
from whymatch.text.encoders import models

pytestmark = pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed")


def test_an_error_of_a_process_is_one_line_and_a_status(tmp_path: Path) -> None:
    command = [*COMMAND, str(tmp_path / "missing"), str(DUPLICATE)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "No such file" in refused(Ran(ran.returncode, ran.stdout, ran.stderr))


class Process(NamedTuple):
    """A command that runs, and its three pipes."""

    popen: subprocess.Popen[bytes]
    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def end(self) -> tuple[int, bytes]:
        """Its status and its standard error."""
        return self.popen.wait(), self.stderr.read()


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Options for vectors of the words that occur here: only the process matters, and a model takes long to load."""
    chance = random.Random(0)
    texts = [QUESTION.read_text("utf-8"), DUPLICATE.read_text("utf-8"), SHORT, LONG, GOOD.decode()]
    spoken = {word for text in texts for word in re.findall(r"\w+", text)}
    file = tmp_path_factory.mktemp("words") / "toy.vec"
    file.write_text("".join(f"{word} {' '.join(str(chance.gauss(0, 1)) for _ in range(8))}\n" for word in spoken))
    return ["--encoder", str(file), "--cost", "cosine", "--constraint", "exactly:1"]


@contextmanager
def started(*arguments: str) -> Iterator[Process]:
    """A process whose output is buffered as Python does.

    It can be interrupted even where the tests cannot: a shell has what runs in the background ignore that signal.
    """
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    pipe = subprocess.PIPE
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen([*COMMAND, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, env=buffered) as popen:
        signal.signal(signal.SIGINT, before)
        assert popen.stdin is not None
        assert popen.stdout is not None
        assert popen.stderr is not None
        try:
            yield Process(popen, popen.stdin, popen.stdout, popen.stderr)
        finally:
            popen.kill()


def answered(process: Process) -> None:
    """Sends as many pairs as are aligned together, and reads all answers while standard input stays open."""
    process.stdin.write((GOOD + b"\n") * PAIRS_PER_BATCH)
    process.stdin.flush()
    numbers = [json.loads(process.stdout.readline())["line"] for _ in range(PAIRS_PER_BATCH)]
    assert numbers == [*range(1, PAIRS_PER_BATCH + 1)]


def test_pairs_are_answered_in_chunks_and_a_reader_that_leaves_ends_it_quietly(words: list[str]) -> None:
    with started("--pairs", "-", *words) as process:
        answered(process)
        process.stdout.close()
        process.stdin.write((GOOD + b"\n") * PAIRS_PER_BATCH)
        process.stdin.flush()
        assert process.end() == (0, b"")


def test_an_interrupt_ends_it_in_one_line(words: list[str]) -> None:
    with started("--pairs", "-", *words) as process:
        answered(process)
        process.popen.send_signal(signal.SIGINT)
        assert process.end() == (130, b"whymatch: interrupted\n")


def test_a_reader_that_leaves_before_the_table_ends_it_quietly(words: list[str]) -> None:
    with started("-", str(DUPLICATE), *words) as process:
        process.stdout.close()
        process.stdin.write(QUESTION.read_bytes())
        process.stdin.close()
        assert process.end() == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_line_and_a_status(words: list[str]) -> None:
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [*COMMAND, "--text", SHORT, LONG, *words],
            stdout=full,
            stderr=subprocess.PIPE,
            env=buffered,
            text=True,
            check=False,
        )
    assert "No space left" in refused(Ran(ran.returncode, "", ran.stderr))


def test_a_closed_output_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    status = main(["align", "--text", SHORT, LONG, "--json"])
    monkeypatch.undo()
    assert "output is closed" in refused(Ran(status, *capsys.readouterr()))


@pytest.mark.parametrize("arguments", [["--pairs", "-"], ["-", str(DUPLICATE)]])
def test_a_closed_input_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "input is closed" in refused(Ran(main(["align", *arguments]), *capsys.readouterr()))


def test_a_person_sees_a_bar_and_the_answers_go_where_they_are_sent(words: list[str], tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    lines = [GOOD] * 3 + [b"{"] + [GOOD] * PAIRS_PER_BATCH  # two batches, the first while the bar moves
    pairs.write_bytes(b"\n".join(lines))
    ran = at_a_terminal([*COMMAND, "--pairs", str(pairs), *words])
    assert ran.status == 2
    assert [strict(line)["line"] for line in ran.out.splitlines()] == [1, 2, 3, *range(5, 5 + PAIRS_PER_BATCH)]
    assert "aligning" in ran.err
    assert "100%" in ran.err
    assert "line 4: this is not JSON" in ran.err
