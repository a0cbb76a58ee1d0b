"""Blocks of Markdown and contracts; documents of Word and HTML as text, and those that are refused."""

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.datasets.office import document_text
from whymatch.text.document import Document
from whymatch.text.spans import is_blank
from whymatch.versions.blocks import blocks


def pieces(text: str) -> list[str]:
    return [text[block.span.start : block.span.end] for block in blocks(text)]


def test_a_number_is_no_sentence_and_stays_with_its_clause() -> None:
    clauses = "3. Rent\n3.1 The tenant pays. It is due on Monday.\n3.2. No. 5 is let.\n"
    text = f"{clauses}(a) gas\n(b) water\n§ 4 Keys are returned.\n§ 5 Dogs stay.\n"
    assert pieces(text) == [
        "3. Rent", "3.1 The tenant pays.", "It is due on Monday.", "3.2. No. 5 is let.",
        "(a) gas", "(b) water", "§ 4 Keys are returned.", "§ 5 Dogs stay.",
    ]  # fmt: skip
    assert [block.label for block in blocks(text)] == ["3", "3.1", "", "3.2", "(a)", "(b)", "§ 4", "§ 5"]
    assert text[blocks(text)[1].body :].startswith("The tenant pays.")


@pytest.mark.parametrize(
    "text",
    [
        "24 months is the term.", "2024 was dry.", "5 km from here is a lake.", "A garden is there.", "I agree to it.",
        "0.5 mg of the drug is given daily.", "12.50 euros per hour are paid.", "- 3.5 percent for loans",
        "1.5.2024 is a holiday.", "12.05.2024 Vertragsbeginn", "12.05. Vertragsbeginn", "7.30 p.m.: Dinner",
        "Clause 5.2 applies.", "Article 5 shall survive.", "C. difficile is a germ.", "1. FC Köln won.",
        "3.5 percent for loans\n7.5 percent for others", "Clause 5 applies.\nClause 6 applies.",
    ],
)  # fmt: skip
def test_an_amount_a_date_or_a_reference_at_the_start_of_a_line_is_no_number_of_a_clause(text: str) -> None:
    assert {block.label for block in blocks(text)} == {""}
    own = blocks(text)[0]
    assert own.body == (2 if text.startswith("-") else 0)


@pytest.mark.parametrize(
    "labels",
    [
        ["1.", "2."],
        ["2.9", "3.1"],
        ["3.", "3.1", "3.2", "4."],
        ["(i)", "(ii)"],
        ["(h)", "(i)"],
        ["Article 5", "Article 6"],
    ],
)
def test_numbers_in_a_sequence_are_numbers_of_clauses(labels: list[str]) -> None:
    text = "\n\n".join(f"{label} The tenant pays for it, and nobody else does." for label in labels)
    assert [block.label for block in blocks(text)] == [label.rstrip(".") for label in labels]


@pytest.mark.parametrize(
    "line", ["İ. Ahmet geldi.", "ſ) a", "K. b", f"Section {'9' * 5000} Rent", "Clause 1(" + "a" * 500 + ") x"]
)
def test_a_line_that_hardly_begins_with_a_number_is_read(line: str) -> None:
    assert " ".join(line[start:end] for start, end in (block.span for block in blocks(line))).split() == line.split()


@pytest.mark.parametrize("label", ["Section 5(b)", "§ 5(2)", "Clause 5(c)(ii)"])
def test_the_number_of_a_paragraph_is_a_part_of_the_number(label: str) -> None:
    (block,) = blocks(f"{label} Rent")
    assert block.label.strip() == label


def test_a_line_of_a_list_is_no_heading() -> None:
    text = "Rates\n\nExpress: 9.90 €\n\nStandard: 5.90 €\n\n- Gas\n- Water\n"
    assert [block.heading for block in blocks(text)] == [True, False, False, False, False]


def test_headings_rows_and_items_of_markdown_are_blocks() -> None:
    table = "| item | price |\n|------|-------|\n| gas. | 5 EUR |\n"
    text = f"Title\n=====\n\n## 2. Fees\n{table}\n* one. two.\n* three\n\n**1.2** Bold clause.\n"
    assert pieces(text) == [
        "Title",
        "## 2. Fees",
        "| item | price |",
        "| gas. | 5 EUR |",
        "* one.",
        "two.",
        "* three",
        "**1.2** Bold clause.",
    ]
    assert [block.heading for block in blocks(text)][:3] == [True, True, False]


def test_lines_that_were_wrapped_are_one_sentence() -> None:
    first = "The tenant pays the rent of nine hundred euros at the beginning of\neach month."
    assert pieces(f"{first} The landlord\nkeeps the roof tight.\n") == [first, "The landlord\nkeeps the roof tight."]


@given(st.text(st.sampled_from("aB1. \n|-#*()i§\r\t\u200b"), max_size=60))
def test_blocks_lie_in_the_text_in_order_and_none_is_blank(text: str) -> None:
    own = blocks(text)
    Document(text, tuple(block.span for block in own))
    for block in own:
        assert block.span.start <= block.body < block.span.end
        assert not is_blank(text[block.body : block.span.end])
    covered = {place for block in own for place in range(*block.span)}
    assert not any(text[n].isalnum() for n in range(len(text)) if n not in covered)


SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(body: str, head: str = "", name: str = "word/document.xml") -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, f'{head}<w:document xmlns:w="{SPACE}"><w:body>{body}</w:body></w:document>')
    return data.getvalue()


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def test_a_document_of_word_is_read_as_a_person_sees_it() -> None:
    row = f"<w:tbl><w:tr><w:tc>{paragraph('gas')}</w:tc><w:tc>{paragraph('5 &lt; 6')}</w:tc></w:tr></w:tbl>"
    deleted = "<w:p><w:del><w:r><w:t>gone</w:t></w:r></w:del><w:r><w:t>stays</w:t><w:tab/><w:t>here</w:t></w:r></w:p>"
    text = document_text(docx(paragraph("3.1 Rent is due.") + row + deleted), "a.docx")
    assert text == "3.1 Rent is due.\n\n| gas | 5 < 6 |\n\nstays\there"


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefg", "bcdefgh", strict=True))
    + "]>"
)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (docx(paragraph("&h;"), BOMB), "entities"),
        (docx(paragraph("&x;"), '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>'), "entities"),
        (docx(paragraph("a" * 1_000_000)), "0.5 MB of text"),
        (docx(" " * 11_000_000), "10 MB of XML"),
        (docx("<w:p>" * 300 + "</w:p>" * 300), "nested"),
        (docx("<w:p>"), "no document of Word"),
        (docx("", name="other.xml"), "no document of Word"),
        (b"PK\x03\x04 and nothing more", "no document of Word"),
        (docx(paragraph("x"))[:-40], "no document of Word"),
    ],
    ids=["laughs", "external", "long", "bomb", "deep", "open", "another", "broken", "cut"],
)
def test_hostile_and_broken_documents_of_word_are_refused(data: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says) as raised:
        document_text(data, "contract.docx", max_mb=0.5)
    assert "contract.docx" in str(raised.value)


def test_html_is_known_by_its_name_or_its_first_tag_and_other_text_stays() -> None:
    assert document_text(b"<p>Rent &amp; keys<script>no()</script>", "a.html") == "Rent & keys"
    assert document_text(b"<!DOCTYPE html><p>Rent", "-") == "Rent"
    assert document_text(b"<p>Rent", "a.md") == "<p>Rent"


def test_a_row_of_a_table_in_html_is_one_block() -> None:
    rows = "<tr><th>item</th>\n<th>price</th></tr><tr class=x><td>gas. oil.</td><td align=right>5</td></tr>"
    text = document_text(f"<table>{rows}</table>".encode(), "a.html")
    assert pieces(text) == ["| item | price |", "| gas. oil. | 5 |"]


def test_items_of_lists_in_html_are_no_headings() -> None:
    text = document_text(
        b"<ul><li>Express: 9.90 EUR</li><li class=x><p>Standard</p></li><li>3. Gas</li></ul>", "a.html"
    )
    assert text == "- Express: 9.90 EUR\n\n- Standard\n\n3. Gas"
    assert not any(block.heading for block in blocks(text)[:2])
