"""What is counted, and the page that shows everything measured."""

import json
from functools import partial
from pathlib import Path

import pytest

from experiments import sparsity
from experiments.__main__ import main
from experiments.pages import pages
from experiments.records import origin, read_runs, slug, write_run
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
    runs = read_runs(Path("experiments/results/sparsity"))
    assert [run["row"] for run in runs] == [repr(constraint) for constraint in sparsity.CONSTRAINTS]
    shown = Path("docs/results/method.md").read_text()
    assert "| **`Exactly(k=4)`** | exact-k | s = k ≤ n | 4 | 4 | 4.0 |" in shown
    assert "| `python -m experiments sparsity` | " in shown


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
    shown = Path("docs/results/method.md").read_text()
    ours = "| **stackexchange, stackexchange-hard** | 1,234 | 50 | 4.1 | 9 | 55.0 | 88 |\n"
    assert ours + "| stackexchange, the paper | 730,818 | 187,377 | 3.7 | 54 | 87 | 603,801 |" in shown
    assert "| **esnli** |  |  | 9,824 |  |  | 7.5 |  |\n| esnli, official | 549,367 | 9,842 | 9,824 |" in shown


def measured(name: str, **results: float) -> None:
    """Leaves a run of a row of the table on disk."""
    record = {"row": name, "seed": 0, "results": {"P@1": 0.5, "active alignments": 1, **results}, "seconds": 200}
    write_run(Path("experiments/results/pets") / f"{slug(name)}-0.json", record)


@pytest.mark.usefixtures("clone")
def test_a_page_has_its_tables_and_ends_with_where_they_come_from() -> None:
    file = Path("experiments/pets.toml")
    file.write_text('notes = "Read *with care*."\nbeside = ["OT (exact k = 1)"]\n' + TABLE)
    later = TABLE.replace("order = 3.0", "order = 3.5").replace("A table", "A table: later")
    Path("experiments/pets-later.toml").write_text(later)
    measured("OT (exact k = 1)")
    every = pages(Path("experiments"), Path("docs/images"))
    assert [*every] == ["results.md", "results/pets.md"]
    shown = every["results/pets.md"]
    assert shown.startswith("# A table\n")
    assert "| **OT (exact k = 1)** | 50.0 | 1.0 | 1 |\n| OT (exact k = 1), the paper | 12.5 |  |  |" in shown
    assert "\n\nRead *with care*.\n" in shown
    assert "later" not in shown  # nothing of it was run
    head = "| | hardware | time | commits |\n|---|---|---|---|\n"
    assert shown.partition(head)[2].startswith("| `python -m experiments pets --data DATA --seeds 1` | ")
    assert "(results/pets.md)" in every["results.md"]


@pytest.mark.usefixtures("clone")
def test_headlines_are_on_the_first_page_too_and_ablations_on_their_own_alone() -> None:
    start, *rows = TABLE.split("[[row]]")
    rows[0] += 'shown = "headline"\n'
    rows[1] += 'shown = "ablation"\n'
    settings = 'headline = ["P@1"]\nencoder = "frozen"\nbeside = ["OT (exact k = 1)"]\nablations = "Whole is *less*."\n'
    Path("experiments/pets.toml").write_text(settings + "[[row]]".join([start, *rows]))
    for name, text in (("introduction.md", "To begin with.\n"), ("summary.md", "In short.\n")):
        (Path("experiments") / name).write_text(text)
    measured("OT (exact k = 1)")
    measured("Untrained, whole")
    every = pages(Path("experiments"), Path("docs/images"))
    assert [*every] == ["results.md", "results/pets.md", "results/ablations.md"]
    first, page, ablations = every.values()
    assert "| | P@1 | seeds |\n|---|---|---|\n| **OT (exact k = 1)**, frozen | 50.0 | 1 |\n" in first
    assert first.index("To begin with.") < first.index("**, frozen |") < first.index("In short.")
    assert "| **OT (exact k = 1)** | 50.0 | 1.0 | 1 |" in page
    assert "Untrained" not in page + first
    assert "| **OT (exact k = 1)** | 50.0 | 1.0 | 1 |\n| **Untrained, whole** | 50.0 | 1.0 | – |\n" in ablations
    assert "\n\nWhole is *less*.\n" in ablations


@pytest.mark.usefixtures("clone")
def test_speed_is_shown_for_every_hardware_and_figures_if_they_were_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    results = dict.fromkeys(("training step, s", "training step to attention", "prediction of a pair, s"), 1.0)
    results |= {"prediction to attention": 1.25, "parameters": 2_000_000}
    timed = {"row": "OT", "seed": 0, "encoder": "bi-SRU", "rounds": 3, "pairs": 4, "results": results, "seconds": 9}
    for hardware in ("x86_64", "NVIDIA"):
        monkeypatch.setattr("platform.machine", partial(str, hardware))
        write_run(Path("experiments/results/speed") / f"{hardware}.json", timed)
    images = Path("docs/images")
    images.mkdir(parents=True)
    assert "images" not in pages(Path("experiments"), images)["results/method.md"]
    (images / "constraints.png").touch()
    shown = pages(Path("experiments"), images)["results/method.md"]
    assert shown.count("| **OT** | 2.00M | 1000.0 | 1.00 | 1000.000 | 1.25 |\n| OT, the paper | 2.0M |") == 2
    assert "**x86_64, " in shown
    assert "**NVIDIA, " in shown
    assert "(../images/constraints.png)" in shown


def test_the_pages_in_the_manual_are_those_that_are_written_from_the_results() -> None:
    experiments, docs = (Path(__file__).parents[2] / name for name in ("experiments", "docs"))
    shown = pages(experiments, docs / "images")
    assert {"results.md", *(f"results/{file.name}" for file in (docs / "results").iterdir())} == {*shown}
    for name, text in shown.items():
        assert text == (docs / name).read_text(encoding="utf-8"), name
    assert len(shown["results.md"].splitlines()) <= 150


def test_a_table_says_where_it_comes_from() -> None:
    run = {"commit": "abc", "hardware": "x86_64, 1 thread", "seconds": 30}
    assert origin("speed", [run]) == ["`python -m experiments speed`", "x86_64, 1 thread", "30 seconds", "abc"]
    others = [run, {**run, "commit": "def", "seconds": 600}, {**run, "commit": None}]
    assert origin("esnli", others)[2:] == ["11 minutes", "abc, def"]
