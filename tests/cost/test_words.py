"""Rare words are worth more than frequent ones, and the same wherever they are asked for."""

from collections import Counter
from itertools import product
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import whymatch as wm
from whymatch.cost import Cosine, Cost, Novelty, PaddedPairs, RareWords, Refined, SharedWords, Term, WordCounts
from whymatch.learning import Projected, Transport
from whymatch.text.document import Document, document, joined
from whymatch.text.spans import lines, words

WORDS = ["the", "Cat", "sat", "on", "mat", "dog", "Owl", "7"]
MARKS = ["!", "…", ",", "--", "«"]
sentences = st.lists(st.sampled_from([*WORDS, *MARKS]), min_size=1, max_size=5).map(" ".join)
corpora = st.lists(sentences, max_size=8)
CORPUS = ["the cat sat", "the dog sat", "the cat on a mat", "a dog", "the owl"]
PIECES = [f"{word} {other}" for word in ("the", "cat", "dog", "owl") for other in ("sat", "mat", "!", "unheard")]
VECTORS = wm.Precomputed(dict(zip(PIECES, torch.randn(16, 5, generator=torch.Generator().manual_seed(0)), strict=True)))
PAIRS = [
    (joined(PIECES[:3]), joined(PIECES[3:8])),
    (joined(PIECES[8:9]), joined(PIECES[9:12])),
    (joined(PIECES[12:16]), joined(PIECES[:2])),
]


@given(corpus=corpora, pieces=st.lists(sentences, max_size=5))
def test_a_span_is_worth_the_mean_of_its_words_between_nothing_and_all(corpus: list[str], pieces: list[str]) -> None:
    counts = WordCounts.of(corpus)
    worth = counts.rarity(joined(pieces))
    assert worth.shape == (len(pieces),)
    assert ((worth >= 0) & (worth <= 1 + 1e-6)).all()
    for piece, value in zip(pieces, worth.tolist(), strict=True):
        alone = [counts.rarity(joined([word])).item() for word in piece.split() if word not in MARKS]
        assert value == pytest.approx(sum(alone) / len(alone) if alone else 0, abs=1e-6)


@given(corpus=corpora)
def test_a_word_in_more_texts_is_worth_less(corpus: list[str]) -> None:
    texts = Counter(word.lower() for text in corpus for word in set(text.split()))
    worth = dict(zip(WORDS, WordCounts.of(corpus).rarity(joined(WORDS)).tolist(), strict=True))
    for word in WORDS:
        for other in WORDS:
            fewer, equal = texts[word.lower()] < texts[other.lower()], texts[word.lower()] == texts[other.lower()]
            assert worth[word] > worth[other] if fewer else not equal or worth[word] == worth[other]
        if not texts[word.lower()]:
            assert worth[word] == pytest.approx(1)
        elif texts[word.lower()] == len(corpus):
            assert worth[word] == pytest.approx(0, abs=1e-6)


@given(corpus=corpora)
def test_punctuation_is_worth_nothing_however_rare(corpus: list[str]) -> None:
    for counts in (WordCounts.of(corpus), WordCounts.of([])):
        assert not counts.rarity(joined([*MARKS, " ".join(MARKS)])).any()


@given(corpus=corpora, pieces=st.lists(sentences, max_size=5))
def test_case_does_not_matter(corpus: list[str], pieces: list[str]) -> None:
    worth = [
        WordCounts.of([change(text) for text in corpus]).rarity(joined([turn(piece) for piece in pieces]))
        for change in (str.upper, str.lower)
        for turn in (str.upper, str.lower, str.title)
    ]
    assert all(np.array_equal(values, worth[0]) for values in worth)


@given(corpus=corpora, text=st.lists(sentences, min_size=1, max_size=4).map("\n".join))
def test_what_is_cached_is_what_would_be_computed(corpus: list[str], text: str) -> None:
    counts = WordCounts.of(corpus)
    for split in (lines, words, lines, words):  # the same text with other spans is another document
        cut = document(text, split)
        assert np.array_equal(counts.rarity(cut), WordCounts.of(corpus).rarity(cut))


def both_terms(counts: WordCounts) -> list[Term]:
    return [SharedWords(0.3, counts), RareWords(0.4, counts)]


def test_a_model_forgets_the_texts_that_it_has_seen() -> None:
    counts = WordCounts.of(CORPUS)
    model = classifier(*both_terms(counts)).eval()
    before = model.predict(PAIRS)
    assert counts.cached_texts
    encoder = model.aligner.encoder
    assert isinstance(encoder, Projected)
    assert [*encoder.known]
    model.forget()
    assert not counts.cached_texts
    assert not counts._numbers
    assert not [*encoder.known]
    assert [one.probabilities for one in model.predict(PAIRS)] == [one.probabilities for one in before]


def test_among_no_texts_every_word_is_unheard() -> None:
    assert WordCounts.of([]).rarity(joined(["the cat", "!"])).tolist() == pytest.approx([1, 0])
    assert WordCounts.of(["", "!"]).rarity(joined(["the cat"])).item() == pytest.approx(1)
    assert WordCounts.of(CORPUS).rarity(Document("the cat", ())).shape == (0,)


@given(corpus=corpora, left=st.lists(sentences, max_size=4), right=st.lists(sentences, max_size=4))
def test_what_two_spans_share_is_a_cosine_of_their_words_by_rarity(
    corpus: list[str], left: list[str], right: list[str]
) -> None:
    counts = WordCounts.of(corpus)
    cosines = counts.shared(joined(left), joined(right))
    assert cosines.shape == (len(left), len(right))
    for (i, a), (j, b) in product(enumerate(left), enumerate(right)):
        of_left, of_right = (
            {word.lower(): counts.of_word(word.lower()) for word in piece.split() if word not in MARKS}
            for piece in (a, b)
        )
        common = sum(of_left[word] for word in of_left.keys() & of_right.keys())
        lengths = sqrt(sum(of_left.values()) * sum(of_right.values()))
        assert cosines[i, j] == pytest.approx(common / lengths if lengths else 0, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(cosines.T, counts.shared(joined(right), joined(left)), atol=1e-6)


def test_many_words_are_compared_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = joined(PIECES[:9]), joined(PIECES[4:])
    whole = WordCounts.of(CORPUS).shared(left, right)
    monkeypatch.setattr("whymatch.cost.words.MAX_WORDS_PER_PRODUCT", 2)
    np.testing.assert_allclose(WordCounts.of(CORPUS).shared(left, right), whole, atol=1e-6)
    assert whole.max() > 0.9


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf")])
@pytest.mark.parametrize("term", [RareWords, SharedWords])
def test_weights_that_are_no_price_are_refused(term: type[RareWords], weight: float) -> None:
    with pytest.raises(ValueError, match="takes a number that is 0 or more"):
        term(weight, WordCounts({}, 0))


@pytest.mark.parametrize(
    ("counts", "texts"), [({"a": -1}, 3), ({"a": "x"}, 3), ({}, -1), ({"a": 1.5}, 3), ({"a": True}, 3)]
)
def test_counts_that_count_nothing_are_refused(counts: dict[str, int], texts: int) -> None:
    with pytest.raises(ValueError, match="whole numbers of texts"):
        WordCounts(counts, texts)


def test_words_that_are_counted_more_often_than_there_are_texts_are_worth_nothing() -> None:
    counts = WordCounts({"the": 9}, 2)
    assert counts.rarity(joined(["the"])).item() == 0
    assert not counts.shared(joined(["the"]), joined(["the"])).any()


def classifier(*terms: Term) -> wm.Classifier:
    torch.manual_seed(0)
    aligner = wm.Aligner("line", Projected(VECTORS, 5), Cost(Cosine(), *terms))
    return wm.Classifier(aligner, Transport(wm.Exactly(2)), ["no", "yes"])


def scattered() -> Refined:
    """A refinement with weights that are all far from 0."""
    refined, generator = Refined(4), torch.Generator().manual_seed(1)
    for weight in refined.module.parameters():
        torch.nn.init.normal_(weight, std=0.1, generator=generator)
    return refined


@pytest.mark.parametrize("refined", [False, True])
def test_shared_words_make_links_cheaper_in_aligners_and_in_models(refined: bool) -> None:
    counts = WordCounts.of(CORPUS)
    around: list[Term] = [Novelty(0.5), scattered()] if refined else []
    model = classifier(SharedWords(0.7, counts), *around, RareWords(0.2, counts)).eval()
    plain = wm.Aligner("line", VECTORS).costs(PAIRS)
    with torch.no_grad():
        matched = model(PAIRS)
    for number, (left, right) in enumerate(PAIRS):
        wanted = plain[number] - 0.7 * counts.shared(left, right)
        for term in around:  # it sees what is shared
            wanted = term.changed(wanted[None], PaddedPairs(np.array([wanted.shape])))[0]
        wanted = wanted - 0.2 * counts.rarity(left)[:, None] - 0.2 * counts.rarity(right)[None]
        np.testing.assert_allclose(model.aligner.costs([(left, right)])[0], wanted, atol=1e-6)
        trained = matched.cost[number, : len(left), : len(right)].numpy()
        np.testing.assert_allclose(trained, wanted, rtol=1e-4, atol=1e-5)
    assert model.aligner.contextual == refined
    (alignment, *_) = model.aligner.align_many(PAIRS, wm.Exactly(1))
    assert alignment.cost == model.aligner.cost.name
    assert "shared words (0.7)" in alignment.cost
    assert alignment.verify(model.aligner).holds == (not refined)  # deleting text changes what is around


def test_costs_fall_by_what_both_spans_are_worth_in_aligners_and_in_models() -> None:
    counts = WordCounts.of(CORPUS)
    model = classifier(RareWords(0.4, counts)).eval()
    plain, lowered = (wm.Aligner("line", VECTORS, cost).costs(PAIRS) for cost in (None, model.aligner.cost))
    with torch.no_grad():
        matched = model(PAIRS)
    for number, (left, right) in enumerate(PAIRS):
        of_left, of_right = (
            [0.4 * counts.rarity(joined([piece])).item() for piece in text.pieces] for text in (left, right)
        )
        for i, a in enumerate(of_left):
            for j, b in enumerate(of_right):
                assert lowered[number][i, j] == pytest.approx(plain[number][i, j] - a - b, abs=1e-6)
        trained = matched.cost[number, : len(left), : len(right)].numpy()
        np.testing.assert_allclose(trained, lowered[number], rtol=1e-4, atol=1e-5)
    logits, _ = model.logits(PAIRS)
    predicted = torch.tensor([[*one.probabilities.values()] for one in model.predict(PAIRS)])
    torch.testing.assert_close(predicted, logits.softmax(dim=1))


def test_word_terms_look_at_no_text_around() -> None:
    aligner = wm.Aligner("line", VECTORS, Cost(Cosine(), *both_terms(WordCounts.of(CORPUS))))
    assert not aligner.contextual
    assert all(aligner.align(*pair, wm.Exactly(1)).verify(aligner).holds for pair in PAIRS)


def test_two_spans_of_rare_words_are_linked_before_two_of_frequent_ones() -> None:
    pieces = ["the", "owl"]
    vectors = wm.Precomputed({"the": [1.0, 0.0], "owl": [0.0, 1.0]})
    for weight, linked in ((0.0, "the"), (0.5, "owl")):
        aligner = wm.Aligner("line", vectors, Cost(Cosine(), RareWords(weight, WordCounts.of(CORPUS))))
        (link,) = aligner.align(pieces, pieces, wm.Exactly(1)).links
        assert link.texts == (linked, linked)


def test_a_model_comes_back_with_the_words_that_it_has_counted(tmp_path: Path) -> None:
    counts = WordCounts.of([*CORPUS, "Größe ἀλώπηξ 狐"])
    model = classifier(*both_terms(counts)).eval()
    model.save_pretrained(tmp_path)
    again = wm.Classifier.from_pretrained(tmp_path, encoder=VECTORS)
    assert again.aligner.cost == model.aligner.cost
    read = again.aligner.cost.word_counts
    assert read is not None
    assert (read.counts, read.texts) == (counts.counts, counts.texts)
    assert again.predict(PAIRS) != classifier().predict(PAIRS)
    for one, other in zip(again.predict(PAIRS), model.predict(PAIRS), strict=True):
        assert one.probabilities == other.probabilities
        assert one.alignment is not None
        assert other.alignment is not None
        assert one.alignment.links == other.alignment.links
    (tmp_path / "words.json").unlink()
    with pytest.raises(ValueError, match=r"words\.json"):
        wm.Classifier.from_pretrained(tmp_path, encoder=VECTORS)
