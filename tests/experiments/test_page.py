"""What is counted, and the page that shows everything measured."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from experiments import sparsity, speed
from experiments.__main__ import main
from experiments.page import HEAD, page
from experiments.records import keep, kept, origin
from experiments.tables import read_table
from tests.experiments.test_tables import TABLE, clone  # noqa: F401
from whymatch.transport.constraints import Constraint


@pytest.mark.parametrize("constraint", sparsity.CONSTRAINTS, ids=str)
def test_counted_links_never_break_the_promise(constraint: Constraint) -> None:
    found = sparsity.counted(constraint, problems=60, seed=5)
    assert found["broken promises"] == 0
    assert found["fewest promised"] <= found["fewest links"] <= found["mean links"] <= found["most links"]
    assert found["most links"] <= found["most promised"]


def test_a_promise_that_is_broken_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(sparsity.CONSTRAINTS[-1]), "links", lambda self, shorter, longer: (self.k + 1, self.k + 1))
    assert sparsity.counted(sparsity.CONSTRAINTS[-1], problems=10)["broken promises"] == 10


@pytest.mark.usefixtures("clone")
def test_sparsity_is_kept_and_shown() -> None:
    assert main(["sparsity"]) == 0
    runs = kept(Path("experiments/results/sparsity"))
    assert [run["row"] for run in runs] == [repr(constraint) for constraint in sparsity.CONSTRAINTS]
    shown = Path("docs/results.md").read_text()
    assert "| **`Exactly(k=4)`** | exact-k | s = k ≤ n | 4 | 4 | 4.0 |" in shown
    assert "`python -m experiments sparsity`; " in shown


STATISTICS = {
    "documents": 1234,
    "similar pairs": 50,
    "sentences a document": 4.1,
    "sentences at most": 9,
    "words a document": 55.0,
    "vocabulary": 88,
    "splits": {"test": {"queries": 5}},
}


@pytest.mark.usefixtures("clone")
def test_statistics_stand_beside_the_papers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["statistics"]) == 2
    assert "statistics needs --data" in capsys.readouterr().err
    assert main(["statistics", "--data", "data"]) == 2
    assert "holds no prepared data set: `whymatch data prepare" in capsys.readouterr().err
    pairs = {"left texts": 3, "words a left text": 7.5, "splits": {"test": {"pairs": 9824}}}
    for name, values in (("stackexchange", STATISTICS), ("stackexchange-hard", STATISTICS), ("esnli", pairs)):
        (Path("data") / name).mkdir()
        (Path("data") / name / "statistics.json").write_text(json.dumps(values))
    assert main(["statistics", "--data", "data"]) == 0
    shown = Path("docs/results.md").read_text()
    ours = "| **stackexchange, stackexchange-hard** | 1,234 | 50 | 4.1 | 9 | 55.0 | 88 |\n"
    assert ours + "| stackexchange, the paper | 730,818 | 187,377 | 3.7 | 54 | 87 | 603,801 |" in shown
    assert "| **esnli** |  |  | 9,824 |  |  | 7.5 |  |\n| esnli, official | 549,367 | 9,842 | 9,824 |" in shown


@pytest.mark.usefixtures("clone")
def test_a_table_has_its_notes_and_speed_every_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path("experiments/pets.toml")
    file.write_text('notes = "Read *with care*."\n' + TABLE)
    table, results = read_table(file), Path("experiments/results")
    assert not table.curve
    record = {"row": "OT (exact k = 1)", "seed": 0, "results": {"P@1": 0.5, "active alignments": 1}, "seconds": 200}
    keep(results / "pets" / "ot-exact-k-1-0.json", record)
    found = dict.fromkeys(("training step, s", "training step to attention", "prediction of a pair, s"), 1.0)
    found |= {"prediction to attention": 1.25, "parameters": 2_000_000}
    for hardware in ("x86_64", "NVIDIA"):
        where = {"commit": "abc", "hardware": hardware}
        monkeypatch.setattr("experiments.records.circumstances", partial(dict, where))
        timed = {"row": "OT", "seed": 0, "encoder": "bi-SRU", "rounds": 3, "pairs": 4, "results": found, "seconds": 9}
        keep(results / "speed" / f"{hardware}.json", timed)
    (Path("docs") / "images").mkdir(parents=True)
    (Path("docs") / "images" / "tradeoff.png").touch()
    shown = page([table], results, Path("docs/images"))
    assert "| **OT (exact k = 1)** | 50.0 | 1.0 | 1 |\n| OT (exact k = 1), the paper | 12.5 |  | |" in shown
    assert "\n\nRead *with care*.\n" in shown
    later = replace(table, order=table.order + 1, title="Later")
    both = page([later, table], results, Path("docs/images"))
    assert 0 < both.index(f"## {table.title}") < both.index("## Later")
    assert shown.count("| **OT** | 2.00M | 1000.0 | 1.00 | 1000.000 | 1.25 |\n" + speed.PAPER["OT"]) == 2
    assert "**x86_64; bi-SRU**" in shown
    assert "**NVIDIA; bi-SRU**" in shown
    assert "(images/tradeoff.png)" in shown
    assert "constraints.png" not in shown
    framed = page([table], results, Path("docs/images"), "To begin with.\n", "In short.\n")
    assert framed == f"{HEAD}\nTo begin with.\n{shown.removeprefix(HEAD)}\nIn short.\n"


def test_the_page_in_the_manual_is_the_one_that_is_written_from_the_results() -> None:
    experiments, docs = (Path(__file__).parents[2] / name for name in ("experiments", "docs"))
    tables = [read_table(file) for file in sorted(experiments.glob("*.toml"))]
    words = [(experiments / name).read_text(encoding="utf-8") for name in ("introduction.md", "summary.md")]
    shown = page(tables, experiments / "results", docs / "images", *words)
    assert shown == (docs / "results.md").read_text(encoding="utf-8")


def test_a_section_says_where_it_comes_from() -> None:
    run = {"commit": "abc", "hardware": "x86_64, 1 thread", "seconds": 30}
    assert origin("speed", [run]) == "`python -m experiments speed`; x86_64, 1 thread; commit abc; 30 seconds in all."
    others = [run, {**run, "commit": "def", "seconds": 600}, {**run, "commit": None}]
    assert origin("esnli", others).endswith("; commits abc, def; 11 minutes in all.")
