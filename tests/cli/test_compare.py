"""`whymatch compare` from its files to its exit status."""

import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.running import EXAMPLES, Align, Ran, refused, strict, written
from tests.versions.test_blocks_and_files import docx, paragraph
from whymatch.cli import main

OLD, NEW = EXAMPLES / "contract-old.txt", EXAMPLES / "contract-new.txt"


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Align:
    """The verb in this process, with bytes for standard input."""

    def run(*arguments: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return Ran(main(["compare", *map(str, arguments)]), *capsys.readouterr())

    return run


def test_the_contract_of_the_examples(minilm: Path, compare: Align, tmp_path: Path) -> None:
    ran = compare(OLD, NEW, "--html", tmp_path / "page.html")
    assert ran.status == 0
    assert ran.out.startswith("3 changes that matter: a number in 2.1, a negation in 3.4, a number in 5.2; ")
    for line in (
        "@ ≠ 2.1, changed", "  ≠ number: 24 months → 36 months", "@ − 1.3, deleted", "@ + 1.3, new",
        "@ ↕ 6.2 → 2.3, moved", "@ ↕ 5.2 → 6.2, moved and edited", "@ ⇉ 3.3, split",
    ):  # fmt: skip
        assert line in ran.out.splitlines()
    assert "\x1b" not in ran.out, "no colours outside a terminal"
    assert "<h1" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_json_and_exit_codes(compare: Align) -> None:
    ran = compare(OLD, OLD, "--json", "--exit-code", "--no-relations")
    assert ran.status == 0
    assert strict(ran.out)["counts"]["same"] == 24
    assert compare("-", OLD, "--exit-code", "--no-relations", stdin=OLD.read_bytes()).status == 0
    assert compare(OLD, "-", "--exit-code", "--no-relations", stdin=b"").status == 1
    assert compare(OLD, "-", "--no-relations", stdin=b"").status == 0


def test_word_and_html_beside_plain_text(compare: Align, tmp_path: Path) -> None:
    word = written(tmp_path, "old.docx", docx(paragraph("1.1 Rent is due.") + paragraph("1.2 Dogs &amp; cats.")))
    page = written(tmp_path, "new.html", "<ul><li>1.1 Rent is due.</li><li>1.2 Dogs &amp; cats.</li></ul>")
    ran = compare(word, page, "--json", "--no-relations", "--exit-code")
    assert ran.status == 0
    assert [change["texts"] for change in json.loads(ran.out)["changes"]] == [
        ["Rent is due."] * 2,
        ["Dogs & cats."] * 2,
    ]


def test_what_cannot_be_compared_is_refused_in_one_line(compare: Align, tmp_path: Path) -> None:
    assert "not both" in refused(compare("-", "-"))
    assert "Spans are" in refused(compare(OLD, NEW, "--spans", "page"))
    assert "nowhere.txt" in refused(compare(OLD, tmp_path / "nowhere.txt"))
    assert "0.0001 MB" in refused(compare(OLD, NEW, "--max-mb", "0.0001"))
    assert "no document of Word" in refused(compare(OLD, written(tmp_path, "a.docx", b"PK\x03\x04")))
