"""A second model for the head: what it is shown, what teaches it, and what it leaves alone."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import whymatch as wm
from whymatch.learning import Attend, InContext, LinkReader, Projected, Transport
from whymatch.text.document import Document, joined
from whymatch.text.spans import Span
from whymatch.text.vectors import WordVectors
from whymatch.transport import Temperature

NAMES = ["cat", "dog", "owl", "fox", "hen", "bee", "cow", "ant"]
WORDS = WordVectors(
    "toy", {name: i for i, name in enumerate(NAMES)}, torch.randn(8, 5, generator=torch.manual_seed(0)).numpy()
)
VECTORS = wm.Precomputed(dict(zip(NAMES, WORDS.vectors, strict=True)))
TWO = wm.Exactly(2)


class Shown(wm.RecurrentEncoder):
    """Remembers the texts that it was given."""

    texts: Sequence[str] = ()

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        self.texts = list(texts)
        return super().states(texts, spans)


def in_context() -> Shown:
    return Shown(WORDS, hidden=3, layers=1, in_context=True)


def classifier(constraint: wm.Constraint = TWO, *, alone: bool = True) -> wm.Classifier:
    torch.manual_seed(0)
    reader = LinkReader(in_context(), alone=alone)
    return wm.Classifier(wm.Aligner("line", Projected(VECTORS, 5)), constraint, ["no", "yes"], reader=reader)


PAIRS = [(joined(NAMES[:3]), joined(NAMES[3:])), (joined(["cat"]), joined(["dog", "fox"]))]


@given(
    pairs=st.lists(st.tuples(*[st.lists(st.sampled_from(NAMES), max_size=4)] * 2), min_size=1, max_size=4),
    data=st.data(),
)
def test_the_reader_is_shown_what_is_linked_and_nothing_else(
    pairs: list[tuple[list[str], list[str]]], data: st.DataObject
) -> None:
    n, m = (max(1, *(len(pair[side]) for pair in pairs)) for side in (0, 1))
    weights = torch.zeros(len(pairs), n, m)
    for number, (left, right) in enumerate(pairs):
        for i in range(len(left)):
            for j in range(len(right)):
                weights[number, i, j] = data.draw(st.sampled_from([0.0, 0.5]))
    encoder = in_context()
    read = LinkReader(encoder)([(joined(left), joined(right)) for left, right in pairs], weights)
    shown, expected = {*encoder.texts}, set()
    for number, texts in enumerate(pairs):
        for side, pieces in enumerate(texts):
            linked = weights[number].any(dim=1 - side)[: len(pieces)].tolist()
            kept = joined([piece for piece, is_linked in zip(pieces, linked, strict=True) if is_linked], " ")
            expected.add(kept.text)
            found = read[side][number]
            assert not found[len(pieces) :].any()
            assert not found[: len(pieces)][~torch.tensor(linked, dtype=torch.bool)].any()
            alone = encoder.states([kept.text], [kept.spans])[0]
            torch.testing.assert_close(found[: len(pieces)][torch.tensor(linked, dtype=torch.bool)], alone)
    assert shown == expected


def test_what_the_other_spans_say_changes_no_bit() -> None:
    weights = torch.zeros(1, 3, 3)
    weights[0, 0, 1] = 1
    reader, others = (
        LinkReader(in_context()),
        (joined(["cat", "ant ant ant", "bee"]), joined(["hen", "fox", "owl dog"])),
    )
    before = reader([(joined(["cat", "dog", "owl"]), joined(["cow", "fox", "hen"]))], weights)
    after = reader([others], weights)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    whole = LinkReader(reader.encoder, alone=False)
    told = whole([others], weights)
    assert not torch.equal(told[0][0, 0], before[0][0, 0])  # it reads all of them, and says so


def test_labels_teach_the_reader_and_leave_the_links_alone() -> None:
    model = classifier(wm.Exactly(1))
    model.rule = Transport(wm.Exactly(1), Temperature(0.1))
    logits, matched = model.logits(PAIRS)
    assert matched.weights.requires_grad  # marked sentences could teach them
    torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1])).backward()  # type: ignore[no-untyped-call]
    assert all(weight.grad is None for name, weight in model.named_parameters() if name.startswith("encoder."))
    assert model.reader is not None
    assert any(weight.grad is not None and weight.grad.any() for weight in model.reader.parameters())


@pytest.mark.parametrize("alone", [True, False])
def test_predictions_are_those_that_were_learned(alone: bool) -> None:
    model = classifier(alone=alone).eval()
    with torch.no_grad():
        expected = model.logits(PAIRS)[0].softmax(dim=1)
    found = [[*one.probabilities.values()] for one in model.predict(PAIRS)]
    torch.testing.assert_close(torch.tensor(found), expected)


def test_texts_without_a_link_have_a_prediction() -> None:
    model = classifier(wm.UpTo(1, below=1e-6)).eval()
    nothing = Document("", ())
    for prediction in model.predict(
        [(joined(["cat"]), joined(["dog"])), (nothing, joined(["dog"])), (nothing, nothing)]
    ):
        assert sum(prediction.probabilities.values()) == pytest.approx(1)
        assert prediction.alignment is not None
        assert not prediction.alignment.links


@pytest.mark.parametrize("alone", [True, False])
def test_a_reader_comes_back_from_its_folder(alone: bool, tmp_path: Path) -> None:
    model = classifier(alone=alone).eval()
    model.save_pretrained(tmp_path)
    again = wm.Classifier.from_pretrained(tmp_path, encoder=VECTORS)
    assert again.reader is not None
    assert again.reader.alone is alone
    assert [one.probabilities for one in again.predict(PAIRS)] == [one.probabilities for one in model.predict(PAIRS)]


def test_a_fine_tuned_reader_comes_back_beside_a_frozen_encoder(minilm: Path, tmp_path: Path) -> None:
    encoder = wm.SentenceEncoder()
    tuned = LinkReader(InContext(jointly=True))
    with torch.no_grad():
        next(iter(tuned.parameters())).mul_(1.01)  # it has learned something
    model = wm.Classifier(
        wm.Aligner("sentence", Projected(encoder, encoder.size)), wm.Exactly(1), ["no", "yes"], reader=tuned
    ).eval()
    model.save_pretrained(tmp_path)
    pairs = [("A cat sat. It rained.", "The cat was sitting. Who knows?"), ("", "Rain.")]
    again = wm.Classifier.from_pretrained(tmp_path)
    assert [one.probabilities for one in again.predict(pairs)] == [one.probabilities for one in model.predict(pairs)]
    stored = {file.name for file in (tmp_path / "reader").iterdir()}
    assert "model.safetensors" in stored
    assert not (tmp_path / "encoder").exists()  # the bundled model is not copied


def test_attention_has_no_links_to_read() -> None:
    with pytest.raises(ValueError, match="goes with a constraint"):
        wm.Classifier(
            wm.Aligner("sentence", Projected(VECTORS, 5)),
            Attend(),
            ["no", "yes"],
            reader=LinkReader(in_context()),
        )
    soft = Transport(wm.Exactly(1), soft=True)
    with pytest.raises(ValueError, match="a constraint and a hard plan"):
        wm.Classifier(
            wm.Aligner("sentence", Projected(VECTORS, 5)),
            soft,
            ["no", "yes"],
            reader=LinkReader(in_context()),
        )


def test_a_reader_has_an_encoder_of_its_own() -> None:
    shared = in_context()
    with pytest.raises(ValueError, match="an encoder of its own"):
        wm.Classifier(wm.Aligner("sentence", shared), wm.Exactly(1), ["no", "yes"], reader=LinkReader(shared))


def test_a_reader_that_could_not_come_back_is_not_written(tmp_path: Path) -> None:
    own = LinkReader(Projected(VECTORS, 5))
    model = wm.Classifier(wm.Aligner("sentence", in_context()), wm.Exactly(1), ["no", "yes"], reader=own)
    with pytest.raises(ValueError, match="one of your own: it cannot be written"):
        model.save_pretrained(tmp_path)
    others = WordVectors("others", dict(WORDS.words), WORDS.vectors.copy())
    second = LinkReader(wm.RecurrentEncoder(others, hidden=3, layers=1))
    with pytest.raises(ValueError, match="only one set can be written"):
        wm.Classifier(
            wm.Aligner("sentence", in_context()), wm.Exactly(1), ["no", "yes"], reader=second
        ).save_pretrained(tmp_path)


def test_what_a_prediction_rests_on_is_said() -> None:
    assert not classifier(alone=True).contextual
    assert classifier(alone=False).contextual
    by_itself = LinkReader(wm.RecurrentEncoder(WORDS, hidden=3, layers=1), alone=False)
    model = wm.Classifier(wm.Aligner("sentence", in_context()), wm.Exactly(1), ["no", "yes"], reader=by_itself)
    assert model.aligner.contextual
    assert not model.contextual
