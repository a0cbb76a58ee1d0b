"""An alignment can be written and read, and says what it is."""

import copy
import json
import math
import pickle
import re
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import whymatch as wm
from whymatch.matching.alignment import MAX_WORD_PAIRS
from whymatch.matching.parts import Certificate
from whymatch.text.spans import token_ranges

WORDS = ["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "off", "home"]
VECTORS = wm.Precomputed(
    {word: torch.randn(5, generator=torch.Generator().manual_seed(i)) for i, word in enumerate(WORDS)}
)
ALIGNER = wm.Aligner(str.split, VECTORS, below=0.9)
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@given(left=texts, right=texts)
def test_what_is_written_as_json_is_read_back(left: str, right: str) -> None:
    why = ALIGNER.align(left, right)
    text = json.dumps(why.to_dict(), allow_nan=False)
    again = wm.Alignment.from_dict(json.loads(text))
    assert again == why
    assert json.dumps(again.to_dict(), allow_nan=False) == text


@given(left=texts, right=texts)
def test_an_alignment_is_plain_data_that_another_process_can_have(left: str, right: str) -> None:
    why = ALIGNER.align(left, right)
    assert copy.deepcopy(why) == why
    again = pickle.loads(pickle.dumps(why))  # what Ray and multiprocessing do; no file is read this way
    assert again == why
    assert again.to_dict() == why.to_dict()


def test_an_alignment_from_a_file_takes_an_aligner_to_verify() -> None:
    again = wm.Alignment.from_dict(ALIGNER.align("the cat sat", "a dog ran", wm.Exactly(2)).to_dict())
    with pytest.raises(ValueError, match="verify takes the aligner"):
        again.verify()
    assert again.verify(ALIGNER)
    assert "<html" in again.to_html()


def damaged(change: dict[str, Any]) -> dict[str, Any]:
    return {**ALIGNER.align("the cat", "a dog", wm.Exactly(1)).to_dict(), **change}


@pytest.mark.parametrize(
    "values",
    [
        {},
        damaged({"format": 99}),
        damaged({"links": [{}]}),
        damaged({"constraint": {"name": "Whatever"}}),
        damaged({"constraint": {"name": "Exactly", "k": 0}}),
        damaged({"left": {"text": "the", "spans": [[0, 99]]}}),
        damaged({"path": 3}),
        damaged({"left": {"text": 5, "spans": []}}),
        damaged({"links": [{"at": [9, 9], "cost": 1.0, "mass": 1.0, "share": 0.0}]}),
        damaged({"links": [{"at": [-1, 0], "cost": 1.0, "mass": 1.0, "share": 0.0}]}),
        damaged({"links": [{"at": [0, 0], "cost": "<b>", "mass": 1.0, "share": 0.0}]}),
        damaged({"certificate": {"links": 1, "gap": 0.0, "margin": "abc", "clipped": False}}),
    ],
)
def test_a_damaged_file_is_refused_in_words(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"This alignment is damaged|This is no alignment"):
        wm.Alignment.from_dict(values)


def test_pharaoh_counts_from_zero_in_order() -> None:
    why = ALIGNER.align("the cat sat", "sat the", wm.OneTo(1))
    assert why.to_pharaoh() == "0-1 2-0"


def test_eraser_takes_ranges_of_tokens() -> None:
    why = wm.Aligner(
        "line", wm.Precomputed({"the cat sat .": [1.0, 0.0], "a dog": [0.0, 1.0], "cats": [1.0, 0.1]})
    ).align("a dog\nthe cat sat .", "cats", wm.Exactly(1))
    assert why.to_eraser("pair 7", left="doc", right=None) == {
        "annotation_id": "pair 7",
        "rationales": [{"docid": "doc", "hard_rationale_predictions": [{"start_token": 2, "end_token": 6}]}],
    }
    assert [side["docid"] for side in why.to_eraser("x")["rationales"]] == ["left", "right"]


@given(st.text(alphabet="ab. \n", min_size=1), st.data())
def test_a_token_is_in_a_range_if_any_of_it_is_in_the_span(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    ((first, last),) = token_ranges(text, [wm.Span(start, end)])
    tokens = [match.span() for match in re.finditer(r"\S+", text)]
    assert list(range(first, last)) == [
        i for i, (a, b) in enumerate(tokens) if set(range(a, b)) & set(range(start, end))
    ]


@pytest.mark.parametrize(
    ("certificate", "says"),
    [
        (Certificate(1, 0.0, 0.25, False), "1 link; optimal"),
        (Certificate(2, 1e-17, 0.25, True), "fewer than asked"),
        (Certificate(2, 0.0, 0.25, False), "the next best one scores 0.25 less"),
        (Certificate(2, 0.0, 0.0, False), "another alignment scores the same"),
        (Certificate(2, 0.0, math.inf, False), "there is no other"),
        (Certificate(0, 0.0, math.inf, False), "no pair is close enough"),
        (Certificate(2, 0.0, None, False), "not computed"),
    ],
)
def test_a_certificate_speaks(certificate: Certificate, says: str) -> None:
    assert says in str(certificate)


def test_a_page_shows_the_words_of_links_while_there_is_room() -> None:
    def length(piece: str) -> int:
        return len(piece.split())

    lines = [" ".join(WORDS[i % 10] for i in range(size)) for size in (3, 5, 480, 480, 7, 900)]
    vectors = wm.Precomputed(
        {line: torch.randn(5, generator=torch.Generator().manual_seed(len(line))) for line in lines}
    )
    why = wm.Aligner("line", vectors).align("\n".join(lines), "\n".join(reversed(lines)), wm.Exactly(3))
    shown = why._zoomed(wm.Aligner(str.split, VECTORS))
    cells = [length(why.left.pieces[i]) * length(why.right.pieces[j]) for i, j in shown]
    assert sum(cells) <= MAX_WORD_PAIRS
    assert {link.at for link in why.links if length(link.texts[0]) * length(link.texts[1]) < 5000} <= {*shown}
    assert max(cells) < 900**2  # there was one that had no room


def test_sides_are_left_and_right() -> None:
    with pytest.raises(ValueError, match="'left' or 'right', got 'top'"):
        ALIGNER.align("the", "a").rationale("top")  # type: ignore[arg-type]


def test_a_link_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"no link 5: this alignment has 1"):
        ALIGNER.align("the cat", "a dog", wm.Exactly(1)).zoom(5)


def test_no_links_score_a_float() -> None:
    assert isinstance(ALIGNER.align("", "a").score, float)
