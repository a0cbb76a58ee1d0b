"""Evidence of words: what is rare counts, what was said counts less, what is not said is missing."""

import numpy as np
import pytest

from whymatch.checking.evidence import Source, coverage, linked_spans, missing_words, spoken, stem, stems, word_bits
from whymatch.cost import Background
from whymatch.matching.aligner import Aligner
from whymatch.text.document import joined
from whymatch.text.encoders.precomputed import Precomputed
from whymatch.text.spans import words


@pytest.fixture(scope="module")
def background() -> Background:
    texts = [[f"common words stand here {number} {place}" for place in range(10)] for number in range(30)]
    known = {
        piece: np.eye(8)[(number + place) % 8] for number, own in enumerate(texts) for place, piece in enumerate(own)
    }
    return Background.of(texts, Aligner("line", Precomputed(known), cost="cosine"))


def source(*pieces: str) -> Source:
    return Source("page", joined(pieces), np.zeros((len(pieces), 8), np.float32), np.zeros((len(pieces), 2)))


def test_a_word_is_worth_more_the_fewer_texts_have_it(background: Background) -> None:
    own = source("common zebra", "common")
    bits = word_bits(stems("the common zebra sings"), own, background)
    assert 0 <= bits[stem("common")] < bits[stem("zebra")] < bits[stem("sings")]
    assert "the" not in bits


def test_spans_that_say_nothing_new_are_not_linked(background: Background) -> None:
    own = source("zebra quagga", "zebra quagga", "okapi gazelle", "common words")
    linked = linked_spans(stems("zebra quagga okapi gazelle"), own, np.zeros(4), background)
    assert linked.adds
    assert sorted(linked.spans) in ([0, 2], [1, 2])


def test_one_link_at_most_is_kept_where_no_word_is_shared(background: Background) -> None:
    own = source("zebra", "okapi")
    near = linked_spans(stems("gazelle"), own, np.array([9.0, 20.0]), background)
    assert (near.spans, near.adds) == ((1,), False)
    far = linked_spans(stems("gazelle"), own, np.array([-9.0, -5.0]), background)
    assert far.spans == ()


def test_coverage_is_the_share_of_bits_that_is_said() -> None:
    worth = {"rare": 6.0, "common": 2.0}
    assert coverage(worth, ["rare", "other"]) == 0.75
    assert coverage(worth, worth) == 1.0
    assert coverage({}, ["rare"]) == 0.0


def test_missing_words_are_runs_and_function_words_go_with_the_next_word() -> None:
    text = "He paid for the taxi to the airport, and left."
    said = [word in {"he", "paid", "for", "the", "to", "leav", "left", "leave"} for word, _ in spoken(text)]
    assert [text[start:end] for start, end in missing_words(text, said)] == ["for the taxi to the airport"]
    assert missing_words(text, [True] * len(said)) == []


def test_inflected_forms_have_one_stem_and_words_keep_their_places() -> None:
    assert stem("running") == stem("runs") == stem("Run")
    assert stem("1,000") == stem("1000")
    text = "Don't pay €3.50!"
    assert [span for _, span in spoken(text)] == [
        span for span in words(text) if text[span.start : span.end] not in "€!"
    ]
