"""What people said of each model, and how well they agree."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.study.studies import HACK, SECRETS, study, written
from whymatch.cli import main
from whymatch.show.figures import rated_bars
from whymatch.show.html import report_page
from whymatch.study.answers import Answer, Answers
from whymatch.study.items import Item, Study
from whymatch.study.report import report


def said(made: Study, name: str, values: dict[str, dict[str, int]]) -> list[Answer]:
    return [Answer(name, item, question, value) for item, some in values.items() for question, value in some.items()]


def test_counts_means_and_progress_by_hand() -> None:
    made = study()  # items 1 and 3 are the first model's, 2 and 4 the second's
    answers = said(made, "Ada", {"1": {"overall": 2, "0-2": 1, "2-0": 0}, "2": {"overall": 0}, "3": {"overall": 1}})
    answers += said(made, "Ben", {"1": {"overall": 2, "redundancy": 1, "relevance": 1, "0-2": 1, "2-0": 1}})
    found = report(made, answers)
    first, second = found["models"]
    assert first["name"] == SECRETS[0]
    assert first["ratings"]["overall"]["counts"] == [0, 1, 2]
    assert first["ratings"]["overall"]["mean"] == pytest.approx(5 / 3)
    assert first["ratings"]["overall"]["low"] == 1
    assert first["ratings"]["overall"]["high"] == 2
    assert first["links"]["counts"] == [1, 3]
    assert second["ratings"]["overall"]["counts"] == [1, 0, 0]
    assert second["ratings"]["relevance"] == {"counts": [0, 0, 0], "mean": None, "low": None, "high": None}
    assert found["annotators"] == [
        {"name": "Ada", "complete": 0, "answers": 5},
        {"name": "Ben", "complete": 1, "answers": 5},
    ]
    assert found["agreement"]["overall"] == {"alpha": None, "judged twice": 1}
    assert found["agreement"]["links"]["judged twice"] == 2


def test_shared_links_count_for_each_of_their_models() -> None:
    made = study()
    both = Item("5", 0, (0, 1), ((0, 0),))
    found = report(replace(made, items=(*made.items, both)), [Answer("Ada", "5", "overall", 2)])
    assert [model["ratings"]["overall"]["counts"] for model in found["models"]] == [[0, 0, 1], [0, 0, 1]]


@pytest.mark.parametrize("asked", ["ratings", "links", "both"])
def test_the_page_and_the_figure_show_what_was_asked(asked: str, tmp_path: Path) -> None:
    made = written(tmp_path / "study", asked)  # type: ignore[arg-type]
    answers = Answers(made, tmp_path / "study")
    for name in ("Ada", HACK[:60]):
        for item in made.items:
            for place, (question, values) in enumerate(made.questions(item).items()):
                answers.give(name, item.id, question, values[(place + len(name)) % len(values)])
    found = report(made, answers.all())
    html = report_page(found)
    assert "<script" not in html
    assert "<b>and</b>" not in html
    assert html.count('role="img"') == 2 * {"ratings": 3, "links": 1, "both": 4}[asked]
    if asked == "links":
        with pytest.raises(ValueError, match="asked for no ratings"):
            rated_bars(found, tmp_path / "bars.svg")
        return
    rated_bars(found, tmp_path / "bars.svg")
    assert "<svg" in (tmp_path / "bars.svg").read_text()


def test_the_verb_reports_before_and_after_there_are_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = written(tmp_path / "study")
    assert main(["study", "report", str(tmp_path / "study")]) == 0
    assert "no answers" in capsys.readouterr().out
    Answers(made, tmp_path / "study").give("Ada", "1", "overall", 2)
    files = ["--html", str(tmp_path / "r.html"), "--figure", str(tmp_path / "r.png")]
    assert main(["study", "report", str(tmp_path / "study"), *files]) == 0
    out = capsys.readouterr().out
    assert "2.00 (2.00 to 2.00; 1)" in out
    assert "Ada: 0 of 4 items complete" in out
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    assert main(["study", "report", str(tmp_path)]) == 2
    assert "holds no study" in capsys.readouterr().err
