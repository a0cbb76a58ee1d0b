"""Sources in every form that is taken, by the same texts."""

import json
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import whymatch as wm
from tests.checking.texts import SOURCES
from whymatch.checking.sources import NamedTexts


def named(sources: Any) -> dict[str, Any]:
    return NamedTexts.of(sources).texts


def test_a_mapping_keeps_its_names_and_a_list_gets_numbers() -> None:
    assert named(SOURCES) == SOURCES
    assert named([*SOURCES.values()]) == dict(zip(["source 1", "source 2", "source 3"], SOURCES.values(), strict=True))
    assert named("One text.") == {"source 1": "One text."}


def test_files_folders_and_tables_are_read(tmp_path: Path) -> None:
    for name, text in SOURCES.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    by_file = {f"{name}.txt": text for name, text in SOURCES.items()}
    assert named(tmp_path) == by_file
    assert named([tmp_path / f"{name}.txt" for name in SOURCES]) == by_file
    lines = tmp_path / "rows.jsonl"
    rows = [{"id": name, "text": text} for name, text in SOURCES.items()]
    lines.write_text("\n".join([*map(json.dumps, rows), "{}"]), encoding="utf-8")
    read = NamedTexts.of(lines)
    assert read.texts == SOURCES
    assert len(read.problems) == 1
    assert "line 4" in read.problems[0]


def test_documents_of_other_libraries_are_known_by_their_attributes() -> None:
    sources = [
        SimpleNamespace(page_content="A.", metadata={"source": "a.txt"}),
        SimpleNamespace(get_content=lambda: "B.", metadata={"file_name": "b.txt"}),
        SimpleNamespace(text="C.", metadata={}, node_id="c"),
        {"text": "D.", "id": "d"},
        {"text": "E."},
        SimpleNamespace(page_content="F.", metadata={"source": "a.txt"}),
    ]
    assert named(sources) == {"a.txt": "A.", "b.txt": "B.", "c": "C.", "d": "D.", "source 5": "E.", "a.txt 2": "F."}


def test_a_folder_may_hold_web_pages_and_documents_of_word(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>Rent &amp; keys</p><script>no()</script>", encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "lease.docx", "w") as archive:
        space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
        body = "<w:p><w:r><w:t>Rent is due.</w:t></w:r></w:p>"
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>')
    assert NamedTexts.of(tmp_path).texts == {"lease.docx": "Rent is due.", "page.html": "Rent & keys"}


def test_empty_sources_are_problems() -> None:
    read = NamedTexts.of({"full": "A.", "empty": "\u200b "})
    assert [*read.texts] == ["full"]
    assert read.problems == ["empty is empty."]


@pytest.mark.parametrize("source", [3, None, {"body": "A."}, SimpleNamespace(text=3)])
def test_what_has_no_text_is_refused(source: Any) -> None:
    with pytest.raises(TypeError, match="text"):
        named([source])


@pytest.mark.parametrize("name", ["returns.md", "docs", "docs/returns.md", "gone/answer.pdf", "  sources.txt\n"])
def test_a_text_that_is_the_name_of_a_file_is_refused_with_advice(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    for sources in (name, [name]):
        with pytest.raises(ValueError, match=r"A source is a text, .* looks like a file: give pathlib\.Path"):
            wm.check("Lunch costs 7 euros.", sources)
    assert wm.check("Lunch costs 7 euros.", {"named": name}).claims[0].verdict == "unsupported"
    assert wm.check(name, ["Lunch costs 7 euros."]).counts["supported"] == 0


def test_an_address_is_refused_since_it_is_not_fetched() -> None:
    with pytest.raises(ValueError, match="addresses are not fetched"):
        wm.check("Lunch costs 7 euros.", "https://example.com/menu")


def test_files_of_a_folder_that_are_not_of_a_known_kind_are_named(tmp_path: Path) -> None:
    for name in ("a.txt", ".hidden", *(f"{number}.pdf" for number in range(7))):
        (tmp_path / name).write_text("Lunch costs 7 euros.")
    named = NamedTexts.of(tmp_path)
    assert [*named.texts] == ["a.txt"]
    [problem] = named.problems
    assert "0.pdf, 1.pdf, 2.pdf, 3.pdf, 4.pdf and 2 more could not be read" in problem
