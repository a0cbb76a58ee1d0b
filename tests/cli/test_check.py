"""`whymatch check` as a user runs it: what it prints, its exit status, and what it refuses."""

import io
import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

import whymatch as wm
from tests.checking.texts import ANSWER, CHANGED, MADE_UP, SOURCES, TRUE
from tests.cli.running import Ran, refused, strict, written
from whymatch.checking.result import Check, verdicts_only
from whymatch.cli import FAULT, main
from whymatch.text.encoders import models

pytestmark = pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed")
Run = Callable[..., Ran]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(*arguments: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return Ran(main(["check", *map(str, arguments)]), *capsys.readouterr())

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    sources = tmp_path / "sources"
    sources.mkdir()
    for name, text in SOURCES.items():
        written(sources, f"{name}.txt", text)
    return sources


def test_files_are_checked_as_the_library_says_and_the_page_is_written(
    check: Run, folder: Path, tmp_path: Path
) -> None:
    answer, page = written(tmp_path, "answer.txt", ANSWER), tmp_path / "check.html"
    ran = check(answer, folder, "--json", "--html", page)
    assert (ran.status, ran.err) == (0, "")
    assert strict(ran.out) == wm.check(ANSWER, folder).to_dict()
    assert "1 of 3 claims is supported; 1 is contradicted, and 1 has no source." in page.read_text("utf-8")


def test_text_shows_the_verdict_first_and_what_speaks_for_or_against_each_claim(check: Run, folder: Path) -> None:
    ran = check("-", folder, stdin=ANSWER.encode())
    assert ran.out == (
        "1 of 3 claims is supported; 1 is contradicted, and 1 has no source.\n\n"
        f"✓ supported: {TRUE}\n  handbook.txt, 0 to 44: {TRUE}\n\n"
        f"≠ contradicted: {CHANGED}\n  travel.txt, 86 to 126: Hotels may cost up to 120 euros a night.\n"
        "    ≠ 150 euros – 120 euros (number)\n\n"
        f"? no source: {MADE_UP}\n  No source speaks of this.\n"
    )


def test_strict_says_by_the_exit_status_whether_all_is_supported(check: Run) -> None:
    assert check("--text", TRUE, SOURCES["handbook"], "--strict").status == 0
    assert check("--text", MADE_UP, SOURCES["handbook"], "--strict").status == 1
    assert check("--text", MADE_UP, SOURCES["handbook"]).status == 0


def test_an_error_that_nobody_expected_has_no_status_of_a_verdict(check: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Check, "to_dict", lambda _: 1 / 0)
    ran = check("--text", TRUE, SOURCES["handbook"], "--json", "--strict")
    assert ran.status == FAULT
    assert "ZeroDivisionError" in ran.err
    assert "a fault of whymatch" in ran.err


def test_a_batch_says_of_every_line_what_a_check_says_and_ends_with_the_mean(check: Run, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "answer": ANSWER, "sources": SOURCES},
        {"answer": TRUE, "sources": [SOURCES["handbook"]]},
        {"answer": TRUE, "sources": [{"id": "book", "text": SOURCES["handbook"]}]},
    ]
    file = written(tmp_path, "rows.jsonl", "\n".join(map(json.dumps, rows)))
    ran = check("--batch", file)
    assert (ran.status, ran.err) == (0, "")
    *lines, mean = map(strict, ran.out.splitlines())
    assert lines[0] == {"line": 1, "id": "a", **json.loads(json.dumps(verdicts_only(wm.check(ANSWER, SOURCES))))}
    assert [line["faithfulness"] for line in lines] == [pytest.approx(1 / 3), 1.0, 1.0]
    assert lines[2]["claims"][0]["citations"][0]["source"] == "book"
    assert mean == {
        "answers": 3,
        "mean_faithfulness": pytest.approx(7 / 9),
        "counts": {"supported": 3, "contradicted": 1, "unsupported": 1},
    }
    assert check("--batch", file, "--strict").status == 1


def test_bad_lines_are_reported_with_their_numbers_and_the_others_go_on(check: Run) -> None:
    good = json.dumps({"answer": TRUE, "sources": SOURCES})
    bad = [
        "[]",
        "{",
        '{"answer": "A.", "sources": 3}',
        '{"answer": " ", "sources": []}',
        '{"answer": "A.", "sources": [3]}',
    ]
    ran = check("--batch", "-", stdin="\n".join([*bad, good]).encode())
    assert ran.status == 2
    assert [strict(line).get("line") for line in ran.out.splitlines()] == [6, None]
    assert [line.split(":")[1] for line in ran.err.splitlines()] == [
        *(f" line {number}" for number in range(1, 6)),
        " lines that could not be checked",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give an ANSWER, and either SOURCEs or --index INDEX"),
        (["--text", "A."], "Give an ANSWER"),
        (["--text", " ", "B."], "ANSWER is empty"),
        (["--text", "A.", " "], "There is no source that can be read"),
        (["Lunch costs 7 euros.", "Lunch costs 5 euros."], "For texts instead of files, add --text"),
        (["answer.txt", "https://example.com"], "addresses are not fetched"),
        (["--text", "A.", "B.", "--html", "no/x.html"], "no/x.html cannot be written"),
        (["--batch", "-", "--html", "x.html"], "--batch takes no ANSWER"),
        (["answer.txt", "--index", "posts", "--encoder", "multilingual"], "--encoder does not go with --index"),
        (["answer.txt", "--index", "posts", "--cost", "evidence"], "--cost does not go with --index"),
        (["--text", "A.", "B.", "--cost", "cosine"], "cosine distance is none"),
    ],
)
def test_what_cannot_be_checked_is_refused(check: Run, arguments: list[str], message: str) -> None:
    ran = check(*arguments)
    assert ran.status == 2
    assert message in ran.err
    if "--text" not in arguments or arguments[-1].strip():
        assert message in refused(ran)


def test_a_source_that_cannot_be_read_is_reported_and_the_others_are_used(check: Run, folder: Path) -> None:
    written(folder, "binary.txt", b"\0\1")
    ran = check("-", folder, "--json", stdin=TRUE.encode())
    assert ran.status == 0
    assert "binary.txt" in ran.err
    assert strict(ran.out)["counts"]["supported"] == 1
    assert any("binary.txt" in note for note in strict(ran.out)["notes"])


def test_strict_is_2_where_a_source_could_not_be_read(check: Run, folder: Path) -> None:
    (folder / "scan.pdf").write_bytes(b"%PDF-1.4\n\0")
    ran = check("-", folder, "--json", "--strict", stdin=TRUE.encode())
    assert ran.status == 2
    assert any("scan.pdf" in note for note in strict(ran.out)["notes"])


def test_options_may_stand_between_the_other_arguments(check: Run, folder: Path, tmp_path: Path) -> None:
    answer = written(tmp_path, "answer.txt", TRUE)
    last = check(answer, folder, "--json")
    assert last.status == 0
    for arguments in ([answer, "--json", folder], ["--json", answer, folder]):
        assert check(*arguments) == last


def test_help_lists_the_exit_statuses(check: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        check("--help")
    assert "exit status: 0; with --strict 1" in capsys.readouterr().out


def test_web_pages_and_documents_of_word_are_read_and_a_pdf_is_refused(check: Run, tmp_path: Path) -> None:
    page = written(tmp_path, "handbook.html", f"<html><body><h1>Rules</h1><p>{SOURCES['handbook']}</p></body></html>")
    answer = written(tmp_path, "answer.html", f"<p>{TRUE}</p>")
    ran = check(answer, page, "--json")
    assert strict(ran.out)["counts"]["supported"] == 1
    pdf = written(tmp_path, "a.pdf", b"%PDF-1.4\n\0")
    assert "pdftotext" in check(pdf, page).err
    assert "pdftotext" in check(answer, pdf).err
