"""What an encoder says it reads is what its model is given."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whymatch.text.document import document
from whymatch.text.encoders import token_counts, tokens_read
from whymatch.text.encoders.context import WordEncoder
from whymatch.text.encoders.network import Network
from whymatch.text.encoders.precomputed import Precomputed
from whymatch.text.encoders.recurrent import RecurrentEncoder
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.encoders.trainable import Projected
from whymatch.text.encoders.tuned import FineTuned, InContext
from whymatch.text.spans import whole, words
from whymatch.text.vectors import WordVectors

TEXTS = [
    "the cat sat on the mat",
    "." * 300,
    "a" * 1000,
    "漢字" * 40,
    "👩\u200d👧 é\u0301 \u200b!",
    "it is cold, " * 50 + "yes",
]


class Reading:
    """A model that counts the tokens that it reads."""

    def __init__(self, model: Any) -> None:
        self.model, self.tokens, self.windows = model, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def __call__(self, **inputs: Any) -> Any:
        self.tokens += int(inputs["attention_mask"].sum())
        self.windows += len(inputs["attention_mask"])
        return self.model(**inputs)


def reading(encoder: Any) -> Reading:
    """Puts a model that counts in the place of an encoder's own."""
    counting = Reading(encoder.network.model)
    encoder.network = replace(encoder.network, model=counting)
    return counting


def special(encoder: Any) -> int:
    return len(encoder.network.before) + len(encoder.network.after)


ON_TORCH = [partial(SentenceEncoder, backend="torch"), FineTuned, partial(WordEncoder, backend="torch"), InContext]


@pytest.mark.parametrize("build", ON_TORCH, ids=["sentence", "fine-tuned", "word", "in context"])
@pytest.mark.parametrize("model", ["roberta", "minilm"])
def test_tokens_of_a_text_are_those_that_the_model_reads(
    build: Callable[..., Any], model: str, request: pytest.FixtureRequest
) -> None:
    encoder = build(request.getfixturevalue(model), device="cpu")
    counted = reading(encoder)
    for text in TEXTS:
        counted.tokens = counted.windows = 0
        encoder.encode([text], [whole(text)])
        assert token_counts(encoder, [text]) == [counted.tokens - special(encoder) * counted.windows]


@pytest.mark.parametrize("kind", [SentenceEncoder, WordEncoder])
def test_tokens_of_a_text_are_those_that_a_compiled_model_reads(
    kind: Any, roberta: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, read = kind(roberta, backend="openvino float32"), list[int]()
    inputs = encoder.network.inputs

    def counted(windows: Sequence[list[int]], length: int) -> list[np.ndarray]:
        read.extend(len(window) - special(encoder) for window in windows)
        given: list[np.ndarray] = inputs(windows, length)
        assert len(given[0]) == sum(map(len, windows))
        return given

    monkeypatch.setattr(encoder.network, "inputs", counted)
    for text in TEXTS:
        read.clear()
        encoder.encode([text], [whole(text)])
        assert token_counts(encoder, [text]) == [sum(read)]


@pytest.mark.parametrize(
    "pairs", [[(left, right)] for left in TEXTS[:3] for right in TEXTS[3:]] + [[(TEXTS[0],) * 2] * 2]
)
def test_tokens_of_a_pair_are_those_that_are_read_together(pairs: Sequence[tuple[str, str]], roberta: Path) -> None:
    encoder = InContext(roberta, jointly=True, device="cpu")
    counted = reading(encoder)
    encoder.encode_pairs([(document(left, words), document(right, words)) for left, right in pairs])
    around = len(encoder.network.together([], [])[0])
    assert tokens_read(encoder, pairs) == counted.tokens - around * counted.windows


def test_a_text_of_several_pairs_is_read_once(roberta: Path) -> None:
    encoder = SentenceEncoder(roberta, device="cpu")
    (query, *documents) = token_counts(encoder, TEXTS)
    assert tokens_read(encoder, [(TEXTS[0], text) for text in TEXTS[1:]]) == query + sum(documents)


def test_encoders_without_a_tokenizer_count_words_or_characters(roberta: Path) -> None:
    vectors = WordVectors("two words", {"cat": 0, "mat": 1}, np.eye(2, dtype=np.float32))
    recurrent = RecurrentEncoder(vectors, layers=0)
    assert token_counts(recurrent, ["A cat, a mat.", "." * 7]) == [6, 7]
    assert token_counts(Precomputed({"a cat": [1.0, 0.0]}), ["a cat", ""]) == [5, 0]
    sentences = SentenceEncoder(roberta, device="cpu")
    assert token_counts(Projected(sentences, sentences.size), TEXTS) == token_counts(sentences, TEXTS)


def test_counting_leaves_the_tokenizer_as_it_was(minilm: Path) -> None:
    encoder = SentenceEncoder(minilm, device="cpu", backend="torch")
    assert isinstance(encoder.network, Network)
    before = [tokens.ids for tokens in encoder.network.tokens(TEXTS)]
    assert token_counts(encoder, TEXTS) == [len(tokens) for tokens in before]
    assert [tokens.ids for tokens in encoder.network.tokens(TEXTS)] == before
    theirs = encoder.network.tokenizer(TEXTS, add_special_tokens=False, verbose=False)
    assert theirs["input_ids"] == before
