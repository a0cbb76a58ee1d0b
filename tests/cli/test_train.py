"""`whymatch train` and `whymatch evaluate`, from files to metrics."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from whymatch.cli import main
from whymatch.files import held
from whymatch.text.encoders.caching import PROBES
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.spans import Span

PETS = ["The cat sat on the mat.", "A dog ran in the park.", "The bird sang a song.", "My fish swims in a bowl."]
SAME = [
    "A cat was sitting on a mat.",
    "In the park a dog ran.",
    "A song was sung by the bird.",
    "In a bowl the fish swims.",
]
OTHER = ["Stocks fell on Monday.", "The train was late.", "Add two cups of flour.", "The court rejected the appeal."]


def write(folder: Path, rows: list[dict[str, object]]) -> None:
    folder.mkdir(exist_ok=True)
    for split in ("train", "val", "test"):
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def pairs(tmp_path: Path, minilm: Path) -> Path:
    rows: list[dict[str, object]] = []
    for i in range(4):
        for right, label in ((SAME[i], "same"), (OTHER[i], "other")):
            text = f"{OTHER[i - 1]} {right}"
            start = text.index(right)
            rows.append({"left": PETS[i], "right": text, "label": label, "right_rationale": [[start, len(text)]]})
    write(tmp_path / "pairs", rows)
    return tmp_path / "pairs"


@pytest.fixture
def queries(tmp_path: Path, minilm: Path) -> Path:
    rows: list[dict[str, object]] = [
        {"query": PETS[i], "documents": [OTHER[i], SAME[i], SAME[i - 1]], "relevant": [1]} for i in range(4)
    ]
    write(tmp_path / "queries", rows)
    return tmp_path / "queries"


def settings(folder: Path, text: str) -> str:
    (folder / "run.toml").write_text(text)
    return str(folder / "run.toml")


def test_a_classifier_is_trained_and_evaluated(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"""
        task = "classify"
        data = "{pairs}"
        dropout = 0.0
        [rule]
        constraint = "exactly:1"
        [loss]
        alpha = 0.2
        [schedule]
        epochs = 30
        batch = 4
        rate = 0.01
        patience = 30
    """
    out = tmp_path / "run"
    assert main(["train", settings(tmp_path, text), "--out", str(out)]) == 0
    assert main(["evaluate", str(out), "--data", str(pairs), "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    for _ in range(2):
        cached = ["--cache", str(tmp_path / "vectors"), "--json"]
        assert main(["evaluate", str(out), "--data", str(pairs), *cached]) == 0
        again = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert again | {"pairs a second": 0} == found | {"pairs a second": 0}
        assert len([*(tmp_path / "vectors").glob("*/*.safetensors")]) == 1
    assert found["macro F1"]["mean"] == 1
    assert found["active alignments"]["mean"] == 1
    assert found["right rationale F1"]["mean"] > 0.8
    assert main(["train", settings(tmp_path, text), "--out", str(out)]) == 2
    assert "--resume" in capsys.readouterr().err
    assert main(["train", settings(tmp_path, text), "--out", str(out), "--resume"]) == 0


def test_averaged_trainings_end_in_one_model(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"""
        task = "classify"
        data = "{pairs}"
        [rule]
        constraint = "exactly:1"
        [loss]
        alpha = 0.2
        [schedule]
        epochs = 2
        average_weights_of = 2
    """
    out = tmp_path / "run"
    assert main(["train", settings(tmp_path, text), "--out", str(out)]) == 0
    printed = capsys.readouterr().err
    assert "labels: " in printed
    assert "the mean of 2 trainings, validation" in printed
    assert sorted(path.name for path in out.glob("training-*")) == ["training-0", "training-1"]
    assert main(["evaluate", str(out), "--data", str(pairs)]) == 0
    shutil.rmtree(out / "training-1")  # the first training is read again, and the second run anew
    before = (out / "model" / "model.safetensors").read_bytes()
    assert main(["train", settings(tmp_path, text), "--out", str(out), "--resume"]) == 0
    assert (out / "model" / "model.safetensors").read_bytes() == before


def test_a_ranker_is_chosen_among_several_by_validation(
    queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"""
        task = "rank"
        data = "{queries}"
        [rule]
        constraint = ["exactly:1", "one-to:1"]
        [schedule]
        epochs = 2
        batch = 2
    """
    out = tmp_path / "run"
    assert main(["train", settings(tmp_path, text), "--out", str(out)]) == 0
    report = json.loads((out / "report.json").read_text())
    assert [one["settings"]["rule"]["constraint"] for one in report["tried"]] == ["exactly:1", "one-to:1"]
    assert main(["evaluate", str(out), "--data", str(queries)]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("AUC", "MAP", "MRR", "P@1", "active alignments"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("tsk = 1", "there is no setting 'tsk'"),
        ("[rule]\nconstraint = 'exactly:0'", "would allow no link"),
        ("[rule]\nconstraint = 'exactly:2'\nattention = 'softmax'", "one of them"),
        ("[rule]\nattention = 'hardmax'", "softmax, sparsemax, entmax15"),
        ("[rule]\nconstraint = 'balanced'\n[loss]\nalpha = 0.2", "supervises rationales"),
        ("[encoder]\nkind = 'recurrent'", "needs vectors"),
        ("[schedule]\nepochs = 0", "Schedule(epochs=0)"),
        ("[schedule]\nepoch = 3", "there is no setting 'epoch'"),
        ("cost = 'calibrated'", "cost takes list, got 'calibrated'"),
        ("cost = ['nearness']", "cost is a list of"),
        ("rule = 3", "rule is a table"),
        ("= 3", "is not TOML"),
        (f"a = {'[' * 5000}{']' * 5000}", "is nested too deeply"),
        (f"a = {'{a = ' * 5000}1{'}' * 5000}", "is nested too deeply"),
        (f"[a{'.a' * 5000}]\nb = 1", "is nested too deeply"),
        (f"hidden = {'9' * 5000}", "is not TOML"),
        ("hidden = 9999999999", "hidden takes whole numbers of up to 2,147,483,647, got 9999999999"),
        ("hidden = 999999", "hidden is from 1 to 16,384"),
        ("cost = [{refined = 999999}]", "from 1 to 1,024"),
        ("[encoder]\nkind = 'recurrent'\nvectors = 'x'\nhidden = 999999", "hidden is from 1 to 16,384"),
        ("[encoder]\nkind = 'recurrent'\nvectors = 'x'\nlayers = 999", "layers from 0 to 64"),
        (f"[schedule]\nepochs = {[*range(200)]}\nbatch = {[*range(200)]}", "40,000 combinations to try, more than"),
        ("spans = 'sentnce'", "got 'sentnce'"),
        ("hidden = 'x'", "hidden takes int, got 'x'"),
        ("[schedule]\nrate = true", "rate takes float, got True"),
        ("[schedule]\nepochs = 2.5", "epochs takes int, got 2.5"),
        ("[schedule]\nepochs = []", "nothing to try"),
        ("[encoder]\nkind = 'recurent'", "frozen or projected or fine-tuned or adapter or recurrent, got 'recurent'"),
        ("[rule]\nconstraint = 'up-to:1'", "give below"),
        ("[loss]\nalpha = 5.0", "alpha between 0 and 1"),
        ("[schedule]\naverage_weights_of = 0", "Schedule(average_weights_of=0)"),
        ("[loss]\nteacher = 'somewhere'", 'teacher is for task = "rank"'),
        *(
            (f"cost = [{{{name} = -1}}]", "takes a number that is 0 or more")
            for name in ("neighbours", "whole_text", "novelty", "rare_words", "shared_words", "refined")
        ),
        ("cost = [{neighbours = nan}]", "takes a number that is 0 or more"),
        ("cost = [{refined = 0.5}]", "takes a whole number of units"),
        ("cost = [{neighbours = []}]", "nothing to try"),
    ],
)
def test_bad_settings_are_refused_before_any_work(
    change: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"task = 'classify'\ndata = 'nowhere'\n{change}\n"
    assert main(["train", settings(tmp_path, text), "--out", str(tmp_path / "run")]) == 2
    complaint = capsys.readouterr().err
    assert says in complaint
    assert complaint.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_bad_data_are_refused_in_words(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = f"task = 'classify'\ndata = '{pairs}'\n"
    (pairs / "val.jsonl").write_text("")
    assert main(["train", settings(tmp_path, start), "--out", str(tmp_path / "a")]) == 2
    assert "validation split is empty" in capsys.readouterr().err
    (pairs / "val.jsonl").write_text('{"left": "a"}\n')
    assert main(["train", settings(tmp_path, start), "--out", str(tmp_path / "b")]) == 2
    assert "val.jsonl, line 1" in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path / "nothing"), "--data", str(pairs)]) == 2
    assert "holds no model" in capsys.readouterr().err
    assert main(["train", str(tmp_path / "missing.toml")]) == 2


def test_a_run_goes_on_only_with_the_settings_it_began_with(
    queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"task = 'rank'\ndata = '{queries}'\n[schedule]\nepochs = 1\n"
    out = str(tmp_path / "run")
    assert main(["train", settings(tmp_path, text), "--out", out]) == 0
    longer = text.replace("epochs = 1", "epochs = 2")
    assert main(["train", settings(tmp_path, longer), "--out", out, "--resume"]) == 2
    assert "schedule.epochs was 1 and is 2" in capsys.readouterr().err
    assert main(["train", settings(tmp_path, f"{text}patience = 7\n"), "--out", out, "--resume"]) == 2
    assert "schedule.patience was 3 and is 7" in capsys.readouterr().err
    file = tmp_path / "run" / "settings.json"
    before = file.read_bytes()
    file.write_bytes(before[:40])
    assert main(["train", settings(tmp_path, text), "--out", out, "--resume"]) == 2
    assert "no settings.json that can be read" in capsys.readouterr().err
    file.write_bytes(before)
    assert main(["train", settings(tmp_path, text), "--out", out, "--resume"]) == 0
    other = f"{text}[rule]\nconstraint = 'one-to:1'\n"
    assert main(["train", settings(tmp_path, other), "--out", out, "--resume"]) == 2
    assert "begun with other settings: rule" in capsys.readouterr().err
    moved = shutil.copytree(queries, tmp_path / "moved")
    elsewhere = text.replace(str(queries), str(moved))
    assert main(["train", settings(tmp_path, elsewhere), "--out", out, "--resume"]) == 0
    lines = (moved / "train.jsonl").read_text().splitlines()
    (moved / "train.jsonl").write_text("\n".join([*lines, lines[0].replace('"query": "', '"query": "So ')]))
    assert main(["train", settings(tmp_path, elsewhere), "--out", out, "--resume"]) == 2
    assert "begun with other records: the data set has changed" in capsys.readouterr().err


def test_a_run_that_another_process_writes_is_refused(
    queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"task = 'rank'\ndata = '{queries}'\n[schedule]\nepochs = 1\n"
    for more in ([], ["--resume"]):
        with held(tmp_path / "run"):
            assert main(["train", settings(tmp_path, text), "--out", str(tmp_path / "run"), *more]) == 2
        assert f"Process {os.getpid()} on " in capsys.readouterr().err
    assert main(["train", settings(tmp_path, text), "--out", str(tmp_path / "run")]) == 0


def test_vectors_from_before_an_interrupt_are_kept_and_the_message_says_how_to_go_on(
    queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whymatch.learning.building.TEXTS_PER_BATCH", 2)
    encode, batches = SentenceEncoder.encode, list[list[str]]()

    def interrupted(
        encoder: SentenceEncoder, texts: Sequence[str], spans: Sequence[Sequence[Span]]
    ) -> list[np.ndarray]:
        if len(batches) == 2:
            raise KeyboardInterrupt
        if {*texts} != {*PROBES}:  # by which the encoder is known
            batches.append([*texts])
        return encode(encoder, texts, spans)

    monkeypatch.setattr(SentenceEncoder, "encode", interrupted)
    text = f"task = 'rank'\ndata = '{queries}'\n[schedule]\nepochs = 1\n"
    command = ["train", settings(tmp_path, text), "--out", str(tmp_path / "run")]
    assert main(command) == 130
    assert f"To go on: whymatch {' '.join(command)} --resume" in capsys.readouterr().err
    monkeypatch.setattr(SentenceEncoder, "encode", encode)
    assert main([*command, "--resume"]) == 0
    assert ", 4 more are known" in capsys.readouterr().err
    assert not (tmp_path / "run" / "vectors").exists()


def test_a_ranker_learns_from_the_scores_of_another(
    queries: Path, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = f"task = 'rank'\ndata = '{queries}'\n[rule]\nconstraint = 'exactly:1'\n[schedule]\nepochs = 1\n"
    whole = plain.replace("task", "spans = 'text'\ntask")
    assert main(["train", settings(tmp_path, whole), "--out", str(tmp_path / "box")]) == 0
    taught = f"{plain}[loss]\nteacher = '{tmp_path / 'box'}'\n"
    assert main(["train", settings(tmp_path, taught), "--out", str(tmp_path / "taught")]) == 0
    assert main(["train", settings(tmp_path, plain), "--out", str(tmp_path / "plain")]) == 0
    weights = {(tmp_path / run / "model" / "model.safetensors").read_bytes() for run in ("taught", "plain")}
    assert len(weights) == 2
    kept = json.loads((tmp_path / "taught" / "model" / "settings.json").read_text())
    assert kept["loss"]["teacher"] == "box"
    assert main(["train", settings(tmp_path, taught), "--out", str(tmp_path / "taught"), "--resume"]) == 0
    capsys.readouterr()
    nobody = taught.replace(str(tmp_path / "box"), str(tmp_path / "nobody"))
    assert main(["train", settings(tmp_path, nobody), "--out", str(tmp_path / "a")]) == 2
    assert "[loss] teacher is the folder of a trained ranker" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()  # so that it can be begun again
    labels = f"task = 'classify'\ndata = '{pairs}'\n[schedule]\nepochs = 1\n"
    assert main(["train", settings(tmp_path, labels), "--out", str(tmp_path / "labels")]) == 0
    wrong = taught.replace(str(tmp_path / "box"), str(tmp_path / "labels"))
    capsys.readouterr()
    assert main(["train", settings(tmp_path, wrong), "--out", str(tmp_path / "b")]) == 2
    assert "teacher is a ranker, and" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("relevant", ["[false, true, false]", '"12"', "[0.9]", "[]", "[7]", "[0, 0, 1]"])
def test_queries_that_say_something_else_are_refused(
    relevant: str, queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = f'{{"query": "a b", "documents": ["c", "d", "e"], "relevant": {relevant}}}\n'
    (queries / "train.jsonl").write_text(row)
    text = f"task = 'rank'\ndata = '{queries}'\n"
    assert main(["train", settings(tmp_path, text), "--out", str(tmp_path / "run")]) == 2
    assert "train.jsonl, line 1" in capsys.readouterr().err


def test_labels_that_were_never_learned_are_refused(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pairs / "val.jsonl").write_text('{"left": "a", "right": "b", "label": "new"}\n')
    text = f"task = 'classify'\ndata = '{pairs}'\n"
    assert main(["train", settings(tmp_path, text), "--out", str(tmp_path / "run")]) == 2
    assert "the label 'new', which is not in the training split" in capsys.readouterr().err
