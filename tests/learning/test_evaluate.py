"""Metrics of a model are those of its predictions, thresholds are kept, and its card says what was measured."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
import torch

import whymatch as wm
from tests.learning.planted import LINKS, SIZE, SPANS, planted
from whymatch.datasets.records import Pair, Query
from whymatch.evaluation.rationales import f1, tokens_in
from whymatch.learning import Attend, Projected, Transport
from whymatch.learning.evaluate import choose_thresholds, evaluate, validation_score
from whymatch.learning.tasks import ClassifyTask
from whymatch.matching.card import write_card
from whymatch.matching.classifier import Prediction
from whymatch.matching.rules import Rule
from whymatch.text.document import Document
from whymatch.text.encoders.trainable import TrainableEncoder
from whymatch.text.vectors import WordVectors
from whymatch.transport import Temperature

TASKS, VECTORS = planted(24, seed=8)
PAIRS = [
    Pair(
        str(number),
        task.left,
        task.similar,
        "yes" if task.agree else "no",
        tuple(task.left.spans[i] for i in sorted({i for i, _ in task.links})),
        tuple(task.similar.spans[j] for j in sorted({j for _, j in task.links})),
    )
    for number, task in enumerate(TASKS)
]
SIDES = ((0, "left"), (1, "right"))
TRANSPORT = Transport(wm.Exactly(LINKS), Temperature(0.1))


def classifier(rule: Rule = TRANSPORT) -> wm.Classifier:
    torch.manual_seed(1)
    return wm.Classifier(wm.Aligner("line", Projected(VECTORS, SIZE)), rule, ["no", "yes"], hidden=16, dropout=0.0)


def texts(pairs: Sequence[Pair]) -> list[tuple[Document, Document]]:
    return [(pair.left, pair.right) for pair in pairs]


def kept(one: Prediction, side: int) -> list[int]:
    assert one.alignment is not None
    return sorted({link.at[side] for link in one.alignment.links})


def test_what_chooses_an_epoch_has_marks_in_it_where_they_teach() -> None:
    model = classifier()
    found = evaluate(model, PAIRS)
    task, reasons = (found[name]["mean"] for name in ("macro F1", "both rationale F1"))
    assert task != pytest.approx(reasons)
    assert validation_score(model, PAIRS) == pytest.approx(task)
    assert validation_score(model, PAIRS, with_rationales=True) == pytest.approx((task + reasons) / 2)
    right = [replace(pair, left_rationale=None) for pair in PAIRS]
    of_one = fmean([task, found["right rationale F1"]["mean"]])
    assert validation_score(model, right, with_rationales=True) == pytest.approx(of_one)
    nobody = [replace(pair, right_rationale=None) for pair in right]
    assert validation_score(model, nobody, with_rationales=True) == pytest.approx(task)


def test_metrics_are_those_of_the_predictions() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    model = classifier()
    found, seen = evaluate(model, PAIRS), model.predict(texts(PAIRS))
    labels, gold = [one.label for one in seen], [pair.label for pair in PAIRS]
    assert 0 < found["accuracy"]["mean"] < 1
    assert found["accuracy"]["mean"] == pytest.approx(metrics.accuracy_score(gold, labels))
    assert found["macro F1"]["mean"] == pytest.approx(metrics.f1_score(gold, labels, average="macro"))
    for name in ("accuracy", "macro F1"):  # it reads nothing else
        assert found[f"{name}, active alignments only"] == found[name]
    assert found["active alignments"]["mean"] == LINKS
    assert found["% active"]["mean"] == pytest.approx(100 * LINKS / SPANS**2)
    assert found["pairs"] == len(PAIRS)
    assert "comprehensiveness" not in found  # nobody asked
    both: list[tuple[set[object], set[object]]] = [(set(), set()) for _ in PAIRS]
    for side, name in SIDES:
        agreed = []
        for pair, one, (all_chosen, all_marked) in zip(PAIRS, seen, both, strict=True):
            text, marked = texts([pair])[0][side], (pair.left_rationale, pair.right_rationale)[side]
            chosen = tokens_in(text.text, [text.spans[number] for number in kept(one, side)])
            agreed.append(f1(chosen, tokens_in(text.text, marked or ())))
            all_chosen |= {(side, token) for token in chosen}
            all_marked |= {(side, token) for token in tokens_in(text.text, marked or ())}
        assert found[f"{name} rationale F1"]["mean"] == pytest.approx(fmean(agreed))
        assert found[f"{name} rationale % of tokens"]["mean"] == pytest.approx(100 * LINKS / SPANS)
    assert found["both rationale F1"]["mean"] == pytest.approx(fmean(f1(a, b) for a, b in both))


def test_the_commonest_label_is_measured_beside_the_model() -> None:
    labels = [pair.label for pair in PAIRS]
    share = max(labels.count(label) for label in labels) / len(labels)
    for chosen in (PAIRS, [pair for pair in PAIRS if pair.label == "yes"]):
        baseline = evaluate(classifier(), chosen)["accuracy of always the commonest label"]
        assert baseline == (share if chosen is PAIRS else 1.0)


def test_only_what_people_were_asked_about_is_compared() -> None:
    unasked = [replace(pair, left_rationale=None) for pair in PAIRS[:3]]
    found, whole, alone = (evaluate(classifier(), some) for some in ([*unasked, PAIRS[3]], PAIRS[:4], PAIRS[3:4]))
    assert found["right rationale F1"] == whole["right rationale F1"]
    assert found["left rationale F1"]["mean"] == alone["left rationale F1"]["mean"]
    assert found["both rationale F1"]["mean"] == alone["both rationale F1"]["mean"]
    assert not any("left" in name or "both" in name for name in evaluate(classifier(), unasked))


def test_a_ranker_is_measured_by_the_order_that_it_gives() -> None:
    model = wm.Ranker(wm.Aligner("line", Projected(VECTORS, SIZE)), wm.Exactly(LINKS))
    queries = [Query("", one.left, (one.dissimilar, one.similar), (False, True)) for one in TASKS]
    first = [model.rank(one.query, one.documents)[0]["corpus_id"] == 1 for one in queries]
    found = evaluate(model, queries)
    assert 0 < fmean(first) < 1
    for name, worst in (("AUC", 0.0), ("P@1", 0.0), ("MAP", 0.5), ("MRR", 0.5)):
        assert found[name]["mean"] == pytest.approx(fmean(1.0 if best else worst for best in first))
    assert (found["active alignments"]["mean"], found["queries"]) == (LINKS, len(queries))


def test_attention_is_also_measured_on_what_it_calls_aligned() -> None:
    model, pair = classifier(Attend(0.1)), PAIRS[0]
    margins = []
    for active_only in (False, True):
        model.rule = Attend(0.1, active_only=active_only)
        with torch.no_grad():
            no, yes = model.eval().logits(texts([pair]))[0][0].tolist()
        margins.append(yes - no)
    assert margins[0] != margins[1]
    bias = model.head.decide[-1].bias
    assert isinstance(bias, torch.Tensor)
    with torch.no_grad():
        bias[1] -= sum(margins) / 2  # so that the decision hangs on weights that do not count as aligned
    label = "yes" if margins[0] > margins[1] else "no"
    model.rule = Attend(0.1)
    found = evaluate(model, [replace(pair, label=label)])
    assert found["accuracy"]["mean"] == 1
    assert found["accuracy, active alignments only"]["mean"] == 0
    assert model.rule == Attend(0.1)
    assert LINKS < found["active alignments"]["mean"] < SPANS**2


def test_thresholds_are_chosen_on_validation_kept_and_used(tmp_path: Path) -> None:
    model, validation, test = classifier(), PAIRS[:12], PAIRS[12:]
    assert not [name for name in evaluate(model, test) if "above" in name]
    ClassifyTask(model, validation).calibrate(print)
    assert model.thresholds == choose_thresholds(model, validation)
    assert model.thresholds.keys() == {"left", "right", "both"}
    model.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["thresholds"] == model.thresholds
    again = wm.Classifier.from_pretrained(tmp_path, VECTORS)
    found = evaluate(again, test)
    with torch.no_grad():
        matched = model(texts(test))
    for side, name in SIDES:
        threshold = model.thresholds[name]
        agreed = []
        for pair, selection in zip(test, model.rule.selection(matched.cost, matched.sizes)[side], strict=True):
            text, marked = texts([pair])[0][side], (pair.left_rationale, pair.right_rationale)[side]
            strong = [span for span, value in zip(text.spans, selection.tolist(), strict=True) if value > threshold]
            agreed.append(f1(tokens_in(text.text, strong), tokens_in(text.text, marked or ())))
        assert found[f"{name} rationale F1 above δ"]["mean"] == pytest.approx(fmean(agreed))


@pytest.mark.parametrize("pairs", [PAIRS, [replace(p, left=p.left.keep([0, 1])) for p in PAIRS]], ids=["some", "all"])
def test_deletions_are_measured_as_by_hand(pairs: list[Pair]) -> None:
    model = classifier()
    asked = [replace(pair, left_rationale=None, right_rationale=None) for pair in pairs]
    found, before = evaluate(model, asked, deletions=True), model.predict(texts(pairs))
    falls = []
    for inside in (False, True):
        changed = []
        for pair, one in zip(pairs, before, strict=True):
            sides = [
                [n for n in range(len(text)) if (n in kept(one, i)) is inside]
                for i, text in enumerate(texts([pair])[0])
            ]
            changed.append((pair.left.keep(sides[0]), pair.right.keep(sides[1])))
        chances = [after.probabilities[one.label] for one, after in zip(before, model.predict(changed), strict=True)]
        falls.append(fmean(one.probabilities[one.label] - chance for one, chance in zip(before, chances, strict=True)))
    assert found["comprehensiveness"]["mean"] == pytest.approx(falls[0], abs=1e-6)
    assert found["sufficiency"]["mean"] == pytest.approx(falls[1], abs=1e-6)
    assert abs(falls[0]) > 1e-3 > abs(falls[1])


def test_what_cannot_be_measured_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="the split is empty"):
        evaluate(classifier(), [])
    with pytest.raises(ValueError, match="Pair 0 has the label 'maybe'; the model knows no, yes"):
        evaluate(classifier(), [replace(PAIRS[0], label="maybe")])


class Around(wm.Precomputed):
    """Vectors that somebody made in context."""

    contextual = True


WORDS = WordVectors(
    "toy.vec", {"the": 0, "cat": 1}, torch.randn(2, 5, generator=torch.Generator().manual_seed(0)).numpy()
)


@pytest.mark.parametrize(
    "encoder",
    [
        Projected(VECTORS, SIZE),
        wm.RecurrentEncoder(WORDS, hidden=3, layers=1),
        wm.RecurrentEncoder(WORDS, hidden=3, layers=1, in_context=True),
        Projected(Around(VECTORS.vectors), SIZE),
    ],
    ids=["precomputed", "alone", "in context", "precomputed in context"],
)
def test_the_card_says_where_vectors_hold_more_than_their_span(encoder: TrainableEncoder, tmp_path: Path) -> None:
    wm.Ranker(wm.Aligner("sentence", encoder), wm.Exactly(1)).save_pretrained(tmp_path)
    write_card(tmp_path, {"MAP": {"mean": 0.5, "low": 0.25, "high": 0.75}}, "data/toy", "val")
    card = (tmp_path / "README.md").read_text()
    assert ("Faithful to vectors, not to text" in card) is encoder.contextual
    assert "| MAP | 0.5000 | 0.2500 to 0.7500 |" in card


def test_a_card_keeps_what_was_measured_on_every_split(tmp_path: Path) -> None:
    folder = tmp_path / "my model"
    classifier().save_pretrained(folder)
    for split, value in (("val", 0.125), ("test", 0.25), ("val", 0.375)):
        write_card(folder, {"macro F1": value, "pairs": 7}, tmp_path / "data" / "toy", split)
    card = (folder / "README.md").read_text()
    assert [line for line in card.splitlines() if line.startswith("## On")] == ["## On toy, test", "## On toy, val"]
    assert "| macro F1 | 0.25 |" in card
    assert "| macro F1 | 0.375 |" in card
    assert "0.125" not in card  # it was measured again
    assert str(tmp_path) not in card
    assert 'from_pretrained("my model")' in card


def test_a_card_follows_its_folder_to_another_name(tmp_path: Path) -> None:
    classifier().save_pretrained(tmp_path / "old")
    write_card(tmp_path / "old", {"pairs": 7}, "toy", "val")
    (tmp_path / "old").rename(tmp_path / "new")
    write_card(tmp_path / "new", {"pairs": 8}, "toy", "test")
    card = (tmp_path / "new" / "README.md").read_text()
    assert "## On toy, test" in card
    assert 'from_pretrained("new")' in card


def test_a_card_that_somebody_changed_stays(tmp_path: Path) -> None:
    classifier().save_pretrained(tmp_path)
    write_card(tmp_path, {"pairs": 7}, "toy", "val")
    (tmp_path / "README.md").write_text("my own words")
    write_card(tmp_path, {"pairs": 8}, "toy", "test")
    assert (tmp_path / "README.md").read_text() == "my own words"
    assert [one["split"] for one in json.loads((tmp_path / "evaluations.json").read_text())["evaluations"]] == [
        "val",
        "test",
    ]


def test_the_card_of_attention_does_not_claim_to_read_links_alone(tmp_path: Path) -> None:
    classifier(Attend()).save_pretrained(tmp_path)
    write_card(tmp_path, {"pairs": 7}, "toy", "val")
    card = (tmp_path / "README.md").read_text()
    assert "softmax attention" in card
    assert "nothing else" not in card
