"""The simple baselines find what was planted, and measure it by the names that `evaluate` gives."""

import json
import random
import sys
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import pytest
import torch

from experiments.baselines import baseline, farthest
from experiments.running import run_table
from experiments.tables import read_table
from tests.cli.test_train import OTHER, PETS, SAME
from whymatch.datasets.folders import read_split
from whymatch.datasets.ranking import bm25_scorer, tokens
from whymatch.learning.building import build
from whymatch.learning.evaluate import evaluate
from whymatch.learning.sections import RuleSettings
from whymatch.learning.settings import Settings


def settings(folder: Path, rows: dict[str, list[dict[str, Any]]], task: Any, spans: str = "sentence") -> Settings:
    for split, some in rows.items():
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    return Settings(task=task, data=str(folder), spans=spans)


def pair(left: Any, sentences: list[str], marked: list[int]) -> dict[str, Any]:
    """A row whose right text has a sentence a span; those of these numbers are marked."""
    starts = [sum(len(sentence) + 1 for sentence in sentences[:number]) for number in range(len(sentences))]
    rationale = [[starts[number], starts[number] + len(sentences[number])] for number in marked]
    return {"left": left, "right": sentences, "label": "yes", "right_rationale": rationale}


def words_of(text: str, *marked: str) -> list[list[int]]:
    return [[text.index(word), text.index(word) + len(word)] for word in marked]


def test_scores_are_bm25s_formula_and_count_every_word_of_the_query() -> None:
    pytest.importorskip("bm25s")
    texts = ["cat cat dog", "cat bird", "fish"]

    def term(count: int, length: int, holds: int) -> float:
        return log(1 + (3 - holds + 0.5) / (holds + 0.5)) * count / (count + 1.5 * (0.25 + 0.75 * length / 2))

    score = bm25_scorer(texts)
    assert score(tokens("a cat")) == pytest.approx([term(2, 3, 2), term(1, 2, 2), 0])
    assert score(["dog", "dog"]) == pytest.approx([2 * term(1, 3, 1), 0, 0])
    assert score([]).tolist() == score(["unheard"]).tolist() == [0, 0, 0]


def test_bm25_weighs_words_by_the_documents_of_the_whole_split(tmp_path: Path) -> None:
    pytest.importorskip("bm25s")
    rare = {"query": "cat bird", "documents": ["the cat", "the bird"], "relevant": [1]}
    common = {"query": "dog", "documents": ["one cat", "two cat", "a dog"], "relevant": [2]}
    found = baseline("bm25", settings(tmp_path, {"test": [rare, common]}, "rank"))
    assert found["P@1"]["mean"] == found["MAP"]["mean"] == found["AUC"]["mean"] == 1
    found = baseline("bm25", settings(tmp_path, {"test": [rare]}, "rank"))
    assert found["P@1"]["mean"] == 0.5  # a tie: both words are in one of two documents
    assert found["queries"] == 1
    assert "active alignments" not in found


def test_a_row_of_a_table_can_be_a_baseline(tmp_path: Path) -> None:
    pytest.importorskip("bm25s")
    (tmp_path / "pets").mkdir()
    settings(tmp_path / "pets", {"test": [{"query": "cat", "documents": ["dog", "cat"], "relevant": [1]}]}, "rank")
    rows = '[[row]]\nname = "BM25"\nbaseline = "bm25"\n'
    (tmp_path / "table.toml").write_text(
        'order = 3.0\ntitle = "Pets"\ndata = "pets"\ncolumns = { "P@1" = ["P@1", 100] }\n'
        f'settings = {{ task = "rank" }}\n{rows}'
    )
    run_table(read_table(tmp_path / "table.toml"), tmp_path, tmp_path / "results", seeds=2)
    [file] = (tmp_path / "results" / "table").iterdir()
    assert json.loads(file.read_text())["results"]["P@1"]["mean"] == 1


def test_late_interaction_links_every_span_of_the_query(tmp_path: Path, minilm: Path) -> None:
    rows = [
        {
            "query": f"{PETS[i]} {PETS[i - 1]}",
            "documents": [f"{OTHER[i]} {PETS[i]}", f"{SAME[i - 1]} {OTHER[i]} {SAME[i]}"],
            "relevant": [1],
        }
        for i in range(4)
    ]
    given = settings(tmp_path, {"test": rows}, "rank")
    found = baseline("max-sim", given)
    assert found["P@1"]["mean"] == 1
    assert found["active alignments"] == {"mean": 2, "low": 2, "high": 2}
    assert found["% active"]["mean"] == pytest.approx((100 * 2 / 4 + 100 * 2 / 6) / 2)


def test_ranking_baselines_give_the_metrics_of_a_model(tmp_path: Path, minilm: Path) -> None:
    pytest.importorskip("bm25s")
    rows = [{"query": PETS[0], "documents": [OTHER[0], SAME[0]], "relevant": [1]}]
    given = settings(tmp_path, {"test": rows}, "rank")
    test = read_split(given.data, "test", "rank", "sentence")
    names = set(evaluate(build(replace(given, rule=RuleSettings(attention="softmax")), test), test))
    assert set(baseline("max-sim", given)) == names
    assert set(baseline("bm25", given)) == names - {"active alignments", "% active", "pairs a second"}


def test_the_two_nearest_sentences_are_chosen_in_any_order(tmp_path: Path, minilm: Path) -> None:
    question = ["What did the cat do?", "It sat on the mat."]
    text = [OTHER[0], "A cat was sitting on a mat.", OTHER[1], "The cat sat down.", OTHER[2]]
    found = baseline("nearest-two", settings(tmp_path, {"test": [pair(question, text, [1, 3])]}, "classify"))
    assert found["right rationale F1"]["mean"] == found["right rationale AUPRC"]["mean"] == 1
    assert found["right rationale IoU F1"]["mean"] == 1
    tokens_of = [len(sentence.split()) for sentence in text]
    assert found["right rationale % of tokens"]["mean"] == pytest.approx(
        100 * (tokens_of[1] + tokens_of[3]) / sum(tokens_of)
    )
    assert not any(name.startswith(("left", "both", "accuracy")) for name in found)


def test_a_text_of_one_sentence_is_chosen_whole(tmp_path: Path, minilm: Path) -> None:
    found = baseline("nearest-two", settings(tmp_path, {"test": [pair(PETS[0], [SAME[0]], [0])]}, "classify"))
    assert found["right rationale F1"]["mean"] == 1
    assert found["right rationale % of tokens"]["mean"] == 100


@pytest.mark.parametrize(
    ("constraint", "below", "left", "right", "f1"),
    [
        ("exactly:2", None, "ab", "xy", 1.0),
        ("exactly:2", None, "abc", "xyz", 2 * 4 / (4 + 6)),  # two of three
        ("exactly:3", None, "a", "xy", 2 * 3 / (6 + 3)),  # links that must be, though nobody marked their spans
        ("up-to:1", 0.75, "a", "xy", 2 * 3 / (4 + 3)),  # y takes a word with it
        ("up-to:1", 0.75, "", "xyz", 2 * 3 / (6 + 3)),
        ("up-to:1", 0.25, "ab", "x", 2 * 2 / (2 + 3)),  # both sides marked, or no link
    ],
)
def test_links_that_know_the_marks_agree_as_far_as_a_constraint_allows(
    constraint: str, below: float | None, left: str, right: str, f1: float, tmp_path: Path
) -> None:
    words = {"left": "a b c d", "right": "x y z w"}
    row = {**words, "label": "yes"} | {
        f"{side}_rationale": words_of(words[side], *marked) for side, marked in (("left", left), ("right", right))
    }
    given = settings(tmp_path, {"test": [row]}, "classify", "word")
    given = replace(given, rule=RuleSettings(constraint, below))
    assert baseline("marks-known", given)["both rationale F1"]["mean"] == pytest.approx(f1)
    with pytest.raises(ValueError, match="takes a \\[rule\\] constraint"):
        baseline("marks-known", replace(given, rule=RuleSettings(attention="softmax")))


def test_a_second_person_is_judged_by_the_marks_of_the_first(tmp_path: Path) -> None:
    words = {"id": "1", "left": "a b c d", "right": "x y z w", "label": "yes"}

    def prepared(name: str, left: str, right: str) -> Settings:
        marks = {"left_rationale": words_of("a b c d", *left), "right_rationale": words_of("x y z w", *right)}
        (tmp_path / name).mkdir()
        return settings(tmp_path / name, {"test": [words | marks]}, "classify", "word")

    given = prepared("marked", "ab", "x")
    prepared("marked-second", "b", "xyz")
    found = baseline("second-person", given)
    assert found["left rationale F1"]["mean"] == pytest.approx(2 * 1 / (1 + 2))
    assert found["right rationale F1"]["mean"] == pytest.approx(2 * 1 / (3 + 1))
    assert found["both rationale F1"]["mean"] == pytest.approx(2 * 2 / (4 + 3))
    for changed, says in (
        ({"id": "2"}, "does not have the pair 1"),
        ({"right": "x y z v"}, "does not have the pair 1"),
        ({}, "Nobody else was asked about the pair 1"),
    ):
        settings(tmp_path / "marked-second", {"test": [words | changed]}, "classify", "word")
        with pytest.raises(ValueError, match=says):
            baseline("second-person", given)
    with pytest.raises(ValueError, match="whymatch data prepare marked-second --annotation second"):
        baseline("second-person", replace(given, data=str(tmp_path / "marked-second")))


def test_trees_learn_a_rule_that_no_cosine_knows(tmp_path: Path, minilm: Path) -> None:
    pytest.importorskip("sklearn")
    chance = random.Random(0)

    def row() -> dict[str, Any]:
        """The longest two sentences are marked, whatever they are about."""
        short, long = chance.sample(PETS + SAME, 3), chance.sample(OTHER, 2)
        text = [*short, *(" ".join([sentence] * 3) for sentence in long)]
        chance.shuffle(text)
        question = [chance.choice(PETS), chance.choice(SAME)]
        return pair(question, text, [number for number, sentence in enumerate(text) if len(sentence.split()) > 9])

    given = settings(tmp_path, {"train": [row() for _ in range(60)], "test": [row() for _ in range(20)]}, "classify")
    found = baseline("boosted-trees", given)
    assert found["right rationale F1"]["mean"] == found["right rationale AUPRC"]["mean"] == 1
    assert baseline("nearest-two", given)["right rationale F1"]["mean"] < 0.5
    assert baseline("boosted-trees", given) == found


def test_trees_need_scikit_learn_and_marks_of_both_kinds(
    tmp_path: Path, minilm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn")
    rows = [pair(PETS[0], [SAME[0]], [0])]
    given = settings(tmp_path, {"train": rows, "test": rows}, "classify")
    with pytest.raises(ValueError, match="marked and spans that are not"):
        baseline("boosted-trees", given)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(ValueError, match="pip install scikit-learn"):
        baseline("boosted-trees", given)


def test_the_farthest_word_is_the_planted_one(tmp_path: Path, minilm: Path) -> None:
    left = "A man in a red shirt plays a guitar on the stage"
    right = "A man in a red shirt plays a guitar underwater with sharks"
    marks = {"left_rationale": words_of(left, "stage"), "right_rationale": words_of(right, "underwater", "sharks")}
    rows = [{"left": left, "right": right, "label": "contradiction", **marks}]
    found = baseline("farthest-words", settings(tmp_path, {"test": rows}, "classify", "word"))
    assert found["right rationale F1"]["mean"] == pytest.approx(2 * 2 / (3 + 2))  # both, and one word more
    assert found["right rationale AUPRC"]["mean"] > 0.8
    assert found["active alignments"]["mean"] == 3
    assert found["% active"]["mean"] == pytest.approx(100 * 3 / (12 * 12))
    assert {name.split()[0] for name in found if "rationale" in name} == {"left", "right", "both"}


def test_farthest_columns_come_with_their_nearest_rows() -> None:
    cost = torch.tensor([[0.1, 0.9, 0.8, 0.2, 0.6], [0.5, 0.7, 0.9, 0.0, 0.4], [0.3, 0.8, 1.0, 0.7, 0.5]])
    found = farthest(cost, 2)
    assert found.spans == ([0, 1], [1, 2])  # at least 0.7 from row 1, and 0.8 from row 0
    assert found.strengths[1] == pytest.approx([0.05, 0.35, 0.4, 0.0, 0.2])
    assert found.strengths[0] == pytest.approx([0.4, 0.35, 0.0])
    assert farthest(torch.zeros(0, 2)).spans == farthest(torch.zeros(2, 0)).spans == ([], [])


@pytest.mark.parametrize(
    ("name", "task", "row", "says"),
    [
        ("random", "rank", {}, "bm25, max-sim, nearest-two, boosted-trees, farthest-words, marks-known, second-person"),
        ("bm25", "classify", {}, 'is for task = "rank", got "classify"'),
        ("nearest-two", "rank", {}, 'is for task = "classify", got "rank"'),
        ("bm25", "rank", {"query": "a", "documents": ["b"], "relevant": [0]}, "similar and a dissimilar"),
        ("nearest-two", "classify", {"left": "a", "right": "b", "label": "c"}, "no right rationale"),
        ("nearest-two", "classify", {"left": "", "right": "b", "right_rationale": []}, "empty left text"),
        ("farthest-words", "classify", pair("a", ["b"], [0]), 'is for spans = "word", got "sentence"'),
    ],
)
def test_what_a_baseline_cannot_measure_is_refused(
    name: str, task: Any, row: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=says):
        baseline(name, settings(tmp_path, {"test": [row]}, task))


def test_an_empty_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="empty"):
        baseline("bm25", settings(tmp_path, {"test": []}, "rank"))
