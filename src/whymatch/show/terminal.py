"""Text for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from whymatch.show.words import (
    IN_CONTEXT,
    OWN_BACKGROUND,
    SHIPPED_BACKGROUND,
    SIGNS,
    bits,
    conflict_words,
    conflicts_first,
    evidence,
    in_words,
    meaning,
    number,
    percent,
    plain,
    worth,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_MAX_LINKS, _MAX_UNMATCHED = 50, 50  # that a terminal shows
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
    """An alignment's dictionary: verdict, evidence, links, what has no counterpart, and the certificate.

    Costs that are no evidence have a score in place of the verdict.
    """
    from rich.text import Text

    picture = conflicts_first(picture)
    for line in _headings(picture) if picture["judgement"] else [_score_line(picture)]:
        console.print(line)
    if picture["links"]:
        console.print(_table_of_links(picture))
        if (more := len(picture["links"]) - _MAX_LINKS) > 0:
            console.print(Text(f"{more:,} more links: --html or --json shows them all.", "dim"))
    for rank, link in enumerate(picture["links"][:_MAX_LINKS], start=1):
        for words in conflict_words(picture, link):
            console.print(Text(f"≠ in link {rank}: ", "bold red") + Text(words))
    for note in picture["notes"]:
        console.print(Text("Note: ", "bold") + Text(plain(note)))
    for side in ("left", "right"):
        text = picture[side]["text"]
        unmatched = [plain(text[start:end]) for start, end in picture["unmatched"][side]]
        if unmatched:
            more = len(unmatched) - _MAX_UNMATCHED
            shown = [*unmatched[:_MAX_UNMATCHED], *([f"and {more:,} more"] if more > 0 else [])]
            console.print(Text(f"No counterpart, {side}: ", "bold") + Text(" · ".join(shown), "dim"))
    if picture["contextual"]:
        console.print(Text(IN_CONTEXT, "dim"))
    console.print(Text(f"Certificate: {picture['certificate']['in_words']}", "dim"))


def _headings(picture: Mapping[str, Any]) -> "Iterator[Text]":
    """The verdict; probability, evidence and background; and which links were asked for."""
    from rich.text import Text

    judgement = picture["judgement"]
    background = plain(judgement["background"])
    yield Text(picture["verdict"], "bold")
    chance = judgement["probability"]
    likely = ("" if chance is None else f"{percent(chance)} likely to match, ") + evidence(judgement["bits"])
    yield Text(likely) + Text(f", judged against {background}.", "dim")
    if background == SHIPPED_BACKGROUND:
        yield Text(OWN_BACKGROUND, "dim")
    if not picture["by_default"]:
        links = picture["links"]
        noun = "link" if len(links) == 1 else "links"
        yield Text(f"{len(links)} {noun}, {bits(sum(worth(picture)))}: {in_words(picture)}.", "dim")


def _score_line(picture: Mapping[str, Any]) -> "Text":
    from rich.text import Text

    noun = "link" if len(picture["links"]) == 1 else "links"
    head = f"score {number(picture['score'])}, {len(picture['links'])} {noun}: "
    return Text(head, "bold") + Text(in_words(picture), "dim")


def _table_of_links(picture: Mapping[str, Any]) -> "Table":
    """A row per link: its texts, its bits, or its cost and strength where costs are no evidence, and what it means."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    measures = {"bits": "bits"} if picture["judgement"] else {"cost": "cost", "strength": "share"}
    grid = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    grid.add_column("#", justify="right")
    for side in ("left", "right"):
        grid.add_column(side, ratio=1)
    for measure in measures:
        grid.add_column(measure, justify="right")
    meanings = [meaning(link) for link in picture["links"]]
    if any(meanings):
        grid.add_column("meaning", no_wrap=True)
    for rank, (link, relation) in enumerate(zip(picture["links"][:_MAX_LINKS], meanings, strict=False)):
        pieces = [Text(plain(piece), _COLOURS[rank % len(_COLOURS)]) for piece in link["texts"]]
        values = [f"{link['bits']:.1f}"] if picture["judgement"] else [number(link[key]) for key in measures.values()]
        row: list[str | Text] = [str(rank + 1), *pieces, *values]
        if relation is not None:
            row.append(Text(f"{SIGNS[relation]} {relation}", "bold red" if relation == "contradicts" else ""))
        grid.add_row(*row)
    return grid


def links_as_text(picture: Mapping[str, Any], width: int = 100) -> str:
    """What `print_links` prints, without colours."""
    from rich.console import Console

    console = Console(file=StringIO(), width=width, color_system=None, force_jupyter=False)
    print_links(picture, console)
    return console.file.getvalue().rstrip()  # type: ignore[attr-defined]
