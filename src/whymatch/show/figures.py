"""Figures, drawn with matplotlib."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from whymatch.show.words import SIGNS, meaning, plain, worth

COLOURS = ["#0072b2", "#b84a00", "#007a5a", "#a0497d", "#7a6000", "#5b4bb5"]
_LINE, _COLUMN, _GUTTER = 0.19, 3.4, 1.1  # inches: height of a line, width of a text, width between texts
_MAX_CHARACTERS = 44  # in a line of a column
_FONT = FontProperties(size=8.5)
_RATINGS = {0: ("#c5523f", "white"), 1: ("#c9ced4", "black"), 2: ("#2f6fb0", "white")}
"""The colour of a rating, as in the paper, and that of a number on it."""
_LEGEND = "rating, higher is better; the mean is on the right"
_MIN_LABELLED = 0.07  # share of a bar that has room for a number
_MEANINGS = {
    "same": COLOURS[2],
    "implies": COLOURS[0],
    "implied": COLOURS[0],
    "contradicts": "#c5271b",
    "related": COLOURS[5],
}
"""The colour of a link by its relation, where relations were read."""


def rated_bars(report: Mapping[str, Any], file: Path) -> None:
    """The paper's figure 7 from a study's report: per question one bar per model, divided by rating, and its mean."""
    models, questions = report["models"], [*report["models"][0]["ratings"]]
    if not questions:
        raise ValueError("This study asked for no ratings: there are no bars to draw.")
    height = 0.62 * len(questions) + 0.34 * len(models) * len(questions) + 0.5
    figure = Figure(figsize=(6.6, height), layout="constrained")
    grid = figure.subplots(len(questions), 1, squeeze=False).flatten()
    for axes, question in zip(grid, questions, strict=True):
        for row, model in enumerate(models):
            _rated_bar(axes, row, model["ratings"][question])
        axes.set_title(question.capitalize(), fontsize=10, loc="left")
        axes.set(xlim=(0, 1), ylim=(len(models) - 0.45, -0.55), xticks=[])
        names = [plain(Path(model["name"]).name or model["name"]) for model in models]
        axes.set_yticks(range(len(models)), names, fontsize=9, parse_math=False)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    boxes = [Patch(facecolor=colour, label=str(value)) for value, (colour, _) in _RATINGS.items()]
    figure.legend(handles=boxes, loc="outside lower center", ncol=3, fontsize=9, frameon=False, title=_LEGEND)
    save(figure, file)


def _rated_bar(axes: Any, row: int, rated: Mapping[str, Any]) -> None:
    """One bar: the share of each rating, and the mean to its right."""
    total, start = sum(rated["counts"]), 0.0
    right: dict[str, Any] = {"va": "center", "fontsize": 9, "clip_on": False}
    if not total:
        axes.text(0.005, row, "no answers", color="#5f6771", **right)
        return
    for (colour, ink), number in zip(_RATINGS.values(), rated["counts"], strict=True):
        share = number / total
        axes.barh(row, share, left=start, height=0.72, color=colour, edgecolor="white", linewidth=0.8)
        if share >= _MIN_LABELLED:
            label: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "color": ink}
            axes.text(start + share / 2, row, f"{100 * share:.0f}%", **label)
        start += share
    axes.text(1.012, row, f"{rated['mean']:.2f}", **right)


def reliability_diagram(bins: Sequence[Sequence[float]], judged: Sequence[Sequence[float]], file: Path) -> None:
    """The share of matches by probability, and how many pairs of each kind have which probability.

    `bins` has weight, mean probability and share of matches of each; `judged` a probability, and 1 for a match.
    """
    figure = Figure(figsize=(4.2, 5.0), layout="constrained")
    curve, counts = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    curve.plot([0, 1], [0, 1], color="#9aa2ab", linestyle="--", linewidth=0.8, label="perfectly calibrated")
    curve.plot(
        [probability for _, probability, _ in bins],
        [share for *_, share in bins],
        color=COLOURS[0],
        marker="o",
        clip_on=False,
        label="pairs held out",
    )
    curve.set(xlim=(0, 1), ylim=(0, 1), ylabel="share that match")
    curve.legend(frameon=False, fontsize=9, loc="upper left")
    kinds = [[probability for probability, match in judged if match == kind] for kind in (1, 0)]
    edges = [tenth / 10 for tenth in range(11)]
    counts.hist(kinds, bins=edges, color=COLOURS[:2], label=["match", "do not match"])
    counts.set(xlabel="probability", ylabel="pairs")
    counts.legend(frameon=False, fontsize=9)
    for axes in (curve, counts):
        axes.spines[["top", "right"]].set_visible(False)
    save(figure, file)


@contextmanager
def _without_warnings_of_glyphs() -> Iterator[None]:
    """Suppresses a warning for every character that the font lacks, in whose place a box is drawn."""
    with catch_warnings():
        filterwarnings("ignore", r"Glyph \d+", UserWarning)
        yield


@_without_warnings_of_glyphs()
def links_as_figure(picture: Mapping[str, Any], file: Path | None = None) -> Figure:
    """Two texts side by side, a box for each span, curves between linked ones, wider for more evidence.

    Where relations were read, colours and signs stand for them, and contradictions are broken lines. Written where a
    file is given.
    """
    columns = [_boxes(picture[side]) for side in ("left", "right")]
    relations = [meaning(link) for link in picture["links"]]
    read = [relation for relation in SIGNS if relation in relations]
    bottom = max([0.4, *(box["bottom"] for column in columns for box in column)]) + 0.05
    height, width = bottom + (_LINE + 0.1 if read else 0.0), 2 * _COLUMN + _GUTTER
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    colours = [
        COLOURS[number % len(COLOURS)] if relation is None else _MEANINGS[relation]
        for number, relation in enumerate(relations)
    ]
    of_box = {}
    for link, colour in reversed([*zip(picture["links"], colours, strict=True)]):
        for side in (0, 1):
            of_box[side, link["at"][side]] = colour
    for side, column in enumerate(columns):
        for number, box in enumerate(column):
            _draw_box(axes, side * (_COLUMN + _GUTTER), box, of_box.get((side, number)))
    strengths = worth(picture)
    strongest = max([*strengths, 1e-9])
    for link, strength, colour, relation in zip(picture["links"], strengths, colours, relations, strict=True):
        ends = [columns[side][link["at"][side]]["middle"] for side in (0, 1)]
        _draw_curve(axes, ends, colour, 1 + 4 * max(strength, 0) / strongest, relation)
    for place, relation in enumerate(read):
        label = f"{SIGNS[relation]} {relation}"
        x, y = 0.05 + place * width / len(SIGNS), height - 0.05 - _LINE / 2
        axes.text(x, y, label, va="center", color=_MEANINGS[relation], fontproperties=_FONT)
    if file is not None:
        save(figure, file)
    return figure


def _draw_curve(axes: Any, ends: Sequence[float], colour: str, width: float, relation: str | None) -> None:
    """The curve of a link between the heights of its boxes, with the sign of its relation where one was read.

    Signs stand at the left ends of curves, so that those of links that cross do not cover each other.
    """
    x, middle = _COLUMN, _COLUMN + _GUTTER / 2
    points = [(x, ends[0]), (middle, ends[0]), (middle, ends[1]), (x + _GUTTER, ends[1])]
    curve = Curve(points, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
    broken = "--" if relation == "contradicts" else "-"
    axes.add_patch(PathPatch(curve, facecolor="none", edgecolor=colour, linewidth=width, linestyle=broken))
    if relation is not None:
        box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": colour, "linewidth": 0.8}
        place: dict[str, Any] = {"ha": "center", "va": "center", "fontproperties": _FONT, "bbox": box}
        axes.text(x + 0.27 * _GUTTER, 0.88 * ends[0] + 0.12 * ends[1], SIGNS[relation], color=colour, **place)


def _boxes(text: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The spans of a text as wrapped lines, with their places from the top, in inches."""
    boxes, top = [], 0.05
    for start, end in text["spans"]:
        lines = _wrapped(plain(text["text"][start:end]))
        bottom = top + _LINE * len(lines) + 0.12
        boxes.append({"lines": lines, "top": top, "middle": (top + bottom) / 2, "bottom": bottom})
        top = bottom + 0.06
    return boxes


def _wrapped(piece: str) -> list[str]:
    """A piece wrapped into lines that are no wider than a column, however wide its letters."""
    characters, width = _MAX_CHARACTERS, _COLUMN - 0.26
    while True:
        lines = wrap(piece, characters) or [""]
        widest = max(TextToPath().get_text_width_height_descent(line, _FONT, False)[0] / 72 for line in lines)
        if widest <= width or characters == 1:
            return lines
        characters = max(1, min(characters - 1, int(characters * width / widest)))


def _draw_box(axes: Any, x: float, box: Mapping[str, Any], colour: str | None) -> None:
    """A box with its lines; dashed and grey where the span has no counterpart."""
    corner, size = (x + 0.05, box["top"]), (_COLUMN - 0.1, box["bottom"] - box["top"])
    style: dict[str, Any] = {"edgecolor": "#9aa2ab", "linestyle": "--", "linewidth": 0.7}
    if colour:
        style = {"edgecolor": colour, "linestyle": "-", "linewidth": 1.2}
    shape = "round,pad=0,rounding_size=0.05"
    axes.add_patch(FancyBboxPatch(corner, *size, boxstyle=shape, facecolor="none", **style))
    text: dict[str, Any] = {"va": "center", "parse_math": False, "color": "black" if colour else "#5f6771"}
    for number, line in enumerate(box["lines"]):
        axes.text(x + 0.13, box["top"] + 0.06 + _LINE * (number + 0.5), line, fontproperties=_FONT, **text)


def save(figure: Figure, file: Path) -> None:
    """Writes a figure in the format that its name ends with."""
    kind = file.suffix.lstrip(".").lower() or "png"
    if kind not in ("svg", "pdf", "png"):
        raise ValueError(f"A figure's name ends with .svg, .pdf or .png, got {file.name}.")
    with whole_file(file) as draft:
        figure.savefig(draft, dpi=150, format=kind)
