"""Tables run what is not on disk, keep what is, and put it beside the paper's numbers."""

import json
from pathlib import Path

import pytest

from experiments.__main__ import main
from experiments.running import wanted
from experiments.tables import _read_row, agree, job, merged, read_table
from tests.cli.test_train import OTHER, PETS, SAME, write
from whymatch.files import read_json
from whymatch.learning.train import Watch

TABLE = """
order = 3.0
title = "A table"
about = "Of pets."
data = "pets"
[columns]
"P@1" = ["P@1", 100]
"# Align." = ["active alignments", 1]
[settings]
task = "rank"
[settings.schedule]
epochs = 1
[[row]]
name = "OT (exact k = 1)"
paper = { "P@1" = 12.5 }
settings = { rule = { constraint = "exactly:1" } }
[[row]]
name = "Untrained, whole"
trained = false
settings = { spans = "text", rule = { constraint = "exactly:1" } }
[[row]]
name = "Somebody else's"
paper = { "P@1" = 77.0 }
"""


@pytest.fixture
def clone(tmp_path: Path, minilm: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows: list[dict[str, object]] = [
        {"query": PETS[i], "documents": [OTHER[i], SAME[i]], "relevant": [1]} for i in range(4)
    ]
    (tmp_path / "data").mkdir()
    write(tmp_path / "data" / "pets", rows)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "pets.toml").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_row_is_named_in_full_or_in_part(tmp_path: Path) -> None:
    names = ("Attention", "Sparse attention", "Attention (T = 0.1)")
    rows = "".join(f'[[row]]\nname = "{name}"\nsettings = {{ rule = {{ attention = "softmax" }} }}\n' for name in names)
    (tmp_path / "one.toml").write_text(TABLE.partition("[[row]]")[0] + rows)
    table, watch = read_table(tmp_path / "one.toml"), Watch()
    for asked, found in (
        ("attention", ["Attention"]),
        ("Sparse", ["Sparse attention"]),
        ("T = 0.1", ["Attention (T = 0.1)"]),
        ("atten", [*names]),
        ("", [*names]),
    ):
        assert [row.name for row, _ in wanted(table, 1, asked, watch)] == found


def test_every_row_is_run_once_and_stands_beside_the_papers(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pets", "--data", "data", "--seeds", "2"]) == 0
    files = sorted(file.name for file in (clone / "experiments" / "results" / "pets").iterdir())
    assert files == ["ot-exact-k-1-0.json", "ot-exact-k-1-1.json", "untrained-whole-0.json"]
    record = json.loads((clone / "experiments" / "results" / "pets" / files[0]).read_text())
    assert record["results"]["P@1"]["mean"] == 1
    assert str(clone) not in json.dumps(record)
    page = (clone / "docs" / "results" / "pets.md").read_text()
    assert "| **OT (exact k = 1)** | 100.0 ± 0.0 | 1.0 ± 0.0 | 2 |" in page
    assert "| OT (exact k = 1), the paper | 12.5 |  |  |" in page
    assert "| **Untrained, whole** | 100.0 | 1.0 | – |" in page
    assert "| Somebody else's, the paper | 77 |  |  |" in page
    capsys.readouterr()
    assert main(["pets", "--data", "data", "--seeds", "2"]) == 0
    said = capsys.readouterr().err
    assert said.count("measured before (P@1 100.0, # Align. 1.0)") == 3
    assert "0 runs measured; --again measures anew" in said
    before = (clone / "experiments" / "results" / "pets" / files[2]).stat().st_mtime_ns
    assert main(["pets", "--data", "data", "--rows", "untrained", "--again"]) == 0
    assert "1 run measured" in capsys.readouterr().err
    assert (clone / "experiments" / "results" / "pets" / files[2]).stat().st_mtime_ns > before
    assert main(["pets", "--data", "data", "--rows", "nobody"]) == 2
    assert "Results" not in capsys.readouterr().out  # nothing was measured, nothing is written


CURVED = """
order = 4.0
title = "Labels"
data = "pairs"
curve = true
[columns]
accuracy = ["accuracy", 100]
[settings]
task = "classify"
schedule = { epochs = 1 }
[[row]]
name = "Attention"
settings = { rule = { attention = "softmax" } }
[[row]]
name = "OT (exact k = 1)"
settings = { rule = { constraint = "exactly:1" } }
"""


def test_trained_attention_has_a_curve_where_the_table_asks_for_it(clone: Path) -> None:
    rows = [{"left": PETS[i], "right": [SAME, OTHER][i % 2][i], "label": "ab"[i % 2]} for i in range(4)]
    write(clone / "data" / "pairs", [dict(row) for row in rows])
    (clone / "experiments" / "labels.toml").write_text(CURVED)
    assert main(["labels", "--data", "data"]) == 0
    folder = clone / "experiments" / "results" / "labels"
    record = json.loads((folder / "attention-0.json").read_text())
    assert record["curve"][0] == {"λ": 0.001, "% of tokens": 100, "accuracy": record["results"]["accuracy"]["mean"]}
    assert "curve" not in json.loads((folder / "ot-exact-k-1-0.json").read_text())


def test_a_run_with_other_settings_is_run_again(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = ["pets", "--data", "data", "--rows", "untrained"]
    assert main(row) == 0
    file = clone / "experiments" / "results" / "pets" / "untrained-whole-0.json"
    before = json.loads(file.read_text())
    del before["settings"]["dropout"]  # as if it had been written before there was such a setting
    file.write_text(json.dumps(before))
    capsys.readouterr()
    assert main(row) == 0
    assert "seed 0: measured before" in capsys.readouterr().err
    table = clone / "experiments" / "pets.toml"
    table.write_text(table.read_text().replace('spans = "text"', 'spans = "word"'))
    assert main(row) == 0
    assert "seed 0 (its settings have changed)" in capsys.readouterr().err
    assert json.loads(file.read_text())["settings"]["spans"] == "word"


def test_what_is_not_trained_has_no_schedule(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = clone / "experiments" / "pets.toml"
    table.write_text(table.read_text().replace("epochs = 1", "epochs = 1\nfine = 0.001"))  # for models to fine-tune
    row = ["pets", "--data", "data", "--rows", "untrained"]
    assert main(row) == 0
    file = clone / "experiments" / "results" / "pets" / "untrained-whole-0.json"
    record = json.loads(file.read_text())
    assert record["settings"]["schedule"]["fine"] == 5e-5
    record["settings"]["schedule"]["epochs"] = 7  # as tables wrote it before
    file.write_text(json.dumps(record))
    capsys.readouterr()
    assert main(row) == 0
    assert "seed 0: measured before" in capsys.readouterr().err


def test_a_row_that_asks_for_a_gpu_is_run_without_one_if_it_is_named(
    clone: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    table = clone / "experiments" / "pets.toml"
    table.write_text(table.read_text().replace("trained = false", "trained = false\ngpu = true"))
    file = clone / "experiments" / "results" / "pets" / "untrained-whole-0.json"
    assert main(["pets", "--data", "data"]) == 0
    assert "no GPU here" in capsys.readouterr().err
    assert not file.exists()
    assert main(["pets", "--data", "data", "--rows", "untrained"]) == 0
    assert file.exists()
    assert main(["pets", "--data", "data", "--rows", "nosuch"]) == 2
    assert "No row of pets" in capsys.readouterr().err


def test_a_run_that_was_broken_off_goes_on_from_its_checkpoint(
    clone: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ["pets", "--data", "data", "--rows", "exact"]

    def stopped(*arguments: object) -> None:
        raise OSError("the machine was taken away")

    with monkeypatch.context() as once:
        once.setattr("experiments.running.evaluate", stopped)
        assert main(row) != 0
    assert "epoch 1" in capsys.readouterr().err
    runs = clone / "experiments" / "runs" / "pets"
    assert len(list(runs.iterdir())) == 1
    assert len(list((runs.parent / "vectors").iterdir())) == 1  # and nothing has to be encoded again
    assert main(row) == 0
    assert "epoch 1, step" not in capsys.readouterr().err  # it was trained already
    assert not list(runs.iterdir())
    assert (clone / "experiments" / "results" / "pets" / "ot-exact-k-1-0.json").is_file()


BOX = 'settings = { encoder = { kind = "fine-tuned" }, spans = "text", rule = { constraint = "exactly:1" } }'
LINKS = 'rule = { constraint = "exactly:1" }'
ADAPTER = 'encoder = { kind = "adapter", rank = 2, last_layers = 1 }'


def with_rows(clone: Path, **rows: str) -> None:
    """Leaves the table with these rows alone."""
    start = TABLE.index("[[row]]")
    text = "".join(f'[[row]]\nname = "{name}"\n{row}\n' for name, row in rows.items())
    (clone / "experiments" / "pets.toml").write_text(TABLE[:start] + text)


def test_a_row_may_start_from_another_or_learn_from_it(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taught = f'first = {{ teacher = ["pets", "Box"] }}\nsettings = {{ {LINKS} }}'
    on_top = f'trained = false\nfirst = {{ model = ["pets", "Box"] }}\nsettings = {{ {LINKS} }}'
    with_rows(clone, Box=BOX, Taught=taught, OnTop=on_top)
    for name, part, seeds in (("Taught", "teacher", 1), ("OnTop", "model", 2)):
        run = ["pets", "--data", "data", "--rows", name]
        assert main([*run, "--seeds", str(seeds)]) == 0
        assert capsys.readouterr().err.count(f"first its {part}") == seeds  # trained or not
        file = clone / "experiments" / "results" / "pets" / f"{name.lower()}-{seeds - 1}.json"
        record = json.loads(file.read_text())
        assert {record["settings"]["loss"]["teacher"], record["settings"]["encoder"]["model"]} == {None}
        assert record["started from"] == {part: ["pets", "Box"]}
        assert record["first"][part]["encoder"]["kind"] == "fine-tuned"
        assert record["first"][part]["schedule"]["seed"] == seeds - 1
        assert str(clone) not in json.dumps(record)
        assert main(run) == 0
        assert "measured before" in capsys.readouterr().err
    assert not list((clone / "experiments" / "runs" / "pets").iterdir())
    with_rows(clone, Box=BOX.replace("spans", "cost = [{ whole_text = 1.0 }], spans"), Taught=taught)
    assert main(["pets", "--data", "data", "--rows", "taught"]) == 0
    assert "(its settings have changed)" in capsys.readouterr().err


def test_an_adapter_may_go_on_from_that_of_another_row(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on_top = f'first = {{ model = ["pets", "Small"] }}\nsettings = {{ {ADAPTER}, {LINKS} }}'
    with_rows(clone, Small=f"settings = {{ {ADAPTER}, {LINKS} }}", OnTop=on_top)
    assert main(["pets", "--data", "data"]) == 0
    for name in ("small", "ontop"):
        record = json.loads((clone / "experiments" / "results" / "pets" / f"{name}-0.json").read_text())
        assert record["settings"]["encoder"]["kind"] == "adapter"
        assert 0 < record["megabytes"] < 0.1


def test_a_row_inherits_the_rate_of_fine_tuning_where_it_fine_tunes() -> None:
    common = {"task": "classify", "schedule": {"rate": 0.1, "fine": 0.2}}
    for parts, rates in (
        ({"encoder": {"kind": "fine-tuned"}}, {"rate": 0.1, "fine": 0.2}),
        ({"encoder": {"kind": "frozen"}, "reader": {}}, {"rate": 0.1, "fine": 0.2}),
        ({"encoder": {"kind": "frozen"}, "reader": {"kind": "adapter"}}, {"rate": 0.1}),
        ({"encoder": {"kind": "adapter"}, "schedule": {"rate": 0.3}}, {"rate": 0.3}),
        ({}, {"rate": 0.1}),
    ):
        assert _read_row({"name": "any", "settings": parts}, "data", common).settings == {
            **common,
            **parts,
            "schedule": rates,
        }


@pytest.mark.parametrize(
    ("first", "says"),
    [
        ('teacher = ["pets", "Nobody"]', "there is no row 'Nobody' of pets that is trained"),
        ('teacher = ["dogs", "Box"]', "there is no row 'Box' of dogs that is trained"),
        ('teacher = ["pets", "Untrained"]', "there is no row 'Untrained' of pets that is trained"),
        ('teacher = ["pets", "Taught"]', "'Taught' starts from another row itself"),
        ('teacher = ["pets", "Asked"]', "'Asked' starts from another row itself"),
        ('model = ["pets", "Frozen"]', "'Frozen' fine-tunes no model to start from"),
        ('model = ["pets", "Adapter"]', "'Adapter' fine-tunes no model to start from"),
        ('reader = ["pets", "Box"]', "another row becomes a model or a teacher, not a reader"),
    ],
)
def test_a_row_that_starts_from_nowhere_is_refused_before_any_work(
    first: str, says: str, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    others = {
        "Untrained": f"trained = false\nsettings = {{ {LINKS} }}",
        "Taught": f'first = {{ teacher = ["pets", "Box"] }}\nsettings = {{ {LINKS} }}',
        "Frozen": f"settings = {{ {LINKS} }}",
        "Adapter": f"settings = {{ {ADAPTER}, {LINKS} }}",
    }
    with_rows(clone, Box=BOX, Asked=f"first = {{ {first} }}\nsettings = {{ {LINKS} }}", **others)
    assert main(["pets", "--data", "data", "--rows", "asked"]) == 2
    complaint = capsys.readouterr().err
    assert f"pets, Asked: {says}" in complaint
    assert complaint.count("\n") == 1


def test_a_run_that_was_lost_is_run_again(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pets", "--data", "data", "--rows", "untrained"]) == 0
    file = clone / "experiments" / "results" / "pets" / "untrained-whole-0.json"
    whole = json.loads(file.read_text())
    file.write_text(file.read_text()[:40])
    assert main(["pets", "--data", "data", "--rows", "untrained"]) == 0
    assert json.loads(file.read_text())["results"]["MAP"] == whole["results"]["MAP"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["dogs"], "There is no 'dogs' to run: sparsity, statistics, speed, heatmap, tradeoff, examples, pets"),
        (["pets"], "pets needs --data"),
        (["pets", "--data", "nowhere"], "pets needs --data"),
        (["pets", "--data", "data", "--seeds", "0"], "--seeds takes 1 or more"),
    ],
)
def test_what_cannot_be_run_is_refused(
    arguments: list[str], says: str, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments]) == 2
    assert says in capsys.readouterr().err


def test_a_row_says_what_differs_and_its_rule_is_its_own() -> None:
    common = {"rule": {"constraint": "up-to:1", "below": 0.5}, "schedule": {"epochs": 3, "rate": 0.1}}
    found = merged(common, {"rule": {"attention": "softmax"}, "schedule": {"rate": 0.2}})
    assert found == {"rule": {"attention": "softmax"}, "schedule": {"epochs": 3, "rate": 0.2}}


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).parents[2] / "experiments").glob("*.toml")), ids=lambda f: f.stem
)
def test_the_tables_of_the_repository_can_be_run(file: Path) -> None:
    table = read_table(file)
    places = {table.place(Path(), row, 0) for row in table.rows}
    assert len(places) == len(table.rows)
    assert {*table.beside} <= {row.name for row in table.rows}
    assert {*table.headline} <= {*table.columns}
    for row in table.rows:
        assert set(row.paper) <= set(table.columns)
        assert row.shown in ("page", "headline", "ablation")
    for row, _ in table.runs(1):
        job(table, row, 0, Path())


@pytest.mark.parametrize(
    "file", sorted((Path(__file__).parents[2] / "experiments").glob("*.toml")), ids=lambda f: f.stem
)
def test_the_results_of_the_repository_are_those_of_its_tables(file: Path) -> None:
    table = read_table(file)
    for row, seed in table.runs(3):
        record = read_json(table.place(file.parent / "results", row, seed))
        if record is not None:
            assert record["data"] == row.data
            assert record.get("baseline") == row.baseline
            assert agree(record, job(table, row, seed, Path()).described), row.name


def test_vectors_are_found_beside_the_data_and_named_without_their_place(tmp_path: Path) -> None:
    parts = 'encoder = { kind = "frozen" }, reader = { kind = "recurrent", vectors = "words" }'
    row = f'settings = {{ task = "classify", {parts}, rule = {{ constraint = "exactly:1" }} }}'
    start = TABLE.index("[[row]]")
    (tmp_path / "table.toml").write_text(f'{TABLE[:start]}[[row]]\nname = "Both"\n{row}\n')
    table = read_table(tmp_path / "table.toml")
    asked = job(table, table.rows[0], 0, tmp_path)
    assert asked.settings.reader is not None
    assert asked.settings.reader.vectors == str(tmp_path / "words")
    assert asked.described["settings"]["reader"]["vectors"] == "words"
