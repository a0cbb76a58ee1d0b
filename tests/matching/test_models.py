"""Rankers and classifiers: what they return, what they read, and what comes back from a folder."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence

import whymatch as wm
from whymatch.cost import Base, Cosine, Cost, Dot, Neighbours, Term, WholeText
from whymatch.learning import Attend, Projected, Transport
from whymatch.matching.matcher import padded
from whymatch.text.vectors import WordVectors
from whymatch.transport import Temperature

TWO_LINKS = Transport(wm.Exactly(2))
NAMES = [f"piece {number}" for number in range(20)]
VECTORS = wm.Precomputed(dict(zip(NAMES, torch.randn(20, 6, generator=torch.Generator().manual_seed(0)), strict=True)))
WORDS = WordVectors(
    "toy", {name: i for i, name in enumerate(["the", "cat", "sat", "on", "a", "mat"])}, torch.randn(6, 5).numpy()
)


def ranker() -> wm.Ranker:
    return wm.Ranker(wm.Aligner("line", Projected(VECTORS, 6)), wm.Exactly(2))


def classifier(rule: Transport | Attend = TWO_LINKS) -> wm.Classifier:
    torch.manual_seed(0)
    return wm.Classifier(wm.Aligner("line", Projected(VECTORS, 6)), rule, ["no", "yes"])


PAIRS: list[tuple[list[str], list[str]]] = [
    (NAMES[:3], NAMES[3:8]),
    (NAMES[8:9], NAMES[9:12]),
    (NAMES[1:5], NAMES[12:14]),
]


def test_documents_come_back_as_from_a_cross_encoder_with_their_links() -> None:
    documents = [NAMES[3:8], NAMES[8:9], NAMES[10:14]]
    found = ranker().rank(NAMES[:3], documents, top_k=2)
    assert [set(row) for row in found] == [{"corpus_id", "score", "text", "links"}] * 2
    assert found[0]["score"] >= found[1]["score"]
    for row in found:
        assert row["text"] == documents[row["corpus_id"]]
        assert row["score"] == pytest.approx(sum(link.share for link in row["links"]))
        assert len(row["links"]) == min(2, len(row["text"]))


def test_the_score_that_is_learned_is_the_score_that_ranks() -> None:
    model = ranker()
    alignments = model.aligner.align_many(PAIRS, wm.Exactly(2), clip=True)
    pairs = [(why.left, why.right) for why in alignments]
    expected = torch.tensor([why.score for why in alignments])
    torch.testing.assert_close(model(pairs).score, expected)


def test_calibration_turns_scores_into_chances() -> None:
    model = ranker()
    with pytest.raises(ValueError, match="not calibrated"):
        model.probability(0.3)
    generator = torch.Generator().manual_seed(0)
    scores = torch.rand(4000, generator=generator)
    truth = torch.rand(4000, generator=generator) < (8 * (scores - 0.6)).sigmoid()
    model.calibrate(scores.tolist(), truth.tolist())
    assert model.probability(0.6) == pytest.approx(0.5, abs=0.04)
    assert model.probability(0.85) == pytest.approx(torch.tensor(2.0).sigmoid().item(), abs=0.05)
    assert model.matches(0.9)
    assert not model.matches(0.2)
    assert "probability" in model.rank(NAMES[:3], [NAMES[3:8]])[0]
    with pytest.raises(ValueError, match="pairs that match and of pairs that do not"):
        model.calibrate([0.1, 0.2], [True, True])
    model.calibrate([0.1, 0.2, 0.8, 0.9], [False, False, True, True])  # separable
    assert model.probability(0.9) > 0.9


def test_predictions_have_labels_chances_and_alignments() -> None:
    found = classifier().predict(PAIRS)
    for prediction, (left, right) in zip(found, PAIRS, strict=True):
        assert sum(prediction.probabilities.values()) == pytest.approx(1)
        assert prediction.label == max(prediction.probabilities, key=prediction.probabilities.__getitem__)
        assert prediction.alignment is not None
        assert len(prediction.alignment.links) == min(2, len(left), len(right))
    assert classifier(Attend()).predict(PAIRS)[0].alignment is None
    assert classifier().predict([]) == []


def test_a_prediction_reads_the_linked_spans_alone() -> None:
    model = classifier()
    before = model.predict(PAIRS)[0]
    assert before.alignment is not None
    linked = {text for link in before.alignment.links for text in link.texts}
    other = wm.Precomputed({name: VECTORS.vectors[name] * (1 if name in linked else -1e-3) for name in NAMES})
    model.aligner.encoder = Projected(other, 6)
    after = model.predict(PAIRS)[0]
    assert after.alignment is not None
    assert {link.at for link in after.alignment.links} == {link.at for link in before.alignment.links}
    assert after.probabilities == before.probabilities


@pytest.mark.parametrize(
    "rule",
    [
        Transport(wm.Exactly(2), Temperature(0.1)),
        Transport(wm.UpTo(1, below=0.7)),
        Transport(wm.Balanced()),
        Attend(0.1, "sparsemax", active_only=True),
    ],
    ids=str,
)
def test_a_classifier_comes_back_from_its_folder(rule: Transport | Attend, tmp_path: Path) -> None:
    model = classifier(rule).eval()
    model.save_pretrained(tmp_path)
    again = wm.Classifier.from_pretrained(tmp_path, encoder=VECTORS)
    assert again.rule == model.rule
    assert [one.probabilities for one in again.predict(PAIRS)] == [one.probabilities for one in model.predict(PAIRS)]
    assert {file.suffix for file in tmp_path.iterdir()} == {".json", ".safetensors"}


def test_a_ranker_comes_back_with_its_words_and_its_calibration(tmp_path: Path) -> None:
    model = wm.Ranker(wm.Aligner("sentence", wm.RecurrentEncoder(WORDS, hidden=3, layers=2)), wm.Exactly(1))
    model.calibrate([0.1, 0.3, 0.2, 0.9], [False, True, False, True])
    model.save_pretrained(tmp_path)
    again = wm.Ranker.from_pretrained(tmp_path)
    texts = "The cat sat. On a mat.", ["A mat. A cat.", "The the."]
    assert again.rank(*texts) == model.rank(*texts)
    with pytest.raises(ValueError, match="is a ranker, not a classifier"):
        wm.Classifier.from_pretrained(tmp_path)


def test_sentence_and_word_models_are_found_again(minilm: Path, tmp_path: Path) -> None:
    for encoder, split in ((wm.SentenceEncoder(), "sentence"), (wm.WordEncoder(), "word")):
        model = wm.Ranker(wm.Aligner(split, Projected(encoder, encoder.size), "cosine"), wm.Exactly(1))
        model.save_pretrained(tmp_path / split)
        again = wm.Ranker.from_pretrained(tmp_path / split)
        assert again.rank("A cat sat.", ["The cat.", "Rain."]) == model.rank("A cat sat.", ["The cat.", "Rain."])


def test_damaged_folders_are_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no model"):
        wm.Ranker.from_pretrained(tmp_path)
    model = classifier()
    model.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"its encoder, precomputed, is not in the folder"):
        wm.Classifier.from_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "format": 99}))
    with pytest.raises(ValueError, match="its format is 99"):
        wm.Classifier.from_pretrained(tmp_path, VECTORS)
    (tmp_path / "config.json").write_text(json.dumps({**config, "hidden": 7}))
    with pytest.raises(ValueError, match="cannot be read"):
        wm.Classifier.from_pretrained(tmp_path, VECTORS)
    (tmp_path / "model.safetensors").write_bytes(b"\x80\x04junk")
    with pytest.raises(ValueError, match="cannot be read"):
        wm.Classifier.from_pretrained(tmp_path, VECTORS)


def test_what_cannot_be_trained_or_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two labels or more"):
        wm.Classifier(wm.Aligner("sentence", Projected(VECTORS, 6)), Attend(), ["one"])
    encoder = Projected(VECTORS, 6)
    with pytest.raises(ValueError, match="a function of your own"):
        wm.Ranker(wm.Aligner(str.splitlines, encoder), wm.Exactly(1)).save_pretrained(tmp_path)

    @dataclass(frozen=True)
    class ByFunction(Term):
        change: Callable[[float], float]
        name = "by_function"

    own = wm.Aligner("sentence", encoder, Cost(Cosine(), ByFunction(abs)))
    with pytest.raises(ValueError, match="a cost of your own"):
        wm.Ranker(own, wm.Exactly(1)).save_pretrained(tmp_path)


def test_a_ranker_comes_back_with_the_threshold_and_the_limit_of_its_aligner(tmp_path: Path) -> None:
    model = wm.Ranker(wm.Aligner("line", Projected(VECTORS, 6), "cosine", below=0.9, limit=50), wm.UpTo(1))
    model.save_pretrained(tmp_path)
    again = wm.Ranker.from_pretrained(tmp_path, encoder=VECTORS)
    assert (again.aligner.below, again.aligner.limit) == (0.9, 50)
    model.aligner.encoder = Projected(VECTORS, 6)
    with pytest.raises(ValueError, match="not that of its aligner"):
        model.save_pretrained(tmp_path)


def test_the_links_that_are_shown_are_those_that_were_used() -> None:
    tied = wm.Precomputed({name: [1.0 + i % 3, 0.0, 0.1 * (i % 3)] for i, name in enumerate(NAMES)})
    torch.manual_seed(0)
    encoder = Projected(tied, 3)
    model = wm.Classifier(wm.Aligner("line", encoder), TWO_LINKS, ["no", "yes"]).eval()
    for prediction, (left, right) in zip(model.predict(PAIRS), PAIRS, strict=True):
        assert prediction.alignment is not None
        weights = torch.zeros(1, len(left), len(right))
        for link in prediction.alignment.links:
            weights[(0, *link.at)] = link.mass
        x, y = (
            encoder.map(torch.from_numpy(np.stack([tied.vectors[name] for name in side])))[None]
            for side in (left, right)
        )
        expected = model.head(x, y, weights).softmax(dim=1)[0].tolist()
        assert list(prediction.probabilities.values()) == pytest.approx(expected)


def test_a_constraint_that_can_link_nothing_is_refused() -> None:
    aligner = wm.Aligner("sentence", Projected(VECTORS, 6))
    with pytest.raises(ValueError, match="links nothing"):
        wm.Ranker(aligner, wm.UpTo(1, below=0))
    with pytest.raises(ValueError, match="No threshold is known"):
        wm.Ranker(aligner, wm.UpTo(1))


@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=6),
    places=st.lists(st.integers(0, 5), min_size=1, max_size=9),
    size=st.integers(1, 4),
)
def test_padding_is_torchs_own_in_values_and_in_gradients(lengths: list[int], places: list[int], size: int) -> None:
    generator = torch.Generator().manual_seed(0)
    texts = [torch.randn(length, size, generator=generator, requires_grad=True) for length in lengths]
    sequences = [texts[place % len(texts)] for place in places]  # a text may be in several pairs
    found, expected = padded(sequences), pad_sequence(sequences, batch_first=True)
    assert torch.equal(found, expected)
    pull = torch.randn(found.shape, generator=generator)
    ours, theirs = (torch.autograd.grad((some * pull).sum(), texts, allow_unused=True) for some in (found, expected))
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        rows = [row for row, at in enumerate(places) if at % len(texts) == place]
        if not rows:
            assert one is other is None
            continue
        torch.testing.assert_close(one, other)
        torch.testing.assert_close(one, sum(pull[row, : lengths[place]] for row in rows))


def test_a_text_in_several_pairs_gets_the_gradients_of_all() -> None:
    model = ranker()
    pairs = [(why.left, why.right) for why in model.aligner.align_many(PAIRS, wm.Exactly(1))]
    left, right = pairs[0]
    pairs = [(left, right), (left, pairs[2][1]), (right, left)]
    (together,) = torch.autograd.grad(model(pairs).score.sum(), [*model.parameters()])
    alone = [torch.autograd.grad(model([pair]).score.sum(), [*model.parameters()])[0] for pair in pairs]
    torch.testing.assert_close(together, sum(alone))


@pytest.mark.parametrize("mix", [(0.5, 0.0), (0.0, 0.7), (0.3, 0.4)], ids=str)
@pytest.mark.parametrize("base", [Cosine(), Dot()], ids=lambda base: base.name)
def test_a_model_comes_back_with_what_its_costs_mix_in(base: Base, mix: tuple[float, float], tmp_path: Path) -> None:
    torch.manual_seed(0)
    encoder = Projected(VECTORS, 6)
    cost = Cost(base, Neighbours(mix[0]), WholeText(mix[1]))
    model = wm.Classifier(wm.Aligner("line", encoder, cost), TWO_LINKS, ["no", "yes"]).eval()
    model.save_pretrained(tmp_path)
    again = wm.Classifier.from_pretrained(tmp_path, encoder=VECTORS)
    assert again.aligner.cost == cost
    found = again.predict(PAIRS)
    assert [one.probabilities for one in found] == [one.probabilities for one in model.predict(PAIRS)]
    documents = [(one.alignment.left, one.alignment.right) for one in found if one.alignment]
    with torch.no_grad():
        logits, matched = again.logits(documents)
    learned = torch.tensor([[*one.probabilities.values()] for one in found])
    torch.testing.assert_close(learned, logits.softmax(dim=1), atol=1e-5, rtol=1e-5)
    for number, some in enumerate(again.aligner.costs(documents)):
        trained = matched.cost[number, : len(some), : some.shape[1]].numpy()
        np.testing.assert_allclose(trained, some, rtol=1e-5, atol=1e-5)
