"""`whymatch score` and `whymatch index --ray` as a user runs them."""

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from pyarrow import parquet

import whymatch as wm
from tests.cli.running import Ran
from whymatch.cli import main
from whymatch.text.encoders import models

pytestmark = [
    pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed"),
    pytest.mark.filterwarnings("ignore:::ray", "ignore:lancedb fork support"),
]
PAIRS = [("A cat slept. It rained.", "It was raining. A cat was asleep."), ("Wine is red.", "The kernel panics.")]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    return lambda *arguments: Ran(main([*map(str, arguments)]), *capsys.readouterr())


@pytest.mark.usefixtures("ray_cluster")
def test_pairs_are_scored_into_parquet_once(run: Callable[..., Ran], tmp_path: Path) -> None:
    lines = [json.dumps({"left": left, "right": right}) for left, right in PAIRS]
    (tmp_path / "pairs.jsonl").write_text("\n".join([*lines, "{broken"]))
    ran = run("score", tmp_path / "pairs.jsonl", tmp_path / "out")
    assert (ran.status, ran.out) == (2, f"2 pairs scored, in {tmp_path / 'out'}\n")
    assert f"{tmp_path / 'pairs.jsonl'}, row 3: this is not JSON" in ran.err
    assert "pairs that could not be scored: 1." in ran.err
    (file,) = (tmp_path / "out").iterdir()
    found = parquet.read_table(file).to_pylist()
    for row, why in zip(found, wm.Aligner().align_many(PAIRS), strict=False):
        assert row["score"] == pytest.approx(why.score, abs=1e-5)
        assert len(row["links"]) == len(why.links)
    again = run("score", tmp_path / "pairs.jsonl", tmp_path / "out")
    assert (again.status, again.out) == (ran.status, ran.out)
    complaints = [[line for line in some.err.splitlines() if line.startswith("whymatch:")] for some in (ran, again)]
    assert complaints[0] == complaints[1]  # on a busy machine there are lines of progress, too
    assert [file] == [*(tmp_path / "out").iterdir()]


def test_bad_arguments_are_refused_before_any_work(run: Callable[..., Ran], tmp_path: Path) -> None:
    missing = run("score", tmp_path / "nowhere", tmp_path / "out")
    assert (missing.status, missing.out) == (2, "")
    assert "Give Parquet, JSON lines, or a folder of such files." in missing.err
    (tmp_path / "empty").mkdir()
    assert "holds no pairs: files end in" in run("score", tmp_path / "empty", tmp_path / "out").err
    (tmp_path / "corpus.jsonl").write_text('{"id": "a", "text": "A cat slept."}')
    both = run("index", tmp_path / "corpus.jsonl", tmp_path / "index", "--ray", "local", "--prune")
    assert both.status == 2
    assert "--prune does not go with --ray" in both.err
    assert not (tmp_path / "out").exists()
