"""Questions say nothing, a heading completes its own section only, and a row of a table is read by itself."""

from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whymatch as wm
from whymatch.checking.structure import cut_by_structure, structure
from whymatch.text.document import document
from whymatch.text.encoders import models
from whymatch.text.spans import sentences

needs_a_model = pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed")
_PIECES = st.sampled_from(
    [
        "# Mini\n",
        "## Price\n",
        "**Note**\n\n",
        "| a | b |\n",
        "|---|---|\n",
        "a | b\n",
        "Is it?",
        "How?",
        " ",
        "\n",
        "No. ",
    ]
)
PRICES = "| Model | Price |\n|---|---|\n| Mini | 99 euros |\n| Pro | 249 euros |"
RETURNS = "| Item | Returnable |\n|---|---|\n| Machines | yes |\n| Opened capsules | no |"
MODELS = (
    "# Mini\n\nThe price is 99 euros. It has a warranty of 1 year.\n\n"
    "# Pro\n\nThe price is 249 euros. It has a warranty of 3 years."
)


@given(st.lists(_PIECES, max_size=20).map("".join))
def test_cut_spans_lie_in_the_text_in_order_and_only_what_is_before_a_span_stands_above_it(text: str) -> None:
    cut = cut_by_structure(document(text, sentences))
    assert all(a.end <= b.start for a, b in pairwise(cut.spans))
    places = structure(cut)
    assert len(places) == len(cut)
    for number, place in enumerate(places):
        assert all(other < number for other in place.above)
        assert {places[other].kind for other in place.above} <= {"heading", "question"}


def test_a_heading_stands_above_its_section_and_a_header_above_its_rows() -> None:
    cut = cut_by_structure(document(f"# A\nOne.\n\n## B\nTwo.\n\n{PRICES}\n\n# C\nThree.", sentences))
    above = {
        piece: {cut.pieces[j] for j in place.above} for piece, place in zip(cut.pieces, structure(cut), strict=True)
    }
    assert above["One."] == {"# A"}
    assert above["Two."] == {"# A", "## B"}
    assert above["| Mini | 99 euros |"] == {"# A", "## B", "| Model | Price |"}
    assert above["Three."] == {"# C"}


@needs_a_model
@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("Can I return opened capsules? No.", "Opened capsules can be returned."),
        (
            "## Can I return opened capsules?\n\nNo, for hygienic reasons they are excluded.",
            "I can return opened capsules.",
        ),
        ("Is shipping to Austria free? Unfortunately not.", "Shipping to Austria is free."),
        ("Q: Is Austria covered?\nA: No.", "Austria is covered."),
        ("Is Austria covered?", "Austria is covered."),
        ("When can opened capsules be returned? Never.", "Opened capsules can be returned."),
    ],
)
def test_a_question_supports_nothing_by_itself(source: str, claim: str) -> None:
    [found] = wm.check(claim, source).claims
    assert (found.verdict, found.support) == ("unsupported", 0.0)
    assert found.reason == "No source says this; source 1 only asks it."


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Opened capsules returnable?", "question"),
        ("After the package has been opened by the customer, can I return the capsules within sixty days?", "question"),
        (
            "The new video, which debuted on Friday morning, is mature, tasteful, and, dare I say, quite sexy?",
            "statement",
        ),
        ("# Returns", "heading"),
        ("# The city council votes to close the old bridge for two years", "statement"),
    ],
)
def test_long_sentences_and_headlines_are_statements(text: str, kind: str) -> None:
    assert [place.kind for place in structure(document(text, sentences))] == [kind]


@needs_a_model
def test_an_answer_is_completed_by_its_own_question_only() -> None:
    source = "How much does the Mini cost? 99 euros. How much does the Pro cost? 249 euros."
    right, wrong = wm.check("The Pro costs 249 euros. The Mini costs 249 euros.", source).claims
    assert (right.verdict, len(right.citations)) == ("supported", 2)
    assert wrong.verdict != "supported"


@needs_a_model
def test_a_claim_takes_words_of_one_row_only() -> None:
    answer = (
        "The Mini costs 99 euros. The Pro costs 249 euros. The Mini costs 249 euros. The price of the Pro is 99 euros."
    )
    verdicts = [claim.verdict for claim in wm.check(answer, PRICES).claims]
    assert verdicts[:2] == ["supported"] * 2
    assert "supported" not in verdicts[2:]


@needs_a_model
@pytest.mark.parametrize("item", ["Machines", "Opened capsules"])
@pytest.mark.parametrize("verb", ["are", "are not"])
def test_a_cell_that_says_yes_or_no_supports_nothing_by_itself(item: str, verb: str) -> None:
    [claim] = wm.check(f"{item} {verb} returnable.", RETURNS).claims
    assert claim.verdict == "unsupported"
    assert "No source says this plainly" in claim.reason


@needs_a_model
def test_a_heading_lends_its_words_to_its_own_section_only() -> None:
    right = "The Mini has a warranty of 1 year. The Pro has a warranty of 3 years. The price of the Pro is 249 euros."
    wrong = "The Mini has a warranty of 3 years. The Pro has a warranty of 1 year. The price of the Mini is 249 euros."
    assert {claim.verdict for claim in wm.check(right, MODELS).claims} == {"supported"}
    assert "supported" not in {claim.verdict for claim in wm.check(wrong, MODELS).claims}


@needs_a_model
def test_web_pages_have_sections_and_rows_too(tmp_path: Path) -> None:
    page = tmp_path / "models.html"
    page.write_text(
        "<h1>Mini</h1><p>It has a warranty of 1 year.</p><h1>Pro</h1><p>It has a warranty of 3 years.</p>"
        "<h1>Prices</h1><table><tr><th>Model</th><th>Price</th></tr><tr><td>Mini</td><td>99 euros</td></tr>"
        "<tr><td>Pro</td><td>249 euros</td></tr></table>"
    )
    answer = "The Mini has a warranty of 3 years. The Mini costs 249 euros. The Pro has a warranty of 3 years."
    *wrong, right = wm.check(answer, page).claims
    assert "supported" not in {claim.verdict for claim in wrong}
    assert right.verdict == "supported"


def _read_rows(text: str) -> list[str]:
    cut = cut_by_structure(document(text, sentences))
    return [place.reading for place in structure(cut) if place.kind == "row"]


def test_a_bar_behind_a_backslash_is_a_character_of_its_cell() -> None:
    assert _read_rows("| Name | Load |\n|---|---|\n| Duo A\\|B | 5 kg |") == ["Name: Duo A|B; Load: 5 kg"]


@pytest.mark.parametrize("rule", ["|-|-|", "|:-:|-:|", "| --- | --- |", "-|-"])
def test_a_rule_may_have_one_dash(rule: str) -> None:
    assert _read_rows(f"| Name | Weight |\n{rule}\n| Mini | 9 kg |") == ["Name: Mini; Weight: 9 kg"]


def test_cells_that_no_header_stands_above_have_none() -> None:
    assert _read_rows("| Name | Load |\n|---|---|\n| x | y | 5 kg |") == ["x; y; 5 kg"]


def test_a_row_is_one_span_whatever_sentences_are_in_it() -> None:
    rows = _read_rows(
        "| Name | Note | Weight |\n|---|---|---|\n| Mini | Good. New in May. | 9 kg |\n| Is it? | Yes. | 1 kg |"
    )
    assert rows == ["Name: Mini; Note: Good. New in May.; Weight: 9 kg", "Name: Is it?; Note: Yes.; Weight: 1 kg"]


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_a_comment_in_a_block_of_code_is_no_heading(fence: str) -> None:
    cut = cut_by_structure(document(f"# Pro\n\n{fence}\n# start Mini mode\n{fence}\n\nIt costs 50 euros.", sentences))
    headings = [number for number, place in enumerate(structure(cut)) if place.kind == "heading"]
    assert [cut.pieces[number].strip() for number in headings] == ["# Pro"]
    assert structure(cut)[-1].above == {headings[0]}
