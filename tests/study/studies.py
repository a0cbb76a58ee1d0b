"""Small studies whose items are known, and a server of one in a process of its own."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from whymatch.datasets.records import Pair
from whymatch.study.answers import write_study
from whymatch.study.items import Asked, Item, Study
from whymatch.text.document import joined

HACK = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'
LEFT = [f"We paid 120 euros a night {HACK}", "The dog barked & barked", f"Parking <b>is</b> free {HACK}"]
RIGHT = [f"You can park at no charge {HACK}", "Breakfast was served until eleven", "A night costs €120 🥐"]
SECRETS = ("runs/secret-transport", "runs/secret-attention")


def study(asked: Asked = "both", pairs: int = 2) -> Study:
    """Each pair has two items, of two links and of one, by two models; the first pair holds scripts."""
    texts = [Pair(HACK, joined(LEFT), joined(RIGHT), "yes")]
    texts += [
        Pair(f"pair {number}", joined([f"{side} {number} says {word}" for word in "abc"]), joined(RIGHT), "no")
        for number, side in enumerate(["One"] * (pairs - 1), start=2)
    ]
    items = [
        Item(str(2 * pair + model + 1), pair, (model,), (((0, 2), (2, 0)), ((1, 1),))[model])
        for pair in range(pairs)
        for model in (0, 1)
    ]
    return Study("an id", "a secret", "Hotels <b>and</b> more", asked, "line", SECRETS, tuple(texts), tuple(items))


def written(folder: Path, asked: Asked = "both", pairs: int = 2) -> Study:
    made = study(asked, pairs)
    write_study(made, folder)
    return made


@contextmanager
def serving(folder: Path, *arguments: str, stop: bool = True) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """`whymatch study serve` at a port of the system's choice: its address and its process."""
    command: Sequence[str] = [
        sys.executable,
        "-m",
        "whymatch",
        "study",
        "serve",
        str(folder),
        "--port",
        "0",
        *arguments,
    ]
    with (folder / "server.log").open("a") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found, (folder / "server.log").read_text()
        yield found[0], process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]
    assert process.returncode == 0 or not stop
