"""What settings may say together: every possible encoder and rule learns, and impossible ones are refused in words."""

import json
import random
import shutil
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

import whymatch as wm
from whymatch.datasets.folders import read_split
from whymatch.datasets.records import Pair
from whymatch.learning.building import build
from whymatch.learning.settings import Settings, read_settings
from whymatch.learning.train import Run, Watch, train
from whymatch.matching.card import TOGETHER
from whymatch.matching.rules import Transport
from whymatch.show.words import IN_CONTEXT
from whymatch.text.document import Document

WORDS = ["the", "cat", "sat", "on", "a", "mat", "it", "rained", "dog", "ran"]
POSSIBLE = [
    ("projected", "none"),
    ("projected", "text"),
    ("fine-tuned", "none"),
    ("fine-tuned", "text"),
    ("fine-tuned", "both"),
    ("adapter", "none"),
    ("adapter", "text"),
    ("adapter", "both"),
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
    adapter = {"rank": 3} if kind == "adapter" else {}
    return {"kind": kind, "context": context, "model": str(place / "bert"), **adapter}


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
    ("kind", "context"),
    [("projected", "none"), ("fine-tuned", "text"), ("fine-tuned", "both"), ("adapter", "both"), ("recurrent", "none")],
)
def test_words_are_read_in_their_text(kind: str, context: str, place: Path, tmp_path: Path) -> None:
    run = settings(place, task="rank", spans="word", encoder=encoder(place, kind, context))
    found, model = trained(run, tmp_path / "run")
    assert 0 < found.validation <= 1
    assert model.encoder.contextual
    assert model.aligner.spans == "word"


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
        ({"kind": "recurrent", "vectors": "x", "model": "y"}, "model is for models"),
        ({"kind": "frozen", "context": "left"}, "none or text or both, got 'left'"),
        ({"kind": "fine-tuned", "spans": "word"}, "words are read in context"),
        ({"kind": "adapter", "spans": "word"}, "words are read in context"),
        ({"kind": "adapter", "vectors": "x"}, "vectors .*'recurrent'"),
        ({"kind": "adapter", "layer": 1}, "layer .*'frozen'"),
        ({"kind": "adapter", "rank": 0}, "rank and last_layers are 1 or more"),
        ({"kind": "adapter", "last_layers": 0}, "rank and last_layers are 1 or more"),
        ({"kind": "fine-tuned", "rank": 4}, "rank is for kind = 'adapter'"),
        ({"kind": "recurrent", "vectors": "x", "last_layers": 2}, "last_layers is for kind = 'adapter'"),
    ],
)
def test_impossible_encoders_are_refused_in_words(more: dict[str, object], says: str, place: Path) -> None:
    spans = str(more.get("spans", "sentence"))
    values = {key: value for key, value in more.items() if key != "spans"}
    with pytest.raises(ValueError, match=says):
        settings(place, spans=spans, encoder=values)


def test_a_ranker_that_could_learn_nothing_is_refused(place: Path) -> None:
    unmapped = encoder(place, "frozen", "none")
    with pytest.raises(ValueError, match="A ranker has nothing to learn"):
        settings(place, task="rank", encoder=unmapped)
    with pytest.raises(ValueError, match="novelty prefers what two texts do not share"):
        settings(place, "cost = [{refined = 4}, {novelty = 0.5}]", task="rank", encoder=unmapped)
    with pytest.raises(ValueError, match="alpha supervises costs that can learn"):
        settings(place, encoder=unmapped, loss={"alpha": 0.2})
    settings(place, "cost = [{refined = 4}]", task="rank", encoder=unmapped)
    settings(place, encoder=unmapped)


@pytest.mark.parametrize("task", ["classify", "rank"])
def test_without_a_map_vectors_stay_as_they_are(task: str, place: Path, tmp_path: Path) -> None:
    novelty = ["{novelty = 0.3}"] if task == "classify" else []
    terms = ["{neighbours = 0.2}", "{whole_text = 0.1}", *novelty, "{refined = 4}", "{rare_words = 0.2}"]
    run = settings(place, f"cost = [{', '.join(terms)}]", task=task, encoder=encoder(place, "frozen", "none"))
    _, model = trained(run, tmp_path / "run")
    assert torch.equal(model.encoder.map.weight, torch.eye(model.encoder.size))
    assert model.aligner.cost.to_list() == ["cosine", *run.cost]
    assert model.aligner.cost.word_counts.texts > 1
    assert any(weight.any() for weight in model.terms["refined"].network[-1].parameters())


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
        "adapter": {"kind": "adapter", "model": str(place / "bert"), "rank": 3},
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
        ("classify", {"kind": "frozen"}, {}, "kind takes fine-tuned or adapter or recurrent, got 'frozen'"),
        ("classify", {"kind": "recurrent"}, {}, r"\[reader\] .*needs vectors"),
        ("classify", {"kind": "recurrent", "vectors": "x", "layers": 0}, {}, "a reader learns"),
        ("classify", {"kind": "recurrent", "vectors": "x", "alone": False}, {}, "reads whole texts: give context"),
        ("classify", {"kind": "recurrent", "vectors": "x", "context": "both"}, {}, r"\[reader\] context = 'both'"),
        ("classify", {"loud": True}, {}, "no setting 'loud'"),
        ("classify", {"rare": 1.0}, {}, "no setting 'rare'"),
    ],
)
def test_readers_that_could_not_read_are_refused(
    task: str, reader: dict[str, object], rule: dict[str, object], says: str, place: Path
) -> None:
    frozen: dict[str, object] = {"kind": "frozen"} if task == "classify" else {}
    with pytest.raises(ValueError, match=says):
        settings(place, task=task, encoder=frozen, reader=reader, rule=rule or {"constraint": "exactly:1"})


def test_what_nothing_would_teach_or_read_is_refused(place: Path) -> None:
    bert: dict[str, object] = {"model": str(place / "bert")}
    for more, part in (
        ((), bert),
        (("cost = [{refined = 4}]",), {**bert, "kind": "frozen"}),
        ((), encoder(place, "fine-tuned", "both")),
    ):
        with pytest.raises(ValueError, match="takes the labels, and nothing teaches the encoder"):
            settings(place, *more, encoder=part, reader={})
    for part in (bert, encoder(place, "adapter", "none")):
        with pytest.raises(ValueError, match=r"\[schedule\] fine is for models that are fine-tuned"):
            settings(place, encoder=part, schedule={"fine": 0.01})
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


def test_an_adapter_learns_at_the_rate_of_the_head_and_nothing_else_of_its_model_moves(
    place: Path, tmp_path: Path
) -> None:
    run = settings(place, encoder=encoder(place, "adapter", "both"), schedule={"epochs": 1, "batch": 4, "rate": 0.02})
    torch.manual_seed(run.schedule.seed)
    before = build(run, [*pairs_of(run, "train"), *pairs_of(run)]).state_dict()
    after = trained(run, tmp_path / "run")[1].state_dict()
    moved = {key: (after[key] - before[key]).abs().max().item() for key in after if key.startswith("encoder.")}
    ups = {key: far for key, far in moved.items() if key.endswith(".up")}
    assert max(ups.values()) == pytest.approx(0.02, rel=0.01)
    assert not any(far for key, far in moved.items() if key not in ups)  # `down` has no gradient while `up` is zero


def test_a_run_of_an_adapter_keeps_what_is_trained_and_goes_on_over_the_same_base_alone(
    place: Path, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    shutil.copytree(place / "bert", base)
    part: dict[str, object] = {"kind": "adapter", "context": "both", "model": str(base), "rank": 3}
    run = settings(place, encoder=part)
    trained(run, tmp_path / "run")
    [checkpoint] = (tmp_path / "run" / "checkpoints").glob("step-*")
    assert (checkpoint / "tensors.safetensors").stat().st_size < (base / "model.safetensors").stat().st_size
    train([run], tmp_path / "run", resume=True, watch=QUIET)
    content = (base / "model.safetensors").read_bytes()
    (base / "model.safetensors").write_bytes(content[:-4] + b"\0\0\0\1")
    with pytest.raises(ValueError, match="begun with other settings: SHA-256 of the base of encoder was '"):
        train([run], tmp_path / "run", resume=True, watch=QUIET)
    shutil.rmtree(base)
    with pytest.raises(ValueError, match=f"The model {base} is not on this machine"):
        train([run], tmp_path / "other", watch=QUIET)


def test_a_run_goes_on_from_the_adapter_of_another(place: Path, tmp_path: Path) -> None:
    first = settings(place, encoder=encoder(place, "adapter", "both"))
    _, model = trained(first, tmp_path / "first")
    before = str(tmp_path / "first" / "best" / "encoder")
    part: dict[str, object] = {**encoder(place, "adapter", "both"), "model": before}
    records = [*pairs_of(first, "train"), *pairs_of(first)]
    start = build(settings(place, encoder=part), records).state_dict()
    assert all(torch.equal(start[k], v) for k, v in model.state_dict().items() if k.startswith("encoder."))
    refused: list[tuple[dict[str, object], str]] = [
        ({**part, "rank": 2}, "Adapter.rank=3, .* and an Adapter.rank=2, .* was asked for"),
        ({"kind": "fine-tuned", "model": before}, r"holds an adapter: give \[encoder\] kind = 'adapter'"),
    ]
    for wrong, says in refused:
        with pytest.raises(ValueError, match=says):
            train([settings(place, encoder=wrong)], tmp_path / "refused", watch=QUIET)


def test_every_other_encoder_is_refused(place: Path) -> None:
    for kind, context in product(("projected", "fine-tuned", "adapter", "recurrent"), ("none", "text", "both")):
        if (kind, context) in POSSIBLE:
            settings(place, encoder=encoder(place, kind, context))
        else:
            with pytest.raises(ValueError, match=r"'both' .*'fine-tuned'"):
                settings(place, encoder=encoder(place, kind, context))


@pytest.mark.parametrize(
    ("kind", "context"),
    [("recurrent", "none"), ("fine-tuned", "text"), ("adapter", "text"), ("projected", "text")],
)
def test_the_card_names_no_place_on_the_machine(kind: str, context: str, place: Path, tmp_path: Path) -> None:
    trained(settings(place, encoder=encoder(place, kind, context)), tmp_path / "run")
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert "## On pairs, val" in card
    assert f"Encoder: {'toy.vec' if kind == 'recurrent' else 'bert'}" in card
    assert str(place) not in card


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"attention": "softmax", "below": 0.5}, "below is for a constraint"),
        ({"constraint": "exactly:2", "below": 0.5}, "below goes with up-to and each"),
        ({"constraint": "exactly:2", "temperature": 0.0}, "emperature"),
        ({"attention": "softmax", "temperature": 0.0}, "temperature"),
        ({"constraint": "up-to:1", "below": 0.0}, "give one above 0"),
        ({"constraint": "exactly:2", "smooth": 0.1}, "no setting 'smooth'"),
    ],
)
def test_rules_that_could_not_be_followed_are_refused(rule: dict[str, object], says: str, place: Path) -> None:
    with pytest.raises(ValueError, match=says):
        settings(place, rule=rule)


def test_a_constraint_without_a_derivative_trains_a_head(place: Path, tmp_path: Path) -> None:
    frozen = encoder(place, "frozen", "none")
    run = settings(place, encoder=frozen, rule={"constraint": "each:1", "below": 0.9})
    _, model = trained(run, tmp_path / "run")
    assert model.rule == Transport(wm.Each(1, below=0.9))
    for one in model.predict(texts(run)):
        assert max(Counter(link.at[0] for link in one.alignment.links).values(), default=0) <= 1
    with pytest.raises(ValueError, match=r"temperature is for plans with a derivative"):
        settings(place, encoder=frozen, rule={"constraint": "each:1", "below": 0.9, "temperature": 0.1})
    with pytest.raises(ValueError, match="alpha supervises rationales"):
        settings(place, rule={"constraint": "each:1", "below": 0.9}, loss={"alpha": 0.2})


def test_a_list_is_one_cost_and_a_list_of_lists_is_tried_in_turn(place: Path) -> None:
    def costs(text: str) -> list[list[object]]:
        file = place / "costs.toml"
        file.write_text(f"task = 'classify'\ndata = 'x'\ncost = {text}\n")
        return [run.cost for run in read_settings(file)]

    assert costs("[]") == [[]]
    assert costs('["dot", {neighbours = 0.4}]') == [["dot", {"neighbours": 0.4}]]
    assert costs("[[], [{order = 1}]]") == [[], [{"order": 1}]]
    tried = costs("[{neighbours = [0.2, 0.4]}, {order = [1, 2]}]")
    assert tried == [[{"neighbours": share}, {"order": price}] for share in (0.2, 0.4) for price in (1, 2)]
