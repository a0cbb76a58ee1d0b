"""What is called reworded, and what matters: added words, words such as "most", emphasis, and two turns that cancel."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whymatch as wm
from tests.versions.test_comparing import PARAGRAPHS, ByLetters, compared
from whymatch.versions.comparison import Change
from whymatch.versions.rewording import may_say_the_same, only_emphasis_differs
from whymatch.versions.words import differing


@given(
    st.sampled_from(PARAGRAPHS).map(str.split),
    st.data(),
    st.sampled_from(["working", "shipping", "only", "most", "very", "Leeds"]),
)
def test_a_content_word_or_a_limit_that_was_put_in_or_taken_out_is_never_reworded(
    kept: list[str], data: st.DataObject, added: str
) -> None:
    place = data.draw(st.integers(1, len(kept) - 1))
    old, new = " ".join(kept), " ".join([*kept[:place], added, *kept[place:]])
    assert not may_say_the_same(old, new, differing(old, new))
    assert not may_say_the_same(new, old, differing(new, old))


@given(st.permutations(PARAGRAPHS[0].split()))
def test_the_same_words_in_another_order_may_say_the_same(order: list[str]) -> None:
    new = " ".join(order)
    assert may_say_the_same(PARAGRAPHS[0], new, differing(PARAGRAPHS[0], new))


@given(st.sets(st.integers(0, 10)), st.sampled_from(["*", "**", "_", "`"]))
def test_emphasis_put_in_or_taken_out_is_no_change_of_words(places: set[int], mark: str) -> None:
    plain = PARAGRAPHS[0].split()
    marked = " ".join(f"{mark}{word}{mark}" if n in places else word for n, word in enumerate(plain))
    assert only_emphasis_differs(" ".join(plain), marked)
    assert all(one.reworded for one in compared(" ".join(plain), marked).changes if one.left and one.edited)
    assert not only_emphasis_differs(" ".join(plain), marked.replace("rent", "fee"))
    assert not only_emphasis_differs("a *b", "a b"), "a star that closes nowhere is a character"


def only_change(old: str, new: str) -> Change:
    (change,) = wm.compare(old, new).changes
    return change


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("All users must register.", "Most users must register."),
        ("You must reply within 14 days.", "You must reply within 14 working days."),
        ("The fee includes VAT.", "The fee includes VAT and shipping."),
        ("Very common side effects are nausea.", "Common side effects are nausea."),
        ("Only adults may enter.", "Adults may enter."),
    ],
)
def test_what_the_model_takes_for_the_same_is_not_reworded_if_more_or_less_is_said(
    minilm: Path, old: str, new: str
) -> None:
    assert (only_change(old, new).kind, only_change(old, new).reworded) == ("changed", False)


def test_a_sentence_in_other_words_is_reworded(minilm: Path) -> None:
    assert only_change("The landlord repairs the roof.", "The owner fixes the roof.").reworded


def test_a_negation_and_the_other_bound_of_the_same_number_cancel(minilm: Path) -> None:
    assert not only_change("Store below 25 °C.", "Do not store above 25 °C.").matters
    assert only_change("Store below 25 °C.", "Do not store above 20 °C.").matters
    assert only_change("Store below 25 °C.", "Store above 25 °C.").matters
    assert only_change("Store below 25 °C.", "Do not store below 25 °C.").matters


def test_passages_too_long_to_be_read_are_marked_word_by_word_and_said_to_be_unread() -> None:
    long = "The tenant pays rent and keeps the house clean, " * 100
    comparison = wm.compare(f"{long}today.", f"{long}tomorrow.", encoder=ByLetters())
    (change,) = comparison.changes
    assert [comparison.right[mark] for mark in change.marks[1]] == ["tomorrow"]
    assert (change.relation, change.reworded) == (None, False)
    assert any("2,000 characters" in remark for remark in comparison.remarks)
