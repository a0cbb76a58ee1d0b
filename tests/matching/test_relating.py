"""What links mean changes nothing else of an alignment, points at the words it speaks of, and survives being stored."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whymatch as wm
from whymatch.cost import Evidence, Relations
from whymatch.matching.alignment import Alignment
from whymatch.matching.conflicts import Conflict
from whymatch.matching.relating import NOT_ENGLISH, TOO_LONG, looks_english
from whymatch.matching.relations import RELATIONS, shipped_reader

LEFT = (
    "Good morning to all of you. Take 5 mg of it twice a day. Mary sold the house to Peter. "
    "The shop is open on Sundays. The contract runs for 24 months."
)
RIGHT = (
    "The shop is not open on Sundays. Peter sold the house to Mary. Take 50 mg of it twice a day. "
    "The contract runs for twenty-four (24) months."
)
GERMAN = (
    "Der Zug war heute schon wieder sehr verspätet und ich habe meinen Flug verpasst. Das ist mir schon oft passiert.",
    "Ich habe mein Flugzeug nicht erreicht, weil mein Zug heute wieder eine große Verspätung hatte. Wie so oft.",
)


@pytest.fixture(scope="module")
def reading() -> wm.Aligner:
    return wm.Aligner(relations=True)


@pytest.fixture(scope="module")
def why(reading: wm.Aligner) -> Alignment:
    return reading.align(LEFT, RIGHT)


def without_meaning(why: Alignment) -> Alignment:
    return replace(why, links=tuple(replace(link, relation=None, conflicts=()) for link in why.links), remarks=())


def test_relations_do_not_choose_links(why: Alignment) -> None:
    assert without_meaning(why) == wm.Aligner().align(LEFT, RIGHT)
    assert len(why.links) == 4


def test_a_price_for_contradictions_leaves_the_links_that_agree() -> None:
    left = "Take 5 mg of it twice a day. The shop is open on Sundays."
    right = "Take 50 mg of it twice a day. A dose of five mg is taken two times daily. The shop is closed on Sundays."
    evidence, agreeing = wm.Cost(wm.cost.Cosine(), Evidence()), wm.Cost(wm.cost.Cosine(), Evidence(), Relations(40.0))
    assert {link.at for link in wm.Aligner(cost=evidence).align(left, right).links} == {(0, 0), (1, 2)}
    aligner = wm.Aligner(cost=agreeing)
    why = aligner.align(left, right)
    assert {link.at for link in why.links} == {(0, 1)}
    assert why.verify(aligner).holds
    with pytest.raises(ValueError, match="Relations takes what reads them"):
        wm.Cost(wm.cost.Cosine(), Relations(1.0))(np.eye(2), np.eye(2), texts=[(why.left, why.left)])


def test_links_of_long_spans_are_not_read_and_a_remark_says_so(reading: wm.Aligner) -> None:
    long = "The river rises quickly in winter" + " and the snow melts" * 120 + "."
    why = reading.align(f"{long} Take 5 mg of it.", f"{long} Take 50 mg of it.")
    read = {link.texts[0][:4]: link.relation is not None for link in why.links}
    assert read == {"The ": False, "Take": True}
    assert why.remarks == (TOO_LONG,)


@pytest.mark.parametrize(
    ("left", "right", "contradicts"),
    [
        ("The winner is Maria.", "Maria is the winner.", False),
        ("Our supplier is Acme Ltd.", "Acme Ltd. is our supplier.", False),
        ("Tom is taller than Jim.", "Jim is shorter than Tom.", False),
        ("Tom is taller than Jim.", "Jim is taller than Tom.", True),
        ("The seller pays the buyer.", "The buyer pays the seller.", True),
        ("The seller is paid by the buyer.", "The buyer pays the seller.", False),
    ],
)
def test_parts_that_change_places_contradict_only_where_that_says_something_else(
    reading: wm.Aligner, left: str, right: str, contradicts: bool
) -> None:
    for texts in ((left, right), (right, left)):
        (link,) = reading.align(*texts).links
        assert link.contradicts == contradicts
        assert any(conflict.kind == "role" for conflict in link.conflicts) == contradicts


@pytest.mark.parametrize(("left", "right"), [("😀", "😡"), ("⑤", "⑨"), ("Ship to ประเทศไทย now.", "Ship to ภูเก็ต now.")])
def test_what_the_model_has_no_word_for_is_not_called_the_same(left: str, right: str) -> None:
    forward, same = shipped_reader().relations([(left, right), (left, left)])
    assert same.name == "same"
    assert forward.probabilities["same"] < same.probabilities["same"]


def test_every_link_has_a_relation_whose_probabilities_add_up_to_one(why: Alignment) -> None:
    for link in why.links:
        assert link.relation is not None
        assert {*link.relation.probabilities} == {*RELATIONS}
        assert sum(link.relation.probabilities.values()) == pytest.approx(1)


def test_conflicts_point_at_the_words_in_the_texts(why: Alignment) -> None:
    shown = {
        (
            conflict.kind,
            tuple(why.left.text[start:end] for start, end in conflict.left),
            tuple(why.right.text[start:end] for start, end in conflict.right),
        )
        for link in why.links
        for conflict in link.conflicts
    }
    assert shown == {
        ("number", ("5 mg",), ("50 mg",)),
        ("role", ("Mary", "Peter"), ("Peter", "Mary")),
        ("negation", (), ("not",)),
    }


def test_the_verdict_counts_the_links_that_contradict_each_other(why: Alignment) -> None:
    assert sum(link.contradicts for link in why.links) == 3
    assert why.verdict.startswith("They match, but contradict each other in 3 places: 4 reasons cover ")


def test_pairs_are_read_together_as_they_are_read_alone(reading: wm.Aligner, why: Alignment) -> None:
    pairs = [(RIGHT, LEFT), (LEFT, "Take it."), (LEFT, RIGHT), ("Nothing.", "!!!")]
    among = reading.align_many(pairs, links_only=True)[2]
    assert [link.conflicts for link in among.links] == [link.conflicts for link in why.links]
    for one, other in zip(among.links, why.links, strict=True):
        assert one.relation is not None
        assert other.relation is not None
        assert one.relation.name == other.relation.name
        assert one.relation.probabilities == pytest.approx(other.relation.probabilities, abs=1e-3)


def test_texts_that_are_not_english_keep_their_links_and_say_so(reading: wm.Aligner) -> None:
    foreign = reading.align(*GERMAN, wm.Exactly(2))
    assert foreign.remarks == (NOT_ENGLISH,)
    assert NOT_ENGLISH in foreign.notes
    assert without_meaning(foreign) == wm.Aligner().align(*GERMAN, wm.Exactly(2))


@given(st.text())
def test_neither_order_nor_case_decides_whether_texts_are_english(text: str) -> None:
    assert looks_english(text, GERMAN[0]) is looks_english(GERMAN[0].upper(), text) is False
    assert looks_english(text, LEFT) == looks_english(LEFT, text)


def test_meanings_survive_json(why: Alignment) -> None:
    stored = json.loads(json.dumps(why.to_dict()))
    assert Alignment.from_dict(stored) == why


@pytest.mark.parametrize(
    "damage",
    [
        {"relation": {"name": "likes", "probabilities": dict.fromkeys(RELATIONS, 0.2)}},
        {"relation": {"name": "same", "probabilities": {"same": 1.0}}},
        {"conflicts": [{"kind": "taste", "left": [], "right": []}]},
        {"conflicts": [{"kind": "number", "left": [[0, 10**6]], "right": []}]},
        {"conflicts": [{"kind": "number", "left": [[-1, 1]], "right": []}]},
    ],
    ids=str,
)
def test_meanings_that_are_damaged_are_refused(why: Alignment, damage: dict[str, object]) -> None:
    stored = why.to_dict()
    stored["links"][0] |= damage
    with pytest.raises(ValueError, match="damaged"):
        Alignment.from_dict(stored)


def test_an_alignment_that_was_stored_before_relations_is_read(why: Alignment) -> None:
    stored = without_meaning(why).to_dict()
    del stored["remarks"]
    for link in stored["links"]:
        del link["relation"], link["conflicts"]
    assert Alignment.from_dict(stored) == without_meaning(why)


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_conflict_moves_with_its_texts(left: int, right: int) -> None:
    here = Conflict("number", (wm.Span(1, 3),), (wm.Span(0, 2), wm.Span(5, 6)))
    moved = here.moved(left, right)
    assert moved.moved(-left, -right) == here
    assert moved.left == (wm.Span(1 + left, 3 + left),)
