"""Sentence boundaries of languages other than English: sentences come back from the paragraph that they make."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whymatch.text.boundaries import corrected_starts
from whymatch.text.spans import sentences

WITHOUT_BLANKS = ("ja", "zh")
# Dates, ordinals, abbreviations, quotations, brackets, decimal numbers, clauses and numbered lists.
PARAGRAPHS = {
    "de": """Die Sitzung beginnt am 7. März um 9.15 Uhr.
Frau Dr. med. Keller leitet sie.
Sie hat u. U. z. B. wenig Zeit!
„Kommst du?“, rief Peter.
Er sagte: „Ich komme morgen.“
Gem. Art. 12 Abs. 3 DSGVO und § 4 ist das kostenlos.
Das sind inkl. Nebenkosten 1.250,00 €.
(Das war klar.)
Man sah nichts mehr...""",
    "fr": """Mgr. Leblanc viendra le 14 juill. 2022.
Sa sœur, Mlle Petit, l'aide.
Cf. p. 24, al. 3.
« Tu viens ? » cria Paul.
M. Durand a dit : « Je viens demain. »
Le n° 5 coûte 1 250,00 €.
L'O.N.U. a voté en 50 av. J.-C. environ.
(C'était clair.)
On ne voyait plus rien.""",
    "es": """La Srta. Vega vendrá el 14 de feb. de 2022.
Lea la pág. 24 y el art. 5.
«Voy mañana», dijo ella.
¿Vienes?
Dijo que no.
Cuesta aprox. 1.250,00 €.
(Estaba claro.)
No se veía nada.""",
    "it": """L'avv. Conti verrà il 14 feb. 2022.
Vedi pag. 24 e art. 3.
«Vieni?» gridò Paolo.
Disse di no.
Costa ca. 1.250,00 €.
Cesare morì nel 44 a.C. a Roma.
(Era chiaro.)
Non si vedeva più nulla.""",
    "pt": """A Sra. Nunes virá em 14 de fev. de 2022.
Veja a pág. 24.
«Vens?», gritou Paulo.
— Estou aqui — disse ele.
Custa aprox. 1.250,00 €.
No séc. XVI tudo mudou.
(Era claro.)
Não se via nada.""",
    "nl": """Mw. Visser komt op 14 feb. 2022.
Zie blz. 24 en art. 3.
“Kom je?” riep Paul.
's Avonds regende het.
Het kost ca. 1.250,00 €.
Dat komt o.a. door de storm.
(Dat was duidelijk.)
Men zag niets meer.""",
    "pl": """Mgr inż. Lis przyjdzie 14 lut. 2022 r. rano.
Zob. s. 24 i art. 5 ust. 2 pkt 3.
– Idziesz? – zawołał Paweł.
To kosztuje ok. 1250,00 zł.
Mieszka przy ul. Długiej 5.
Urodził się w XVI w. w Krakowie.
(To było jasne.)
Nic nie było widać.""",
    "ru": """Г-жа Лис придёт 14 февр. 2022 г. утром.
См. стр. 24 и ст. 3.
– Ты идёшь? – крикнул Павел.
Т. е. это стоит ок. 1250,00 руб. в месяц.
Он жил в XVI в. в Москве.
(Это было ясно.)
Ничего не было видно.""",
    "tr": """Av. Kaya 14 Şub. 2022'de gelecek.
“Geliyor musun?” diye bağırdı Ali.
Bu yaklaşık 1.250,00 lira tutuyor.
Osman, 2. Dünya Savaşı'nda yaşadı.
(Bu açıktı.)
Hiçbir şey görünmüyordu.""",
    "ja": """会議は2022年2月14日に始まる。
「来る？」とポールは叫んだ。
彼は「いいえ。」と答えた。
料金は1,250.00円だ。
（それは明らかだった。）
何も見えなかった。""",
    "zh": """会议于2022年2月14日开始。
他说：“不。”
这是A.B.公司。
费用为1,250.00元。
（这很清楚。）
什么也看不见了！""",
    "ko": """회의는 2022. 2. 14. 시작한다.
그는 "아니요."라고 말했다.
요금은 1,250.00원이다.
(그것은 분명했다.)
아무것도 보이지 않았다.""",
    "ar": """تبدأ الجلسة في 14 فبراير 2022.
انظر ص. 24.
قال د. سامي: لا.
التكلفة 1.250,00 يورو!
هل هذا واضح؟
لم يكن هناك شيء.""",
    "hi": """बैठक 14 फ़रवरी 2022 को शुरू होगी।
प्रो. वर्मा आएँगे।
उसने कहा, “नहीं।”
लागत 1,250.00 रुपये है!""",
}
NUMBERED = {
    "de": ["1. Der Mieter zahlt die Miete.", "2. Der Vermieter stellt die Wohnung.", "3. Haustiere sind verboten."],
    "fr": ["1. Le locataire paie le loyer.", "2. Le bailleur donne les clés.", "3. Les animaux sont interdits."],
    "pl": ["1. Najemca płaci czynsz.", "2. Wynajmujący wydaje klucze.", "3. Zwierzęta są zabronione."],
    "tr": ["1. Kiracı kirayı öder.", "2. Kiraya veren anahtarı verir.", "3. Hayvanlar yasaktır."],
    "zh": ["1. 承租人支付租金。", "2. 出租人交付钥匙。", "3. 禁止养宠物。"],
}


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize("code", PARAGRAPHS)
def test_sentences_come_back_from_their_paragraph(code: str) -> None:
    written = PARAGRAPHS[code].splitlines()
    assert split(("" if code in WITHOUT_BLANKS else " ").join(written)) == written
    assert split("\n".join(written)) == written


@pytest.mark.parametrize("code", NUMBERED)
def test_the_number_of_a_sentence_stays_with_it(code: str) -> None:
    assert split(" ".join(NUMBERED[code])) == NUMBERED[code]


@given(
    parts=st.lists(st.sampled_from(["Das", "ist", ".", "„", "“", "(", ")", "'", " ", "\n", "3.", "Dr.", "§"])),
    code=st.sampled_from(sorted(PARAGRAPHS)),
    cuts=st.sets(st.integers(0, 60)),
)
def test_whatever_was_cut_no_piece_but_a_line_of_its_own_is_marks_alone_before_another(
    parts: list[str], code: str, cuts: set[int]
) -> None:
    text = "".join(parts)
    starts = corrected_starts(text, sorted({0, *(cut for cut in cuts if cut < len(text))}), code)
    assert starts == sorted({*starts})
    for start, end in pairwise(starts):
        piece = text[start:end]
        assert any(map(str.isalnum, piece)) or not piece.strip() or "\n" in piece or not text[end:].strip()
