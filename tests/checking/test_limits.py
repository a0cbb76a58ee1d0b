"""What makes a claim more than what a text says, though the text has its words."""

import pytest

from whymatch.checking.limits import limits

CLAIMS = [
    "The drug cures cancer.",
    "Employees receive a bonus.",
    "The minister took bribes.",
    "Windows 7 is supported.",
]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("The study examined whether {}.", ["whether"]),
        ("If profits rise by ten percent, {}.", ["if"]),
        ("{} unless the board objects.", ["unless"]),
        ("It is never true that {}.", None),
        ("Rumours that {} were denied.", ["rumours", "denied"]),
        ("{}.", []),
        ("{}, and if you need help, call us.", []),
        ("It is unclear whether it pays; {}.", []),
        ("Nobody slept. {}, not more.", []),
    ],
)
def test_a_condition_or_doubt_about_the_words_of_a_claim_limits_it(claim: str, source: str, words: list[str]) -> None:
    text = source.format(claim.rstrip("."))
    if words is not None:
        assert limits(claim, text) == words
    assert limits(text, text) == []


@pytest.mark.parametrize(
    ("claim", "source", "limit"),
    [
        ("The shop is open on Sundays.", "The shop is open Monday to Saturday and closed on Sundays.", "closed"),
        ("The shop is closed on Sundays.", "The shop is open Monday to Saturday and closed on Sundays.", ""),
        ("The tenant may keep pets.", "The tenant may not keep pets without written consent.", "not"),
        ("Windows 7 is still supported.", "Version 4.2 drops support for Windows 7.", "drops"),
        ("The author wrote the letter.", "The author denied that he wrote the letter.", "denied"),
        ("Only members vote.", "Members and guests vote.", "only"),
        ("Only members vote.", "Voting is restricted to members.", ""),
        ("All rooms have a view.", "Most rooms have a view.", "all"),
        ("Smoking is forbidden.", "Smoking is not allowed.", ""),
        ("Nobody was hurt.", "No one was hurt.", ""),
        ("When it rains, the concert is cancelled.", "The concert is cancelled if it rains.", ""),
        ("It costs 5 euros.", "It costs 5 euros, not 7.", ""),
        ("Shipping is free.", "Shipping is free for orders above 50 euros.", "for"),
        ("Shipping is free.", "Shipping is free for orders of at least 50 euros.", "for"),
        ("Shipping is free for orders above 50 euros.", "Shipping is free for orders above 50 euros.", ""),
        ("Shipping is free.", "Shipping is free for members.", ""),
        ("The machine is covered.", "The machine was covered for two years until 2024; now it is not.", "until"),
        ("It is covered for three years.", "It was covered for two years until 2024; now it is three years.", ""),
        ("The machine was covered.", "The machine was covered for two years until 2024.", ""),
    ],
)
def test_negations_denials_opposites_and_how_many(claim: str, source: str, limit: str) -> None:
    assert limits(claim, source) == [limit] * bool(limit)


@pytest.mark.parametrize(
    "word", ["disease", "immunity", "discount", "image", "unit", "interest", "distance", "university"]
)
def test_a_word_that_begins_like_a_denial_is_none(word: str) -> None:
    claim = f"The {word} lasts for two years."
    assert limits(claim, f"The trial failed to show that the {word} lasts for two years.") == ["failed"]


def test_a_claim_that_denies_by_a_prefix_may_rest_on_a_denial() -> None:
    assert limits("The plan is unapproved by the board.", "The plan was not approved by the board.") == []
