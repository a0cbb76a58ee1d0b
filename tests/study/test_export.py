"""Accepted links become data that is read as it was judged, and that a model learns from."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.study.studies import HACK, study
from whymatch.cli import main
from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair
from whymatch.study.answers import Answer, Answers, read_study
from whymatch.study.creating import create, read_pairs
from whymatch.study.export import accepted_links, export
from whymatch.study.items import Item
from whymatch.study.models import compared

EXAMPLE = Path(__file__).parents[2] / "examples" / "pairs.jsonl"


def votes(item: str, link: str, *values: int) -> list[Answer]:
    return [Answer(f"Person {number}", item, link, value) for number, value in enumerate(values)]


def everything(folder: Path, spans: str) -> dict[str, Pair]:
    found = [pair for split in ("train", "val", "test") for pair in read_split(folder, split, "classify", spans)]
    return {pair.id: pair for pair in found if isinstance(pair, Pair)}


def test_the_majority_decides_and_a_tie_does_not() -> None:
    answers = [*votes("1", "0-2", 1, 1, 0), *votes("1", "2-0", 1, 0), *votes("2", "1-1", 0), *votes("4", "1-1", 1)]
    assert accepted_links(study(), answers, least=1) == {0: [(0, 2)], 1: [(1, 1)]}
    assert accepted_links(study(), answers, least=2) == {0: [(0, 2)]}
    assert accepted_links(study(), answers, least=4) == {}


def test_a_person_who_sees_a_link_twice_has_one_vote() -> None:
    made = study()
    same = replace(made, items=(*made.items, Item("5", 0, (1,), ((0, 2),))))
    answers = [Answer("Ada", "1", "0-2", 1), Answer("Ada", "5", "0-2", 1), *votes("1", "0-2", 0, 0)]
    assert accepted_links(same, answers, least=1) == {0: []}


@pytest.mark.parametrize("spans", ["line", "sentence", "word", "paragraph"])
def test_what_was_accepted_is_what_is_read(spans: str, tmp_path: Path, minilm: Path) -> None:
    rows = [
        {
            "id": f"../{HACK}",
            "left": "A cat\nslept. It rained.\n\nWe left.",
            "right": "Rain fell. The cat's nap, e.g. now.\n\nBye!",
        },
        {"id": "two", "left": "No wifi. Help me!\n\nThanks.", "right": "Wireless is down.\n\nI wait. Thank you."},
        {"id": "three", "left": "One.\n\nTwo.", "right": "Two.\n\nThree."},
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps({**row, "label": "yes"}) + "\n" for row in rows))
    made = create(read_pairs(tmp_path / "pairs.jsonl", spans), [compared("exactly:2", spans)])
    answers = [
        Answer("Ada", item.id, f"{i}-{j}", int(place == 0))
        for item in made.items
        for place, (i, j) in enumerate(item.links)
    ]
    export(made, answers, tmp_path / "out")
    found = everything(tmp_path / "out", spans)
    assert found.keys() == {row["id"] for row in rows}
    for item in made.items:
        pair, read = made.pairs[item.pair], found[made.pairs[item.pair].id]
        for side, number in (("left", item.links[0][0]), ("right", item.links[0][1])):
            before, after = getattr(pair, side), getattr(read, side)
            assert after.pieces == [" ".join(piece.split()) for piece in before.pieces]
            assert getattr(read, f"{side}_rationale") == (after.spans[number],)


def test_a_pair_whose_links_were_all_rejected_says_that_nothing_is_a_reason(tmp_path: Path) -> None:
    export(study(), [*votes("1", "0-2", 1), *votes("4", "1-1", 0)], tmp_path / "out")
    found = everything(tmp_path / "out", "line")
    assert found["pair 2"].left_rationale == found["pair 2"].right_rationale == ()
    assert found[HACK].left_rationale != ()


def test_pairs_that_share_a_text_stay_in_one_split(tmp_path: Path) -> None:
    made = study(pairs=9)  # all have the same right text
    counts = export(
        made, [answer for item in made.items[1::2] for answer in votes(item.id, "1-1", 1)], tmp_path / "out"
    )
    assert sorted(counts.values()) == [0, 0, 9]


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    made, some = study(), votes("1", "0-2", 1)
    with pytest.raises(ValueError, match="judged by 2 or more"):
        export(made, some, tmp_path / "out", least=2)
    unlabelled = replace(made, pairs=tuple(replace(pair, label=None) for pair in made.pairs))
    with pytest.raises(ValueError, match="has no label"):
        export(unlabelled, some, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    export(unlabelled, some, tmp_path / "out", label="match")
    assert everything(tmp_path / "out", "line")[HACK].label == "match"
    with pytest.raises(ValueError, match="there already"):
        export(made, some, tmp_path / "out")


def test_a_classifier_learns_from_what_people_accepted(
    tmp_path: Path, minilm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "study"
    models = ["exactly:2", "one-to:1"]
    assert main(["study", "create", str(EXAMPLE), "--models", *models, str(folder), "--ask", "links"]) == 0
    made = read_study(folder)
    answers = Answers(made, folder)
    for name in ("Ada", "Ben"):
        for item in made.items:
            for i, j in item.links:
                answers.give(name, item.id, f"{i}-{j}", int(j == 0))  # a taste that can be learned: the first sentence
    assert main(["study", "export", str(folder), str(tmp_path / "data"), "--least", "2"]) == 0
    assert "train 8, val 1, test 1" in capsys.readouterr().out
    (tmp_path / "run.toml").write_text(f"""
        task = "classify"
        data = "{tmp_path / "data"}"
        cost = [{{refined = 8}}]
        [encoder]
        kind = "frozen"
        [rule]
        constraint = "exactly:1"
        [loss]
        alpha = 0.2
        [schedule]
        epochs = 20
        batch = 8
        rate = 0.03
        patience = 20
    """)
    assert main(["train", str(tmp_path / "run.toml"), "--out", str(tmp_path / "run")]) == 0
    assert (
        main(["evaluate", str(tmp_path / "run"), "--data", str(tmp_path / "data"), "--split", "train", "--json"]) == 0
    )
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["right rationale F1"]["mean"] > 0.8
    (again,) = [compared(str(tmp_path / "run"), "sentence")]  # and what it learned can be judged in turn
    links = again.links([(pair.left, pair.right) for pair in made.pairs])
    assert sum(j == 0 for ((_, j),) in links) >= 8
