"""What aligning translations promises, whatever the texts; and what it finds in a small one."""

import csv
import random
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whymatch as wm
from tests.text.encoders.test_multilingual import encoder
from tests.versions.test_comparing import ByLetters
from whymatch.show.exchange import rows
from whymatch.text.document import joined
from whymatch.text.encoders.multilingual import MultilingualEncoder
from whymatch.text.spans import Span
from whymatch.translations.gains import FROM, LENGTH_WEIGHT, SIZE_POWER, Groups, TranslationCosts, nearest

__all__ = ["encoder"]  # a fixture

WORDS = str.split("=1+1 @x - der Regen the rain fiel fell. 12 § <b> & 猫 坐 été , x\x00x ]]> \u202ea")
SENTENCES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), max_size=9)
ENGLISH = [
    "It rained all day.",
    "The shop was closed, so we had no bread.",
    "My sister plays the violin.",
    "Nobody knows where the key is.",
    "The train to Hamburg leaves at nine in the morning.",
    "He bought a new bicycle last week.",
]
GERMAN = [
    "Es regnete den ganzen Tag.",
    "Der Laden war zu.",
    "Also hatten wir kein Brot.",
    "Niemand weiß, wo der Schlüssel ist.",
    "Die Katze schläft auf dem Dach.",
    "Der Zug nach Hamburg fährt um neun Uhr morgens.",
    "Er hat letzte Woche ein neues Fahrrad gekauft.",
]


class Tags(HTMLParser):
    """The names of all elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)


def aligned(left: Sequence[str], right: Sequence[str], **options: object) -> wm.Bitext:
    return wm.bitext(left, right, encoder=ByLetters(), **options)  # type: ignore[arg-type]


@settings(max_examples=60)
@given(SENTENCES, SENTENCES, st.integers(1, 4), st.booleans())
def test_groups_are_contiguous_in_order_and_share_no_sentence(
    left: list[str], right: list[str], most: int, moved: bool
) -> None:
    bitext = aligned(left, right, most=most, moved=moved)
    for one in bitext.passages:
        for numbers in (one.left, one.right):
            assert [*numbers] == [*range(numbers[0], numbers[-1] + 1)]
            assert 1 <= len(numbers) <= most
        assert -1.001 <= one.likeness <= 1.001
    in_order = [one for one in bitext.passages if not one.moved]
    for before, after in pairwise(in_order):
        assert before.left[-1] < after.left[0]
        assert before.right[-1] < after.right[0]
    for side, alone in zip(("left", "right"), bitext.alone, strict=True):
        linked = [n for one in bitext.passages for n in getattr(one, side)]
        assert sorted([*linked, *alone]) == [*range(len(getattr(bitext, side)))]


@settings(max_examples=40)
@given(SENTENCES, SENTENCES, st.booleans())
def test_the_other_way_round_gives_the_mirrored_links(left: list[str], right: list[str], moved: bool) -> None:
    there, back = aligned(left, right, moved=moved), aligned(right, left, moved=moved)
    mirrored = {(one.right, one.left, one.moved) for one in back.passages}
    assert {(one.left, one.right, one.moved) for one in there.passages} == mirrored


@settings(max_examples=30)
@given(SENTENCES.filter(len), SENTENCES.filter(len), st.integers(1, 3))
def test_costs_are_those_of_their_definition(left: list[str], right: list[str], most: int) -> None:
    own, other = (Groups(joined(side), ByLetters(), most, lambda read: None) for side in (left, right))
    costs = TranslationCosts(own, other)(range(len(left)), range(len(right)))
    pairs = nearest(own.vectors[:, 0], other.vectors[:, 0])
    ratios = [len(right[j]) / len(left[i]) for i, j, likeness in pairs if likeness > FROM]
    ratio = np.median(ratios) if ratios else 1.0
    mean = [ByLetters().encode(side, [[Span(0, len(one))] for one in side]) for side in (left, right)]
    means = [np.concatenate(rows).sum(axis=0) / (len(rows) + 10) for rows in mean]
    for i, j in np.ndindex(len(left), len(right)):
        for a, b in np.ndindex(min(most, i + 1), min(most, j + 1)):
            pieces = "\n".join(left[i - a : i + 1]), "\n".join(right[j - b : j + 1])
            x, y = (
                ByLetters().encode([piece], [[Span(0, len(piece))]])[0][0] - centre
                for piece, centre in zip(pieces, means, strict=True)
            )
            likeness = x @ y / max(1e-9, np.linalg.norm(x) * np.linalg.norm(y))
            m = sum(map(len, left[i - a : i + 1])) * ratio**0.5
            n = sum(map(len, right[j - b : j + 1])) / ratio**0.5
            gain = ((a + b + 2) / 2) ** SIZE_POWER * (likeness - FROM) - LENGTH_WEIGHT * (m - n) ** 2 / ((m + n) / 2)
            assert costs[i, j, a, b] == pytest.approx(-gain, abs=1e-4)


@given(st.integers(0, 2**32 - 1))
def test_nearest_is_argmax_both_ways(seed: int) -> None:
    generator = np.random.default_rng(seed)
    left, right = (generator.standard_normal((generator.integers(0, 700), 3)).astype(np.float32) for _ in range(2))
    expected = []
    if len(left) and len(right):
        products = left @ right.T
        best = products.argmax(axis=0)
        expected = [(i, j) for i, j in enumerate(products.argmax(axis=1)) if best[j] == i]
    assert [(i, j) for i, j, _ in nearest(left, right)] == expected


@settings(max_examples=60)
@given(SENTENCES, SENTENCES)
def test_every_format_is_well_formed_and_has_every_sentence(left: list[str], right: list[str]) -> None:
    bitext = aligned(left, right, moved=True)
    lines = [*csv.reader(bitext.to_tsv().splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)]
    assert {len(line) for line in lines} == {4}
    assert not {cell[0] for line in lines for cell in line[:2] if cell} & {*"=+@"}, "no cell is a formula"
    assert len(lines) == 1 + len(bitext.passages) + sum(map(len, bitext.alone))
    shown = [row.left for row in rows(bitext.to_dict()) if row.left], [row.right for row in rows(bitext.to_dict())]
    assert "".join("".join(shown[0]).split()) == "".join("".join(left).split())
    assert sorted("".join("".join(shown[1]).split())) == sorted("".join("".join(right).split()))
    tree = ElementTree.fromstring(bitext.to_tmx(languages=("de", "zh-Hant")))
    units = [[segment.text for segment in unit.iter("seg")] for unit in tree.iter("tu")]
    assert len(units) == len(bitext.passages)
    assert all("\x00" not in str(text) for unit in units for text in unit)
    page = Tags()
    page.feed(bitext.to_html())
    assert "b" not in page.seen, "texts are escaped"
    assert bitext.verdict
    assert str(bitext).startswith(bitext.verdict)


def test_sentences_that_were_joined_and_left_out(encoder: MultilingualEncoder) -> None:
    bitext = wm.bitext(ENGLISH, GERMAN, encoder=encoder)
    assert [(one.left, one.right) for one in bitext.passages] == [
        ((0,), (0,)), ((1,), (1, 2)), ((3,), (3,)), ((4,), (5,)), ((5,), (6,)),
    ]  # fmt: skip
    assert bitext.alone == ((2,), (4,))
    assert bitext.languages == ("en", "de")
    assert bitext.remarks == ()
    assert bitext.sizes == {(1, 1): 4, (1, 2): 1}


def test_texts_are_split_by_the_rules_of_their_language(encoder: MultilingualEncoder) -> None:
    bitext = wm.bitext("He came on 3 May, and stayed. We did not.", "Er kam am 3. Mai und blieb. Wir nicht.")
    assert [bitext.texts(one)[1] for one in bitext.passages] == ["Er kam am 3. Mai und blieb.", "Wir nicht."]


def test_passages_that_moved_are_found_where_they_are_asked_for(encoder: MultilingualEncoder) -> None:
    german = [GERMAN[0], *GERMAN[3:], *GERMAN[1:3]]
    expected = {((1,), (5, 6))}
    assert not any(one.moved for one in wm.bitext(ENGLISH, german, encoder=encoder).passages)
    bitext = wm.bitext(ENGLISH, german, encoder=encoder, moved=True)
    assert {(one.left, one.right) for one in bitext.passages if one.moved} == expected
    assert "at another place" in bitext.verdict


def test_texts_that_are_no_translations_are_said_to_be_none(encoder: MultilingualEncoder) -> None:
    other = [
        "Der Vertrag endet im März.", "Die Äpfel sind reif.", "Physik ist schwer.", "Das Konzert fällt aus.",
        "Meine Großmutter lebte in Wien.", "Die Rechnung ist bezahlt.",
    ]  # fmt: skip
    bitext = wm.bitext(ENGLISH, other, encoder=encoder)
    assert not bitext.passages or "may be no translations" in bitext.remarks[0]


def test_a_language_that_the_encoder_does_not_read_is_named(encoder: MultilingualEncoder) -> None:
    swedish = ["Det regnade hela dagen och jag kunde inte gå ut.", "Ingen vet var nyckeln är, och det är inte bra."]
    remarks = wm.bitext(ENGLISH[:2], swedish, encoder=encoder).remarks
    assert any("Swedish" in remark for remark in remarks)
    with pytest.raises(ValueError, match="cannot read the translated text"):
        wm.bitext(ENGLISH[:1], ["יום אחד ירד גשם."], encoder=encoder)


def test_too_many_sentences_and_bad_groups_are_refused_before_work_begins() -> None:
    with pytest.raises(ValueError, match="20,000"):
        aligned(["a"] * 20_001, ["b"])
    with pytest.raises(ValueError, match="groups of 1"):
        aligned(["a"], ["b"], most=0)
    with pytest.raises(ValueError, match="language of the source"):
        aligned(["12"], ["12"]).to_tmx()
    with pytest.raises(ValueError, match="no code"):
        aligned(["12"], ["12"]).to_tmx(languages=("de", 'x" y="'))


def test_empty_texts_have_no_passages() -> None:
    for left, right in ((["a"], []), ([], ["a"]), ([], [])):
        bitext = aligned(left, right, moved=True)
        assert bitext.passages == ()
        assert bitext.verdict.startswith("No sentence")


def test_a_band_is_never_needed_to_find_links_far_from_the_diagonal() -> None:
    generator = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyz"
    texts = ["".join(generator.choices(letters, k=30)) for _ in range(40)]
    others = ["".join(generator.choices(letters, k=30)) for _ in range(260)]
    bitext = aligned(texts, others + texts)
    right = sum(one.left == (one.right[0] - 260,) for one in bitext.passages)
    assert right >= 30
