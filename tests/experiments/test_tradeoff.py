"""Figure 6: accuracy against the share of tokens, by cutting attention and by exact k."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
import torch

import whymatch as wm
from experiments.__main__ import main
from experiments.tradeoff import curve, exact_points, spread
from tests.experiments.test_tables import clone  # noqa: F401
from tests.learning.planted import SIZE, planted
from whymatch.datasets.records import Pair
from whymatch.learning import Attend, Projected, Transport
from whymatch.learning.evaluate import evaluate
from whymatch.matching.rules import Rule, rule_from_dict

RULES: list[Rule] = [
    Attend(),
    Attend(0.1),
    Attend(0.01),
    Attend(normaliser="sparsemax"),
]


def classified(rule: Rule) -> tuple[wm.Classifier, list[Pair]]:
    tasks, vectors = planted(40, seed=3)
    torch.manual_seed(0)
    model = wm.Classifier(wm.Aligner("sentence", Projected(vectors, SIZE)), rule, ["no", "yes"])
    pairs = [Pair(str(n), one.left, one.similar, "yes" if one.agree else "no") for n, one in enumerate(tasks)]
    return model, pairs


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_curve_loses_tokens_as_the_threshold_rises_and_ends_with_none(rule: Rule) -> None:
    model, pairs = classified(rule)
    found = curve(model, pairs)
    assert 2 < len(found) <= 12
    for before, after in pairwise(found):
        assert before["λ"] < after["λ"]
        assert before["% of tokens"] >= after["% of tokens"]
    assert found[0]["% of tokens"] == 100
    assert found[-1]["% of tokens"] == 0
    assert all(0 <= point["accuracy"] <= 1 for point in found)
    assert model.rule is rule
    assert model.training


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_threshold_next_to_nothing_has_the_accuracy_of_all_attention(rule: Rule) -> None:
    model, pairs = classified(rule)
    assert curve(model, pairs)[0]["accuracy"] == evaluate(model, pairs)["accuracy"]["mean"]


def test_the_papers_threshold_is_a_point_of_its_curve() -> None:
    model, pairs = classified(Attend(0.01))
    only = evaluate(model, pairs)["accuracy, active alignments only"]["mean"]
    model.rule = Attend(0.01, active_only=True, threshold=0.01)
    assert evaluate(model, pairs)["accuracy"]["mean"] == only


def test_thresholds_are_dense_where_the_curve_falls() -> None:
    found = spread(
        lambda times: {"λ": times, "% of tokens": 100.0 * (times < 5), "accuracy": 0.5}, 0.001, 1000, points=12
    )
    assert sum(1 < point["λ"] < 25 for point in found) > 6


def test_a_model_without_attention_has_no_curve() -> None:
    model, pairs = classified(Transport(wm.Exactly(2)))
    with pytest.raises(ValueError, match="weights of attention"):
        curve(model, pairs)
    attending, _ = classified(Attend())
    with pytest.raises(ValueError, match="empty"):
        curve(attending, [])


def test_a_threshold_is_written_and_read() -> None:
    rule = Attend(0.5, "sparsemax", threshold=2.0)
    assert rule_from_dict(rule.to_dict()) == rule
    with pytest.raises(ValueError, match="threshold"):
        Attend(threshold=-1)


def write_runs(folder: Path) -> None:
    folder.mkdir(parents=True)
    for seed, accuracy in enumerate((0.7, 0.8)):
        results = {"accuracy": {"mean": accuracy}, "both rationale % of tokens": {"mean": 40.0}}
        run = {"row": "OT (exact k = 2)", "seed": seed, "trained": True, "results": results}
        (folder / f"exact-{seed}.json").write_text(json.dumps(run))
        (folder / f"supervised-{seed}.json").write_text(json.dumps({**run, "row": "OT (exact k = 2) (+S)"}))
    points = [{"λ": 0.1, "% of tokens": 90.0, "accuracy": 0.8}, {"λ": 1.0, "% of tokens": 0.0, "accuracy": 0.3}]
    run = {"row": "Attention", "seed": 0, "trained": True, "results": {}, "curve": points}
    (folder / "attention-0.json").write_text(json.dumps(run))


@pytest.mark.usefixtures("clone")
def test_the_figure_is_drawn_from_results_on_disk(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tradeoff"]) == 2
    assert "There is nothing to draw" in capsys.readouterr().err
    write_runs(Path("experiments/results/esnli"))
    runs = [json.loads(file.read_text()) for file in Path("experiments/results/esnli").iterdir()]
    assert exact_points(runs)[2] == pytest.approx((40.0, 75.0))
    assert len(exact_points(runs)) == 1
    assert main(["tradeoff"]) == 0
    assert Path("docs/images/tradeoff.png").read_bytes().startswith(b"\x89PNG")
    assert main(["tradeoff", "--out", "figure.svg"]) == 0
    drawn = Path("figure.svg").read_text()
    assert drawn.startswith("<?xml")
