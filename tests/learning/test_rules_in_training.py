"""What settings may say together: every possible encoder and rule learns, and impossible ones are refused in words."""

import json
import random
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

import whymatch as wm
import whymatch.learning.train as training
from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair
from whymatch.learning.building import build
from whymatch.learning.card import TOGETHER
from whymatch.learning.settings import Settings, read_settings
from whymatch.learning.tasks import classify_loss
from whymatch.learning.train import Run, Watch, train
from whymatch.show.words import IN_CONTEXT
from whymatch.text.document import Document
from whymatch.transport.unrolled import unrolled

WORDS = ["the", "cat", "sat", "on", "a", "mat", "it", "rained", "dog", "ran"]
EPSILON = 1e-4
POSSIBLE = [
    ("frozen", "none"),
    ("frozen", "text"),
    ("fine-tuned", "none"),
    ("fine-tuned", "text"),
    ("fine-tuned", "both"),
    ("recurrent", "none"),
    ("recurrent", "text"),
]
PARTS = ("encoder.", "reader.", "head.")
QUIET = Watch(line=lambda line: None)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of pairs and one of queries, word vectors, and a small BERT with random weights."""
    from transformers import BertConfig, BertModel, BertTokenizer

    folder, chance = tmp_path_factory.mktemp("rules"), random.Random(0)

    def text() -> str:
        return " ".join(" ".join(chance.choices(WORDS, k=4)).capitalize() + "." for _ in range(3))

    for name in ("pairs", "queries"):
        (folder / name).mkdir()
        for split in ("train", "val"):
            rows: list[dict[str, object]] = [
                {"query": text(), "documents": [text(), text()], "relevant": [0]}
                if name == "queries"
                else {"left": text(), "right": text(), "label": label}
                for label in ("no", "yes", "no", "yes")
            ]
            (folder / name / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "toy.vec").write_text("".join(f"{word} {chance.gauss(0, 1):.3f} {i}.5\n" for i, word in enumerate(WORDS)))
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *WORDS]))
    tokenizer = BertTokenizer(str(folder / "vocab.txt"))
    tokenizer.save_pretrained(folder / "bert")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    BertModel(config).save_pretrained(folder / "bert")  # type: ignore[no-untyped-call]
    return folder


def settings(
    place: Path, *more: str, task: str = "classify", spans: str = "sentence", **tables: dict[str, object]
) -> Settings:
    """What a file of settings says: one run."""
    lines = [f'task = "{task}"', f'data = "{place / ("pairs" if task == "classify" else "queries")}"']
    lines += [f'spans = "{spans}"', "dropout = 0.0", "hidden = 8", *more]
    tuned = task == "rank" and tables.get("encoder", {}).get("kind") == "fine-tuned"
    tables = {"schedule": {"epochs": 1, "batch": 4, "fine" if tuned else "rate": 0.01}, **tables}
    for name, values in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    file = place / "run.toml"
    file.write_text("\n".join(lines))
    (run,) = read_settings(file)
    return run


def encoder(place: Path, kind: str, context: str) -> dict[str, object]:
    if kind == "recurrent":
        return {"kind": kind, "context": context, "vectors": str(place / "toy.vec"), "hidden": 4, "layers": 1}
    return {"kind": kind, "context": context, "model": str(place / "bert")}


def pairs_of(run: Settings, split: str = "val") -> list[Pair]:
    return [one for one in read_split(run.data, split, run.task, run.spans) if isinstance(one, Pair)]


def texts(run: Settings) -> list[tuple[Document, Document]]:
    return [(pair.left, pair.right) for pair in pairs_of(run)]


def trained(run: Settings, folder: Path) -> tuple[Run, Any]:
    found = train([run], folder, watch=QUIET)
    kind = wm.Classifier if run.task == "classify" else wm.Ranker
    return found, kind.from_pretrained(folder / "model")


@pytest.mark.parametrize(
    ("kind", "context"),
    POSSIBLE,
)
def test_every_possible_encoder_learns(kind: str, context: str, place: Path, tmp_path: Path) -> None:
    run = settings(place, encoder=encoder(place, kind, context), rule={"constraint": "exactly:2"})
    _, model = trained(run, tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1]
    torch.manual_seed(run.schedule.seed)
    before = build(run, [*pairs_of(run, "train"), *pairs_of(run)]).state_dict()
    after = model.state_dict()
    assert before.keys() == after.keys()
    for part in ("encoder.", "head."):
        assert any(not torch.equal(before[name], after[name]) for name in after if name.startswith(part))
    assert model.encoder.contextual is (context != "none")
    assert (IN_CONTEXT in (tmp_path / "run" / "model" / "README.md").read_text()) is (context != "none")
    for one in model.predict(texts(run)):
        assert len(one.alignment.links) == 2
        assert one.alignment.contextual is (context != "none")


@pytest.mark.parametrize(
    ("kind", "context"), [("frozen", "none"), ("fine-tuned", "text"), ("fine-tuned", "both"), ("recurrent", "none")]
)
def test_words_are_read_in_their_text(kind: str, context: str, place: Path, tmp_path: Path) -> None:
    run = settings(place, task="rank", spans="word", encoder=encoder(place, kind, context))
    found, model = trained(run, tmp_path / "run")
    assert 0 < found.validation <= 1
    assert model.encoder.contextual
    assert model.split == "word"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"kind": "frozen", "context": "both"}, "'both' .*'fine-tuned'"),
        ({"kind": "recurrent", "context": "both", "vectors": "x"}, "'both' .*'fine-tuned'"),
        ({"kind": "frozen", "vectors": "x"}, "vectors .*'recurrent'"),
        ({"kind": "fine-tuned", "vectors": "x"}, "vectors .*'recurrent'"),
        ({"kind": "recurrent"}, "needs vectors"),
        ({"kind": "fine-tuned", "layer": 1}, "layer .*'frozen'"),
        ({"kind": "frozen", "layer": 1}, "layer .*context"),
        ({"kind": "recurrent", "vectors": "x", "model": "y"}, "model .*'fine-tuned'"),
        ({"kind": "frozen", "context": "left"}, "none or text or both, got 'left'"),
        ({"kind": "fine-tuned", "spans": "word"}, "words are read in context"),
    ],
)
def test_impossible_encoders_are_refused_in_words(more: dict[str, object], says: str, place: Path) -> None:
    spans = str(more.get("spans", "sentence"))
    values = {key: value for key, value in more.items() if key != "spans"}
    with pytest.raises(ValueError, match=says):
        settings(place, spans=spans, encoder=values)


def test_a_ranker_that_could_learn_nothing_is_refused(place: Path) -> None:
    unmapped = {**encoder(place, "frozen", "none"), "map": False}
    with pytest.raises(ValueError, match="A ranker has nothing to learn"):
        settings(place, task="rank", encoder=unmapped)
    with pytest.raises(ValueError, match="novelty prefers what two texts do not share"):
        settings(place, "refine = 4", "novelty = 0.5", task="rank", encoder=unmapped)
    with pytest.raises(ValueError, match="alpha supervises costs that can learn"):
        settings(place, encoder=unmapped, loss={"alpha": 0.2})
    settings(place, "refine = 4", task="rank", encoder=unmapped)
    settings(place, encoder=unmapped)


@pytest.mark.parametrize("task", ["classify", "rank"])
def test_without_a_map_vectors_stay_as_they_are(task: str, place: Path, tmp_path: Path) -> None:
    novelty = 0.3 if task == "classify" else 0.0
    more = "refine = 4", "neighbours = 0.2", "whole = 0.1", f"novelty = {novelty}", "rarity = 0.2"
    run = settings(place, *more, task=task, encoder={**encoder(place, "frozen", "none"), "map": False})
    _, model = trained(run, tmp_path / "run")
    assert torch.equal(model.encoder.map.weight, torch.eye(model.encoder.size))
    assert model.cost.mixes == (0.2, 0.1)
    assert (model.refinement.hidden, model.refinement.novelty, model.rarity.weight) == (4, novelty, 0.2)
    assert any(weight.any() for weight in model.refinement.network[-1].parameters())


def test_models_of_the_same_name_do_not_share_vectors(place: Path, tmp_path: Path) -> None:
    from transformers import BertModel

    other = place / "other" / "bert"
    shutil.copytree(place / "bert", other)
    network = BertModel.from_pretrained(other)
    torch.manual_seed(1)
    for weight in network.parameters():
        torch.nn.init.normal_(weight)
    network.save_pretrained(other)
    runs = [settings(place, encoder={"model": str(folder)}) for folder in (place / "bert", other)]
    train(runs, tmp_path / "both", watch=QUIET)
    train(runs[1:], tmp_path / "alone", watch=QUIET)
    found, expected = (
        wm.Classifier.from_pretrained(tmp_path / name / "best").state_dict() for name in ("both/run-1", "alone")
    )
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_every_kind_of_reader_learns_by_labels(place: Path, tmp_path: Path) -> None:
    mean = {"kind": "recurrent", "vectors": str(place / "toy.vec"), "layers": 0, "rare": 2.0}
    readers: dict[str, dict[str, object]] = {
        "bert": {"model": str(place / "bert")},
        "sru": {**encoder(place, "recurrent", "none")},
        "whole": {**encoder(place, "recurrent", "text"), "alone": False},
    }
    for name, reader in readers.items():
        run = settings(place, encoder=mean, reader=reader, rule={"constraint": "exactly:2"})
        _, model = trained(run, tmp_path / name)
        assert model.encoder.weights.unique().numel() > 1  # some words are rarer than others
        torch.manual_seed(run.schedule.seed)
        before = build(run, [*pairs_of(run, "train"), *pairs_of(run)]).state_dict()
        after = model.state_dict()
        assert any(not torch.equal(before[key], after[key]) for key in after if key.startswith("reader."))
        card = (tmp_path / name / "model" / "README.md").read_text()
        assert (IN_CONTEXT in card, TOGETHER in card) == (name == "whole", name != "whole")
        assert model.contextual is (name == "whole")
        assert str(place) not in card


def test_marks_teach_the_links_and_labels_the_reader(place: Path, tmp_path: Path) -> None:
    """With all of the loss on labels, an encoder that could learn stays as it is beside a reader."""
    for alpha in (1.0, 0.5):
        run = settings(
            marked(place),
            encoder=encoder(place, "recurrent", "none"),
            reader=encoder(place, "recurrent", "none"),
            rule={"constraint": "exactly:1"},
            loss={"alpha": alpha},
        )
        _, model = trained(run, tmp_path / str(alpha))
        torch.manual_seed(run.schedule.seed)
        before = build(run, [*pairs_of(run, "train"), *pairs_of(run)]).state_dict()
        after = model.state_dict()
        moved = {part: not all(torch.equal(before[k], after[k]) for k in after if k.startswith(part)) for part in PARTS}
        assert moved == {"encoder.": alpha < 1, "reader.": True, "head.": True}


def marked(place: Path) -> Path:
    """The same pairs, with the last sentence of each right text marked."""
    folder = place / "marked"
    (folder / "pairs").mkdir(parents=True, exist_ok=True)
    for split in ("train", "val"):
        rows = [json.loads(line) for line in (place / "pairs" / f"{split}.jsonl").read_text().splitlines()]
        for row in rows:
            row["right_rationale"] = [[row["right"].rindex(". ") + 2, len(row["right"])]]
        (folder / "pairs" / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.mark.parametrize(
    ("task", "reader", "rule", "says"),
    [
        ("rank", {}, {}, "reader.* is for task = .classify"),
        ("classify", {}, {"attention": "softmax"}, "reader.* goes with a constraint"),
        ("classify", {}, {"constraint": "exactly:1", "unrolled": EPSILON}, "reader.* not unrolled"),
        ("classify", {"kind": "frozen"}, {}, "kind takes fine-tuned or recurrent, got 'frozen'"),
        ("classify", {"kind": "recurrent"}, {}, r"\[reader\] .*needs vectors"),
        ("classify", {"kind": "recurrent", "vectors": "x", "layers": 0}, {}, "a reader learns"),
        ("classify", {"kind": "recurrent", "vectors": "x", "alone": False}, {}, "reads whole texts: give context"),
        ("classify", {"kind": "recurrent", "vectors": "x", "context": "both"}, {}, r"\[reader\] context = 'both'"),
        ("classify", {"loud": True}, {}, "no setting 'loud'"),
        ("classify", {"rare": 1.0}, {}, r"\[reader\] rare is for"),
        ("classify", {"rare": -1.0}, {}, r"\[reader\] rare is 0 or more"),
    ],
)
def test_readers_that_could_not_read_are_refused(
    task: str, reader: dict[str, object], rule: dict[str, object], says: str, place: Path
) -> None:
    frozen: dict[str, object] = {"map": False} if task == "classify" else {}
    with pytest.raises(ValueError, match=says):
        settings(place, task=task, encoder=frozen, reader=reader, rule=rule or {"constraint": "exactly:1"})


def test_what_nothing_would_teach_or_read_is_refused(place: Path) -> None:
    bert: dict[str, object] = {"model": str(place / "bert")}
    for more, part in (
        ((), bert),
        (("refine = 4",), {**bert, "map": False}),
        ((), encoder(place, "fine-tuned", "both")),
    ):
        with pytest.raises(ValueError, match="takes the labels, and nothing teaches the encoder"):
            settings(place, *more, encoder=part, reader={})
    with pytest.raises(ValueError, match=r"\[schedule\] fine is for models that are fine-tuned"):
        settings(place, encoder=bert, schedule={"fine": 0.01})
    with pytest.raises(ValueError, match=r"\[schedule\] rate is for what starts at random"):
        settings(place, task="rank", encoder=encoder(place, "fine-tuned", "none"), schedule={"rate": 0.01})
    mean: dict[str, object] = {"kind": "recurrent", "layers": 0, "vectors": "x"}
    with pytest.raises(ValueError, match="take the same vectors"):
        settings(place, encoder=mean, reader=encoder(place, "recurrent", "none"))
    with pytest.raises(ValueError, match=r"\[encoder\] hidden is for one or more layers"):
        settings(place, encoder={**mean, "hidden": 7})


def test_a_model_that_knows_and_a_head_that_starts_have_rates_of_their_own(place: Path, tmp_path: Path) -> None:
    schedule: dict[str, object] = {"epochs": 1, "batch": 4, "rate": 0.02, "fine": 0.001}
    run = settings(place, encoder=encoder(place, "fine-tuned", "both"), schedule=schedule)
    torch.manual_seed(run.schedule.seed)
    before = build(run, [*pairs_of(run, "train"), *pairs_of(run)]).state_dict()
    after = trained(run, tmp_path / "run")[1].state_dict()
    moved = {key: (after[key] - before[key]).abs().max().item() for key in after if key.endswith("weight")}
    assert max(far for key, far in moved.items() if key.startswith("encoder.")) == pytest.approx(0.001, rel=0.01)
    assert max(far for key, far in moved.items() if key.startswith("head.")) == pytest.approx(0.02, rel=0.01)


def test_every_other_encoder_is_refused(place: Path) -> None:
    for kind, context in product(("frozen", "fine-tuned", "recurrent"), ("none", "text", "both")):
        if (kind, context) in POSSIBLE:
            settings(place, encoder=encoder(place, kind, context))
        else:
            with pytest.raises(ValueError, match=r"'both' .*'fine-tuned'"):
                settings(place, encoder=encoder(place, kind, context))


@pytest.mark.parametrize(
    ("kind", "context"),
    [("recurrent", "none"), ("fine-tuned", "text"), ("frozen", "text")],
)
def test_the_card_names_no_place_on_the_machine(kind: str, context: str, place: Path, tmp_path: Path) -> None:
    trained(settings(place, encoder=encoder(place, kind, context)), tmp_path / "run")
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert "## On pairs, val" in card
    assert f"Encoder: {'toy.vec' if kind == 'recurrent' else 'bert'}" in card
    assert str(place) not in card


def test_an_unrolled_rule_learns_by_its_iterations_and_predicts_by_the_exact_plan(place: Path, tmp_path: Path) -> None:
    recurrent = encoder(place, "recurrent", "none")
    run = settings(place, encoder=recurrent, rule={"constraint": "exactly:2", "unrolled": EPSILON})
    assert run.rule.build() == wm.learning.Transport(wm.Exactly(2), wm.transport.Temperature(0.1), unrolled=EPSILON)
    _, model = trained(run, tmp_path / "run")
    assert model.rule == run.rule.build()
    assert [len(one.alignment.links) for one in model.predict(texts(run))] == [2] * 4

    learning = model(texts(run))
    with torch.no_grad():
        resting = model(texts(run)).weights
        exact = wm.solve(learning.cost, wm.Exactly(2), sizes=learning.sizes).plan
    assert torch.equal(resting, exact)
    for weights, cost, (n, m) in zip(learning.weights, learning.cost, learning.sizes.tolist(), strict=True):
        torch.testing.assert_close(weights[:n, :m], unrolled(cost[:n, :m], wm.Exactly(2), EPSILON, iterations=20))
    assert learning.weights.requires_grad
    assert not torch.equal(learning.weights, exact)


def test_a_temperature_falls_while_marks_teach(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def noted(model: wm.Classifier, *given: Any) -> torch.Tensor:
        assert isinstance(model.rule, wm.learning.Transport)
        assert model.rule.smooth is not None
        seen.append(model.rule.smooth.epsilon)
        return classify_loss(model, *given)

    monkeypatch.setattr(training, "classify_loss", noted)
    rule = {"constraint": "exactly:1", "smooth": 0.4, "cooled": 0.1}
    recurrent = encoder(place, "recurrent", "none")
    run = settings(marked(place), encoder=recurrent, rule=rule, loss={"alpha": 0.5}, schedule={"epochs": 3})
    _, model = trained(run, tmp_path / "run")
    assert seen == pytest.approx([0.4 * 0.25 ** (step / len(seen)) for step in range(len(seen))])
    assert len(seen) > 1
    assert model.rule.smooth.epsilon == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("task", "rule", "says"),
    [
        ("classify", {"attention": "softmax", "cooled": 0.1}, "cooled .*constraint"),
        ("rank", {"constraint": "exactly:2", "cooled": 0.1}, "cooled .*classify"),
        ("classify", {"constraint": "exactly:2", "cooled": 0.0}, "cooled is above 0"),
        ("classify", {"constraint": "exactly:2", "cooled": 0.5}, "cooled is .* 0.1 .* or less, got 0.5"),
        ("classify", {"constraint": "exactly:2", "cooled": 0.1, "unrolled": EPSILON}, "cooled .*not for unrolled"),
        ("classify", {"attention": "softmax", "unrolled": EPSILON}, "unrolled .*constraint"),
        ("rank", {"constraint": "exactly:2", "unrolled": EPSILON}, "unrolled .*classify"),
        ("classify", {"constraint": "exactly:2", "unrolled": 0.0}, "unrolled .*positive"),
        ("classify", {"constraint": "exactly:2", "unrolled": -1}, "unrolled .*positive"),
        ("classify", {"constraint": "exactly:2", "unrolled": "small"}, "unrolled takes float"),
    ],
)
def test_rules_that_could_not_be_followed_are_refused(
    task: str, rule: dict[str, object], says: str, place: Path
) -> None:
    with pytest.raises(ValueError, match=says):
        settings(place, task=task, rule=rule)
