"""No verb writes over what it reads, or two things to one file, by whatever name the file is given."""

import os
from pathlib import Path

import pytest

from whymatch.cli import main

INPUTS = ["a.html", "b.html", "c.csv", "d.svg"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with an input of each kind, and other names for one of them."""
    for name in INPUTS:
        (tmp_path / name).write_text(f"text,left,right,match\n{name},b,c,1\n")
    (tmp_path / "link.html").symlink_to("a.html")
    os.link(tmp_path / "a.html", tmp_path / "hard.html")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["a.html", "./a.html", "sub/../a.html", "link.html", "hard.html"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["align", "a.html", "b.html", "--html"],
        ["align", "b.html", "a.html", "--html"],
        ["check", "a.html", "b.html", "--html"],
        ["check", "b.html", "c.csv", "a.html", "--html"],
        ["compare", "a.html", "b.html", "--html"],
        ["bitext", "b.html", "a.html", "-o"],
        ["duplicates", "a.html", "--html"],
        ["search", "index", "--queries", "a.html", "--trec"],
        ["calibrate", "a.html", "--out"],
        ["duplicates", ".", "--html"],
        ["check", "b.html", ".", "--html"],
    ],
    ids=" ".join,
)
def test_an_input_is_never_written_over(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], name: str
) -> None:
    _assert_refused([*arguments, name], folder, capsys, "" if arguments[0] == "bitext" else "write over")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["align", "a.html", "b.html", "--figure", "d.svg", "--html", "d.svg"], "ends in .html"),
        (["align", "a.html", "d.svg", "--figure", "d.svg"], "write over"),
        (["compare", "a.html", "b.html", "--html", "notes.txt"], "ends in .html"),
        (["duplicates", "c.csv", "--csv", "e.html", "--html", "./e.html"], "twice"),
        (["bitext", "a.html", "b.html", "-o", "e.tsv", "-o", "sub/../e.tsv"], "twice"),
        (["search", "index", "a text", "--html", "c.csv"], "ends in .html"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_page_ends_as_one_and_no_file_is_written_twice(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    _assert_refused(arguments, folder, capsys, reason)


def _assert_refused(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str], reason: str) -> None:
    before = {file: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    try:
        status = main(arguments)
    except SystemExit as stop:  # of the parser of options
        status = int(str(stop.code))
    assert status == 2
    assert reason in capsys.readouterr().err
    assert {file: file.read_bytes() for file in folder.iterdir() if file.is_file()} == before
