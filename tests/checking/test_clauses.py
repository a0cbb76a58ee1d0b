"""Clauses lie in their sentence, in order, and lose no word but conjunctions."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.checking.clauses import MIN_WORDS, clauses

_PARTS = st.sampled_from(
    ["the dog barks", "a", ", and ", "; ", " but ", ", which ", "24 months", " – ", " ", "it rained all day", ":"]
)


@given(st.lists(_PARTS, max_size=12).map("".join))
def test_clauses_lie_in_the_text_in_order_and_have_words_enough(text: str) -> None:
    spans = clauses(text)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    for start, end in spans:
        assert 0 <= start < end <= len(text)
        assert len(spans) == 1 or len(text[start:end].split()) >= MIN_WORDS
    lost = text
    for start, end in reversed(spans):
        lost = lost[:start] + lost[end:]
    assert not {"dog", "months", "rained"} & {*lost.split()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The office opens at 9:30 and it closes at noon.", ["The office opens at 9:30", "it closes at noon."]),
        ("Bring bread, milk and cheese.", ["Bring bread, milk and cheese."]),
        ("He was born in Rome, which he left in 1990.", ["He was born in Rome", "which he left in 1990."]),
        ("", []),
        (" ", []),
    ],
)
def test_sentences_are_cut_where_a_clause_ends(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in clauses(text)] == expected
