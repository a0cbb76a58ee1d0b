"""Spans are pieces of the untouched text, whatever the text."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
import sentencex
from hypothesis import example, given
from hypothesis import strategies as st

from whymatch.text import spans
from whymatch.text.document import Document, document, joined
from whymatch.text.spans import SPLITTERS, Span, _punkt_tokenizer, is_blank, punkt

OFFLINE = [name for name in SPLITTERS if name != "punkt"]
NASTY = [
    "",
    " \t\r\n\u00a0\u2003\u200b\ufeff",
    "One\r\n\r\nTwo\r\rThree\n \nFour",
    "e\u0301tude n\u0303o. A\u0308hnlich!",
    "👩\u200d👩\u200d👧\u200d👦 ok 🇩🇪! 👍🏽",
    "שלום עולם. מה שלומך? \u202bאבג\u202c",
    "No\u00a0break\u00a0spaces.\u00a0\u00a0Here?\u202fYes.",
    "\x00\x1b[31mred\x1b[0m.",
    "日本語の文。次の文！終わり",
    "Dr. No met Mr. Yes. https://a.b/c?d=e.f! Fine...",
]
unicode = st.one_of(
    st.text(), st.text(alphabet=" .!?\n\r\u00a0\u0301👩\u200dאaB1,'"), st.lists(st.sampled_from(NASTY)).map(" ".join)
)


def laws(text: str, own_spans: list[Span]) -> None:
    end = 0
    for span in own_spans:
        assert end <= span.start < span.end <= len(text)
        assert not is_blank(text[span.start : span.end])
        assert text[span.start : span.end] == text[span.start : span.end].strip()
        end = span.end


@pytest.mark.parametrize("name", OFFLINE)
@given(text=unicode)
@example(text="a" * 1_000_000)
@example(text="word " * 200_000)
@example(text="\n" * 1_000_000)
@example(text="a \u0301b")
def test_spans_are_pieces_in_order_and_nothing_that_shows_is_lost(name: str, text: str) -> None:
    own_spans = list(SPLITTERS[name](text))
    laws(text, own_spans)
    kept = "".join(text[start:end] for start, end in own_spans)
    assert [c for c in kept if spans.is_visible(c)] == [c for c in text if spans.is_visible(c)]


@pytest.mark.parametrize("text", NASTY)
@pytest.mark.parametrize("name", OFFLINE)
def test_nasty_texts(name: str, text: str) -> None:
    laws(text, list(SPLITTERS[name](text)))


def test_a_character_of_several_code_points_is_one_word() -> None:
    family, flag, thumb = "👩\u200d👩\u200d👧\u200d👦", "🇩🇪", "👍🏽"
    text = f"{family}{flag} e\u0301tude {thumb}"
    assert [text[a:b] for a, b in spans.words(text)] == [family, flag, "e\u0301tude", thumb]


FLAGS = "\U0001f1e6\U0001f1e9\u0301\u200d\u0903\u0600a1., \U0001f600\u1100\ufe0f\u0e33"


@given(text=st.text(alphabet=FLAGS))
def test_flags_are_the_characters_that_unicode_says(text: str) -> None:
    letter = r"[\p{L}\p{M}\p{N}_]"
    word = rf"{letter}(?:{letter}|[\u200c\u200d\u00ad])*"
    plain = regex.compile(rf"\p{{N}}+(?:[.,]\p{{N}}+)+|{word}(?:['’]{word})*|(?!\s)\X")
    expected = [match.span() for match in plain.finditer(text) if not is_blank(match[0])]
    assert spans.words(text) == expected


def test_a_hundred_thousand_flags_are_split() -> None:
    text = "\U0001f1e6" * 100_001  # regex alone would look at 5,000,000,000 characters
    assert spans.words(text) == [Span(start, min(start + 2, len(text))) for start in range(0, len(text), 2)]


LONG = ["漢。" * 20_000, "“" * 40_000, "\u0e01" * 30_000 + "!\u0e01" * 5000, "." * 40_000, "Is it? Yes. " * 4000]


@pytest.mark.parametrize("text", LONG)
def test_sentences_of_long_texts_are_found_a_window_at_a_time(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    original = sentencex.get_sentence_boundaries

    def watched(language: str, piece: str) -> Any:
        read.append(len(piece))
        return original(language, piece)

    monkeypatch.setattr(sentencex, "get_sentence_boundaries", watched)
    laws(text, spans.sentences(text))
    assert max(read) <= spans._WINDOW
    assert sum(read) <= 3 * len(text)


@given(
    paragraphs=st.lists(st.text(alphabet=" .!?“”\"'()aBc1漢。", max_size=40), max_size=12),
    window=st.integers(100, 200),
)
def test_windows_change_nothing_where_paragraphs_are_shorter_than_half_of_one(
    paragraphs: list[str], window: int
) -> None:
    text = "\n\n".join(paragraphs)
    expected = spans.sentences(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spans, "_WINDOW", window)
        assert spans.sentences(text) == expected


def test_sentences_are_found_wherever_a_window_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"The {number}th train was late today." for number in range(200))
    expected = spans.sentences(text)
    assert len(expected) == 200
    for window in range(100, 160):
        monkeypatch.setattr(spans, "_WINDOW", window)
        assert spans.sentences(text) == expected


def test_paragraphs_end_at_empty_lines_of_every_kind() -> None:
    text = "One\r\nstill one\r\n \r\nTwo\n\n\nThree\r\rFour"
    assert [text[a:b] for a, b in spans.paragraphs(text)] == ["One\r\nstill one", "Two", "Three", "Four"]


def test_a_splitter_may_give_pieces() -> None:
    text = "a; b;  a"
    split_text = document(text, lambda text: re.findall(r"\w", text))
    assert split_text.pieces == ["a", "b", "a"]
    assert split_text.spans == (Span(0, 1), Span(3, 4), Span(7, 8))


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (lambda text: ["b", "a"], "does not follow"),
        (lambda text: [(0, 2), (1, 3)], "without overlap"),
        (lambda text: [(0, 99)], "lie in the text"),
        (lambda text: [(1, 2)], "blank"),
    ],
)
def test_a_splitter_that_breaks_the_rules_is_told(split: spans.Splitter, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        document("a b", split)


def test_too_many_spans_names_the_limit_and_the_setting() -> None:
    with pytest.raises(ValueError, match=r"11 spans, and the limit is 10.*limit=…"):
        document("a " * 11, spans.words, limit=10)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogate pair at character 2"):
        document("ab\ud800", spans.words)


@given(st.lists(st.text(alphabet="ab c", min_size=1).filter(lambda piece: not is_blank(piece))))
def test_pieces_come_back_from_what_was_joined(pieces: list[str]) -> None:
    assert joined(pieces).pieces == pieces
    assert document(pieces, spans.words).pieces == pieces


def test_other_things_are_no_texts() -> None:
    with pytest.raises(TypeError, match="got bytes"):
        document(b"abc", spans.words)
    with pytest.raises(TypeError, match="got int"):
        document(3, spans.words)
    with pytest.raises(ValueError, match="got 'verse'"):
        spans.splitter("verse")


def test_punkt_reads_its_data_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nltk = pytest.importorskip("nltk", reason="nltk is not installed")
    from nltk.tokenize.punkt import PunktTrainer, save_punkt_params

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    _punkt_tokenizer.cache_clear()
    with pytest.raises(ValueError, match="punkt_tab"):
        punkt("A sentence.")
    trained = PunktTrainer("Mr. Fox ran. Mr. Fox slept. He met Mr. Hare. Mr. Hare ran.").get_params()
    home = tmp_path / "tokenizers" / "punkt_tab" / "english"
    home.parent.mkdir(parents=True, mode=0o700)
    save_punkt_params(trained, str(home))
    text = "  Mr. Fox ran.  Then he slept!\n\n"
    own_spans = punkt(text)
    laws(text, own_spans)
    assert Document(text, tuple(own_spans)).pieces == ["Mr. Fox ran.", "Then he slept!"]
    _punkt_tokenizer.cache_clear()


@pytest.mark.parametrize(
    ("spans", "error"),
    [
        (((0, 2), (1, 3)), ValueError),
        (((0, 99),), ValueError),
        (((0, 1.5),), TypeError),
        (((0,),), TypeError),
        (None, TypeError),
    ],
)
def test_a_document_of_a_caller_is_checked(spans: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"Spans must lie|A document is"):
        Document("a b c", spans)


def test_offsets_become_whole_numbers() -> None:
    split_text = document("a b", lambda text: np.array([[0, 1], [2, 3]]))
    assert [type(edge) for span in split_text.spans for edge in span] == [int] * 4


def test_joiners_stand_inside_words() -> None:
    persian, soft = "\u0645\u06cc\u200c\u0631\u0648\u0645", "co\u00adoperate"
    text = f"{persian} {soft}"
    assert [text[a:b] for a, b in spans.words(text)] == [persian, soft]


def test_a_splitter_that_gives_nothing_is_told() -> None:
    with pytest.raises(TypeError, match="this one gave NoneType"):
        document("a", lambda text: None)  # type: ignore[arg-type, return-value]
