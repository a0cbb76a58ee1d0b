"""The same wording: spelling is made equal, and nothing that changes what a text says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.matching.wording import same_wording

WORDS = str.split(
    """the lease ends after 24 months two years (24) 2,000 2000 can't cannot don't it's – - “quoted” 5 mg 50 5% percent
    on May 5, 2020 5th of March . , ! not never Anna's half an hour 30 minutes about over"""
)
SENTENCE = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The lease ends after twenty-four (24) months.", "The lease ends after two years"),
        ("It cost 2,000 dollars!", "It cost $2000 ."),
        ("We can't leave: it's well-known.", "We cannot leave : it is well known"),
        ("He said “no”.", "He said ''no''."),
        ("Paid on March 5, 2020", "Paid on 5 March 2020."),
        ("Half an hour  later", "30 minutes later"),
    ],
)
def test_spelling_alone_makes_no_difference(left: str, right: str) -> None:
    one, other = same_wording(left, right)
    assert one == other


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Take 5 mg.", "Take 50 mg."),
        ("It is open.", "It is not open."),
        ("Paid in May 2020", "Paid on May 5, 2020"),
        ("about 8 km", "8 km"),
        ("over 20 people", "25 people"),
        ("one of them", "1 of them each week"),
        ("The dog's bone", "The dogs bone"),
        ("Is it open?", "It is open."),
    ],
)
def test_what_is_said_stays_different(left: str, right: str) -> None:
    one, other = same_wording(left, right)
    assert one.lower() != other.lower()


@given(SENTENCE, SENTENCE)
def test_the_other_order_of_the_texts_gives_the_same_two(left: str, right: str) -> None:
    assert same_wording(right, left) == same_wording(left, right)[::-1]


@given(st.text(max_size=60), st.text(max_size=60))
def test_every_text_has_a_wording(left: str, right: str) -> None:
    assert all(isinstance(text, str) for text in same_wording(left, right))


@given(SENTENCE)
def test_a_text_beside_itself_stays_itself(text: str) -> None:
    one, other = same_wording(text, text)
    assert one == other


@pytest.mark.parametrize("unit", [" ", "."])
def test_long_texts_of_any_kind_have_a_wording(unit: str) -> None:
    text = f"He{unit * (50_000 // len(unit))}left"
    one, other = same_wording(text, text + " 5")
    assert other == one + " 5"


def test_a_list_of_numbers_is_written_once() -> None:
    assert same_wording("Rows 1,2,4 count.", "Count rows 1,2,4.") == ("Rows 1,2,4 count", "Count rows 1,2,4")
