"""`whymatch bitext` from its files to what it writes."""

import io
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.running import Align, Ran, refused, strict, written
from tests.text.encoders.test_multilingual import encoder
from tests.translations.test_bitext import ENGLISH, GERMAN
from whymatch.cli import main
from whymatch.text.encoders.multilingual import MultilingualEncoder

__all__ = ["encoder"]  # a fixture


@pytest.fixture
def bitext(encoder: MultilingualEncoder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Align:
    """The verb in this process, with bytes for standard input."""

    def run(*arguments: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return Ran(main(["bitext", *map(str, arguments)]), *capsys.readouterr())

    return run


def test_every_output_from_two_files(bitext: Align, tmp_path: Path) -> None:
    source = written(tmp_path, "en.txt", " ".join(ENGLISH))
    translation = written(tmp_path, "de.html", f"<p>{' '.join(GERMAN)}</p>")
    outputs = [tmp_path / f"out.{ending}" for ending in ("tsv", "tmx", "html")]
    ran = bitext(source, translation, *(part for file in outputs for part in ("-o", file)))
    assert ran.status == 0
    assert ran.out.startswith("5 passages, 4 of them one sentence each, cover 83% of the source and 86% ")
    assert "1 : 1  4×, 1 : 2  1×" in ran.out
    assert "Source: English. Translation: German." in ran.out
    table, memory, page = (file.read_text(encoding="utf-8") for file in outputs)
    assert "My sister plays the violin.\t\t\t" in table.splitlines()
    languages = [
        one.attrib["{http://www.w3.org/XML/1998/namespace}lang"] for one in ElementTree.fromstring(memory).iter("tuv")
    ]
    assert languages[:2] == ["en", "de"]
    assert "no counterpart" in page


def test_json_lines_and_standard_input(bitext: Align, tmp_path: Path) -> None:
    source = written(tmp_path, "en.txt", "\n".join(ENGLISH))
    ran = bitext(source, "-", "--spans", "line", "--json", stdin="\n".join(GERMAN).encode())
    answer = strict(ran.out)
    assert [one["left"] for one in answer["passages"]] == [[0], [1], [3], [4], [5]]
    assert answer["alone"] == {"left": [2], "right": [4]}


def test_what_cannot_be_done_is_said_in_one_line(bitext: Align, tmp_path: Path) -> None:
    file = written(tmp_path, "en.txt", "This is the first one. And that is the other of the two.")
    assert "not both" in refused(bitext("-", "-"))
    assert ".tsv, .tmx, .html" in refused(bitext(file, file, "-o", tmp_path / "out.docx"))
    assert "No such file" in refused(bitext(file, tmp_path / "none.txt"))
    assert "whole spans" in refused(bitext(file, file, "--spans", "word"))
    assert "no folder" in refused(bitext(file, file, "-o", tmp_path / "none" / "out.tsv"))
    number = written(tmp_path, "number.txt", "12")
    assert "language of the translation is not recognised" in refused(bitext(file, number, "-o", tmp_path / "o.tmx"))
    assert "groups of 1 to 15" in refused(bitext(file, file, "--most", 99))
