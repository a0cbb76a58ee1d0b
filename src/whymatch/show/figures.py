"""Figures, drawn with matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure


def heat_maps(maps: Mapping[str, Sequence[Sequence[float]]], file: Path) -> None:
    """Matrices side by side under their titles, each on its own scale, dark for large values."""
    figure = Figure(figsize=(2.4 * len(maps), 4.2), layout="constrained")
    for axes, (title, values) in zip(figure.subplots(1, len(maps), squeeze=False)[0], maps.items(), strict=True):
        axes.imshow(values, cmap="Blues", interpolation="nearest")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("right spans", fontsize=8)
        axes.tick_params(labelsize=7)
    figure.axes[0].set_ylabel("left spans", fontsize=8)
    figure.savefig(file, dpi=150, format=file.suffix.lstrip(".") or "png")
