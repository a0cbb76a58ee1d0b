"""Figures 8 and 9: a page of example rationales."""

import json
import re
from pathlib import Path

import pytest
import torch

import whymatch as wm
from experiments.__main__ import main
from experiments.gallery import SETS, choose, example
from tests.cli.test_train import OTHER, PETS, SAME, write
from tests.show.test_browser import Open, browser, show  # noqa: F401
from whymatch.datasets.records import Pair
from whymatch.learning import Projected
from whymatch.show.gallery import page
from whymatch.text.document import joined

HACK = "<script>window.hacked = true</script>"


@pytest.fixture
def prepared(tmp_path: Path, minilm: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    texts = [f"{PETS[i]} {OTHER[i]} {HACK}" for i in range(4)]
    others = [f"{SAME[i]} {OTHER[i - 1]}" for i in range(4)]
    rows: list[dict[str, object]] = [
        {"query": texts[i], "documents": [OTHER[i], others[i]], "relevant": [1]} for i in range(4)
    ]
    (tmp_path / "data").mkdir()
    write(tmp_path / "data" / "stackexchange", rows)
    marked = [[0, 1]]
    write(
        tmp_path / "data" / "esnli",
        [{"left": texts[i], "right": SAME[i], "label": "ab"[i % 2], "right_rationale": marked} for i in range(4)],
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_examples_are_one_page_with_every_rule_and_nothing_in_a_text_runs(prepared: Path) -> None:
    assert main(["examples", "--data", "data"]) == 0
    text = (prepared / "gallery.html").read_text()
    assert HACK not in text
    assert "&lt;script&gt;window.hacked" in text
    assert text.count("<script") == 2
    assert not re.search(r'(src|href)="', text)
    assert text.count("<article") == 3 + 4
    assert text.count('class="rule"') == 5 * (3 + 4)
    assert len(re.findall(r'class="span[^"]* marked"', text)) == 4
    for title in ("StackExchange 1", "e-SNLI 1: a", "e-SNLI 2: b"):
        assert f"<h3>{title}</h3>" in text
    assert main(["examples", "--data", "data", "--out", "again.html"]) == 0
    assert (prepared / "again.html").read_text() == text


def test_a_trained_model_shows_what_it_was_trained_for(prepared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wm.Ranker(wm.Aligner("sentence", Projected(wm.SentenceEncoder(), 384)), wm.Exactly(2)).save_pretrained(
        prepared / "ranker"
    )
    assert main(["examples", "--data", "data", "--model", "ranker"]) == 0
    text = (prepared / "gallery.html").read_text()
    assert "e-SNLI" not in text
    assert text.count("<article") == 3
    (prepared / "data" / "stackexchange").rename(prepared / "data" / "other")
    assert main(["examples", "--data", "data", "--model", "ranker"]) == 2
    assert "is a ranker of sentence spans" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["examples"], "examples needs --data"),
        (["examples", "--data", "nowhere"], "got nowhere"),
        (["examples", "--data", "data/esnli"], "holds none of stackexchange, multinews, esnli, multirc"),
        (["examples", "--data", "data", "--model", "nothing"], "nothing holds no model"),
        (["heatmap", "--model", "run"], "--model is for examples"),
        (["speed", "--out", "speed.json"], "--out is for heatmap, tradeoff, examples"),
        (["nonsense"], "sparsity, statistics, speed, heatmap, tradeoff, examples"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    arguments: list[str], says: str, prepared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("WHYMATCH_PREPARED", raising=False)
    assert main([*arguments]) == 2
    assert says in capsys.readouterr().err


def diagonal(n: int, m: int) -> tuple[Pair, wm.Aligner]:
    left, right = ([f"{side} sentence, number {i}" for i in range(size)] for side, size in (("left", n), ("right", m)))
    vectors = dict(zip([*left, *right], torch.cat([torch.eye(9)[:n], torch.eye(9)[:m]]), strict=True))
    pair = Pair("1", joined(left), joined(right))
    return pair, wm.Aligner("line", wm.Precomputed(vectors), "cosine")


def test_every_rule_keeps_its_promise_and_attention_gives_every_span_a_pair() -> None:
    pair, aligner = diagonal(4, 6)
    found = {rule["name"]: rule["links"] for rule in example(pair, "One", aligner, 2)["rules"]}
    attended = found.pop("attention, T = 0.1")
    assert {i for i, _, _ in attended} == {*range(4)}
    assert {j for _, j, _ in attended} == {*range(6)}
    assert {name: len(links) for name, links in found.items() if name != "Balanced()"} == {
        "Exactly(2)": 2,
        "UpTo(1, below 0.55)": 4,
        "OneTo(1)": 4,
    }
    assert 6 <= len(found["Balanced()"]) <= 9
    assert [link[:2] for link in sorted(found["OneTo(1)"])] == [[i, i] for i in range(4)]


def test_pairs_are_drawn_by_seed_every_label_in_turn_and_readable_ones_first() -> None:
    shown = next(one for one in SETS if one.name == "esnli")
    long, good = joined([f"w{i}" for i in range(99)]), joined(["three", "words", "here"])
    pairs = [Pair(str(i), long if i % 3 else good, good, "abc"[i // 3 % 3]) for i in range(90)]
    found = choose(pairs, shown)
    assert found == choose(pairs, shown)
    assert [pair.label for pair in found] == ["a", "b", "c", "a", "b", "c"]
    assert all(pair.left == good for pair in found)
    assert choose([Pair("empty", joined([]), good)], shown) == []


def test_a_click_shows_another_rule(show: Open) -> None:  # noqa: F811
    pair, aligner = diagonal(4, 4)
    one = example(pair, HACK, aligner, 2)
    one["rules"][4]["links"] = [[i, j, 1 / 16] for i in range(4) for j in range(4)]  # more than can be numbered
    group = {"title": HACK, "about": HACK, "examples": [one, one]}
    tab = show(page([group], "Examples", "About."))
    assert tab.evaluate("window.hacked") is None
    second = tab.locator("#example-1")
    assert second.locator(".curves path").count() == 2
    second.locator(".rule").nth(4).click()
    assert second.locator(".curves path").count() == 16
    assert second.locator(".unmatched").count() == second.locator(".badge").count() == 0
    assert tab.locator("#example-0 .curves path").count() == 2
    assert json.loads(second.locator(".rule").nth(4).get_attribute("aria-pressed") or "")
    second.locator(".rule").nth(0).click()
    assert second.locator(".unmatched").count() == second.locator(".badge").count() == 4
