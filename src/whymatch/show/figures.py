"""Figures, drawn with matplotlib."""

from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path

from matplotlib.figure import Figure

ABREAST = 6  # heat maps in a row


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
    figure.savefig(file, dpi=120, format=file.suffix.lstrip(".") or "png")
