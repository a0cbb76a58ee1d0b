"""`whymatch duplicates` as a user runs it: a corpus in, groups out as text, JSON, CSV and a page."""

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ran, refused, strict
from whymatch.cli import main
from whymatch.text.encoders import models

pytestmark = pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed")

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \x1b[31mred\x07 \u202etxt & \"quotes\" 'too' {{ 7*7 }}"
HEADER = ["Post Id", "subject", "body", "year", "year"]
ROWS = [
    ["1", "Phone is full", "I cannot install any app. How do I move apps to the SD card?", "2019", "a"],
    ["2", "=HYPERLINK(1)", f'Wine is red, \r\n"said" he; prices rose. {HOSTILE}', "", "b"],
    [
        "3",
        "Moving apps",
        "How can I move my apps to an SD card? There is no room to install another app.",
        "2020",
        "-c",
    ],
    ["4", "=HYPERLINK(1)", f'Wine is red, \r\n"said" he; prices rose. {HOSTILE}', "-7", "@d"],
    ["5", "Rain", "All day long there was rain.", "2021", "e"],
]
READING = ["--id", "Post Id", "--text", "body", "--title", "subject"]
ADDED = ["group", "matches", "probability", "reason"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    return lambda *arguments: Ran(main([*map(str, arguments)]), *capsys.readouterr())


@pytest.fixture
def posts(tmp_path: Path) -> Path:
    file = tmp_path / "posts.csv"
    with file.open("w", newline="", encoding="utf-8-sig") as out:
        csv.writer(out).writerows([HEADER, *ROWS])
    return file


def read(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as data:
        return [*csv.reader(data, strict=True)]


def test_rows_of_csv_come_back_as_they_were_with_their_groups(
    posts: Path, run: Callable[..., Ran], tmp_path: Path
) -> None:
    ran = run("duplicates", posts, *READING, "--probability", 0.9, "--csv", tmp_path / "out.csv")
    assert ran.status == 0
    assert ran.out.startswith("2 groups of documents say the same: 4 of 5 documents.\n\n2 documents: probability ")
    assert ran.out.endswith(f"\n\nTable: {tmp_path / 'out.csv'}\n")
    assert not {"\x1b", "\x07", "\u202e"} & {*ran.out}
    header, *rows = read(tmp_path / "out.csv")
    assert header == [*HEADER, *ADDED]
    assert [row[:5] for row in rows] == ROWS
    assert [row[5:7] for row in rows] == [["2", "3"], ["1", "4"], ["2", "1"], ["1", "2"], ["", ""]]
    assert [row[7] == "" or float(row[7]) >= 0.9 for row in rows] == [True] * 5
    own, other = (text.strip() for text in rows[0][8].split(" · "))
    assert own in ROWS[0][2]
    assert other in ROWS[2][2]
    assert rows[1][8].startswith("'=HYPERLINK(1)"), "the new cell is no formula"
    assert rows[4][5:] == [""] * 4


def test_json_lists_groups_with_texts_reasons_probabilities_and_what_is_kept(
    tmp_path: Path, run: Callable[..., Ran]
) -> None:
    file = tmp_path / "posts.jsonl"
    rows = [{"subject": row[1], "body": row[2], "year": int(row[3] or 0)} for row in ROWS]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = run(
        *("duplicates", file, "--text", "body", "--title", "subject", "--keep", "year", "--json"),
        *("--probability", 0.9, "--csv", tmp_path / "out.csv"),
    )
    groups = [strict(line) for line in ran.out.splitlines()]
    assert [group["group"] for group in groups] == [1, 2]
    assert [[*group["documents"]] for group in groups] == [["line 2", "line 4"], ["line 1", "line 3"]]
    for group in groups:
        assert group["probability"] == group["pairs"][-1]["probability"] >= 0.9
        assert group["reasons"] == [group["weakest"]]
        assert all(link["bits"] > 0 for pair in group["pairs"] for link in pair["alignment"]["links"])
    assert groups[1]["metadata"] == {"line 1": {"year": 2019}, "line 3": {"year": 2020}}
    header, *cells = read(tmp_path / "out.csv")
    assert header == ["id", "body", "year", *ADDED]
    assert [row[0] for row in cells] == [f"line {number}" for number in range(1, 6)]
    assert cells[1][1].startswith("'=HYPERLINK")


def test_an_index_and_its_corpus_give_the_same_groups(posts: Path, run: Callable[..., Ran], tmp_path: Path) -> None:
    index = tmp_path / "index"
    assert run("index", posts, index, *READING).status == 0
    direct, indexed = (
        run("duplicates", source, *options, "--csv", tmp_path / name)
        for source, options, name in ((posts, READING, "direct.csv"), (index, [], "indexed.csv"))
    )
    assert direct.out.replace("direct.csv", "indexed.csv") == indexed.out
    rows = {row[0]: row[2:] for row in read(tmp_path / "indexed.csv")}
    assert {row[0]: row[5:] for row in read(tmp_path / "direct.csv")[1:]} == {
        id_: row for id_, row in rows.items() if id_ != "id"
    }
    assert "is an index" in refused(run("duplicates", index, "--max-mb", 3))


def test_bad_rows_are_reported_and_the_others_compared(posts: Path, run: Callable[..., Ran], tmp_path: Path) -> None:
    with posts.open("a", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["1", "again", "The same id.", "", ""], ["6", "", "", "", ""], ["too", "short"]])
    ran = run("duplicates", posts, *READING, "--csv", tmp_path / "out.csv")
    assert ran.status == 2
    assert ran.err.count(f"{posts}, line ") == 3 + 1, "a line each, and the first place of the id"
    assert ran.err.endswith("whymatch: rows that could not be compared: 3.\n")
    assert [row[0] for row in read(tmp_path / "out.csv")[1:]] == ["1", "2", "3", "4", "5", "1", "6"]
    assert [row[5] for row in read(tmp_path / "out.csv")[-2:]] == ["", ""]


@pytest.mark.parametrize("rows", [[], [["1", "One", "Text."]]])
def test_a_corpus_without_two_documents_has_no_duplicates(
    rows: list[list[str]], run: Callable[..., Ran], tmp_path: Path
) -> None:
    file, page = tmp_path / "posts.csv", tmp_path / "page.html"
    file.write_text("\n".join(map(",".join, [["id", "title", "text"], *rows])) + "\n")
    ran = run("duplicates", file, "--csv", tmp_path / "out.csv", "--html", page)
    assert ran.status == 0
    assert ran.out.startswith(f"No two of {len(rows)} documents say the same.\n")
    assert read(tmp_path / "out.csv") == [["id", "title", "text", *ADDED], *(row + [""] * 4 for row in rows)]
    assert "No two of" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere"], "There is no nowhere"),
        (
            ["posts.csv"],
            "posts.csv has no column 'text', only 'Post Id', 'subject', 'body', 'year', 'year'. Name the fields",
        ),
        (["posts.csv", "--text", "body", "--keep", "year"], "2 columns 'year'"),
        (["posts.csv", *READING, "--csv", "posts.csv"], "would write over posts.csv"),
        (["posts.csv", *READING, "--csv", "./folder/../posts.csv"], "would write over"),
        (["posts.csv", *READING, "--csv", "out.csv.gz"], "no compressed files"),
        (["posts.csv", *READING, "--html", "folder.html"], "folder.html cannot be written"),
        (["posts.csv", *READING, "--csv", "nowhere/out.csv"], "there is no folder nowhere"),
        (["grouped.csv", "--csv", "out.csv"], "grouped.csv has a column 'group'"),
        (["posts.csv", *READING, "--probability", "7"], "a probability from 0 to 1"),
        (["posts.csv", *READING, "--spans", "letters"], "letters"),
        (["empty.csv"], "empty.csv has no row with the names of its columns"),
    ],
)
def test_bad_input_is_refused_in_a_line_before_anything_is_encoded(
    arguments: list[str], reason: str, posts: Path, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(posts.parent)
    monkeypatch.setattr("whymatch.search.building.encode_rows", lambda *given: pytest.fail("a text was encoded"))
    Path("folder").mkdir()
    Path("folder.html").mkdir()
    Path("empty.csv").touch()
    Path("grouped.csv").write_text("id,text,group\n1,A text.,1\n")
    assert reason in refused(run("duplicates", *arguments))
    assert not Path("out.csv").exists()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_shows_texts_as_text_with_their_reasons(
    width: int, posts: Path, browser: Any, run: Callable[..., Ran], tmp_path: Path
) -> None:
    with posts.open("a", newline="", encoding="utf-8") as out:
        long = "Nobody reads this sentence about trains. " * 60
        csv.writer(out).writerows(
            [[HOSTILE + str(n), "Hens", f"{n} hens lay eggs. {long} The farm is sold.", "1", ""] for n in range(9)]
        )
    file = tmp_path / "page.html"
    assert run("duplicates", posts, *READING, "--probability", 0.9, "--html", file).status == 0
    html = file.read_text("utf-8")
    assert "<script" not in html
    page, heard = browser.new_page(viewport={"width": width, "height": 800}), []
    page.on("console", lambda message: heard.append(message.text))
    page.on("dialog", lambda dialog: heard.append(dialog.message))
    page.goto(file.as_uri())
    assert heard == []
    assert page.locator("img, script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.inner_text("h1") == "3 groups of documents say the same: 13 of 14 documents."
    assert page.locator(".group").count() == 3
    assert "<script>alert(1)</script>" in page.inner_text(".document >> nth=0")
    hens = page.locator(".group", has_text="hens")
    assert hens.locator(".document:visible").count() == 6
    assert hens.locator("summary", has_text="3 more documents").count() == 1
    apps = page.locator(".group", has_text="SD card")
    numbers = apps.locator("table .badge").all_text_contents()
    assert sorted(apps.locator("article .badge").all_text_contents()) == sorted(numbers * 2)
    assert re.fullmatch(r"\d+\.\d", apps.locator("td.number").first.text_content())
    page.close()


def test_documents_that_the_encoder_does_not_read_are_counted_and_only_equal_ones_are_duplicates(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    texts = [
        "Der Hund schläft im Garten.",
        "Das Parlament stimmte am Montag ab.",
        "猫坐在垫子上。",
        "一只猫坐在垫子上。",
    ]
    rows = [*enumerate([*texts, texts[0], texts[2], "It rained all day.", "All day long there was rain."])]
    file = tmp_path / "posts.jsonl"
    file.write_text("".join(json.dumps({"id": number, "text": text}) + "\n" for number, text in rows))
    ran = run("duplicates", file, "--json", "--e-value", 1000, "--html", tmp_path / "page.html")
    assert {tuple(json.loads(line)["documents"]) for line in ran.out.splitlines()} == {
        ("0", "4"),
        ("2", "5"),
        ("6", "7"),
    }
    note = "6 of 8 documents are in languages that sentence-transformers/all-MiniLM-L6-v2 does not read: "
    assert f"{note}Chinese (3), German (3); they cannot be found by meaning. " in ran.err
    assert "--encoder multilingual" in ran.err
    assert note in (tmp_path / "page.html").read_text()
    assert f"{note}Chinese (3), German (3)" in run("index", file, tmp_path / "out").err
    assert run("search", tmp_path / "out", "What was the weather?").err == ""
    assert "the query looks German, a language that" in run("search", tmp_path / "out", texts[1]).err
    assert "cannot read the query text, which looks Chinese" in refused(run("search", tmp_path / "out", texts[2]))
    hindi = refused(run("search", tmp_path / "out", "यह एक हिंदी वाक्य है"))
    assert "whymatch[multilingual]" not in hindi, "which does not read it either"


def test_what_is_temporary_is_deleted_when_the_process_is_told_to_end() -> None:
    program = (
        "import time, tempfile; from whymatch.cli.console import cleaned_up_when_ended\n"
        "with cleaned_up_when_ended(), tempfile.TemporaryDirectory() as folder:\n"
        "    print(folder, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert folder.is_dir()
        process.terminate()
        assert process.wait() == 143
    assert not folder.exists()
