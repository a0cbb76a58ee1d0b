"""The verb in this process, and the library beside it."""

import io
import sys

import pytest

from tests.cli.running import (
    Align,
    Ran,
)
from whymatch.cli import main
from whymatch.matching.aligner import Aligner


@pytest.fixture
def align(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Align:
    """The verb in this process, with bytes for standard input."""

    def run(*arguments: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return Ran(main(["align", *map(str, arguments)]), *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def library() -> Aligner:
    return Aligner()
