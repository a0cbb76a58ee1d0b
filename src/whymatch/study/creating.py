"""From pairs of texts and models to a study."""

import random
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Literal

from whymatch.datasets.folders import read_pair, read_split
from whymatch.datasets.records import Pair, as_pair
from whymatch.reading import find_file, read_json_lines
from whymatch.study.items import Asked, At, Item, Study
from whymatch.study.models import Compared
from whymatch.text.spans import splitter


def create(
    pairs: Sequence[Pair],
    models: Sequence[Compared],
    *,
    title: str = "Which links explain the match?",
    asked: Asked = "both",
    top: int | None = None,
) -> Study:
    """A study of the links that each model gives each pair; those of attention are cut to `top`.

    Without `top` they are as many as those of the other models on that pair, on average. Links that several models
    share are judged once, for all of them; a model that links nothing in a pair has nothing there to judge.

    Ids, and with them the order of the items, come from the system's source of secrets, so no two studies are the same
    and nobody can work out from them which model an item belongs to. They are given to the items in the order of their
    links: with the same random numbers, other models that make the same links would give the same ids.
    """
    check(pairs, models, top)
    items = [
        Item(secrets.token_hex(8), place, tuple(numbers), links)
        for place, chosen in enumerate(choices(pairs, models, top))
        for links, numbers in sorted(shared(chosen).items())
        if links
    ]
    if not items:
        raise ValueError("No model links anything in these pairs: there is nothing to judge.")
    return Study(
        id=secrets.token_hex(16),
        secret=secrets.token_hex(32),
        title=title,
        asked=asked,
        spans=models[0].spans,
        models=tuple(model.name for model in models),
        pairs=tuple(pairs),
        items=tuple(sorted(items, key=lambda item: item.id)),
    )


def choices(pairs: Sequence[Pair], models: Sequence[Compared], top: int | None) -> Iterator[dict[int, list[At]]]:
    """For each pair, the links of each model, strongest first and no more than are shown."""
    texts = [(pair.left, pair.right) for pair in pairs]
    found = [model.links(texts) for model in models]
    for place in range(len(pairs)):
        counts = [len(links[place]) for model, links in zip(models, found, strict=True) if not model.dense]
        most = alike(counts) if top is None else top
        yield {
            number: found[number][place][:most] if model.dense else found[number][place]
            for number, model in enumerate(models)
        }


def check(pairs: Sequence[Pair], models: Sequence[Compared], top: int | None) -> None:
    """Raises for what cannot be compared."""
    names = [model.name for model in models]
    if not models or len({*names}) != len(names):
        raise ValueError(f"A study compares one model or more, all different, got {', '.join(names) or 'none'}.")
    spans = {model.spans: model.name for model in models}
    if len(spans) > 1:
        found = " and ".join(f"{name} has {unit} spans" for unit, name in spans.items())
        raise ValueError(f"{found}: people would tell the models by them. Compare models of the same spans.")
    if top is not None and top < 1:
        raise ValueError(f"--top takes a number of links, 1 or more, got {top}.")
    if top is None and all(model.dense for model in models):
        raise ValueError("Attention is cut to as many links as a constraint gives: name one too, or give --top 2.")
    if not pairs:
        raise ValueError("There are no pairs: there is nothing to judge.")
    twice = {pair.id for pair in pairs}
    if len(twice) != len(pairs):
        raise ValueError("Two pairs have the same id. Give each an id of its own, or none.")
    for pair in pairs:
        for side, text in (("left", pair.left), ("right", pair.right)):
            if not len(text):
                raise ValueError(f"Pair {pair.id}: its {side} text is empty.")


def alike(counts: Iterable[int]) -> int:
    """How many links attention gets beside models that have so many.

    >>> alike([2]), alike([2, 5]), alike([0, 0])
    (2, 4, 0)
    """
    return int(fmean(counts) + 0.5)


def shared(chosen: Mapping[int, Sequence[At]]) -> dict[tuple[At, ...], list[int]]:
    """The models of each choice of links, which stand in the order of the texts: their own would tell a model."""
    found: dict[tuple[At, ...], list[int]] = {}
    for number in sorted(chosen):
        found.setdefault(tuple(sorted(chosen[number])), []).append(number)
    return found


def read_pairs(source: Path, spans: str, split: str = "test") -> list[Pair]:
    """JSON lines with "left" and "right", or a split of a data set: pairs, or queries with their first similar text."""
    if source.is_dir():
        return [as_pair(record) for record in read_split(source, split, task_of(source, split), spans)]
    if not source.is_file():
        advice = "Give JSON lines with left and right texts, or the folder of a data set."
        raise ValueError(f"There is no {source}. {advice}")
    return list(read_json_lines(source, lambda row, number: read_pair(row, str(number), splitter(spans))))


def task_of(folder: Path, split: str) -> Literal["rank", "classify"]:
    """Whether a split has queries with documents, or pairs."""
    file = find_file([folder], f"{split}.jsonl")
    ranked = file is not None and next(read_json_lines(file, lambda row, number: "documents" in row), False)
    return "rank" if ranked else "classify"


def draw(pairs: Sequence[Pair], number: int | None, seed: int) -> list[Pair]:
    """So many of the pairs by chance, in their order; all if none is named."""
    if number is None or number >= len(pairs):
        return [*pairs]
    if number < 1:
        raise ValueError(f"--sample takes a number of pairs, 1 or more, got {number}.")
    chosen = sorted(random.Random(seed).sample(range(len(pairs)), number))
    return [pairs[place] for place in chosen]
