"""Markup of an answer changes no claim, and what claims nothing is no claim."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.checking.units import units, without_markup
from whymatch.text.document import Document, document
from whymatch.text.spans import sentences

_MARKUP = ["1. ", "- ", "* ", "## ", "**", "_", " [1]", "【2†s】", "\n", "| a | b |\n", "|---|---|\n", "[x](y)", "`"]
_PIECES = st.sampled_from([*_MARKUP, " ", "?", ":", ". ", "Refunds take 5 days", "snake_case", "Here is a summary"])
FACTS = ["Refunds are issued within 5 days.", "Items must be unused."]


def split(text: str) -> Document:
    return document(text, sentences)


@given(st.lists(_PIECES, max_size=15).map("".join))
def test_every_piece_lies_in_the_answer_and_no_letter_is_in_two_of_them(text: str) -> None:
    assert len(without_markup(text)) == len(text)
    claims, others = units(text, split)
    spans = sorted([unit.span for unit in claims] + [piece.span for piece in others])
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    for unit in claims:
        assert len(unit.text) == unit.span.end - unit.span.start
        assert unit.text == unit.text.strip() != ""


@pytest.mark.parametrize(
    "written",
    [
        "1. {}\n2. {}",
        "- {}\n- {}",
        "* **{}**\n* _{}_",
        "a) {}\nb) {}",
        "{} [1] {} [2, 3]",
        "{}[1] {}【4†source】",
        "## Policy\n{} {}",
        "**Policy**\n{} {}",
        "Here is a summary:\n{} {}",
        "Policy\n======\n{} {}",
        "Sure! {} {} Let me know if you have questions!",
        "| Rule |\n|------|\n| {} |\n| {} |",
        "> {}\n> {}\n\n---",
        "{} (Source: handbook.txt)\n{} [Source 2]",
        "What are the rules? {} {} I hope this helps!",
    ],
)
def test_markup_and_what_claims_nothing_change_no_claim(written: str) -> None:
    claims, _ = units(written.format(*FACTS), split)
    assert [" ".join(unit.text.split()) for unit in claims] == FACTS


@pytest.mark.parametrize(
    "claim",
    [
        "The price is 9 euros:",
        "Feel free to smoke in the lobby.",
        "5 * 3 is 15.",
        "snake_case is used.",
        "Here is where he was born.",
        "If you have questions, the desk is open until 8 pm.",
        "If you need help with rent, there is a fund for details; you can ask the city for 500 EUR.",
        "If you need help, the office has details; tenants may ask daily.",
    ],
)
def test_what_looks_like_markup_or_an_offer_is_still_a_claim(claim: str) -> None:
    [unit], others = units(claim, split)
    assert (unit.text, others) == (claim, [])


def test_a_unit_of_measure_may_end_a_sentence() -> None:
    assert [unit.text for unit in units("Bake for 25 min. Cool it. It is 5 min. away.", split)[0]] == [
        "Bake for 25 min.",
        "Cool it.",
        "It is 5 min. away.",
    ]


def test_a_letter_after_a_number_is_a_unit_and_others_are_initials() -> None:
    sentences_of_units = [
        "The machine weighs 4200 g.",
        "The tank holds 1.5 l.",
        "It has 900 W.",
        "In 1990 J. Smith came.",
    ]
    assert [unit.text for unit in units(" ".join(sentences_of_units), split)[0]] == sentences_of_units
