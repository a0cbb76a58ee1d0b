"""What comparing two versions promises, whatever the texts; and what it finds in a contract."""

import json
import random
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whymatch as wm
from whymatch.text.spans import Span, words
from whymatch.versions.comparing import versions_of
from whymatch.versions.comparison import Change, Comparison

EXAMPLES = Path(__file__).parents[2] / "examples"
OLD, NEW = ((EXAMPLES / f"contract-{name}.txt").read_text(encoding="utf-8") for name in ("old", "new"))
OPPOSITES = {"split": "merged", "merged": "split", "new": "missing", "missing": "new"}


class ByLetters:
    """Vectors of how often each letter is in a text: close for similar texts, and quick."""

    name, contextual = "letters", False

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        letters = "abcdefghijklmnopqrstuvwxyz "
        rows = [
            [[text[a:b].lower().count(one) for one in letters] for a, b in own]
            for text, own in zip(texts, spans, strict=True)
        ]
        return [np.array(own, np.float32).reshape(len(own), len(letters)) for own in rows]


def compared(old: str, new: str, **more: Any) -> Comparison:
    return wm.compare(old, new, relations=False, encoder=ByLetters(), **more)


WORDS = str.split("tenant rent pays not 12 months the a of Leeds; garden repairs (b) – é x")
CLAUSES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)


@st.composite
def versions(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts, of which the second has clauses of the first in another order, with other words, or not at all."""
    old = draw(st.lists(CLAUSES, max_size=7))
    new = draw(st.lists(st.one_of(CLAUSES, st.sampled_from(old)) if old else CLAUSES, max_size=7))
    ends = draw(st.sampled_from([".\n\n", ". ", "\n", ".\n- ", "\n2.1 "]))
    return ends.join(old), ends.join(new)


@given(versions())
@settings(max_examples=60)
def test_every_block_of_both_versions_is_in_exactly_one_change(pair: tuple[str, str]) -> None:
    comparison = compared(*pair)
    for side in ("left", "right"):
        numbers = [n for change in comparison.changes for n in getattr(change, side)]
        assert sorted(numbers) == [*range(len(getattr(comparison, side)))]
    json.dumps(comparison.to_dict(), allow_nan=False)
    assert comparison.verdict
    assert str(comparison)


@given(versions())
@settings(max_examples=60)
def test_kinds_say_how_many_blocks_there_are_and_same_means_the_same_words(pair: tuple[str, str]) -> None:
    sizes = {"missing": (1, 0), "new": (0, 1), "same": (1, 1), "changed": (1, 1), "moved": (1, 1)}
    comparison = compared(*pair)
    for change in comparison.changes:
        if change.kind in sizes:
            assert (len(change.left), len(change.right)) == sizes[change.kind]
        else:
            assert sorted([len(change.left), len(change.right)])[0] == 1
            assert (len(change.right) > 1) == (change.kind == "split")
        if change.left and change.right:
            assert change.edited == (bare(comparison, change, 0) != bare(comparison, change, 1))
        assert (change.kind != "same") or not change.edited


def bare(comparison: Comparison, change: Change, side: int, marks: Sequence[Span] = ()) -> list[str]:
    """The words of one side of a change that are in none of the marks, without numbers and bullets."""
    version = versions_of(comparison.left.text, comparison.right.text)[side]
    own = [version.blocks[number] for number in (change.left, change.right)[side]]
    spans = [
        Span(block.body + a, block.body + b)
        for block in own
        for a, b in words(version.text[block.body : block.span.end])
    ]
    return [version.text[slice(*span)] for span in spans if not any(start <= span.start < end for start, end in marks)]


@given(versions())
@settings(max_examples=60)
def test_without_the_marked_words_both_sides_are_equal_and_each_marked_word_is_needed(pair: tuple[str, str]) -> None:
    comparison = compared(*pair)
    for change in comparison.changes:
        if change.left and change.right:
            remains = [bare(comparison, change, side, change.marks[side]) for side in range(2)]
            assert remains[0] == remains[1]
            whole = [bare(comparison, change, side) for side in range(2)]
            if any(is_inside(*order) for order in (whole, whole[::-1])):
                assert not all(change.marks), "words are marked on one side alone where the other has nothing else"


def is_inside(few: Sequence[str], many: Sequence[str]) -> bool:
    """Whether some words are others with more between them."""
    rest = iter(many)
    return all(word in rest for word in few)


@given(versions())
@settings(max_examples=60)
def test_the_other_way_round_gives_the_mirrored_changes(pair: tuple[str, str]) -> None:
    def seen(comparison: Comparison, mirrored: bool) -> set[Any]:
        turn = -1 if mirrored else 1
        return {
            (
                OPPOSITES.get(one.kind, one.kind) if mirrored else one.kind,
                one.edited,
                *(one.left, one.right)[::turn],
                one.marks[::turn],
            )
            for one in comparison.changes
        }

    old, new = pair
    assert seen(compared(old, new), False) == seen(compared(new, old), True)


@given(versions())
@settings(max_examples=30)
def test_a_text_beside_itself_is_the_same(pair: tuple[str, str]) -> None:
    for text in pair:
        comparison = wm.compare(text, text, relations=False, encoder=None)
        assert comparison.same
        assert {change.kind for change in comparison.changes} <= {"same"}
        assert len(comparison.changes) == len(comparison.left)


PARAGRAPHS = [
    "The tenant pays the rent on the first day of the month.",
    "Dogs may be kept in the garden if neighbours agree.",
    "A deposit of two rents is held by the bank.",
    "Damage by storms is covered by the insurance of the house.",
    "Visitors park their cars behind the old stable.",
    "Every winter the chimney is swept at the landlord's cost.",
]


@pytest.mark.parametrize("seed", range(12))
def test_paragraphs_in_another_order_are_the_same_or_moved(seed: int) -> None:
    order = random.Random(seed).sample(PARAGRAPHS, len(PARAGRAPHS))
    comparison = compared("\n\n".join(PARAGRAPHS), "\n\n".join(order))
    assert {change.kind for change in comparison.changes} <= {"same", "moved"}
    assert not any(change.edited for change in comparison.changes)
    assert comparison.same == (order == PARAGRAPHS)


@pytest.mark.parametrize("place", range(len(PARAGRAPHS)))
def test_one_clause_put_in_or_taken_out_is_one_change(place: int) -> None:
    without = [*PARAGRAPHS[:place], *PARAGRAPHS[place + 1 :]]
    more = compared("\n\n".join(without), "\n\n".join(PARAGRAPHS))
    assert [change.right for change in more.changes if change.kind != "same"] == [(place,)]
    assert more.counts["new"] == 1
    less = compared("\n\n".join(PARAGRAPHS), "\n\n".join(without))
    assert less.counts["missing"] == 1
    assert less.counts["same"] == len(without)


def test_a_contract_is_compared_as_a_lawyer_would(minilm: Path) -> None:
    comparison = wm.compare(OLD, NEW)
    seen = {(one.kind, one.edited, one.was, one.where) for one in comparison.changes if one.kind != "same"}
    assert seen == {
        ("changed", True, "2.1", "2.1"),
        ("changed", True, "3.4", "3.4"),
        ("changed", True, "5.3", "5.2"),
        ("changed", True, "4.1", "4.1"),
        ("missing", False, "1.3", ""),
        ("new", False, "", "1.3"),
        ("moved", True, "5.2", "6.2"),
        ("moved", False, "6.2", "2.3"),
        ("split", True, "3.3", "3.3"),
    }
    matter = [(one.where, [conflict.kind for conflict in one.conflicts]) for one in comparison.changes if one.matters]
    assert matter == [("2.1", ["number"]), ("3.4", ["negation"]), ("5.2", ["number"])]
    assert comparison.changes[0].matters, "what matters comes first"
    assert comparison.verdict.startswith(
        "3 changes that matter: a number in 2.1, a negation in 3.4, a number in 5.2; 1 passage deleted, "
    )
    for change in comparison.changes:
        for conflict in change.conflicts:
            for spans, place in zip((conflict.left, conflict.right), change.places, strict=True):
                assert place is not None
                assert all(place.start <= start < end <= place.end for start, end in spans)


def test_what_was_moved_and_edited_is_found_and_an_unrelated_clause_is_not_linked(minilm: Path) -> None:
    moved = "The deposit of two rents is kept by the bank in a separate account until the lease ends."
    old = "\n\n".join([moved, *PARAGRAPHS])
    new = "\n\n".join([*PARAGRAPHS, moved.replace("two", "three").replace("kept", "held safely")])
    (change,) = [one for one in wm.compare(old, new).changes if one.kind != "same"]
    assert (change.kind, change.edited, change.matters) == ("moved", True, True)
    gone, came = "Visitors park their cars behind the old stable.", "Interest of four per cent is due on late payments."
    comparison = wm.compare(f"{PARAGRAPHS[0]}\n\n{gone}", f"{PARAGRAPHS[0]}\n\n{came}")
    assert {one.kind for one in comparison.changes} == {"same", "missing", "new"}


def test_clauses_that_have_only_other_numbers_are_the_same_but_renumbered() -> None:
    old = "1. Rent is due on Monday.\n2. Dogs are allowed in the garden.\n"
    new = "1. Keys are returned on the last day.\n2. Rent is due on Monday.\n3. Dogs are allowed in the garden.\n"
    comparison = compared(old, new)
    assert comparison.counts["same"] == 2
    assert all(change.renumbered for change in comparison.changes if change.kind == "same")
    assert not compared(old, new.split("\n", 1)[1]).same
    verdict = compared(old, new.split("\n", 1)[1]).verdict
    assert verdict == "Both versions have the same words: 2 passages unchanged (2 renumbered: 1. → 2., 2. → 3.)."


def test_only_blocks_that_changed_are_encoded() -> None:
    encoded: list[str] = []

    class Counting(ByLetters):
        def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
            encoded.extend(texts)
            return super().encode(texts, spans)

    changed = [*PARAGRAPHS[:3], PARAGRAPHS[3].replace("storms", "hail"), *PARAGRAPHS[4:]]
    wm.compare("\n\n".join(PARAGRAPHS), "\n\n".join(changed), relations=False, encoder=Counting())
    assert sorted(encoded) == sorted([PARAGRAPHS[3], changed[3]])


def test_other_spans_can_be_compared() -> None:
    comparison = compared("One day. Two nights.\n\nThree.", "One day. Two nights.\n\nThree.", spans="paragraph")
    assert len(comparison.changes) == 2
    with pytest.raises(ValueError, match="Spans are"):
        compared("a", "b", spans="page")


def test_texts_that_are_empty_or_no_unicode() -> None:
    assert compared("", "").verdict == "Both versions are empty."
    assert compared("", "").same
    assert compared("", "Rent is due.").counts["new"] == 1
    with pytest.raises(ValueError, match="Unicode"):
        compared("\ud800", "x")


def test_texts_in_another_language_are_compared_without_relations(minilm: Path) -> None:
    old = "Der Mieter zahlt die Miete am ersten Tag des Monats auf das Konto der Vermieterin in Leipzig."
    comparison = wm.compare(old, old.replace("ersten", "dritten"))
    assert comparison.counts["changed"] == 1
    assert any("English" in remark for remark in comparison.remarks)


LINES = """# 1. Terms & fees
1. Rent is due on the 3. of May.
1.1 The tenant pays 900 EUR.
(a) gas and 0.5 l of oil
(b) water: 3.5 percent
- 3.5 percent for loans
* two; three
2) Dogs (all of them) stay.
3) Cats may go.
**1.2** Bold, *and* _bolder_.
§ 4 Keys are returned.
| gas | 5 EUR | -3 |
> 12.05.2024 Vertragsbeginn
7.30 p.m.: Dinner
Clause 5.2 applies.
C. difficile is a germ.
iv. Öl kostet 1.000,50 €
Ware 2: 5 < 6 # yes""".splitlines()


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_a_change_of_any_character_is_reported_and_another_number_is_shown_beside_the_old_one(
    data: st.DataObject,
) -> None:
    lines = data.draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=5))
    line = data.draw(st.integers(0, len(lines) - 1))
    place = data.draw(st.sampled_from([n for n, one in enumerate(lines[line]) if not one.isspace()]))
    other = data.draw(st.sampled_from([one for one in "0179abvxC.,:;)(-+*#€|" if one != lines[line][place]]))
    changed = f"{lines[line][:place]}{other}{lines[line][place + 1 :]}"
    ends = data.draw(st.sampled_from(["\n", "\n\n"]))
    comparison = compared(ends.join(lines), ends.join([*lines[:line], changed, *lines[line + 1 :]]))
    reported = [change for change in comparison.changes if change.kind != "same" or change.renumbered]
    assert reported
    text, page = str(comparison), unescape(comparison.to_html())
    for change in reported:
        assert change.renumbered or change.edited or change.kind in ("moved", "new", "missing")
        if change.renumbered:
            assert change.numbers[0] != change.numbers[1]
            for number in filter(None, change.numbers):
                assert number in text or number.rstrip(".") in text
                assert number in " ".join(page.split())
