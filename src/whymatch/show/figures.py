"""Figures, drawn with matplotlib."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from textwrap import wrap
from typing import Any
from warnings import catch_warnings, filterwarnings

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, Patch, PathPatch
from matplotlib.path import Path as Curve
from matplotlib.textpath import TextToPath

from whymatch.files import whole_file
from whymatch.show.words import plain

ABREAST = 6  # heat maps in a row
COLOURS = ["#0072b2", "#b84a00", "#007a5a", "#a0497d", "#7a6000", "#5b4bb5"]
LINE, COLUMN, GUTTER = 0.19, 3.4, 1.1  # inches: height of a line, width of a text, width between texts
CHARACTERS = 44  # in a line of a column
FONT = FontProperties(size=8.5)
RATED = {0: ("#c5523f", "white"), 1: ("#c9ced4", "black"), 2: ("#2f6fb0", "white")}
"""The colour of a rating, as in the paper, and that of a number on it."""
MEANING = "rating, higher is better; the mean is on the right"
NARROW = 0.07  # share of a bar that has no room for a number


def heat_maps(maps: Mapping[str, Sequence[Sequence[float]]], file: Path) -> None:
    """Matrices side by side under their titles, each on its own scale, dark for large values."""
    down = ceil(len(maps) / ABREAST)
    figure = Figure(figsize=(2.4 * min(len(maps), ABREAST), 4.1 * down), layout="constrained")
    grid = figure.subplots(down, min(len(maps), ABREAST), squeeze=False).flatten()
    for axes, (title, values) in zip(grid, maps.items(), strict=False):
        axes.imshow(values, cmap="Blues", interpolation="nearest")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("right spans", fontsize=8)
        axes.set_ylabel("left spans", fontsize=8)
        axes.tick_params(labelsize=7)
    for axes in grid[len(maps) :]:
        axes.set_visible(False)
    save(figure, file)


def trade_off(
    exact: Mapping[int, tuple[float, float]], lines: Mapping[str, Sequence[tuple[float, float]]], file: Path
) -> None:
    """Accuracy by the percentage of tokens: a labelled point for each exact k, a line for each attention."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for number, (name, points) in enumerate(lines.items(), start=1):
        style: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "marker": "os^Dv"[number % 5]}
        axes.plot(*zip(*points, strict=True), linewidth=1.3, markersize=3.5, label=name, **style)
    if exact:
        x, y = zip(*exact.values(), strict=True)
        axes.plot(x, y, "-*", color=COLOURS[0], linewidth=1.8, markersize=11, label="exact k", zorder=3)
    for k, place in exact.items():
        label: dict[str, Any] = {"ha": "center", "fontsize": 8.5, "color": COLOURS[0]}
        axes.annotate(f"k = {k}", place, (0, 9), textcoords="offset points", **label)
    axes.set_xlabel("% of tokens in the rationale")
    axes.set_ylabel("accuracy, %")
    axes.margins(y=0.12)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncol=2, fontsize=8.5, frameon=False)
    save(figure, file)


def rated_bars(found: Mapping[str, Any], file: Path) -> None:
    """The paper's figure 7 from a study's report: for each question a bar a model, divided by rating, and its mean."""
    models, questions = found["models"], [*found["models"][0]["ratings"]]
    if not questions:
        raise ValueError("This study asked for no ratings: there are no bars to draw.")
    height = 0.62 * len(questions) + 0.34 * len(models) * len(questions) + 0.5
    figure = Figure(figsize=(6.6, height), layout="constrained")
    grid = figure.subplots(len(questions), 1, squeeze=False).flatten()
    for axes, question in zip(grid, questions, strict=True):
        for row, model in enumerate(models):
            rated_bar(axes, row, model["ratings"][question])
        axes.set_title(question.capitalize(), fontsize=10, loc="left")
        axes.set(xlim=(0, 1), ylim=(len(models) - 0.45, -0.55), xticks=[])
        names = [plain(Path(model["name"]).name or model["name"]) for model in models]
        axes.set_yticks(range(len(models)), names, fontsize=9, parse_math=False)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    boxes = [Patch(facecolor=colour, label=str(value)) for value, (colour, _) in RATED.items()]
    figure.legend(handles=boxes, loc="outside lower center", ncol=3, fontsize=9, frameon=False, title=MEANING)
    save(figure, file)


def rated_bar(axes: Any, row: int, rated: Mapping[str, Any]) -> None:
    """One bar: the share of each rating, and the mean to its right."""
    total, start = sum(rated["counts"]), 0.0
    right: dict[str, Any] = {"va": "center", "fontsize": 9, "clip_on": False}
    if not total:
        axes.text(0.005, row, "no answers", color="#5f6771", **right)
        return
    for (colour, ink), number in zip(RATED.values(), rated["counts"], strict=True):
        share = number / total
        axes.barh(row, share, left=start, height=0.72, color=colour, edgecolor="white", linewidth=0.8)
        if share >= NARROW:
            label: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "color": ink}
            axes.text(start + share / 2, row, f"{100 * share:.0f}%", **label)
        start += share
    axes.text(1.012, row, f"{rated['mean']:.2f}", **right)


@contextmanager
def quietly() -> Iterator[None]:
    """Without a warning for every character that the font lacks: a box is drawn in its place."""
    with catch_warnings():
        filterwarnings("ignore", r"Glyph \d+", UserWarning)
        yield


@quietly()
def links_as_figure(picture: Mapping[str, Any], file: Path) -> None:
    """Two texts side by side, a box for each span, curves between linked ones, wider for a larger share."""
    columns = [boxes(picture[side]) for side in ("left", "right")]
    height = max([0.4, *(box["bottom"] for column in columns for box in column)]) + 0.05
    width = 2 * COLUMN + GUTTER
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    colour = {}
    for number, link in reversed(list(enumerate(picture["links"]))):
        for side in (0, 1):
            colour[side, link["at"][side]] = COLOURS[number % len(COLOURS)]
    for side, column in enumerate(columns):
        for number, box in enumerate(column):
            draw_box(axes, side * (COLUMN + GUTTER), box, colour.get((side, number)))
    strongest = max([link["share"] for link in picture["links"]], default=1.0)
    for number, link in enumerate(picture["links"]):
        y, z = (columns[side][link["at"][side]]["middle"] for side in (0, 1))
        x, middle = COLUMN, COLUMN + GUTTER / 2
        points = [(x, y), (middle, y), (middle, z), (x + GUTTER, z)]
        curve = Curve(points, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
        thick = 1 + 4 * max(link["share"], 0) / max(strongest, 1e-9)
        axes.add_patch(PathPatch(curve, facecolor="none", edgecolor=COLOURS[number % len(COLOURS)], linewidth=thick))
    save(figure, file)


def boxes(text: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The spans of a text as wrapped lines, with where each stands from the top, in inches."""
    found, top = [], 0.05
    for start, end in text["spans"]:
        lines = fitting(plain(text["text"][start:end]))
        bottom = top + LINE * len(lines) + 0.12
        found.append({"lines": lines, "top": top, "middle": (top + bottom) / 2, "bottom": bottom})
        top = bottom + 0.06
    return found


def fitting(piece: str) -> list[str]:
    """A piece wrapped into lines that are no wider than a column, however wide its letters."""
    characters, room = CHARACTERS, COLUMN - 0.26
    while True:
        lines = wrap(piece, characters) or [""]
        widest = max(TextToPath().get_text_width_height_descent(line, FONT, False)[0] / 72 for line in lines)
        if widest <= room or characters == 1:
            return lines
        characters = max(1, min(characters - 1, int(characters * room / widest)))


def draw_box(axes: Any, x: float, box: Mapping[str, Any], colour: str | None) -> None:
    """A box with its lines; dashed and grey where the span has no counterpart."""
    size = COLUMN - 0.1, box["bottom"] - box["top"]
    style: dict[str, Any] = {
        "edgecolor": colour or "#9aa2ab",
        "linestyle": "-" if colour else "--",
        "linewidth": 1.2 if colour else 0.7,
    }
    axes.add_patch(
        FancyBboxPatch(
            (x + 0.05, box["top"]), *size, boxstyle="round,pad=0,rounding_size=0.05", facecolor="none", **style
        )
    )
    for number, line in enumerate(box["lines"]):
        y = box["top"] + 0.06 + LINE * (number + 0.5)
        axes.text(
            x + 0.13,
            y,
            line,
            fontproperties=FONT,
            va="center",
            parse_math=False,
            color="black" if colour else "#5f6771",
        )


def save(figure: Figure, file: Path) -> None:
    """Writes a figure in the format that its name ends with."""
    kind = file.suffix.lstrip(".").lower() or "png"
    if kind not in ("svg", "pdf", "png"):
        raise ValueError(f"A figure's name ends with .svg, .pdf or .png, got {file.name}.")
    with whole_file(file) as draft:
        figure.savefig(draft, dpi=150, format=kind)
