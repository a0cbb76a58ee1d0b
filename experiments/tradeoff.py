"""The paper's figure 6: how accurate a classifier is on e-SNLI when it reads only so many of the tokens."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from experiments.records import read_runs
from whymatch.datasets.records import Pair
from whymatch.evaluation.rationales import tokens_in
from whymatch.learning.evaluate import observe
from whymatch.matching.classifier import Classifier
from whymatch.matching.rules import Attend

MIN_THRESHOLD = 0.001  # of the thresholds, as a multiple of 1 / (n·m): next to nothing is cut
POINTS = 12  # of a curve
MIN_RATIO = 1.02  # two thresholds whose ratio is below this have none between them
TABLE = "esnli"
EXACT = re.compile(r"OT \(exact k = (\d+)\)")
Point = dict[str, float]


def curve(model: Classifier, pairs: Sequence[Pair], points: int = POINTS) -> list[Point]:
    """Accuracy against the share of tokens where attention below λ is cut, from λ next to 0 to where nothing is left.

    λ is given as a multiple of 1 / (n·m). The thresholds lie on a logarithmic scale, each halfway between the two
    neighbours that differ most, so that they are dense where the curve falls.
    """
    rule = model.rule
    if not isinstance(rule, Attend):
        raise ValueError(f"A curve cuts the weights of attention, and this model has the rule {rule}.")
    if not pairs:
        raise ValueError("There is nothing to draw a curve from: the split is empty.")
    most = max(len(pair.left) * len(pair.right) for pair in pairs)  # λ = 1, and no weight is larger
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            return spread(lambda times: cut(model, rule, pairs, times), MIN_THRESHOLD, float(max(most, 1)), points)
    finally:
        model.rule = rule
        model.train(training)


def cut(model: Classifier, rule: Attend, pairs: Sequence[Pair], threshold: float) -> Point:
    """One point: the model with what exceeds the threshold alone."""
    model.rule = replace(rule, active_only=True, threshold=threshold)
    seen, _ = observe(model, [(pair.left, pair.right) for pair in pairs])
    right, chosen, tokens = 0, 0, 0
    for pair, prediction in zip(pairs, seen, strict=True):
        right += model.labels[prediction.best] == pair.label
        for side, text in enumerate((pair.left, pair.right)):
            chosen += len(tokens_in(text.text, [text.spans[number] for number in prediction.selection.spans[side]]))
            tokens += len(text.text.split())
    return {"λ": threshold, "% of tokens": 100 * chosen / max(1, tokens), "accuracy": right / len(pairs)}


def spread(measure: Callable[[float], Point], least: float, most: float, points: int) -> list[Point]:
    """Points from the least to the most λ, each new one where neighbours are farthest apart."""
    curve = [measure(least), measure(most)]
    while len(curve) < points:
        gaps = [distance(a, b) for a, b in pairwise(curve)]
        widest = max(range(len(gaps)), key=gaps.__getitem__)
        if gaps[widest] <= 0:
            break
        before, after = curve[widest], curve[widest + 1]
        curve.insert(widest + 1, measure(sqrt(before["λ"] * after["λ"])))
    return curve


def distance(point: Point, other: Point) -> float:
    """The distance of two neighbours as a share of the scale; 0 where no threshold lies between them."""
    if other["λ"] / point["λ"] < MIN_RATIO:
        return 0.0
    return max(abs(point["% of tokens"] - other["% of tokens"]) / 100, abs(point["accuracy"] - other["accuracy"]))


def draw_trade_off(results: Path, picture: Path) -> None:
    """Draws what the e-SNLI table left on disk: a point for each exact k, a line for each attention."""
    exact, lines = exact_points(runs := read_runs(results / TABLE)), curves(runs)
    if not exact and not lines:
        raise ValueError(
            f"There is nothing to draw: {results / TABLE} has no exact-k rows and no curves. "
            f"Run `python -m experiments {TABLE} --data …` first."
        )
    try:
        from experiments.figures import trade_off
    except ModuleNotFoundError:
        raise ValueError("A figure needs matplotlib: pip install 'whymatch[figures]'.") from None
    picture.parent.mkdir(parents=True, exist_ok=True)
    trade_off(exact, lines, picture)


def exact_points(runs: Sequence[dict[str, Any]]) -> dict[int, tuple[float, float]]:
    """For each k of exact-k, the percentage of tokens and that of right answers, means over seeds."""
    points: dict[int, list[tuple[float, float]]] = {}
    for run in runs:
        named, results = EXACT.fullmatch(run["row"]), run["results"]
        if named and run["trained"] and {"accuracy", "both rationale % of tokens"} <= results.keys():
            point = results["both rationale % of tokens"]["mean"], 100 * results["accuracy"]["mean"]
            points.setdefault(int(named[1]), []).append(point)
    return {k: (fmean(x for x, _ in seeds), fmean(y for _, y in seeds)) for k, seeds in sorted(points.items())}


def curves(runs: Sequence[dict[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """For each attention, the curve of its first seed, fewest tokens first."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for run in sorted(runs, key=lambda run: int(run["seed"])):
        if "curve" in run:
            points = [(point["% of tokens"], 100 * point["accuracy"]) for point in reversed(run["curve"])]
            lines.setdefault(run["row"], points)
    return dict(sorted(lines.items()))
