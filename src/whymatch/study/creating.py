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
    top_k: int | None = None,
) -> Study:
    """A study of the links that each model gives each pair; those of attention are cut to the `top_k` strongest.

    Without `top_k` they are as many as those of the other models on that pair, on average. Links that several models
    share are judged once, for all of them; a model that links nothing in a pair has nothing there to judge.

    Ids, and with them the order of the items, come from the system's source of secrets, so no two studies are the same
    and nobody can work out from them which model an item belongs to. They are given to the items in the order of their
    links: with the same random numbers, other models that make the same links would give the same ids.
    """
    _check(pairs, models, top_k)
    items = [
        Item(secrets.token_hex(8), place, tuple(numbers), links)
        for place, chosen in enumerate(_chosen_links(pairs, models, top_k))
        for links, numbers in sorted(_models_by_links(chosen).items())
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


def _check(pairs: Sequence[Pair], models: Sequence[Compared], top_k: int | None) -> None:
    """Raises ValueError for what cannot be compared."""
    names = [model.name for model in models]
    if not models or len({*names}) != len(names):
        raise ValueError(f"A study compares one model or more, all different, got {', '.join(names) or 'none'}.")
    spans = {model.spans: model.name for model in models}
    if len(spans) > 1:
        differences = " and ".join(f"{name} has {unit} spans" for unit, name in spans.items())
        raise ValueError(f"{differences}: people would tell the models by them. Compare models of the same spans.")
    if top_k is not None and top_k < 1:
        raise ValueError(f"--top-k takes a number of links, 1 or more, got {top_k}.")
    if top_k is None and all(model.dense for model in models):
        raise ValueError("Attention is cut to as many links as a constraint gives: name one too, or give --top-k 2.")
    if not pairs:
        raise ValueError("There are no pairs: there is nothing to judge.")
    if len({pair.id for pair in pairs}) != len(pairs):
        raise ValueError("Two pairs have the same id. Give each an id of its own, or none.")
    for pair in pairs:
        for side, text in (("left", pair.left), ("right", pair.right)):
            if not len(text):
                raise ValueError(f"Pair {pair.id}: its {side} text is empty.")


def _chosen_links(
    pairs: Sequence[Pair], models: Sequence[Compared], top_k: int | None
) -> Iterator[dict[int, list[At]]]:
    """For each pair, the links of each model by its number, strongest first and no more than are shown."""
    texts = [(pair.left, pair.right) for pair in pairs]
    for of_pair in zip(*(model.links(texts) for model in models), strict=True):
        counts = [len(links) for model, links in zip(models, of_pair, strict=True) if not model.dense]
        most = _rounded_mean(counts) if top_k is None else top_k
        yield {
            number: of_pair[number][:most] if model.dense else of_pair[number] for number, model in enumerate(models)
        }


def _rounded_mean(counts: Iterable[int]) -> int:
    """
    >>> _rounded_mean([2]), _rounded_mean([2, 5]), _rounded_mean([0, 0])
    (2, 4, 0)
    """
    return int(fmean(counts) + 0.5)


def _models_by_links(chosen: Mapping[int, Sequence[At]]) -> dict[tuple[At, ...], list[int]]:
    """The models of each choice of links, sorted in the order of the texts: a model's own order would give it away."""
    models: dict[tuple[At, ...], list[int]] = {}
    for number in sorted(chosen):
        models.setdefault(tuple(sorted(chosen[number])), []).append(number)
    return models


def read_pairs(source: Path, spans: str, split: str = "test") -> list[Pair]:
    """JSON lines with "left" and "right", or a split of a data set: pairs, or queries with their first similar text."""
    if source.is_dir():
        return [as_pair(record) for record in read_split(source, split, _task(source, split), spans)]
    if not source.is_file():
        advice = "Give JSON lines with left and right texts, or the folder of a data set."
        raise ValueError(f"There is no {source}. {advice}")
    return [*read_json_lines(source, lambda row, number: read_pair(row, str(number), splitter(spans)))]


def _task(folder: Path, split: str) -> Literal["rank", "classify"]:
    """Whether a split has queries with documents, or pairs."""
    file = find_file([folder], f"{split}.jsonl")
    ranked = file is not None and next(read_json_lines(file, lambda row, number: "documents" in row), False)
    return "rank" if ranked else "classify"


def draw(pairs: Sequence[Pair], number: int | None, seed: int) -> list[Pair]:
    """A random sample of the pairs, in their order; all of them if `number` is None."""
    if number is None or number >= len(pairs):
        return [*pairs]
    if number < 1:
        raise ValueError(f"--sample takes a number of pairs, 1 or more, got {number}.")
    return [pairs[place] for place in sorted(random.Random(seed).sample(range(len(pairs)), number))]
