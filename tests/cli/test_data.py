"""`whymatch data`: preparing and listing."""

from pathlib import Path

import pytest

from tests.datasets.test_prepare import eraser_folder
from tests.datasets.writing import corpus_folder, read_rows
from whymatch import __version__
from whymatch.cli import main
from whymatch.datasets.catalog import NAMES


def test_list_says_where_and_under_which_licence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list"]) == 0
    out = capsys.readouterr().out
    for name in NAMES:
        assert f"{name}: " in out
    assert out.count("https://") + out.count("http://") >= out.count("licence: ") >= len(NAMES)


def test_prepare_prints_ours_beside_the_papers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = corpus_folder(tmp_path / "from"), tmp_path / "out"
    arguments = ["data", "prepare", "stackexchange", "--from", str(source), "--negatives", "5"]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    rows = {line.split("  ")[0]: line.split() for line in printed.out.splitlines()}
    assert rows["documents"][-2:] == ["120", "730,818"]
    assert rows["similar pairs"][-2:] == ["20", "187,377"]
    assert rows["vocabulary"][-1] == "603,801"
    assert main([*arguments, "--out", str(out)]) == 0
    assert f"In our layout: {out}" in capsys.readouterr().out
    assert main([*arguments, "--out", str(out)]) == 2
    assert "there already" in capsys.readouterr().err


def test_prepare_writes_the_whole_query_too_where_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = eraser_folder(tmp_path / "from"), tmp_path / "out"
    arguments = ["--from", str(source), "--query", "whole", "--out", str(out)]
    assert main(["data", "prepare", "stackexchange", *arguments]) == 2
    complaint = capsys.readouterr().err
    assert "stackexchange has no queries of several parts: --query is for multirc and eraser." in complaint
    assert complaint.count("\n") == 1
    assert not out.exists()
    assert main(["data", "prepare", "multirc", *arguments]) == 0
    assert f"In our layout: {out}" in capsys.readouterr().out
    assert {tuple(row["left"]) for row in read_rows(out / "test.jsonl")} == {
        ("Who ran ?", "the dog", "Who ran ? the dog")
    }


def test_what_is_wrong_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = corpus_folder(tmp_path)
    with (source / "duplicates.tsv").open("a") as file:
        file.write("a1\tnobody\n")
    assert main(["data", "prepare", "stackexchange", "--from", str(source)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "duplicates.tsv, line 21: nobody" in err


def test_a_prepared_folder_trains(tmp_path: Path, minilm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = corpus_folder(tmp_path / "from", pairs=10, alone=30), tmp_path / "data"
    assert main(["data", "prepare", "stackexchange", "--from", str(source), "--out", str(out), "--negatives", "2"]) == 0
    (tmp_path / "run.toml").write_text(
        f'task = "rank"\ndata = "{out}"\n[rule]\nconstraint = "exactly:1"\n[schedule]\nepochs = 1\n'
    )
    assert main(["train", str(tmp_path / "run.toml"), "--out", str(tmp_path / "run")]) == 0
    assert "validation" in capsys.readouterr().out


def test_the_command_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"whymatch {__version__}\n"
