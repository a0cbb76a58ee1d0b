"""What came of a study: how people rated each model, and how well they agree."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from whymatch.evaluation.intervals import bootstrap
from whymatch.study.agreement import alpha
from whymatch.study.answers import Answer
from whymatch.study.items import RATINGS, Item, Study


def report(study: Study, answers: Sequence[Answer]) -> dict[str, Any]:
    """Plain values: each model's ratings and accepted links, the annotators, and Krippendorff's alpha."""
    ratings = RATINGS if study.asked != "links" else ()
    return {
        "title": study.title,
        "asked": study.asked,
        "pairs": len(study.pairs),
        "items": len(study.items),
        "models": [of_model(study, number, answers, ratings) for number in range(len(study.models))],
        "annotators": [of_annotator(study, name, answers) for name in dict.fromkeys(one.annotator for one in answers)],
        "agreement": agreement(study, answers, ratings),
    }


def of_model(study: Study, model: int, answers: Sequence[Answer], ratings: Sequence[str]) -> dict[str, Any]:
    """The answers about one model's items; what it shares with another model counts for both."""
    items = [item for item in study.items if model in item.models]
    mine = {item.id for item in items}
    about = [answer for answer in answers if answer.item in mine]
    found: dict[str, Any] = {
        "name": study.models[model],
        "items": len(items),
        "pairs without links": len(study.pairs) - len(items),
        "links in an item": sum(len(item.links) for item in items) / max(1, len(items)),
        "ratings": {
            question: counted(study, [one for one in about if one.question == question], (0, 1, 2))
            for question in ratings
        },
    }
    if study.asked != "ratings":
        found["links"] = counted(study, [one for one in about if one.question not in RATINGS], (0, 1))
    return found


def counted(study: Study, answers: Sequence[Answer], values: Sequence[int]) -> dict[str, Any]:
    """How many answers there are of each value, and their mean."""
    return {"counts": [sum(one.value == value for one in answers) for value in values], **mean(study, answers)}


def mean(study: Study, answers: Iterable[Answer]) -> dict[str, float | None]:
    """The mean answer, and the interval that holds it if other pairs of texts had been drawn."""
    sums: dict[int, list[float]] = {}
    for answer in answers:
        row = sums.setdefault(study.by_id[answer.item].pair, [0.0, 0.0])
        row[0] += answer.value
        row[1] += 1
    if not sums:
        return {"mean": None, "low": None, "high": None}
    return bootstrap([*sums.values()], ratio)._asdict()


def ratio(rows: np.ndarray) -> float:
    """From rows of a sum and a number."""
    total, number = rows.sum(axis=0)
    return float(total / number)


def of_annotator(study: Study, name: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """How far one person has come."""
    given: dict[str, set[str]] = {}
    for answer in answers:
        if answer.annotator == name:
            given.setdefault(answer.item, set()).add(answer.question)
    complete = sum(is_complete(study, item, given.get(item.id, set())) for item in study.items)
    return {"name": name, "complete": complete, "answers": sum(map(len, given.values()))}


def is_complete(study: Study, item: Item, given: Iterable[str]) -> bool:
    """Whether every question about an item has an answer."""
    return study.questions(item).keys() <= {*given}


def agreement(study: Study, answers: Sequence[Answer], ratings: Sequence[str]) -> dict[str, Any]:
    """Alpha for each question, ordinal, and for single links, nominal; None where it is not defined."""
    units: dict[str, dict[tuple[str, str], list[int]]] = {}
    for answer in answers:
        kind = answer.question if answer.question in RATINGS else "links"
        units.setdefault(kind, {}).setdefault((answer.item, answer.question), []).append(answer.value)

    def of(kind: str, *how: Any) -> dict[str, Any]:
        some = [*units.get(kind, {}).values()]
        return {"alpha": alpha(some, *how), "judged twice": sum(len(unit) > 1 for unit in some)}

    found = {question: of(question, (0, 1, 2), "ordinal") for question in ratings}
    return found if study.asked == "ratings" else {**found, "links": of("links", (0, 1), "nominal")}


def rows(found: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The report as a table: a header, and a row for each model, and one for agreement."""
    questions = [*found["agreement"]]
    table = []
    for model in found["models"]:
        judged = {**model["ratings"], **({"links": model["links"]} if "links" in model else {})}
        table.append([model["name"], *(in_words(judged[question]) for question in questions)])
    table.append(["agreement (alpha)", *(with_two(found["agreement"][question]["alpha"]) for question in questions)])
    return ["mean of answers", *questions], table


def in_words(answers: Mapping[str, Any]) -> str:
    """A mean with its interval and the number of answers behind it."""
    if answers["mean"] is None:
        return "no answers"
    return f"{answers['mean']:.2f} ({answers['low']:.2f} to {answers['high']:.2f}; {sum(answers['counts'])})"


def with_two(number: float | None) -> str:
    return "not defined" if number is None else f"{number:.2f}"
