"""Rare words are worth more than frequent ones, and the same wherever they are asked for."""

from collections import Counter
from itertools import product
from math import sqrt
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import whymatch as wm
from whymatch.matching.rarity import Rarity
from whymatch.matching.refinement import Refinement
from whymatch.text.document import Document, document, joined
from whymatch.text.spans import lines, words

WORDS = ["the", "Cat", "sat", "on", "mat", "dog", "Owl", "7"]
MARKS = ["!", "…", ",", "--", "«"]
sentences = st.lists(st.sampled_from([*WORDS, *MARKS]), min_size=1, max_size=5).map(" ".join)
corpora = st.lists(sentences, max_size=8)
weights = st.floats(0.01, 3)
CORPUS = ["the cat sat", "the dog sat", "the cat on a mat", "a dog", "the owl"]
PIECES = [f"{word} {other}" for word in ("the", "cat", "dog", "owl") for other in ("sat", "mat", "!", "unheard")]
VECTORS = wm.Precomputed(dict(zip(PIECES, torch.randn(16, 5, generator=torch.Generator().manual_seed(0)), strict=True)))
PAIRS = [
    (joined(PIECES[:3]), joined(PIECES[3:8])),
    (joined(PIECES[8:9]), joined(PIECES[9:12])),
    (joined(PIECES[12:16]), joined(PIECES[:2])),
]


@given(corpus=corpora, pieces=st.lists(sentences, max_size=5), weight=weights)
def test_a_span_is_worth_the_mean_of_its_words_between_nothing_and_all(
    corpus: list[str], pieces: list[str], weight: float
) -> None:
    rarity = Rarity.of_texts(corpus, weight)
    found = rarity.of(joined(pieces))
    assert found.shape == (len(pieces),)
    assert ((found >= 0) & (found <= weight * (1 + 1e-6))).all()
    for piece, value in zip(pieces, found.tolist(), strict=True):
        alone = [rarity.of(joined([word])).item() for word in piece.split() if word not in MARKS]
        assert value == pytest.approx(sum(alone) / len(alone) if alone else 0, abs=1e-6)


@given(corpus=corpora, weight=weights)
def test_a_word_in_more_texts_is_worth_less(corpus: list[str], weight: float) -> None:
    rarity = Rarity.of_texts(corpus, weight)
    texts = Counter(word.lower() for text in corpus for word in set(text.split()))
    found = dict(zip(WORDS, rarity.of(joined(WORDS)).tolist(), strict=True))
    for one in WORDS:
        for other in WORDS:
            fewer, equal = texts[one.lower()] < texts[other.lower()], texts[one.lower()] == texts[other.lower()]
            assert found[one] > found[other] if fewer else not equal or found[one] == found[other]
        if not texts[one.lower()]:
            assert found[one] == pytest.approx(weight)
        elif texts[one.lower()] == len(corpus):
            assert found[one] == pytest.approx(0, abs=1e-6)


@given(corpus=corpora, weight=weights)
def test_punctuation_is_worth_nothing_however_rare(corpus: list[str], weight: float) -> None:
    for rarity in (Rarity.of_texts(corpus, weight), Rarity.of_texts([], weight)):
        assert not rarity.of(joined([*MARKS, " ".join(MARKS)])).any()


@given(corpus=corpora, pieces=st.lists(sentences, max_size=5))
def test_case_does_not_matter(corpus: list[str], pieces: list[str]) -> None:
    found = [
        Rarity.of_texts([change(text) for text in corpus], 1.0).of(joined([turn(piece) for piece in pieces]))
        for change in (str.upper, str.lower)
        for turn in (str.upper, str.lower, str.title)
    ]
    assert all(torch.equal(one, found[0]) for one in found)


@given(corpus=corpora, text=st.lists(sentences, min_size=1, max_size=4).map("\n".join))
def test_what_is_remembered_is_what_would_be_found(corpus: list[str], text: str) -> None:
    rarity = Rarity.of_texts(corpus, 0.5)
    for split in (lines, words, lines, words):  # the same text with other spans is another document
        one = document(text, split)
        assert torch.equal(rarity.of(one), Rarity.of_texts(corpus, 0.5).of(one))


def test_a_model_forgets_the_texts_that_it_has_seen() -> None:
    model = classifier(Rarity.of_texts(CORPUS, 0.4, 0.3)).eval()
    before = model.predict(PAIRS)
    assert model.rarity is not None
    assert model.rarity.known
    assert model.rarity.listed
    assert isinstance(model.encoder, wm.Projected)
    assert [*model.encoder.known]
    model.forget()
    assert not model.rarity.known
    assert not model.rarity.listed
    assert not model.rarity.numbers
    assert not [*model.encoder.known]
    assert [one.probabilities for one in model.predict(PAIRS)] == [one.probabilities for one in before]


def test_among_no_texts_every_word_is_unheard() -> None:
    assert Rarity.of_texts([], 0.3).of(joined(["the cat", "!"])).tolist() == pytest.approx([0.3, 0])
    assert Rarity.of_texts(["", "!"], 0.3).of(joined(["the cat"])).item() == pytest.approx(0.3)
    assert Rarity.of_texts(CORPUS, 0.3).of(Document("the cat", ())).shape == (0,)


@given(corpus=corpora, left=st.lists(sentences, max_size=4), right=st.lists(sentences, max_size=4), shared=weights)
def test_what_two_spans_share_is_a_cosine_of_their_words_by_rarity(
    corpus: list[str], left: list[str], right: list[str], shared: float
) -> None:
    rarity = Rarity.of_texts(corpus, 0.0, shared)
    found = rarity.between(joined(left), joined(right))
    assert found.shape == (len(left), len(right))
    for (i, a), (j, b) in product(enumerate(left), enumerate(right)):
        one, other = (
            {word.lower(): rarity.of_word(word.lower()) for word in piece.split() if word not in MARKS}
            for piece in (a, b)
        )
        both = sum(one[word] for word in one.keys() & other.keys())
        of_all = sqrt(sum(one.values()) * sum(other.values()))
        assert found[i, j].item() == pytest.approx(shared * both / of_all if of_all else 0, rel=1e-5, abs=1e-6)
    torch.testing.assert_close(found.T, rarity.between(joined(right), joined(left)))


def test_many_words_are_compared_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = joined(PIECES[:9]), joined(PIECES[4:])
    whole = Rarity.of_texts(CORPUS, 0.0, 1.0).between(left, right)
    monkeypatch.setattr("whymatch.matching.rarity.AT_ONCE", 2)
    torch.testing.assert_close(Rarity.of_texts(CORPUS, 0.0, 1.0).between(left, right), whole)
    assert whole.max() > 0.9


@pytest.mark.parametrize("weights", [(-0.1, 0.0), (0.0, -0.1), (float("nan"), 0.0), (0.0, float("inf"))])
def test_weights_that_are_no_price_are_refused(weights: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="takes numbers that are 0 or more"):
        Rarity({}, 0, *weights)


def test_words_that_are_counted_more_often_than_there_are_texts_are_worth_nothing() -> None:
    rarity = Rarity({"the": 9}, 2, 1.0, 1.0)
    assert rarity.of(joined(["the"])).item() == 0
    assert not rarity.between(joined(["the"]), joined(["the"])).any()


def classifier(rarity: Rarity | None, refinement: Refinement | None = None) -> wm.Classifier:
    torch.manual_seed(0)
    encoder, rule = wm.Projected(VECTORS, 5), wm.Transport(wm.Exactly(2))
    return wm.Classifier(encoder, rule, ["no", "yes"], split="line", rarity=rarity, refinement=refinement)


@pytest.mark.parametrize("refinement", [None, Refinement(4, 0.5)])
def test_shared_words_make_links_cheaper_in_aligners_and_in_models(refinement: Refinement | None) -> None:
    chance = torch.Generator().manual_seed(1)
    for weight in () if refinement is None else refinement.parameters():
        torch.nn.init.normal_(weight, std=0.1, generator=chance)
    rarity = Rarity.of_texts(CORPUS, 0.2, 0.7)
    model = classifier(rarity, refinement).eval()
    plain = wm.Aligner("line", VECTORS).costs(PAIRS)
    with torch.no_grad():
        matched = model(PAIRS)
    for number, (left, right) in enumerate(PAIRS):
        wanted = plain[number] - rarity.between(left, right)
        wanted = wanted if refinement is None else refinement.alone(wanted)  # it sees what is shared
        wanted = wanted - rarity.of(left)[:, None] - rarity.of(right)[None]
        torch.testing.assert_close(model.aligner.costs([(left, right)])[0], wanted)
        found = matched.cost[number, : len(left), : len(right)]
        torch.testing.assert_close(found, wanted.float(), rtol=1e-4, atol=1e-5)
    assert model.aligner.contextual == (refinement is not None)
    (alignment, *_) = model.aligner.align_many(PAIRS, wm.Exactly(1))
    assert alignment.cost == f"cosine distance{', refined' if refinement is not None else ''}, with rarity"
    assert alignment.verify().holds == (refinement is None)  # deleting text changes what is around


def test_costs_fall_by_what_both_spans_are_worth_in_aligners_and_in_models() -> None:
    rarity = Rarity.of_texts(CORPUS, 0.4)
    model = classifier(rarity).eval()
    plain, lowered = (wm.Aligner("line", VECTORS, rarity=some).costs(PAIRS) for some in (None, rarity))
    with torch.no_grad():
        matched = model(PAIRS)
    for number, (left, right) in enumerate(PAIRS):
        of_left, of_right = ([rarity.of(joined([piece])).item() for piece in text.pieces] for text in (left, right))
        for i, a in enumerate(of_left):
            for j, b in enumerate(of_right):
                assert lowered[number][i, j].item() == pytest.approx(plain[number][i, j].item() - a - b, abs=1e-6)
        torch.testing.assert_close(matched.cost[number, : len(left), : len(right)], lowered[number].float())
    logits, _ = model.logits(PAIRS)
    found = torch.tensor([[*one.probabilities.values()] for one in model.predict(PAIRS)])
    torch.testing.assert_close(found, logits.softmax(dim=1))


def test_rarity_looks_at_no_text_around() -> None:
    aligner = wm.Aligner("line", VECTORS, rarity=Rarity.of_texts(CORPUS, 0.4))
    assert not aligner.contextual
    assert all(aligner.align(*pair, wm.Exactly(1)).verify().holds for pair in PAIRS)


def test_two_spans_of_rare_words_are_linked_before_two_of_frequent_ones() -> None:
    pieces = ["the", "owl"]
    vectors = wm.Precomputed({"the": [1.0, 0.0], "owl": [0.0, 1.0]})
    for weight, linked in ((0.0, "the"), (0.5, "owl")):
        aligner = wm.Aligner("line", vectors, rarity=Rarity.of_texts(CORPUS, weight))
        (link,) = aligner.align(pieces, pieces, wm.Exactly(1)).links
        assert link.texts == (linked, linked)


def test_a_model_comes_back_with_the_words_that_it_has_counted(tmp_path: Path) -> None:
    rarity = Rarity.of_texts([*CORPUS, "Größe ἀλώπηξ 狐"], 0.4, 0.3)
    model = classifier(rarity).eval()
    model.save_pretrained(tmp_path)
    again = wm.Classifier.from_pretrained(tmp_path, encoder=VECTORS)
    assert again.rarity is not None
    assert (again.rarity.counts, again.rarity.texts) == (rarity.counts, rarity.texts)
    assert (again.rarity.weight, again.rarity.shared) == (0.4, 0.3)
    assert again.predict(PAIRS) != classifier(None).predict(PAIRS)
    for one, other in zip(again.predict(PAIRS), model.predict(PAIRS), strict=True):
        assert one.probabilities == other.probabilities
        assert one.alignment is not None
        assert other.alignment is not None
        assert one.alignment.links == other.alignment.links
    (tmp_path / "rarity.json").unlink()
    with pytest.raises(ValueError, match=r"rarity\.json"):
        wm.Classifier.from_pretrained(tmp_path, encoder=VECTORS)
