"""The language of a text: stable, right on known sentences, and cautious with English; sentences of other languages."""

import gzip
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.languages import own_sentences
from whymatch.text import spans
from whymatch.text.encoders.multilingual import LANGUAGES
from whymatch.text.languages import language, language_name, may_be_english, scripts
from whymatch.text.spans import sentences, words

OWN = own_sentences()
CODES = sorted(OWN)
texts = st.sampled_from([(code, text) for code in CODES for text in OWN[code]])


@pytest.mark.parametrize("code", CODES)
def test_sentences_of_every_language_are_recognised_or_unknown(code: str) -> None:
    told = [language(text) for text in OWN[code]]
    assert set(told) <= {code, None}
    assert told.count(code) >= 0.8 * len(told)
    assert language_name(code)[0].isupper()


@given(own=texts, marks=st.lists(st.sampled_from([".", "!", "?", " – ", "…", '"', " (", ") "]), min_size=1, max_size=4))
def test_case_and_punctuation_do_not_change_the_language(own: tuple[str, str], marks: list[str]) -> None:
    _, text = own
    if language(text) != "tr":  # its letters i and ı have capitals that other languages read differently
        assert language(text.upper()) == language(text.lower()) == language(text)
    assert language("".join(marks) + text + "".join(reversed(marks))) == language(text)


@given(text=st.text())
def test_any_text_has_a_language_or_none(text: str) -> None:
    code = language(text)
    assert code is None or language_name(code)
    assert set(scripts(text)) <= {"Latin", "Other"} or code is not None or any(map(str.isalpha, text))
    assert may_be_english("")


@pytest.mark.parametrize("text", ["iPhone 6", "3.14", "", "USB-N13", "sudo nginx", "\\frac{d^n}{d x^n}", "🙂"])
def test_texts_that_say_too_little_have_no_language(text: str) -> None:
    assert language(text) is None
    assert may_be_english(text)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("sw", "Serikali ilisema kwamba bei ya mafuta itapanda mwaka huu."),
        ("ca", "Catalunya és un país petit i molt bonic, amb muntanyes i mar."),
        ("hr", "Vlada je rekla da će cijene goriva rasti ove godine."),
        ("tl", "Ang pangalan ko ay Maria at nakatira ako sa Maynila."),
        ("lv", "Šodien ļoti līst, un viņa nav mājās."),
        ("lt", "Šiandien labai lyja ir aš nenoriu eiti iš namų."),
        ("sq", "Unë quhem Ana dhe jetoj në Tiranë."),
        ("sl", "Danes zelo dežuje in ne grem iz hiše."),
        ("sv", "Det regnar mycket idag och jag vill inte gå ut."),
        ("vi", "Hôm nay trời mưa rất to và tôi không muốn ra ngoài."),
        ("be", "Я жыву ў Мінску і люблю чытаць."),
        ("kk", "Сәлем, менің атым Анна."),
        ("sr", "Влада је рекла да ће цене горива расти."),
        ("uk", "Сьогодні йде дощ, і я не хочу виходити."),
        ("ru", "Сегодня идёт сильный дождь, и я не хочу выходить."),
        ("el", "Σήμερα βρέχει πολύ."),
        ("he", "היום יורד גשם חזק."),
    ],
)
def test_languages_that_are_not_read_are_told_from_those_that_are(code: str, text: str) -> None:
    assert language(text) == code
    assert (code in LANGUAGES) == (code == "ru")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Er kam am 3. Mai, z. B. mit dem Zug. Wir nicht.", ["Er kam am 3. Mai, z. B. mit dem Zug.", "Wir nicht."]),
        ("Es gilt § 4 Abs. 2 des Gesetzes. Das ist neu.", ["Es gilt § 4 Abs. 2 des Gesetzes.", "Das ist neu."]),
        ("Er lebte im 19. Jahrhundert. Sie auch.", ["Er lebte im 19. Jahrhundert.", "Sie auch."]),
        ("Das ist der Vertrag. 3. Der Mieter zahlt.", ["Das ist der Vertrag.", "3. Der Mieter zahlt."]),
        ("Das war gut für alle. 1990 zog er um.", ["Das war gut für alle.", "1990 zog er um."]),
        ("M. Dupont est venu hier. Il est parti.", ["M. Dupont est venu hier.", "Il est parti."]),
        ("今日は晴れです。「行きます。」と言った。本当？", ["今日は晴れです。", "「行きます。」と言った。", "本当？"]),
        ("他走了。2010年他回来了。好！", ["他走了。", "2010年他回来了。", "好！"]),
        ("هل تأتي؟ نعم. جاء الولد.", ["هل تأتي؟", "نعم.", "جاء الولد."]),
        ("वह घर गया। क्या तुम आओगे? हाँ।", ["वह घर गया।", "क्या तुम आओगे?", "हाँ।"]),
    ],
)
def test_sentences_of_other_languages(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


@pytest.mark.parametrize("code", CODES)
def test_sentences_are_found_again_in_a_paragraph(code: str) -> None:
    blank = "" if code in ("zh", "ja") else " "
    text = blank.join(OWN[code])
    assert len({text[start:end] for start, end in sentences(text)} & set(OWN[code])) >= 0.8 * len(OWN[code])


@given(parts=st.lists(texts, max_size=6), joints=st.lists(st.sampled_from(["", " ", "\n", "\n\n", " 3. ", "§ 4 "])))
def test_spans_cover_what_shows_in_every_script(parts: list[tuple[str, str]], joints: list[str]) -> None:
    text = "".join(part + joint for (_, part), joint in zip(parts, [*joints, *[""] * 6], strict=False))
    for split in (sentences, words):
        found = split(text)
        assert all(a.start < a.end <= b.start for a, b in pairwise(found))
        assert "".join(filter(spans.is_visible, "".join(text[a:b] for a, b in found))) == "".join(
            filter(spans.is_visible, text)
        )


def test_chinese_characters_are_words_and_kana_stand_together() -> None:
    text = "今日はコーヒー"
    assert [text[a:b] for a, b in words(text)] == ["今", "日", "は", "コーヒー"]


@pytest.mark.skipif("WHYMATCH_DATA" not in os.environ, reason="WHYMATCH_DATA names no folder of data sets")
@pytest.mark.parametrize(("name", "code"), [("English", "en"), ("German", "de"), ("French", "fr"), ("Chinese", "zh")])
def test_single_sentences_of_pud_are_recognised(name: str, code: str) -> None:
    with gzip.open(Path(os.environ["WHYMATCH_DATA"]) / "pud" / f"{name}.txt.gz", "rt", encoding="utf-8") as lines:
        told = [language(line) for line in lines]
    assert told.count(code) >= 0.97 * len(told)
