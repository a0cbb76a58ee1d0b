"""Running `whymatch align` in a test, and reading what it answers."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, TypeAlias

from whymatch.matching.alignment import Alignment

EXAMPLES = Path(__file__).parents[2] / "examples"


QUESTION, DUPLICATE = EXAMPLES / "question.txt", EXAMPLES / "duplicate.txt"


SHORT = "The cat slept on the mat. It rained all day."


LONG = "All day long there was rain.\nMy uncle sells cars.\n\nA cat was asleep on a mat. Prices rose. Wine is red."


COMMAND = [sys.executable, "-m", "whymatch", "align"]


class Ran(NamedTuple):
    status: int
    out: str
    err: str


Align: TypeAlias = Callable[..., Ran]


def refused(ran: Ran) -> str:
    """The one line with which the verb refuses."""
    assert ran.status == 2
    assert ran.out == ""
    assert re.fullmatch(r"whymatch: \S.*\n", ran.err)
    assert "Traceback" not in ran.err
    return ran.err


def strict(line: str) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    return json.loads(line, parse_constant=refuse)


def aligned(ran: Ran) -> Alignment:
    """What `--json` printed."""
    assert ran.status == 0
    assert ran.err == ""
    assert ran.out.count("\n") == 1
    return Alignment.from_dict(strict(ran.out))


def written(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def row(left: object, right: object, **more: object) -> bytes:
    return json.dumps({"left": left, "right": right, **more}).encode()


GOOD = row("The cat slept. It rained all day.", ["All day, rain.", "A cat was asleep."])


def at_a_terminal(command: Sequence[str]) -> Ran:
    """Runs a command with its output in a pipe; the errors are what a person at the terminal sees, without colours."""
    screen, terminal = pty.openpty()
    seen = bytearray()

    def watch() -> None:
        with suppress(OSError):  # the terminal was closed
            while part := os.read(screen, 4096):
                seen.extend(part)

    person = Thread(target=watch)
    person.start()
    environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm"}
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, check=False, env=environment, text=True)
    os.close(terminal)
    person.join()
    os.close(screen)
    return Ran(ran.returncode, ran.stdout, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode()))
