"""The verb in this process, and the library beside it."""

import io
import sys
from collections.abc import Iterator

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
    return Aligner(relations=True)


@pytest.fixture(autouse=True, scope="session")
def no_lines_of_progress() -> Iterator[None]:
    """On a busy machine work takes long enough for lines of progress, which tests of other output do not expect."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whymatch.progress.SECONDS_BETWEEN_LINES", float("inf"))
        yield
