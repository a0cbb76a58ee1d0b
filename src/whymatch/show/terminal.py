"""Text for a terminal."""

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from whymatch.show.words import IN_CONTEXT, in_words, number, plain

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS = ["blue", "dark_orange3", "green", "magenta", "yellow", "cyan"]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns.

    >>> print(table(["name", "links"], [["Exactly(k=2)", "2"]]))
    name          links
    ------------  -----
    Exactly(k=2)  2
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def terminal() -> "Console":
    """Standard output; raises BrokenPipeError where its reader is gone, which rich would turn into exit status 1."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Terminal(highlight=False)


def print_links(picture: Mapping[str, Any], console: "Console") -> None:
    """The links of an alignment's dictionary, what has no counterpart, and the certificate."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    links = picture["links"]
    noun = "link" if len(links) == 1 else "links"
    head = f"score {number(picture['score'])}, {len(links)} {noun}: "
    console.print(Text(head, "bold") + Text(in_words(picture), "dim"))
    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, justify in (("#", "right"), ("left", "left"), ("right", "left"), ("cost", "right"), ("share", "right")):
        grid.add_column(name, justify=justify, ratio=1 if name in ("left", "right") else None)  # type: ignore[arg-type]
    for rank, link in enumerate(links):
        pieces = [Text(plain(piece), _COLOURS[rank % len(_COLOURS)]) for piece in link["texts"]]
        grid.add_row(str(rank + 1), *pieces, number(link["cost"]), number(link["share"]))
    if links:
        console.print(grid)
    for side in ("left", "right"):
        text = picture[side]["text"]
        unmatched = [plain(text[start:end]) for start, end in picture["unmatched"][side]]
        if unmatched:
            console.print(Text(f"No counterpart, {side}: ", "bold") + Text(" · ".join(unmatched), "dim"))
    console.print(Text("Certificate: ", "bold") + Text(picture["certificate"]["in_words"]))
    if picture["contextual"]:
        console.print(Text(IN_CONTEXT, "dim"))


def links_as_text(picture: Mapping[str, Any], width: int = 100) -> str:
    """What `print_links` prints, without colours."""
    from rich.console import Console

    console = Console(file=StringIO(), width=width, color_system=None, force_jupyter=False)
    print_links(picture, console)
    return console.file.getvalue().rstrip()  # type: ignore[attr-defined]
