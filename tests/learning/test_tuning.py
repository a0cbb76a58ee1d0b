"""Settings that choose themselves: by validation alone, never over what is written, and never to its disadvantage."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.learning.claims import claims, searches, write
from tests.learning.planted import SIZE, planted
from whymatch.cli import main
from whymatch.cost import WordCounts
from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Query
from whymatch.evaluation.intervals import bootstrap
from whymatch.learning import Choice, Projected, tune
from whymatch.learning.evaluate import validation_scores
from whymatch.learning.fit import Fitting, Schedule, fit
from whymatch.learning.searching import DEFAULT, links_for, search
from whymatch.learning.settings import read_settings
from whymatch.learning.shape import Shape
from whymatch.learning.tasks import RankTask
from whymatch.learning.train import CHOICE, Watch, train
from whymatch.learning.trials import Candidate, Links, Trials
from whymatch.learning.tuning import chooses, merged, schedule_for
from whymatch.matching.aligner import Aligner
from whymatch.matching.ranker import Ranker
from whymatch.matching.saving import from_pretrained
from whymatch.text.encoders.caching import VectorCache
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.transport.constraints import Exactly, OneTo, UpTo

CACHE = VectorCache()  # for all tests of this file
QUIET = Watch(line=lambda line: None)


@pytest.fixture
def marked(tmp_path: Path, minilm: Path) -> Path:
    return write(tmp_path / "claims", {"train": claims(60, 1), "val": claims(30, 2), "test": claims(5, 3)})


@pytest.fixture
def ranked(tmp_path: Path, minilm: Path) -> Path:
    return write(tmp_path / "queries", {"train": searches(24, 1), "val": searches(24, 2)})


def written(data: Path, task: str = "classify", **more: Any) -> dict[str, Any]:
    return {"task": task, "data": str(data), **more}


def test_what_helps_on_validation_is_chosen_and_nothing_else(marked: Path) -> None:
    lines: list[str] = []
    choice = tune(written(marked), report=lines.append, cache=CACHE)
    assert any("shared_words" in term for term in choice.chosen["cost"])
    assert choice.measure == "rationale F1"
    assert any("shared_words" in line and "95% interval" in line for line in choice.why)
    assert {*choice.why} <= {*lines}
    forward = [one for one in choice.tried if one.chosen and one.gain.mean > 0]
    assert forward
    assert all(one.gain.low > 0 for one in forward)
    assert all(one.gain.high >= 0 for one in choice.tried if one.chosen)
    last = max(one.step for one in choice.tried)
    assert not any(one.gain.low > 0 for one in choice.tried if one.step == last)
    assert choice == Choice.from_dict(json.loads(json.dumps(choice.to_dict())))


def test_the_test_split_and_the_order_of_calls_change_nothing(marked: Path) -> None:
    first = tune(written(marked), cache=CACHE)
    (marked / "test.jsonl").write_text("this is no JSON\n")
    assert tune(written(marked), cache=CACHE) == first
    (marked / "test.jsonl").unlink()
    assert tune(written(marked)) == first


@pytest.mark.parametrize(
    "more",
    [
        {"cost": [{"neighbours": 0.3}]},
        {"rule": {"constraint": "exactly:1"}},
        {"rule": {"constraint": "up-to:2", "below": 0.4}, "cost": ["cosine", {"order": 0.1}]},
        {"spans": "line", "hidden": 16, "schedule": {"epochs": 2, "seed": 5}},
        {"encoder": {"kind": "projected", "dropout": 0.1}, "loss": {"alpha": 0.5}},
    ],
    ids=str,
)
def test_what_is_written_is_never_overruled(more: dict[str, Any], marked: Path) -> None:
    asked = written(marked, **more)
    choice = tune(asked, cache=CACHE)
    for run in choice.settings(asked):
        for name, value in asked.items():
            if not isinstance(value, Mapping):
                assert getattr(run, name) == value
                continue
            assert {key: getattr(getattr(run, name), key) for key in value} == value
            assert name != "rule" or run.rule.below == value.get("below")


@pytest.mark.parametrize(
    ("more", "open_to_choice"),
    [
        ({}, True),
        ({"spans": "line", "schedule": {"epochs": 2}, "encoder": {"model": "a folder"}}, True),
        ({"cost": []}, False),
        ({"rule": {"constraint": "exactly:2"}}, False),
        ({"encoder": {"kind": "fine-tuned"}}, False),
        ({"reader": {}}, False),
        ({"schedule": {"epochs": [1, 2]}}, False),
    ],
)
def test_a_file_that_says_how_links_are_made_leaves_nothing_open(more: dict[str, Any], open_to_choice: bool) -> None:
    assert chooses({"task": "classify", "data": "x", **more}) is open_to_choice


def test_settings_stay_at_their_defaults_where_there_are_few_records(tmp_path: Path, minilm: Path) -> None:
    few = write(tmp_path / "few", {"train": claims(60, 1), "val": claims(10, 2)})
    choice = tune(written(few))
    assert choice.chosen == {}
    assert "too few" in choice.why[0]
    assert choice.settings(written(few)) == choice.settings({**written(few), "rule": {"constraint": "exactly:2"}})


def test_settings_stay_at_their_defaults_where_nothing_can_be_told_apart(tmp_path: Path, minilm: Path) -> None:
    rows = claims(30, 2)
    for row in rows:
        row["right_rationale"] = [[0, len(row["right"])]]  # everything is marked: one link is as good as another
    choice = tune(
        written(write(tmp_path / "all", {"train": claims(40, 1), "val": rows}), rule={"constraint": "exactly:1"})
    )
    assert not any(one.gain.low > 0 and not one.chosen for one in choice.tried)
    same = [one for one in choice.tried if one.gain.mean == 0]
    assert not any(one.chosen for one in same)


def test_labels_alone_and_rankings_are_searched_too(tmp_path: Path, ranked: Path) -> None:
    rows = {"train": claims(60, 1, marked=False), "val": claims(30, 2, marked=False)}
    by_labels = tune(written(write(tmp_path / "labels", rows)), cache=CACHE)
    assert by_labels.measure == "probability of the right label"
    assert by_labels.tried
    by_ranks = tune(written(ranked, "rank"), cache=CACHE)
    assert by_ranks.measure == "MAP"
    assert any("shared_words" in term for term in by_ranks.chosen["cost"])
    assert not any("novelty" in one.change for one in by_ranks.tried)
    assert "encoder" not in by_ranks.chosen


def test_the_intervals_are_those_of_differences_between_groups(marked: Path) -> None:
    trials = trials_of(marked)
    other = DEFAULT.having("shared_words", 1.0)
    gain = trials.gain(DEFAULT, other)
    difference = trials.values(other) - trials.values(DEFAULT)
    assert gain == pytest.approx(
        bootstrap(np.stack([difference, np.ones(30)], axis=1), lambda rows: float(rows[:, 0].mean()))
    )
    assert trials.gain(DEFAULT, DEFAULT) == (0, 0, 0)


def trials_of(data: Path) -> Trials:
    train_split, validation = (read_split(data, split, "classify", "sentence") for split in ("train", "val"))
    encoder = Projected(SentenceEncoder(), 384)
    CACHE.share(encoder)
    counts = WordCounts.of(pair.right.text for pair in train_split)  # type: ignore[union-attr]
    return Trials(
        "classify",
        train_split,
        validation,
        lambda texts: encoder.frozen([text.text for text in texts], [text.spans for text in texts]),
        counts,
        0,
    )


def test_a_search_never_ends_below_its_start(marked: Path) -> None:
    trials = trials_of(marked)
    shape = Shape.of(trials.records, trials.records)
    for start in (DEFAULT, Candidate((("neighbours", 0.4),), Links("exactly:1"))):
        lines = list[str]()
        best, tried = search(trials, start, shape, report=lines.append)
        assert trials.score(best) >= trials.score(start)
        assert lines
        assert [line.partition(":")[0] for line in lines] == [f"step {number + 1}" for number in range(len(lines))]
        steps = [one for one in tried if one.chosen]
        assert len(steps) == len({one.step for one in steps})


def test_on_texts_of_one_span_k_counts_on_the_side_of_the_longer() -> None:
    def shape(left: float, right: float) -> Shape:
        return Shape(100, 100, left, right, 0, 0)

    for one_span in (shape(1, 9), shape(9, 1)):
        assert {str(links) for links in links_for(one_span)} >= {"one-to:1", "one-to:3", "up-to:6, 2 links a pair"}
    assert {links.constraint for links in links_for(shape(4, 9))} == {
        *(f"exactly:{k}" for k in (1, 2, 3, 4)),
        "up-to:1",
    }
    assert OneTo(3).links(1, 9) == OneTo(3).links(9, 1) == (3, 3)
    assert Exactly(3).fitted(1, 9) == Exactly(1)


def test_a_mean_number_of_links_becomes_a_threshold(marked: Path) -> None:
    trials = trials_of(marked)
    for mean in (1.0, 2.0):
        constraint = trials.constraint(Candidate((), Links("up-to:3", mean)))
        assert isinstance(constraint, UpTo)
        links = [int((one.plan != 0).sum()) for one in trials._solved(Candidate((), Links("up-to:3", mean)))]
        assert np.mean(links) == pytest.approx(mean, abs=0.1)
    assert trials.constraint(Candidate((), Links("up-to:3", 3.0))) is None  # every link that there can be


def test_tables_of_settings_are_merged_and_rules_are_not() -> None:
    chosen = {"cost": [1], "rule": {"constraint": "up-to:1", "below": 0.3}, "schedule": {"batch": 64, "warmup": 2}}
    user = {"rule": {"constraint": "exactly:1"}, "schedule": {"batch": 8}}
    assert merged(chosen, user) == {"cost": [1], "rule": user["rule"], "schedule": {"batch": 8, "warmup": 2}}


def test_a_training_with_marks_is_no_worse_than_one_without_and_is_not_chosen_twice(
    marked: Path, tmp_path: Path
) -> None:
    lines: list[str] = []
    asked = written(marked, schedule={"epochs": 2, "batch": 16}, hidden=16)
    run = train(asked, tmp_path / "run", watch=Watch(line=lines.append))
    assert any("shared_words" in line for line in lines)
    assert any("with marks: validation macro F1" in line for line in lines)
    assert any(line.startswith(("training by marks helped", "training by marks did not help")) for line in lines)
    records: Any = read_split(marked, "val", "classify", "sentence")
    plain, kept = (
        validation_scores(from_pretrained(folder), records)
        for folder in (tmp_path / "run" / "run-0" / "best", tmp_path / "run")
    )
    links, labels = ([np.mean([*scores[1].values()]) for scores in (plain, kept)], [plain[0], kept[0]])
    assert links[1] >= links[0]
    assert links[1] + labels[1] >= links[0] + labels[0]
    assert run.validation == pytest.approx((links[1] + labels[1]) / 2)
    before, lines = (tmp_path / "run" / CHOICE).read_bytes(), list[str]()
    assert train(asked, tmp_path / "run", resume=True, watch=Watch(line=lines.append)) == run
    assert (tmp_path / "run" / CHOICE).read_bytes() == before
    assert not any("tries costs" in line for line in lines)
    with pytest.raises(ValueError, match=r"schedule\.epochs was 2 and is 3"):
        train(
            written(marked, schedule={"epochs": 3, "batch": 16}, hidden=16), tmp_path / "run", resume=True, watch=QUIET
        )


@pytest.mark.parametrize("trainings", [1, 2])
def test_a_ranker_that_training_makes_worse_stays_as_it_was(trainings: int) -> None:
    tasks, vectors = planted(24, seed=8)
    queries = [
        Query(str(number), task.left, (task.similar, task.dissimilar), (True, False))
        for number, task in enumerate(tasks)
    ]

    def ranker() -> Ranker:
        torch.manual_seed(0)
        return Ranker(Aligner("line", Projected(vectors, SIZE)), Exactly(3))

    start, lines = ranker(), list[str]()
    untrained = RankTask(start, queries[:12]).score()
    schedule = Schedule(epochs=2, rate=30.0, average_weights_of=trainings)
    spoiled = Fitting(RankTask(ranker(), queries[:12]), schedule, report=lines.append, keep_start=True)
    assert fit(spoiled, queries) == untrained
    assert lines[-1] == "training did not help: the untrained weights are kept"
    for name, weight in start.state_dict().items():
        assert torch.equal(weight, spoiled.model.state_dict()[name])


@pytest.mark.parametrize("records", [1, 20, 174, 999, 1_000, 24_029, 99_014, 10**6])
@pytest.mark.parametrize("task", ["rank", "classify"])
def test_every_size_has_a_schedule(records: int, task: str) -> None:
    chosen = Schedule(**schedule_for(task, Shape(records, 100, 2, 16, 0, 0)))
    steps = chosen.epochs * records / chosen.batch
    assert chosen.warmup <= max(50, steps)
    assert task == "rank" or steps >= min(1_000, 40 * records / 16)


def test_the_command_prints_what_was_tried_and_settings_that_can_be_read(
    marked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.toml"
    file.write_text(f'task = "classify"\ndata = "{marked}"\n[schedule]\nepochs = 2\n')
    assert main(["tune", str(file), "--cache", str(tmp_path / "vectors")]) == 0
    table, _, text = capsys.readouterr().out.partition("\n\n")
    assert table.splitlines()[0].split() == ["step", "change", "rationale", "F1", "gain", "95%", "interval"]
    assert "chosen" in table
    chosen = tmp_path / "chosen.toml"
    chosen.write_text(text)
    assert main(["tune", str(file), "--cache", str(tmp_path / "vectors"), "--json"]) == 0
    choice = Choice.from_dict(json.loads(capsys.readouterr().out))
    asked = written(marked, schedule={"epochs": 2})
    assert read_settings(chosen) == choice.settings(asked)[-1:]
    file.write_text(f'task = "classify"\ndata = "{marked}"\n[encoder]\nkind = "fine-tuned"\n')
    assert main(["tune", str(file)]) == 2
    assert "Costs are tried on frozen vectors" in capsys.readouterr().err
