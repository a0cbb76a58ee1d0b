"""The results of a study: how people rated each model, and how well they agree.

Agreement is Krippendorff's alpha, computed from its definition: Klaus Krippendorff, "Computing Krippendorff's
Alpha-Reliability" (2011), sections C (nominal) and D (ordinal).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from whymatch.evaluation.intervals import bootstrap
from whymatch.study.answers import Answer
from whymatch.study.items import RATINGS, Study


def report(study: Study, answers: Sequence[Answer]) -> dict[str, Any]:
    """Plain values: each model's ratings and accepted links, the annotators, and Krippendorff's alpha."""
    ratings = RATINGS if study.asked != "links" else ()
    names = dict.fromkeys(answer.annotator for answer in answers)
    return {
        "title": study.title,
        "asked": study.asked,
        "pairs": len(study.pairs),
        "items": len(study.items),
        "models": [_of_model(study, number, answers, ratings) for number in range(len(study.models))],
        "annotators": [_of_annotator(study, name, answers) for name in names],
        "agreement": _agreement(study, answers, ratings),
    }


def _of_model(study: Study, model: int, answers: Sequence[Answer], ratings: Sequence[str]) -> dict[str, Any]:
    """The answers about one model's items; what it shares with another model counts for both."""
    items = {item.id: item for item in study.items if model in item.models}
    by_question: dict[str, list[Answer]] = {}
    for answer in answers:
        if answer.item in items:
            by_question.setdefault(_kind(answer), []).append(answer)
    values: dict[str, Any] = {
        "name": study.models[model],
        "items": len(items),
        "pairs without links": len(study.pairs) - len(items),
        "links in an item": sum(len(item.links) for item in items.values()) / max(1, len(items)),
        "ratings": {question: _counts(study, by_question.get(question, []), (0, 1, 2)) for question in ratings},
    }
    links = {} if study.asked == "ratings" else {"links": _counts(study, by_question.get("links", []), (0, 1))}
    return values | links


def _kind(answer: Answer) -> str:
    """The rating that was asked for, or "links" for a verdict on a link."""
    return answer.question if answer.question in RATINGS else "links"


def _counts(study: Study, answers: Sequence[Answer], values: Sequence[int]) -> dict[str, Any]:
    """How many answers there are of each value; their mean, and its interval if other pairs had been drawn."""
    sums: dict[int, list[float]] = {}
    for answer in answers:
        of_pair = sums.setdefault(study.by_id[answer.item].pair, [0.0, 0.0])
        of_pair[0] += answer.value
        of_pair[1] += 1
    interval = bootstrap([*sums.values()], _ratio)._asdict() if sums else {"mean": None, "low": None, "high": None}
    return {"counts": [sum(answer.value == value for answer in answers) for value in values], **interval}


def _ratio(rows: np.ndarray) -> float:
    """The mean of all answers from sums and numbers of answers, (pairs, 2)."""
    total, number = rows.sum(axis=0)
    return float(total / number)


def _of_annotator(study: Study, name: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """How many items one person has completed, and how many questions answered."""
    given: dict[str, set[str]] = {}
    for answer in answers:
        if answer.annotator == name:
            given.setdefault(answer.item, set()).add(answer.question)
    complete = sum(study.questions(item).keys() <= given.get(item.id, set()) for item in study.items)
    return {"name": name, "complete": complete, "answers": sum(map(len, given.values()))}


def _agreement(study: Study, answers: Sequence[Answer], ratings: Sequence[str]) -> dict[str, Any]:
    """Alpha for each question, ordinal, and for single links, nominal; None where it is not defined."""
    units: dict[str, dict[tuple[str, str], list[int]]] = {}
    for answer in answers:
        units.setdefault(_kind(answer), {}).setdefault((answer.item, answer.question), []).append(answer.value)

    def of(kind: str, values: Sequence[int], level: Literal["ordinal", "nominal"]) -> dict[str, Any]:
        judged = [*units.get(kind, {}).values()]
        return {"alpha": alpha(judged, values, level), "judged twice": sum(len(unit) > 1 for unit in judged)}

    agreement = {question: of(question, (0, 1, 2), "ordinal") for question in ratings}
    return agreement if study.asked == "ratings" else agreement | {"links": of("links", (0, 1), "nominal")}


def as_table(report: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """A report as a table: a header, a row for each model, and one for agreement."""
    questions = [*report["agreement"]]
    rows = []
    for model in report["models"]:
        judged = {**model["ratings"], **({"links": model["links"]} if "links" in model else {})}
        rows.append([model["name"], *(_mean_in_words(judged[question]) for question in questions)])
    alphas = [report["agreement"][question]["alpha"] for question in questions]
    rows.append(["agreement (alpha)", *("not defined" if value is None else f"{value:.2f}" for value in alphas)])
    return ["mean of answers", *questions], rows


def _mean_in_words(answers: Mapping[str, Any]) -> str:
    """A mean with its interval and the number of answers behind it."""
    if answers["mean"] is None:
        return "no answers"
    return f"{answers['mean']:.2f} ({answers['low']:.2f} to {answers['high']:.2f}; {sum(answers['counts'])})"


def alpha(units: Iterable[Sequence[int]], values: Sequence[int], level: Literal["ordinal", "nominal"]) -> float | None:
    """Krippendorff's alpha: 1 is perfect agreement, 0 is what chance would give, below 0 is systematic disagreement.

    A unit lists the values that annotators gave to one thing, in any order; units with fewer than two values do not
    count. `values` are all values that could be given, in ascending order, which is what `ordinal` ranks them by.

    Returns None where alpha is not defined: nothing was judged twice, or only one value was ever given.

    Raises:
        ValueError: if a unit holds a value that is not one of `values`.

    >>> round(alpha([[0, 0], [1, 1], [2, 2], [0, 1]], [0, 1, 2], "nominal"), 3)
    0.667
    >>> alpha([[1, 1], [1, 1]], [0, 1], "nominal") is None
    True
    """
    judged_twice = [list(unit) for unit in units if len(unit) > 1]
    unknown = {value for unit in judged_twice for value in unit} - {*values}
    if unknown:
        raise ValueError(f"Values are {', '.join(map(str, values))}, got {', '.join(map(str, sorted(unknown)))}.")
    counts = np.array([[unit.count(value) for value in values] for unit in judged_twice], dtype=float)
    if not judged_twice or np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    coincidences = _coincidences(counts)
    totals = coincidences.sum(axis=1)
    distances = _ordinal_distances(totals) if level == "ordinal" else 1 - np.eye(len(values))
    observed = (coincidences * distances).sum()
    expected = (np.outer(totals, totals) * distances).sum() / (totals.sum() - 1)
    return float(1 - observed / expected)


def _coincidences(counts: np.ndarray) -> np.ndarray:
    """How often two values meet in a unit, (values, values), from the values of each unit, (units, values).

    A unit of m values has m(m-1) ordered pairs, each of which weighs 1/(m-1): a unit weighs as much as it has values.
    """
    weights = 1 / (counts.sum(axis=1) - 1)
    pairs = counts.T @ (counts * weights[:, None])
    return pairs - np.diag(weights @ counts)  # no value is paired with itself


def _ordinal_distances(totals: np.ndarray) -> np.ndarray:
    """Squared distances of ranks, (values, values): how many values lie between two, counting half of both ends."""
    ranks = np.cumsum(totals) - totals / 2
    return np.subtract.outer(ranks, ranks) ** 2
