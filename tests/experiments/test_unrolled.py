"""What only a comparison needs: the paper's rule, and training on marked pairs alone."""

import json
from pathlib import Path

import pytest
import torch

from experiments.__main__ import main
from experiments.unrolled import ITERATIONS, Unrolled, unrolled
from tests.cli.test_train import OTHER, PETS, SAME, write
from tests.experiments.test_tables import clone  # noqa: F401
from tests.learning.planted import SIZE, planted
from whymatch.matching.aligner import Aligner
from whymatch.matching.classifier import Classifier
from whymatch.matching.rules import Transport
from whymatch.matching.saving import from_pretrained
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.encoders.trainable import Projected
from whymatch.transport.constraints import Exactly
from whymatch.transport.entropic import Temperature
from whymatch.transport.exact import solve

EPSILON = 0.1
RULE = Unrolled(Exactly(2), Temperature(0.1), epsilon=EPSILON)


def test_an_unrolled_rule_trains_by_its_iterations_and_predicts_by_the_exact_plan() -> None:
    tasks, vectors = planted(6, seed=3)
    model = Classifier(Aligner("line", Projected(vectors, SIZE)), RULE, ["no", "yes"])
    texts = [(task.left, task.similar) for task in tasks]
    training = model(texts)
    with torch.no_grad():
        resting = model(texts).weights
        exact = solve(training.cost, Exactly(2), sizes=training.sizes).plan
    assert torch.equal(resting, exact)
    for weights, cost, (n, m) in zip(training.weights, training.cost, training.sizes.tolist(), strict=True):
        torch.testing.assert_close(weights[:n, :m], unrolled(cost[:n, :m], Exactly(2), EPSILON, iterations=ITERATIONS))
    assert training.weights.requires_grad
    assert not torch.equal(training.weights, exact)


def test_a_saved_model_has_the_exact_rule(tmp_path: Path, minilm: Path) -> None:
    encoder = SentenceEncoder()
    Classifier(Aligner("sentence", Projected(encoder, encoder.size)), RULE, ["no", "yes"]).save_pretrained(tmp_path)
    assert from_pretrained(tmp_path).rule == Transport(Exactly(2), Temperature(0.1))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan")])
def test_an_epsilon_is_positive(epsilon: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        Unrolled(Exactly(2), epsilon=epsilon)


ROWS = """
order = 4.0
title = "Labels"
data = "pairs"
[columns]
accuracy = ["accuracy", 100]
[settings]
task = "classify"
schedule = { epochs = 1 }
[[row]]
name = "All"
settings = { rule = { constraint = "exactly:1" }, loss = { alpha = 0.5 } }
[[row]]
name = "Marked"
marked = true
settings = { rule = { constraint = "exactly:1" }, loss = { alpha = 0.5 } }
[[row]]
name = "As the paper"
unrolled = 0.01
settings = { rule = { constraint = "exactly:1" } }
"""


def test_rows_ask_for_what_no_setting_does(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    rows = [
        {"left": PETS[i], "right": [SAME, OTHER][i % 2][i], "label": "ab"[i % 2], "right_rationale": [[0, 3]] * (i < 2)}
        for i in range(4)
    ]
    write(clone / "data" / "pairs", [dict(row) for row in rows])
    table = clone / "experiments" / "labels.toml"
    table.write_text(ROWS)
    run = ["labels", "--data", "data"]
    assert main(run) == 0
    said = capsys.readouterr().err
    assert [line for line in said.splitlines() if line.startswith("labels: ") and "seed" not in line][:3] == [
        "labels: a 2, b 2",
        "labels: a 1, b 1",
        "labels: a 2, b 2",
    ]
    records = {file.stem: json.loads(file.read_text()) for file in (clone / "experiments/results/labels").iterdir()}
    assert "unrolled" not in records["all-0"]
    assert records["marked-0"]["marked"] is True
    assert records["as-the-paper-0"]["unrolled"] == 0.01
    assert main(run) == 0
    assert capsys.readouterr().err.count("measured before") == 3
    table.write_text(ROWS.replace("unrolled = 0.01", "unrolled = 0.02").replace("marked = true\n", ""))
    assert main(run) == 0
    assert capsys.readouterr().err.count("(its settings have changed)") == 2
