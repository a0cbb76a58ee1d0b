"""Word vectors: the sub-words that a word covers, from one layer, however long the text."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, BertTokenizer

import whymatch as wm
from tests.text.encoders.families import SIZES
from whymatch.text.encoders import unread_language
from whymatch.text.encoders.context import WordEncoder, overlapping
from whymatch.text.encoders.naming import encoder_for
from whymatch.text.spans import Span, words

BACKENDS = ["openvino float32", "torch"]


def by_hand(folder: Path, text: str, layer: int) -> torch.Tensor:
    """The same, word by word, with transformers alone."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    tokens = tokenizer(text, return_offsets_mapping=True, return_tensors="pt", truncation=True)
    offsets = tokens.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        states = model(**tokens, output_hidden_states=True).hidden_states[layer][0]
    rows = []
    for start, end in words(text):
        inside = [i for i, (a, b) in enumerate(offsets) if a < b and a < end and b > start]
        rows.append(states[inside].mean(dim=0))
    return torch.stack(rows)


@pytest.mark.parametrize("backend", BACKENDS)
def test_words_are_the_mean_of_their_sub_words(backend: str, minilm: Path, roberta: Path) -> None:
    text = "Unbelievably, the cat's antidisestablishmentarianism ran; it is 3.14 today!"
    for folder, layer in ((minilm, 3), (minilm, 6), (roberta, 1)):
        encoder = WordEncoder(folder, layer=layer, backend=backend)
        vectors = torch.from_numpy(encoder.encode([text], [words(text)])[0])
        torch.testing.assert_close(vectors, by_hand(folder, text, layer))


def test_the_middle_layer_is_the_default(minilm: Path, roberta: Path) -> None:
    assert WordEncoder(minilm).layer == 3
    assert WordEncoder(roberta).layer == 1
    with pytest.raises(ValueError, match=r"layers 0 \(its input\) to 6, got 7"):
        WordEncoder(minilm, layer=7)


@pytest.mark.parametrize("backend", [*BACKENDS, "openvino bfloat16"])
def test_neighbours_change_a_vector_by_rounding_alone(backend: str, roberta: Path) -> None:
    encoder = WordEncoder(roberta, backend=backend)
    texts = ["the cat sat", "it is very cold today and the dog ran away", "a", ""]
    together = encoder.encode(texts, [words(text) for text in texts])
    for text, vectors in zip(texts, together, strict=True):
        torch.testing.assert_close(vectors, encoder.encode([text], [words(text)])[0], rtol=0, atol=2e-6)
        assert vectors.shape == (len(words(text)), 32)


@pytest.mark.parametrize("backend", BACKENDS)
def test_long_texts_are_read_to_the_end(backend: str, roberta: Path) -> None:
    encoder = WordEncoder(roberta, backend=backend)
    long = "the cat sat on the mat and it is very cold today " * 30  # more than ten windows
    vectors = torch.from_numpy(encoder.encode([long], [words(long)])[0])
    assert len(vectors) == 360
    assert (vectors.norm(dim=1) > 0).all()
    torch.testing.assert_close(vectors[:12], by_hand(roberta, long, 1)[:12])
    assert not torch.allclose(vectors[-12:], vectors[-24:-12])  # the same words at other places of a window


def test_a_span_that_the_tokenizer_drops_is_zero(minilm: Path) -> None:
    encoder = WordEncoder(minilm, device="cpu")
    text = "a \ufffd b"
    vectors = torch.from_numpy(encoder.encode([text], [[Span(0, 1), Span(2, 3), Span(4, 5)]])[0])
    assert vectors[1].norm() == 0
    assert (vectors[[0, 2]].norm(dim=1) > 0).all()


@given(length=st.integers(0, 400), size=st.integers(2, 60))
def test_windows_cover_every_token_once_far_from_their_edges(length: int, size: int) -> None:
    windows = overlapping(length, size)
    assert [token for _, first, last in windows for token in range(first, last)] == list(range(length))
    for start, first, last in windows:
        assert 0 <= start <= first <= last <= start + size
        for token in range(first, last):
            left = size if start == 0 else token - start
            right = size if start + size >= length else start + size - 1 - token
            assert min(left, right) >= size // 4 - 1


@pytest.fixture(scope="module")
def several_languages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT with random weights whose vocabulary has German, Arabic and Thai letters and Chinese characters."""
    letters = [*"abcdefghijklmnopqrstuvwxyzäöüß", *"猫坐在垫子上狗", *"القطعلىسجدة", *"แมวนั่งบนเสื่อ"]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "die", "katze", "cat", ".", *letters]
    tokens = dict.fromkeys([*pieces, *(f"##{letter}" for letter in letters)])
    tokenizer = BertTokenizer({token: number for number, token in enumerate(tokens)}, do_lower_case=False)
    folder = tmp_path_factory.mktemp("models") / "several-languages"
    torch.manual_seed(0)
    kind: Any = BertModel
    kind(BertConfig(**SIZES, vocab_size=len(tokenizer), max_position_embeddings=64)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    "text", ["die katze sitzt auf der matte.", "猫坐在垫子上。die katze", "القط على سجادة", "แมวนั่ง บนเสื่อ"]
)
def test_words_of_several_languages_are_read_by_a_model_in_a_folder(several_languages: Path, text: str) -> None:
    encoder = encoder_for("word", str(several_languages))
    assert isinstance(encoder, WordEncoder)
    (vectors,) = encoder.encode([text], [words(text)])
    expected = by_hand(several_languages, text, encoder.layer)
    torch.testing.assert_close(torch.from_numpy(vectors), expected, rtol=0, atol=0.05)  # bfloat16 where there is that
    assert unread_language(encoder, text) is None


def test_words_of_two_languages_are_aligned_by_a_model_in_a_folder(several_languages: Path) -> None:
    aligner = wm.Aligner("word", str(several_languages), "cosine")
    why = aligner.align("die katze 猫", "猫 坐 katze", wm.Exactly(2))
    assert len(why.links) == 2
    assert why.encoder == "several-languages, layer 1"
