"""Annotators cannot tell which model made which links: nothing that is served depends on the models but the links."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any, cast

import pytest
from fastapi.testclient import TestClient

from whymatch.datasets.records import Pair
from whymatch.serve.study import study_app
from whymatch.study.answers import open_study, write_study
from whymatch.study.creating import create
from whymatch.study.items import Study
from whymatch.study.models import Compared
from whymatch.text.document import joined

NAMES = ("runs/first", "runs/second", "runs/third")
ANNOTATORS = ("Ada", "Ben")
PAIRS = [
    Pair(str(number), joined([f"{word} {number}" for word in "abc"]), joined([f"{word} {number}" for word in "xyz"]))
    for number in range(7)
]
GET_PATHS = {"/health", "/api/study", "/api/items", "/api/items/{item}"}


@dataclass(frozen=True)
class Scripted:
    """A model whose links are known: one link a pair, of the same form as those of the other models."""

    name: str
    choices: Sequence[int]
    spans: str = "line"
    dense: bool = False

    def links(self, pairs: Sequence[object]) -> list[list[tuple[int, int]]]:
        return [[(choice, choice)] for choice in self.choices]


def three_models(chance: random.Random) -> list[Compared]:
    """Models that link three different spans of each pair, which of them which is left to chance."""
    drawn = [chance.sample(range(3), 3) for _ in PAIRS]
    return [cast(Compared, Scripted(name, [row[n] for row in drawn])) for n, name in enumerate(NAMES)]


def served(study: Study, folder: Path) -> dict[str, Any]:
    """Everything that the API serves to two annotators, status and headers included, by request."""
    write_study(study, folder)
    app = study_app(*open_study(folder))
    with TestClient(app) as client:
        schema = client.get("/openapi.json").json()
        assert {path for path, methods in schema["paths"].items() if "get" in methods} == GET_PATHS

        def asked(method: str, path: str, **content: Any) -> Any:
            response = client.request(method, path, **content)
            return response.status_code, sorted(response.headers.items()), response.json()

        ids = [row["id"] for row in asked("GET", "/api/items?annotator=Ada")[2]["items"]]
        gets = ["/openapi.json", "/health", "/api/study", "/api/items/unknown", *(f"/api/items/{id_}" for id_ in ids)]
        found = {path: asked("GET", path) for path in gets}
        for id_ in ids[:3]:
            for question, value in (("overall", 1), ("1-1", 1), ("no", 1), ("overall", 7)):
                path = f"/api/answers/{id_}/{question}"
                found[f"{path} {value}"] = asked("PUT", path, json={"annotator": "Ada", "value": value})
        return found | {name: asked("GET", f"/api/items?annotator={name}") for name in ANNOTATORS}


def renamed(study: Study, order: Sequence[int]) -> Study:
    """The same links and ids, made by other models."""
    items = tuple(replace(item, models=tuple(order[model] for model in item.models)) for item in study.items)
    return replace(study, items=items, models=tuple(f"other {name}" for name in study.models))


def test_what_is_served_is_the_same_whichever_models_made_the_links(tmp_path: Path) -> None:
    study = create(PAIRS, three_models(random.Random(1)))
    views = [served(renamed(study, order), tmp_path / f"{place}") for place, order in enumerate(permutations(range(3)))]
    assert len(views[0]) > len(study.items)
    assert all(view == views[0] for view in views)


def test_with_the_same_random_numbers_the_order_of_the_models_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = []
    models = three_models(random.Random(2))
    for place, ordered in enumerate(permutations(models)):
        chance = random.Random(3)
        monkeypatch.setattr("secrets.token_hex", lambda size, chance=chance: chance.randbytes(size).hex())
        views.append(served(create(PAIRS, ordered), tmp_path / f"{place}"))
    assert all(view == views[0] for view in views)


def test_no_study_is_like_another_made_from_the_same() -> None:
    models = three_models(random.Random(4))
    random.seed(0)
    one = create(PAIRS, models)
    random.seed(0)
    other = create(PAIRS, models)
    assert one.id != other.id
    assert one.secret != other.secret
    assert not one.by_id.keys() & other.by_id.keys()


def test_nothing_secret_is_served(tmp_path: Path) -> None:
    study = create(PAIRS, three_models(random.Random(5)))
    text = json.dumps(served(study, tmp_path / "study"))
    assert study.id in text
    for secret in (study.secret, study.fingerprint, *NAMES):
        assert secret not in text


def test_the_order_of_items_needs_the_secret() -> None:
    study = create(PAIRS, three_models(random.Random(6)))
    other = replace(study, secret="0" * 64)
    assert study.order("Ada") == study.order("Ada")
    assert study.order("Ada") != other.order("Ada")


def test_the_folder_of_a_study_is_closed_to_other_users(tmp_path: Path) -> None:
    write_study(create(PAIRS, three_models(random.Random(7))), tmp_path / "study")
    assert (tmp_path / "study").stat().st_mode & 0o077 == 0


# The attack by which models could be told apart when items were shuffled with random.Random(seed).


@dataclass(frozen=True)
class Seen:
    """What an annotator knows of an item but its links; its pair is known by its texts."""

    id: str
    pair: int
    places: tuple[int, ...]
    """Where it stands in the list of each annotator."""


def seen(study: Study, folder: Path) -> list[Seen]:
    write_study(study, folder)
    with TestClient(study_app(*open_study(folder))) as client:
        answers = [client.get("/api/items", params={"annotator": name}).json() for name in ANNOTATORS]
    lists = [[row["id"] for row in answer["items"]] for answer in answers]
    return [
        Seen(name, study.by_id[name].pair, tuple(order.index(name) for order in lists)) for name in sorted(lists[0])
    ]


def orders(items: Sequence[Seen]) -> Iterator[list[Seen]]:
    """The orders that an annotator can put the items in without knowing anything."""
    yield sorted(items, key=lambda item: (len(item.id), item.id))
    for number in range(len(ANNOTATORS)):
        yield sorted(items, key=lambda item: item.places[number])


def guessed_by_seed(items: Sequence[Seen], seeds: range) -> dict[str, int] | None:
    """The model of each item, if a shuffle by one of the seeds explains which pair stands where."""
    for order in orders(items):
        for seed in seeds:
            drawn = [(pair, model) for pair in range(len(PAIRS)) for model in range(len(NAMES))]
            random.Random(seed).shuffle(drawn)
            if [pair for pair, _ in drawn] == [item.pair for item in order]:
                return {item.id: model for item, (_, model) in zip(order, drawn, strict=True)}
    return None


def shuffled_by_seed(study: Study, seed: int) -> Study:
    """The study as it used to be made: ids are places in a list that was shuffled by a seed."""
    items = sorted(study.items, key=lambda item: (item.pair, item.models))
    random.Random(seed).shuffle(items)
    return replace(study, items=tuple(replace(item, id=str(n)) for n, item in enumerate(items, start=1)))


def models_of(study: Study) -> dict[str, int]:
    return {item.id: item.models[0] for item in study.items}


def test_no_seed_explains_the_order_of_items(tmp_path: Path) -> None:
    study = create(PAIRS, three_models(random.Random(8)))
    weak = shuffled_by_seed(study, 977)
    assert guessed_by_seed(seen(weak, tmp_path / "weak"), range(1000)) == models_of(weak)  # 21 of 21 are right
    assert guessed_by_seed(seen(study, tmp_path / "study"), range(1000)) is None


# An attacker who knows the models of many studies, and looks for rules that tell them in others.


def features(items: Sequence[Seen]) -> Iterator[tuple[str, dict[str, object]]]:
    """What is known of each item but its texts and links, by its id."""
    for item in items:
        rivals = [other for other in items if other.pair == item.pair]
        known: dict[str, object] = {f"digit {n}": digit for n, digit in enumerate(item.id[-16:])}
        for number, order in enumerate(orders(items)):
            place = order.index(item)
            known[f"parity {number}"] = place % 2
            known[f"third {number}"] = place % 3, place // len(PAIRS)
            known[f"rank {number}"] = sum(order.index(rival) < place for rival in rivals)
        yield item.id, known


def best_rule(studies: Sequence[tuple[Sequence[Seen], dict[str, int]]]) -> float:
    """The share of right guesses of the best rule, which is learned from half of the studies, on the other half."""
    counts: dict[tuple[str, object], Counter[int]] = defaultdict(Counter)
    rows = [[(known, truth[id_]) for id_, known in features(items)] for items, truth in studies]
    half = len(rows) // 2
    for known, model in (row for study in rows[:half] for row in study):
        for feature in known.items():
            counts[feature][model] += 1
    tests = [row for study in rows[half:] for row in study]
    right: Counter[str] = Counter()
    for known, model in tests:
        for name, value in known.items():
            guesses = counts[name, value].most_common(1)
            right[name] += bool(guesses) and guesses[0][0] == model
    return max(right.values()) / len(tests)


def in_order_of_creation(study: Study) -> Study:
    """Ids that count items up as they are made."""
    items = sorted(study.items, key=lambda item: (item.pair, item.models))
    return replace(study, items=tuple(replace(item, id=f"{n:032x}") for n, item in enumerate(items)))


def test_no_rule_that_is_learned_from_other_studies_tells_the_models_better_than_chance(tmp_path: Path) -> None:
    chance = random.Random(9)
    studies = [create(PAIRS, three_models(chance)) for _ in range(60)]
    views = [(seen(study, tmp_path / f"{n}"), models_of(study)) for n, study in enumerate(studies)]
    leaks = [in_order_of_creation(study) for study in studies[:4]]
    leaky = [(seen(study, tmp_path / f"leak {n}"), models_of(study)) for n, study in enumerate(leaks)]
    assert best_rule(leaky) == 1
    assert best_rule(views) < 1 / 3 + 0.12  # 6 standard deviations of 630 guesses
