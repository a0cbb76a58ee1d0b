"""Progress is shown to who watches, only where work takes long, and changes nothing else."""

import io
import os
import pty
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType

import numpy as np
import pytest

import whymatch as wm
from tests.cost.drawing import Drawn
from whymatch import progress as module
from whymatch.progress import call_progress, progress_bar
from whymatch.text.encoders import ITEMS_PER_BATCH
from whymatch.text.spans import Span

PAIRS = [(f"topic{number} a\ntopic{number + 1} b", f"topic{number} c") for number in range(ITEMS_PER_BATCH)]


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Makes standard error a terminal for the time of a block; the list then has what was written there."""
    written = list[bytes]()
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", file)
        patch.setenv("TERM", "xterm")
        yield written
        file.flush()
        written.append(waiting(reader))
    os.close(reader)


def waiting(reader: int) -> bytes:
    """What was written to a terminal and not read yet."""
    os.set_blocking(reader, False)
    data = b""
    with suppress(OSError):  # there is no more
        while part := os.read(reader, 2**16):
            data += part
    return data


def align(shown: bool | None = None) -> list[wm.Alignment]:
    return wm.Aligner("line", Drawn(), "cosine").align_many(PAIRS, wm.UpTo(1, below=0.9), progress=shown)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All work counts as long."""
    monkeypatch.setattr(module, "SECONDS_BEFORE_SHOWN", 0.0)
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0.0)


@pytest.mark.parametrize("shown", [None, False])
def test_nobody_who_does_not_watch_is_shown_any(
    shown: bool | None, at_once: None, capfd: pytest.CaptureFixture[str]
) -> None:
    align(shown)
    assert capfd.readouterr() == ("", "")


def test_at_a_terminal_long_work_has_a_bar(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = align(False)
    with terminal(monkeypatch) as written:
        assert align() == expected
    assert b"aligning" in written[0]
    assert b"100%" in written[0]


@pytest.mark.parametrize("shown", [None, False])
def test_at_a_terminal_short_work_has_none(shown: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if shown is None:
        monkeypatch.setattr(module, "SECONDS_BEFORE_SHOWN", 1e9)
    with terminal(monkeypatch) as written:
        align(shown)
    assert written == [b""]


def test_in_a_notebook_one_line_changes_and_is_gone_at_the_end(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    monkeypatch.setattr(module, "_SECONDS_BETWEEN_REWRITES", 0.0)
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    align()
    printed = screen.getvalue()
    assert "\n" not in printed
    assert {line.split(":")[0] for line in printed.split("\r") if line.strip()} == {"encoding", "aligning"}
    assert printed.endswith("\r")
    assert not printed.split("\r")[-2].strip()


def test_progress_that_is_asked_for_is_lines_in_a_log(at_once: None, capsys: pytest.CaptureFixture[str]) -> None:
    align(True)
    lines = capsys.readouterr().err.splitlines()
    shares = [line.removeprefix("encoding: ") for line in lines if line.startswith("encoding: ")]
    assert shares == sorted(shares, key=lambda share: int(share[:-1]))
    assert shares[-1] == lines[-1].removeprefix("aligning: ") == "100%"
    assert len(shares) == len(PAIRS) * 2 // ITEMS_PER_BATCH + (1 if len(PAIRS) * 2 % ITEMS_PER_BATCH else 0)


def test_a_bar_inside_of_another_one_is_left_out(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = align(False)
    with terminal(monkeypatch) as written, progress_bar("mine", 10) as update:
        assert align() == expected
        update(10)
    assert b"mine" in written[0]


def test_an_error_ends_the_bar(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as written:
        with suppress(KeyError), call_progress("working", 3, None) as update:
            update(1)
            raise KeyError
        with call_progress("again", 3, None) as update:
            update(3)
    assert b"again" in written[0]


def test_an_index_shows_how_many_documents_are_encoded(
    at_once: None, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    index = wm.Index.create(str(tmp_path), wm.Aligner("line", Drawn(), "cosine"))
    documents = {str(number): f"topic{number} a" for number in range(ITEMS_PER_BATCH + 1)}
    for write in (index.add, index.replace):
        write(documents)
        assert capsys.readouterr().err == ""
        write(documents, progress=True)
        assert capsys.readouterr().err.splitlines() == ["encoding: 100%", "encoding: 100%"]


def test_a_bad_text_in_a_large_batch_costs_its_own_batch_alone() -> None:
    class Strict(Drawn):
        calls = 0

        def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
            self.calls += 1
            if any("bad" in text for text in texts):
                raise ValueError("a bad text")
            return super().encode(texts, spans)

    encoder = Strict()
    aligner = wm.Aligner("line", encoder, "cosine")
    texts = [f"text {number}" for number in range(2 * ITEMS_PER_BATCH)]
    texts[3] = "bad"
    outcomes = aligner.outcomes(zip(texts[::2], texts[1::2], strict=True), wm.Exactly(1))
    assert [number for number, outcome in enumerate(outcomes) if isinstance(outcome, ValueError)] == [1]
    assert encoder.calls == 2 + ITEMS_PER_BATCH
