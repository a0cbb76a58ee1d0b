"""What an encoder can read: known tokens, and for the bundled model the Latin script."""

from pathlib import Path

import pytest

from whymatch.text.encoders import readable
from whymatch.text.encoders.context import WordEncoder
from whymatch.text.encoders.models import MINILM
from whymatch.text.encoders.precomputed import Precomputed
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.encoders.trainable import Projected
from whymatch.text.encoders.tuned import FineTuned, InContext

READ = ["A cat sat.", "naïve café", "x = 3.14", "12345", "C++", "Grüße aus Köln", "the word 漢字", "ok 😀", "5 µm"]
OTHER_SCRIPTS = ["الطقس حار جدا اليوم", "Привет, как дела?", "Γεια σου Κόσμε", "안녕하세요 오늘", "こんにちは", "שלום"]
UNKNOWN = ["วันนี้อากาศร้อนมาก", "今天天气很好。", "የአማርኛ ጽሑፍ"]
WITHOUT_LETTERS = ["", " ", "...", "?!", "—", "😀😀", "\u200b"]


@pytest.mark.parametrize("kind", [SentenceEncoder, WordEncoder])
def test_the_bundled_model_reads_the_latin_script(minilm: Path, kind: type[SentenceEncoder | WordEncoder]) -> None:
    encoder = kind(MINILM)
    assert all(encoder.reads(READ))
    assert not any(encoder.reads(OTHER_SCRIPTS))
    assert not any(encoder.reads(UNKNOWN))
    assert readable(encoder, [*READ, *WITHOUT_LETTERS]).tolist() == [True] * len(READ) + [False] * len(WITHOUT_LETTERS)
    assert encoder.reads([]) == []


@pytest.mark.parametrize("kind", [SentenceEncoder, WordEncoder, FineTuned, InContext])
def test_other_models_are_trusted_with_all_scripts_whose_tokens_they_know(
    minilm: Path, kind: type[SentenceEncoder | WordEncoder | FineTuned | InContext]
) -> None:
    encoder = kind(minilm)  # by its folder, it may be any model
    assert all(encoder.reads([*READ, *OTHER_SCRIPTS]))
    assert not any(encoder.reads(UNKNOWN))


def test_a_tokenizer_of_bytes_knows_everything(roberta: Path) -> None:
    encoder = SentenceEncoder(roberta)
    assert all(encoder.reads([*READ, *OTHER_SCRIPTS, *UNKNOWN]))
    assert not readable(encoder, WITHOUT_LETTERS).any()


def test_a_piece_is_read_if_half_of_its_tokens_are_known(minilm: Path) -> None:
    encoder = SentenceEncoder(minilm)
    assert encoder.reads(["cat ጽሑፍ", "cat ጽሑፍ አማርኛ", "ጽሑፍ"]) == [True, False, False]


def test_a_map_over_an_encoder_reads_what_that_reads(minilm: Path) -> None:
    assert readable(Projected(SentenceEncoder(), 384), ["A cat.", *UNKNOWN]).tolist() == [True, False, False, False]
    assert readable(Projected(Precomputed({"a": [1.0]}), 1), [*UNKNOWN, "..."]).tolist() == [True, True, True, False]
