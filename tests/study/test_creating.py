"""What goes into a study: links of hidden models, as many of attention as of the others, and each choice once."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import whymatch as wm
from tests.study.studies import study, written
from whymatch.cli import main
from whymatch.learning import Projected
from whymatch.matching.aligner import Aligner
from whymatch.matching.rules import Attend
from whymatch.study.answers import read_study, write_study
from whymatch.study.creating import create, draw, read_pairs
from whymatch.study.items import Study
from whymatch.study.models import Linking, compared

EXAMPLE = Path(__file__).parents[2] / "examples" / "pairs.jsonl"
NAMES = ["exactly:2", "softmax:0.01", "sparsemax:1", "one-to:1"]


@pytest.fixture(scope="module")
def example(minilm: Path) -> Study:
    return create(read_pairs(EXAMPLE, "sentence"), [compared(name, "sentence") for name in NAMES])


def links_by_model(made: Study) -> dict[tuple[int, int], tuple[tuple[int, int], ...]]:
    return {(item.pair, model): item.links for item in made.items for model in item.models}


def test_every_model_has_an_item_for_every_pair(example: Study) -> None:
    assert {*links_by_model(example)} == {(pair, model) for pair in range(10) for model in range(4)}


def test_transport_shows_the_optimal_links_and_attention_its_heaviest(example: Study) -> None:
    aligner, found = Aligner(), links_by_model(example)
    for number, pair in enumerate(example.pairs):
        texts = (pair.left, pair.right)
        assert {*found[number, 0]} == {link.at for link in aligner.align(*texts, wm.Exactly(2)).links}
        cost = torch.from_numpy(aligner.without_evidence().costs([texts])[0])
        rule = Attend(0.01)
        weights = rule.weights(cost[None], torch.tensor([[*cost.shape]]))[0]
        shown = {*found[number, 1]}
        others = {(i, j) for i in range(len(pair.left)) for j in range(len(pair.right))} - shown
        assert min(float(weights[at]) for at in shown) >= max(float(weights[at]) for at in others)


def test_attention_has_as_many_links_as_the_others_on_average(example: Study) -> None:
    found = links_by_model(example)
    for pair in range(10):
        mean = (len(found[pair, 0]) + len(found[pair, 3])) / 2
        assert abs(len(found[pair, 1]) - mean) <= 0.5
        assert len(found[pair, 2]) <= mean + 0.5  # sparse attention may have fewer that are active


def test_the_same_links_of_a_pair_are_judged_once(example: Study) -> None:
    assert len({(item.pair, item.links) for item in example.items}) == len(example.items) < 40
    assert all(item.links == tuple(sorted(item.links)) for item in example.items)


def test_a_number_of_links_can_be_asked_for(minilm: Path) -> None:
    pairs = read_pairs(EXAMPLE, "sentence")[:3]
    made = create(pairs, [compared("softmax:1", "sentence")], top_k=3)
    assert [len(item.links) for item in made.items] == [3, 3, 3]


def test_trained_models_are_compared_by_their_own_rule(minilm: Path, tmp_path: Path) -> None:
    encoder = Projected(wm.SentenceEncoder(), 384, learned=False)
    wm.Classifier(wm.Aligner("sentence", encoder), wm.Exactly(2), ["no", "yes"]).save_pretrained(
        tmp_path / "transport" / "model"
    )
    wm.Ranker(wm.Aligner("sentence", encoder), Attend(0.01)).save_pretrained(tmp_path / "attention" / "model")
    pairs = read_pairs(EXAMPLE, "sentence")
    models = [compared(str(tmp_path / name), "sentence") for name in ("transport", "attention")]
    untrained = [Linking("plain", "sentence", Aligner(cost="cosine"), wm.Exactly(2)), compared(NAMES[1], "sentence")]
    found = [links_by_model(create(pairs, some)) for some in (models, untrained)]
    assert found[0] == found[1]


def test_each_person_has_an_order_of_their_own_and_sees_every_pair_before_any_again() -> None:
    made = study(pairs=12)
    orders = {name: made.order(name) for name in ("Ada", "Ben", "Cy")}
    assert len({tuple(item.id for item in order) for order in orders.values()}) == 3
    for name, order in orders.items():
        assert sorted(item.id for item in order) == sorted(item.id for item in made.items)
        assert [item.pair for item in order[:12]] == [item.pair for item in order[12:]]
        assert len({item.pair for item in order[:12]}) == 12
        assert order == made.order(name)
        assert {item.models for item in order[:12]} == {(0,), (1,)}  # not one model first


def test_a_study_is_read_as_it_was_written(tmp_path: Path, example: Study) -> None:
    write_study(example, tmp_path / "study")
    read = read_study(tmp_path / "study")
    assert read == example
    assert read.fingerprint == example.fingerprint
    assert replace(read, title="Another").fingerprint != read.fingerprint


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": 1}, "its format is 1, and this version reads 2. Create the study anew"),
        ({"format": 9}, "its format is 9"),
        ({"pairs": []}, "a pair that is not there"),
        ({"models": ["one"]}, "a span or a model that is not there"),
        ({"items": 3}, "TypeError"),
    ],
)
def test_a_damaged_study_is_refused(change: dict[str, object], says: str, tmp_path: Path) -> None:
    made = written(tmp_path)
    (tmp_path / "study.json").write_text(json.dumps(made.to_dict() | change))
    with pytest.raises(ValueError, match=says):
        read_study(tmp_path)


def test_pairs_come_from_lines_from_pairs_of_a_data_set_and_from_queries(tmp_path: Path) -> None:
    row = {"left": "One. Two.", "right": ["Three", "Four"], "label": 1}
    (tmp_path / "test.jsonl").write_text(json.dumps(row))
    (from_file,), (from_folder,) = read_pairs(tmp_path / "test.jsonl", "sentence"), read_pairs(tmp_path, "sentence")
    assert (from_file.left.pieces, from_file.right.pieces, from_file.label) == (
        ["One.", "Two."],
        ["Three", "Four"],
        "1",
    )
    assert replace(from_folder, id=from_file.id) == from_file
    query = {"query": "One.", "documents": ["Two.", "Three."], "relevant": [1]}
    (tmp_path / "val.jsonl").write_text(json.dumps(query))
    (similar,) = read_pairs(tmp_path, "sentence", "val")
    assert (similar.left.text, similar.right.text) == ("One.", "Three.")


def test_a_sample_keeps_the_order_and_follows_the_seed() -> None:
    pairs = list(study(pairs=30).pairs)
    some = draw(pairs, 7, seed=1)
    assert len(some) == 7
    assert [pairs.index(pair) for pair in some] == sorted(pairs.index(pair) for pair in some)
    assert some == draw(pairs, 7, seed=1) != draw(pairs, 7, seed=2)
    assert draw(pairs, None, 0) == draw(pairs, 99, 0) == pairs


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--models", "exactly:2", "exactly:2", "OUT"], "all different"),
        (["--models", "softmax:0.1", "OUT"], "give --top-k 2"),
        (["--models", "softmax:-1", "OUT"], "a temperature above 0"),
        (["--models", "softmx:1", "OUT"], "A model is a folder of whymatch train"),
        (["--models", "exactly:2", "softmax:0.1"], "'softmax:0.1' is no new folder"),
        (["--models", "OUT"], "Name the folder to write last"),
        (["--models", "exactly:2", "OUT", "--top-k", "0"], "--top-k takes"),
        (["--models", "exactly:2", "OUT", "--sample", "0"], "--sample takes"),
        (["--models", "exactly:2", "OUT", "--spans", "letter"], "got 'letter'"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    arguments: list[str], says: str, tmp_path: Path, minilm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ready = [str(tmp_path / "out") if word == "OUT" else word for word in arguments]
    assert main(["study", "create", str(EXAMPLE), *ready]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("", "There are no pairs"),
        ("[1]", "line 1: a line is an object"),
        ('{"left": "a"}', "line 1: there is no 'right'"),
        ('{"left": "a", "right": " "}', "Pair 1: its right text is empty"),
        ('{"left": "a", "right": "b", "labell": 1}', "Is it 'label'?"),
        ('{"id": 1, "left": "a", "right": "b"}\n\n{"id": 1, "left": "a", "right": "b"}', "the same id"),
    ],
)
def test_bad_pairs_are_refused(lines: str, says: str, tmp_path: Path, minilm: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text(lines)
    with pytest.raises(ValueError, match=says.replace("?", r"\?")):
        create(read_pairs(tmp_path / "pairs.jsonl", "sentence"), [compared("exactly:1", "sentence")])


def test_a_study_is_not_written_over(tmp_path: Path) -> None:
    written(tmp_path / "out")
    with pytest.raises(ValueError, match="there already"):
        written(tmp_path / "out")
