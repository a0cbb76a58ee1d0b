"""`whymatch calibrate` learns what the library learns, and reports metrics of pairs held out."""

import csv
import io
import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import Align, Ran, refused, row, strict, written
from whymatch.cli import main
from whymatch.evaluation.calibration import BINS, brier_score, calibration_error, reliability
from whymatch.matching.aligner import Aligner
from whymatch.text.encoders import models

pytestmark = pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed")

THINGS = ["train", "cat", "boat", "guitar", "garden", "printer", "bridge", "kernel", "river", "oven"]
PAIRS = [
    *((f"My {thing} was sold. It rained.", f"Somebody bought the {thing}. We had tea.", True) for thing in THINGS),
    *(
        (f"My {thing} was sold. It rained.", f"The {other} opens at nine. Prices rose.", False)
        for thing, other in zip(THINGS, [*THINGS[1:], THINGS[0]], strict=True)
    ),
]
LINES = [row(left, right, match=match) for left, right, match in PAIRS]


@pytest.fixture
def calibrate(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Align:
    """The verb in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        return Ran(main(["calibrate", *map(str, arguments)]), *capsys.readouterr())

    return run


def test_what_is_learned_is_what_the_library_learns(calibrate: Align, tmp_path: Path) -> None:
    ran = calibrate(written(tmp_path, "pairs.jsonl", b"\n".join(LINES)))
    assert (ran.status, ran.err) == (0, "")
    found = strict((tmp_path / "calibration.json").read_text("utf-8"))
    expected = Aligner().calibrate([pair[:2] for pair in PAIRS], [match for *_, match in PAIRS])
    assert (found["slope"], found["offset"]) == pytest.approx((expected.slope, expected.offset))
    assert found["fitted_on"] == "20 pairs of pairs.jsonl"
    assert (found["pairs"], found["matches"]) == (20, 10)
    assert "20 pairs, 10 of which match, judged against texts of many kinds." in ran.out
    assert "ECE in 10 bins: 0." in ran.out
    assert "Brier score: 0." in ran.out
    assert ran.out.endswith("Calibration: calibration.json\n")


def test_the_file_is_what_align_takes(calibrate: Align, align: Align, tmp_path: Path) -> None:
    out, figure = tmp_path / "own.json", tmp_path / "diagram.svg"
    ran = calibrate(written(tmp_path, "pairs.jsonl", b"\n".join(LINES)), "--out", out, "--figure", figure)
    assert ran.out.endswith(f"Picture: {figure}\n")
    assert "<svg" in figure.read_text("utf-8")
    found = strict(align("--text", "My boat was sold.", "Somebody bought it.", "--json", "--calibration", out).out)
    assert found["judgement"]["calibrated_on"] == "20 pairs of pairs.jsonl"


@pytest.mark.parametrize("words", [("true", "false"), ("Yes", "no"), ("1", "0")])
def test_a_table_is_read_as_json_lines_are(calibrate: Align, tmp_path: Path, words: tuple[str, str]) -> None:
    calibrate(written(tmp_path, "pairs.jsonl", b"\n".join(LINES)), "--out", "lines.json")
    with (tmp_path / "pairs.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["match", "left", "note", "right"])
        rows.writerows((words[not match], left, "", right) for left, right, match in PAIRS)
    assert calibrate("pairs.csv", "--out", "table.json").status == 0
    lines, table = (json.loads((tmp_path / name).read_text("utf-8")) for name in ("lines.json", "table.json"))
    assert {**table, "fitted_on": lines["fitted_on"]} == lines


def test_a_table_without_the_columns_or_with_other_labels_is_refused(calibrate: Align, tmp_path: Path) -> None:
    written(tmp_path, "pairs.csv", b"first,second,same\nA cat.,A dog.,yes\n")
    assert "A table of labelled pairs has the columns left, right and match." in refused(calibrate("pairs.csv"))
    written(tmp_path, "pairs.csv", b"left,right,match\nA cat.,A dog.,perhaps\n")
    assert "line 2: \"match\" is true or false, got 'perhaps'" in calibrate("pairs.csv").err


def test_labels_in_words_are_refused_in_python() -> None:
    with pytest.raises(ValueError, match="labels that are True or False, got 'yes'"):
        Aligner().calibrate([pair[:2] for pair in PAIRS], ["yes"] * len(PAIRS))  # type: ignore[list-item]


def test_a_bad_line_is_reported_and_the_others_count(calibrate: Align, tmp_path: Path) -> None:
    bad = [b"{", row("A cat.", "A dog."), row("A cat.", "A dog.", match="yes"), row("", "A dog.", match=True)]
    bad.append(row("Cat. " * 2001, "A dog.", match=True))
    ran = calibrate(written(tmp_path, "pairs.jsonl", b"\n".join([*LINES, *bad])))
    assert ran.status == 2
    *reports, summary = ran.err.splitlines()
    assert [report.split(":")[1] for report in reports] == [f" line {number}" for number in (21, 22, 23, 24, 25)]
    assert all('"match" is true or false' in report for report in reports[1:3])
    assert summary == "whymatch: lines that could not be used: 5."
    assert json.loads((tmp_path / "calibration.json").read_text("utf-8"))["pairs"] == 20


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (
            LINES[:10],
            [],
            "all of them labelled; got 10 pairs, 10 of them labelled as matches",
        ),
        (LINES, ["--cost", "cosine"], "cosine distance has none"),
        (LINES, ["--figure", "diagram.jpg"], ".svg, .pdf or .png"),
        (LINES, ["--limit", "0"], "--limit"),
        (LINES, ["--background", "missing"], "There is no missing"),
        ([row(left, right, match=not match) for left, right, match in PAIRS], [], "nothing to calibrate"),
    ],
)
def test_what_cannot_be_calibrated_is_refused_and_nothing_is_written(
    calibrate: Align, tmp_path: Path, lines: list[bytes], options: list[str], message: str
) -> None:
    written(tmp_path, "pairs.jsonl", b"\n".join(lines))
    assert message in refused(calibrate("pairs.jsonl", *options))
    assert [file.name for file in tmp_path.iterdir()] == ["pairs.jsonl"]


def test_probabilities_that_come_true_have_no_calibration_error() -> None:
    probability = (np.arange(BINS) + 0.5) / BINS
    judged = np.array([[p, match] for p in probability for match in [1] * round(20 * p) + [0] * round(20 * (1 - p))])
    assert calibration_error(judged) == pytest.approx(0, abs=1e-12)
    assert calibration_error(np.stack([1 - judged[:, 0], judged[:, 1]], axis=1)) == pytest.approx(0.5)
    assert reliability(judged)[:, 1:] == pytest.approx(np.stack([probability, probability], axis=1))
    assert brier_score(judged) == pytest.approx(np.mean(probability * (1 - probability)))


def test_metrics_are_means_over_pairs_as_they_come() -> None:
    judged = np.random.default_rng(0).random((50, 2))
    judged[:, 1] = judged[:, 1].round()
    sure = np.array([[0.05, 0.0]] * 150)
    for metric in (calibration_error, brier_score):
        assert metric(np.concatenate([judged] * 3)) == pytest.approx(metric(judged))
        assert metric(np.concatenate([judged, sure])) < metric(judged)
