"""The paper's figures 5 and 6, drawn with matplotlib."""

from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from whymatch.show.figures import COLOURS, save

_MAPS_PER_ROW = 6


def heat_maps(maps: Mapping[str, Sequence[Sequence[float]]], file: Path) -> None:
    """Matrices side by side under their titles, each on its own scale, dark for large values."""
    down = ceil(len(maps) / _MAPS_PER_ROW)
    figure = Figure(figsize=(2.4 * min(len(maps), _MAPS_PER_ROW), 4.1 * down), layout="constrained")
    grid = figure.subplots(down, min(len(maps), _MAPS_PER_ROW), squeeze=False).flatten()
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
