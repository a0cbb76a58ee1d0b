"""Spans read in context, alone or with the other text: what transformers gives, however long, and with gradients."""

from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModel, AutoTokenizer

import whymatch as wm
from whymatch.learning import Transport
from whymatch.matching.alignment import Alignment
from whymatch.text.document import Document, document, joined
from whymatch.text.encoders.tuned import InContext, cuts
from whymatch.text.spans import Span, lines, words

Pair: TypeAlias = tuple[Document, Document]
SHORT: list[tuple[str, str]] = [
    ("the cat sat on the mat", "it is very cold today and the dog ran away"),
    ("unbelievably cold, isn't it?", "a dog"),
    ("a", "the cat's mat"),
]
LONG = "the cat sat on the mat and it is very cold today " * 5
MIDDLE = "a dog ran away " * 6


def of_words(left: str, right: str) -> Pair:
    return document(left, words), document(right, words)


def pooled(states: torch.Tensor, offsets: Sequence[tuple[int, int]], spans: Sequence[Span]) -> torch.Tensor:
    rows = []
    for start, end in spans:
        inside = [i for i, (a, b) in enumerate(offsets) if a < end and b > start]
        rows.append(states[inside].mean(dim=0))
    return torch.stack(rows) if rows else torch.zeros(0, states.shape[1])


@cache
def loaded(folder: Path) -> tuple[Any, Any]:
    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()


def by_hand(folder: Path, pair: Pair) -> tuple[torch.Tensor, torch.Tensor]:
    """Both texts as transformers reads them together, pooled by span."""
    tokenizer, model = loaded(folder)
    tokens = tokenizer(pair[0].text, pair[1].text, return_offsets_mapping=True, return_tensors="pt")
    offsets, of = tokens.pop("offset_mapping")[0].tolist(), tokens.sequence_ids(0)
    with torch.no_grad():
        states = model(**tokens).last_hidden_state[0]
    sides = [[i for i, text in enumerate(of) if text == side] for side in (0, 1)]
    left, right = (
        pooled(states[rows], [offsets[i] for i in rows], text.spans) for rows, text in zip(sides, pair, strict=True)
    )
    return left, right


def close(vectors: Sequence[np.ndarray | torch.Tensor], expected: Sequence[np.ndarray | torch.Tensor]) -> None:
    for ours, theirs in zip(vectors, expected, strict=True):
        torch.testing.assert_close(torch.as_tensor(ours), torch.as_tensor(theirs), rtol=0, atol=1e-5)


@pytest.fixture(scope="module", params=["minilm", "roberta"])
def folder(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


@pytest.fixture(scope="module")
def together(folder: Path) -> InContext:
    return InContext(folder, jointly=True, device="cpu").eval()


@pytest.fixture
def small(roberta: Path) -> InContext:
    return InContext(roberta, jointly=True, device="cpu").eval()


def test_pairs_are_read_as_transformers_reads_them(together: InContext, folder: Path) -> None:
    pairs = [of_words(*pair) for pair in SHORT]
    for pair, vectors in zip(pairs, together.pair_states(pairs), strict=True):
        close(vectors, by_hand(folder, pair))
    sentences = joined(["the cat sat", "on the mat"]), joined(["it is cold", "today", "very"])
    close(together.encode_pairs([sentences])[0], by_hand(folder, sentences))


def test_a_text_alone_is_read_as_a_word_encoder_reads_its_last_layer(folder: Path) -> None:
    encoder = InContext(folder, device="cpu").train()
    frozen = wm.WordEncoder(folder, layer=encoder.network.layers, backend="openvino float32")
    texts = [LONG, "a dog", ""]
    spans = [words(text) for text in texts]
    close(encoder.encode(texts, spans), frozen.encode(texts, spans))


def test_order_and_neighbours_change_nothing(together: InContext) -> None:
    pairs = [of_words(*pair) for pair in (*SHORT, (MIDDLE, "a dog"), SHORT[0][::-1], SHORT[0])]
    alone = [together.encode_pairs([pair])[0] for pair in pairs]
    for order in ([0, 1, 2, 3, 4, 5], [5, 3, 4, 1, 0, 2]):
        for number, sides in zip(order, together.encode_pairs([pairs[number] for number in order]), strict=True):
            close(sides, alone[number])
    other_side, other_text = alone[4][1], together.encode_pairs([of_words(SHORT[0][0], "a cold mat")])[0][0]
    for vectors in (other_side, other_text):  # these do change it
        assert np.linalg.norm(vectors - alone[0][0], axis=1).min() > 1e-3


def by_windows(encoder: InContext, pair: Pair) -> tuple[torch.Tensor, torch.Tensor]:
    """Every part of one text with every part of the other, a sub-word the mean over what it was read with."""
    tokenizer, model = encoder.network.tokenizer, encoder.model
    tokenized = [
        tokenizer(text.text, add_special_tokens=False, return_offsets_mapping=True, verbose=False) for text in pair
    ]
    ids: list[list[int]] = [tokens["input_ids"] for tokens in tokenized]
    start, middle, end = tokenizer.bos_token_id, [tokenizer.eos_token_id] * 2, tokenizer.eos_token_id
    room = encoder.network.room - 4
    parts = cuts(len(ids[0]), len(ids[1]), room)
    sums = [torch.zeros(len(tokens), encoder.size) for tokens in ids]
    for i, j in product(*parts):
        window = [start, *ids[0][i.start : i.stop], *middle, *ids[1][j.start : j.stop], end]
        assert len(window) <= encoder.network.room
        states = model(input_ids=torch.tensor([window])).last_hidden_state[0]
        sums[0][i.start : i.stop] += states[1 : 1 + len(i)] / len(parts[1])
        sums[1][j.start : j.stop] += states[3 + len(i) : 3 + len(i) + len(j)] / len(parts[0])
    left, right = (
        pooled(states, tokens["offset_mapping"], text.spans)
        for states, tokens, text in zip(sums, tokenized, pair, strict=True)
    )
    return left, right


@pytest.mark.parametrize(
    ("left", "right"), [(LONG, "a dog"), ("a dog", LONG), (LONG, MIDDLE), (LONG, LONG), ("", LONG)]
)
def test_long_texts_are_the_mean_over_windows(left: str, right: str, small: InContext) -> None:
    pair = of_words(left, right)
    vectors = small.encode_pairs([pair])[0]
    assert [len(side) for side in vectors] == [len(text) for text in pair]
    assert all(np.isfinite(side).all() for side in vectors)
    with torch.no_grad():
        close(vectors, by_windows(small, pair))


@given(left=st.integers(0, 400), right=st.integers(0, 400), room=st.integers(2, 120))
def test_any_two_parts_fit_together_and_cover_their_texts(left: int, right: int, room: int) -> None:
    parts = cuts(left, right, room)
    for own_parts, length in zip(parts, (left, right), strict=True):
        assert [token for part in own_parts for token in part] == list(range(length))
    assert all(len(i) + len(j) <= room for i, j in product(*parts))
    if left + right <= room:
        assert list(map(len, parts)) == [1, 1]


def test_empty_texts_have_no_vectors_and_spoil_no_others(together: InContext, folder: Path) -> None:
    empty, blank = document("", words), document(" \n", words)
    text = document("the cat sat", words)
    vectors = together.encode_pairs([(empty, text), (text, empty), (empty, empty), (text, text), (blank, text)])
    lengths = [tuple(map(len, pair)) for pair in vectors]
    assert lengths == [(0, 3), (3, 0), (0, 0), (3, 3), (0, 3)]
    assert all(side.shape[1] == together.size for pair in vectors for side in pair)
    close(vectors[3], by_hand(folder, (text, text)))
    close(vectors[0], by_hand(folder, (empty, text)))
    assert together.pair_states([]) == []


def test_gradients_reach_every_weight_that_a_vector_comes_from(small: InContext) -> None:
    left, right = small.pair_states([of_words(*SHORT[0]), of_words(LONG, "a dog")])[1]
    torch.autograd.backward(left.square().sum() + right.square().sum())
    missing = [name for name, weight in small.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert [name for name in missing if "pooler" not in name] == []


@pytest.mark.parametrize("learning", [True, False])
def test_encoding_knows_no_dropout_and_leaves_the_mode_as_it_was(learning: bool, small: InContext) -> None:
    small.train(learning)
    pair = of_words(*SHORT[0])
    one, other = ([*small.encode_pairs([pair])[0], *small.encode([pair[0].text], [pair[0].spans])] for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    with pytest.raises(AttributeError):
        small.encode_pairs([(pair[0], None)])  # type: ignore[list-item]
    assert {module.training for module in small.modules()} == {learning}
    twice = [small.pair_states([pair])[0][0] for _ in range(2)]
    assert torch.equal(*twice) is not learning


def classifier(encoder: InContext) -> wm.Classifier:
    torch.manual_seed(0)
    return wm.Classifier(wm.Aligner("line", encoder), Transport(wm.Exactly(2)), ["no", "yes"]).eval()


PAIRS = [("the cat sat\non the mat\nit is cold", "a dog ran\nthe mat\nvery cold"), (f"a cat\n{LONG}", "a\nb")]


def test_a_classifier_of_texts_read_together_comes_back_from_its_folder(small: InContext, tmp_path: Path) -> None:
    model = classifier(small)
    model.save_pretrained(tmp_path)
    again = wm.Classifier.from_pretrained(tmp_path)
    assert isinstance(again.encoder, InContext)
    assert (again.encoder.jointly, again.encoder.name) == (True, small.name)
    with torch.no_grad():
        learned = model.logits([(document(left, lines), document(right, lines)) for left, right in PAIRS])[0]
    for ours, theirs, row in zip(again.predict(PAIRS), model.predict(PAIRS), learned.softmax(dim=1), strict=True):
        assert ours.probabilities == pytest.approx(theirs.probabilities, abs=1e-6)
        assert [*theirs.probabilities.values()] == pytest.approx(row.tolist(), abs=1e-5)  # learned is predicted


def test_an_alignment_of_texts_read_together_says_so_and_is_verified(small: InContext) -> None:
    model = classifier(small)
    why = model.predict(PAIRS[:1])[0].alignment
    assert why is not None
    assert why.contextual
    checked = why.verify(model.aligner)
    assert checked.contextual
    left, right = (
        text.keep(sorted({link.at[side] for link in why.links})) for side, text in enumerate((why.left, why.right))
    )
    again = wm.Aligner("line", small).align(left, right, wm.Exactly(2))
    assert checked.on_rationale == pytest.approx(again.score)  # it was read again, without the rest
    assert not checked.score_holds


def test_a_pair_that_cannot_be_aligned_spoils_no_other(small: InContext) -> None:
    aligner = wm.Aligner("line", small)
    alone = [aligner.align(*pair, wm.Exactly(2)) for pair in PAIRS]
    bad, first, short, second = aligner.outcomes([("\ud800", "a"), PAIRS[0], ("a", "b"), PAIRS[1]], wm.Exactly(2))
    assert "surrogate" in str(bad)
    assert "Exactly(k=2) needs" in str(short)
    for alignment, expected in zip((first, second), alone, strict=True):
        assert isinstance(alignment, Alignment)
        assert [link.at for link in alignment.links] == [link.at for link in expected.links]
        assert alignment.score == pytest.approx(expected.score, abs=1e-5)
