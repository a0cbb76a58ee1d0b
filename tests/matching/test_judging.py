"""What evidence is measured against, and what is said of two texts: background, probability, notes and proof."""

import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whymatch as wm
from tests.cost.drawing import Drawn
from whymatch.cost import Background, Cosine, Cost, Evidence, Neighbours
from whymatch.cost.background import MANY_TEXTS
from whymatch.files import cache_folder
from whymatch.matching.alignment import Alignment
from whymatch.matching.judging import MIN_BATCH_SPANS
from whymatch.matching.shipped import (
    FOLDER,
    NAME,
    phrase_vectors,
    set_phrases,
    shipped_background,
    shipped_calibration,
    shipped_chance,
    shipped_texts,
)
from whymatch.matching.significance import Calibration, Chance
from whymatch.show.words import UNREAD
from whymatch.text.document import Document
from whymatch.text.encoders import Encoder
from whymatch.text.encoders.caching import PROBES
from whymatch.text.spans import Span

DRAWN = Drawn(noise=0.7)
CORPUS = ["\n".join(f"word{3 * number + i % 3} {i}" for i in range(5)) for number in range(60)]


def aligner_of_lines(background: Background | None = None, encoder: Encoder = DRAWN) -> wm.Aligner:
    return wm.Aligner("line", encoder, "evidence", background=background)


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> "pytest.MonkeyPatch":  # type: ignore[misc]
    """Backgrounds that tests make are not put into the user's folder of caches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield patch


@pytest.fixture(scope="module")
def drawn() -> wm.Aligner:
    """An aligner with a background of its own."""
    return aligner_of_lines(Background.of(CORPUS, aligner_of_lines(), "a corpus of words"))


@pytest.fixture(scope="module")
def english(minilm: Path) -> wm.Aligner:
    return wm.Aligner()


def batch(texts: int, spans: int) -> list[tuple[str, str]]:
    """Pairs of so many distinct texts that have so many spans together."""
    sizes = [spans // texts + (number < spans % texts) for number in range(texts)]
    made = ["\n".join(f"word{number + i} {number} {i}" for i in range(size)) for number, size in enumerate(sizes)]
    return [*zip(made[::2], made[1::2], strict=False), (made[-1], made[0])]


@pytest.mark.parametrize(
    ("texts", "spans", "own"),
    [
        (MANY_TEXTS, MIN_BATCH_SPANS, True),
        (MANY_TEXTS - 1, 2 * MIN_BATCH_SPANS, False),
        (MANY_TEXTS, MIN_BATCH_SPANS - 1, False),
    ],
)
def test_many_texts_are_their_own_background(texts: int, spans: int, own: bool) -> None:
    aligner, pairs = aligner_of_lines(), batch(texts, spans)
    alignments = aligner.align_many([*pairs, *pairs], links_only=True)  # texts that are equal count once
    expected = f"the {texts:,} texts that were aligned together" if own else NAME
    assert {why.judgement.background for why in alignments if why.judgement} == {expected}
    assert alignments[: len(pairs)] == alignments[len(pairs) :]


def test_pairs_that_cannot_be_read_are_no_part_of_the_background() -> None:
    aligner, pairs = aligner_of_lines(), batch(MANY_TEXTS, MIN_BATCH_SPANS)
    *good, bad = aligner.outcomes([*pairs[:-2], ("\ud800", "word1 x")], links_only=True)
    assert isinstance(bad, ValueError)
    assert all(isinstance(why, wm.Alignment) and why.judgement and why.judgement.background == NAME for why in good)


@pytest.fixture(scope="module")
def alone() -> wm.Aligner:
    """An aligner without a background of its own."""
    return aligner_of_lines()


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 12))
def test_a_batch_that_is_no_background_gives_what_each_pair_gives_to_the_bit(
    alone: wm.Aligner, seed: int, count: int
) -> None:
    draw = np.random.default_rng(seed)
    texts = [
        "\n".join(f"word{draw.integers(4)} {draw.integers(99)}" for _ in range(draw.integers(6)))
        for _ in range(2 * count)
    ]
    pairs = [*zip(texts[::2], texts[1::2], strict=True)]
    assert alone.align_many(pairs) == [alone.align(*pair) for pair in pairs]


def test_a_background_that_is_given_is_used(drawn: wm.Aligner) -> None:
    pairs = batch(MANY_TEXTS, MIN_BATCH_SPANS)
    together = drawn.align_many(pairs, links_only=True)
    assert {why.judgement.background for why in together if why.judgement} == {"a corpus of words"}
    (alone,) = drawn.align_many(pairs[:1], links_only=True)
    assert together[0] == alone
    assert drawn.judge.background is not None
    in_the_cost = wm.Aligner("line", DRAWN, Cost(Cosine(), Evidence(drawn.judge.background)))
    assert in_the_cost.align(*pairs[0]) == drawn.align(*pairs[0])


def test_what_has_a_background_can_be_given_as_one(drawn: wm.Aligner) -> None:
    class Corpus:
        background = drawn.judge.background

    assert wm.Aligner("line", DRAWN, background=Corpus()).align(CORPUS[0], CORPUS[1]) == drawn.align(
        CORPUS[0], CORPUS[1]
    )


def test_a_background_of_another_encoder_is_refused(drawn: wm.Aligner) -> None:
    class Other(Drawn):
        name = "other"

    with pytest.raises(ValueError, match="is of another encoder than other"):
        aligner_of_lines(drawn.judge.background, Other())


class Illiterate(Drawn):
    """Cannot read pieces with a question mark."""

    name = "illiterate"

    def reads(self, pieces: Sequence[str]) -> list[bool]:
        return ["?" not in piece for piece in pieces]


@pytest.fixture(scope="module")
def illiterate() -> wm.Aligner:
    encoder = Illiterate(noise=0.7)
    return aligner_of_lines(Background.of(CORPUS, aligner_of_lines(encoder=encoder), "a corpus"), encoder)


def test_spans_that_cannot_be_read_have_no_link_and_a_note(illiterate: wm.Aligner) -> None:
    left, right = "topic1 a\ntopic2 ?\n...", "topic2 ?\ntopic1 b\n—\ntopic3 ?"
    why = illiterate.align(left, right)
    assert why.to_pharaoh() == "0-1"
    assert why.notes[-3:] == (
        "1 span of the left text cannot be read by illiterate, and has no evidence.",
        "1 span of the left text has no letter or digit, and no evidence.",
        "2 spans of the right text cannot be read by illiterate, and have no evidence.",
    )
    assert why.judgement is not None
    assert [slope == 0 for _, slope in why.judgement.tails[0]] == [False, True, True]
    without = illiterate.align("topic1 a", "topic1 b")
    assert why.bits == pytest.approx(without.bits)  # what cannot be read was not searched
    exact = illiterate.align(left, right, wm.Exactly(3))
    assert all((link.bits or 0) <= 0 for link in exact.links if link.at != (0, 1))


@pytest.mark.parametrize("text", ["topic1 ?", "?\n?\n?", "...", "", "topic1 a\ntopic2 b"])
def test_texts_that_are_equal_match_whatever_can_be_read(illiterate: wm.Aligner, text: str) -> None:
    why = illiterate.align(text, text)
    assert why.probability == 1
    assert why.verdict == "They match: the two texts are the same."
    if text != "topic1 a\ntopic2 b":
        assert not why.links
        other = illiterate.align(text, "topic9 x")
        assert other.probability is not None
        assert other.probability < 0.5


@pytest.mark.parametrize("constraint", [None, wm.Exactly(1), wm.OneTo(1), wm.Balanced(), wm.Each(1)], ids=str)
def test_an_empty_text_has_no_evidence(drawn: wm.Aligner, constraint: wm.Constraint | None) -> None:
    for left, right in (("", "topic1 a"), ("topic1 a", ""), ("", "")):
        (why,) = drawn.align_many([(left, right)], constraint, clip=True)
        assert (why.links, why.score, why.bits) == ((), 0, 0)
        assert why.probability is not None
        assert (why.probability == 1) == (not left + right)
        assert wm.Alignment.from_dict(json.loads(json.dumps(why.to_dict()))) == why


topics = st.lists(st.integers(0, 5), min_size=1, max_size=6)
constraints = st.one_of(
    st.none(),
    st.just(wm.Balanced()),
    st.builds(wm.Exactly, st.integers(1, 6)),
    st.builds(wm.OneTo, st.integers(1, 3)),
    st.builds(wm.Each, st.integers(1, 3), st.floats(-20, 20)),
    st.builds(wm.UpTo, st.integers(1, 3), st.floats(-20, 20)),
)


def texts_about(left: list[int], right: list[int]) -> tuple[str, str]:
    one, other = (
        "\n".join(f"topic{topic} {side}{i}" for i, topic in enumerate(own)) for side, own in (("l", left), ("r", right))
    )
    return one, other


@given(left=topics, right=topics, constraint=constraints)
def test_links_and_score_hold_on_the_rationale_alone(
    drawn: wm.Aligner, left: list[int], right: list[int], constraint: wm.Constraint | None
) -> None:
    (why,) = drawn.align_many([texts_about(left, right)], constraint, clip=True)
    checked = why.verify(drawn)
    assert checked.holds, checked
    assert why.score == pytest.approx(sum(link.share for link in why.links))
    for link in why.links:
        assert link.bits == -link.cost


@pytest.mark.parametrize("constraint", [None, wm.Exactly(20), wm.OneTo(1), wm.UpTo(2, below=30.0)], ids=str)
def test_they_hold_where_common_spans_carry_no_evidence_among_many(constraint: wm.Constraint | None) -> None:
    encoder = Drawn(noise=0.15)
    texts = ["\n".join(f"common{i} {n}\nword{3 * n + i} x" for i in range(3)) for n in range(80)]
    aligner = aligner_of_lines(Background.of(texts, aligner_of_lines(encoder=encoder)), encoder)
    spans = [[f"common{i % 3} {side}{i}" if i % 2 else f"topic{i} {side}" for i in range(24)] for side in "lr"]
    why = aligner.align(spans[0], spans[1], constraint)
    assert why.links
    assert why.verify(aligner).holds, why.verify(aligner)


@given(left=topics, right=topics, constraint=constraints)
def test_what_is_said_of_two_texts_does_not_depend_on_the_constraint(
    drawn: wm.Aligner, left: list[int], right: list[int], constraint: wm.Constraint | None
) -> None:
    pair = texts_about(left, right)
    (why,) = drawn.align_many([pair], constraint, clip=True)
    default = drawn.align(*pair)
    assert (why.bits, why.p_value, why.probability) == (default.bits, default.p_value, default.probability)
    turned = drawn.align(pair[1], pair[0])
    assert turned.bits == pytest.approx(default.bits, rel=1e-5, abs=1e-4)
    assert turned.probability == pytest.approx(default.probability, rel=1e-3, abs=1e-6)


@settings(max_examples=25)
@given(left=topics, right=topics, constraint=constraints)
def test_alignments_with_evidence_come_back_whole(
    drawn: wm.Aligner, left: list[int], right: list[int], constraint: wm.Constraint | None
) -> None:
    (why,) = drawn.align_many([texts_about(left, right)], constraint, clip=True)
    assert pickle.loads(pickle.dumps(why)) == why
    assert wm.Alignment.from_dict(json.loads(json.dumps(why.to_dict()))) == why


def test_more_shared_topics_are_more_evidence(drawn: wm.Aligner) -> None:
    pairs = [texts_about([0, 1, 2, 3], [*range(shared), *range(10, 14 - shared)]) for shared in range(5)]
    alignments = drawn.align_many(pairs)
    for shared, why in enumerate(alignments):
        assert {(i, i) for i in range(shared)} <= {link.at for link in why.links}
    bits, p_values = [why.bits or 0 for why in alignments], [why.p_value or 0 for why in alignments]
    assert bits == sorted(bits)
    assert p_values == sorted(p_values, reverse=True)


def test_calibrating_changes_probabilities_and_nothing_else(drawn: wm.Aligner) -> None:
    own = aligner_of_lines(drawn.judge.background)
    pairs = [texts_about([0, 1], [0, 1]), texts_about([0, 1], [2, 3])] * 5
    before = own.align(*pairs[0])
    calibration = own.calibrate(pairs, [True, False] * 5, "ten pairs")
    why = own.align(*pairs[0])
    assert why.judgement is not None
    assert why.judgement.calibrated_on == calibration.fitted_on == "ten pairs"
    assert before.judgement is not None
    restored = replace(
        why.judgement, probability=before.judgement.probability, calibrated_on=before.judgement.calibrated_on
    )
    assert replace(why, judgement=restored) == before
    with pytest.raises(ValueError, match="cosine distance has none"):
        wm.Aligner("line", DRAWN, "cosine").calibrate(pairs, [True, False] * 5)


def test_a_calibration_is_for_the_kind_of_background_it_was_fitted_with(drawn: wm.Aligner) -> None:
    own = aligner_of_lines(drawn.judge.background)
    before = own.align("topic1 a", "topic1 b")
    own.judge.calibration = Calibration(1.0, -1.0, "other pairs", general=not before.judgement.general)  # type: ignore[union-attr]
    after = own.align("topic1 a", "topic1 b")
    assert after.probability == before.probability
    assert [note for note in after.notes if "calibration of other pairs was not used" in note] == [after.notes[-1]]
    own.judge.calibration = replace(own.judge.calibration, general=not own.judge.calibration.general)
    assert own.align("topic1 a", "topic1 b").judgement.calibrated_on == "other pairs"  # type: ignore[union-attr]


def test_a_background_of_few_texts_is_careful_and_says_so() -> None:
    texts = ["\n".join(f"word{number * 7 + i} {number} {i}" for i in range(12)) for number in range(30)]
    why = wm.Aligner("line", DRAWN, background=texts).align(texts[0], texts[1])
    assert any("only 30 texts" in note for note in why.notes)
    assert why.judgement is not None
    assert why.judgement.calibrated_on == shipped_calibration(general=True).fitted_on
    with pytest.raises(TypeError, match="a Background, an index or a list of texts, got str"):
        wm.Aligner("line", DRAWN, background="folder")  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [1e-9, 1e5])
def test_the_size_of_an_encoders_vectors_changes_no_evidence(scale: float) -> None:
    class Scaled:
        name, contextual = f"scaled {scale}", False

        def encode(self, texts: Sequence[str], spans: Sequence[Sequence[wm.Span]]) -> list[np.ndarray]:
            return [scale * rows for rows in DRAWN.encode(texts, spans)]

    text = "\n".join(CORPUS[0].split("\n")[:2])
    one, other = (aligner_of_lines(encoder=encoder).align(text, CORPUS[0]) for encoder in (DRAWN, Scaled()))
    assert other.bits == pytest.approx(one.bits, rel=0.01)


UNRELATED = [
    ("My wifi drops every few minutes. I use a Dell laptop.", "Boil the eggs for ten minutes. Peel them under water."),
    ("The court dismissed the appeal.", "Which shoes are best for running on trails?"),
    ("Water the plant once a week.", "The new album was recorded in Berlin. Critics liked it."),
]
PARAPHRASES = [
    ("How do I reset my password? I forgot it.", "I can't remember my password. How can I change it?"),
    ("My wifi drops every few minutes.", "The wireless connection keeps failing again and again."),
    ("The battery of my phone drains overnight.", "Why is my phone's battery empty in the morning?"),
]


def test_unrelated_texts_have_a_low_probability_and_paraphrases_a_high_one(english: wm.Aligner) -> None:
    low, high = ([why.probability or 0 for why in english.align_many(pairs)] for pairs in (UNRELATED, PARAPHRASES))
    assert max(low) < 0.3
    assert min(high) > 0.5
    assert all(why.links for why in english.align_many(PARAPHRASES))
    assert english.align(*PARAPHRASES[0]).verify()


FOREIGN = {
    "Thai": ("วันนี้อากาศร้อนมาก", "ฉันชอบกินข้าวผัดกับไข่ดาว"),
    "Chinese": ("今天天气很好。", "我昨天买了一本新书。"),
    "Arabic": ("الطقس حار جدا اليوم.", "اشتريت كتابا جديدا أمس."),
}


@pytest.mark.parametrize("language", FOREIGN)
def test_what_the_encoder_cannot_read_is_no_match_unless_it_is_equal(english: wm.Aligner, language: str) -> None:
    left, right = FOREIGN[language]
    for pair, side in (((left, right), "left"), (("It is hot.", right), "right")):
        with pytest.raises(ValueError, match=rf"cannot read the {side} text, which looks {language}.*multilingual"):
            english.align(*pair)
    same = english.align(left, left)
    assert same.probability == 1
    assert not same.links
    assert len(same.notes) == 2
    assert all("cannot be read by sentence-transformers/all-MiniLM-L6-v2" in note for note in same.notes)


def test_a_language_that_the_encoder_does_not_read_is_named_and_gets_no_verdict(english: wm.Aligner) -> None:
    german = "Der Strompreis hat sich verdoppelt. Ich mag den Film nicht.", "Er hat Hunger und will nach Hause."
    why = english.align(*german)
    assert why.probability is None
    assert why.verdict == UNREAD
    assert sum("looks German" in note for note in why.notes) == 2
    assert "whymatch[multilingual]" in why.notes[-1]
    assert Alignment.from_dict(json.loads(json.dumps(why.to_dict()))) == why
    assert "likely to match" not in str(why)
    assert "likely to match" not in why.to_html(zoom=False)
    assert english.align(german[0], german[0]).probability == 1
    assert english.align("The price of power has doubled.", "It is cold today.").notes == ()


@pytest.mark.parametrize("language", FOREIGN)
def test_mixed_texts_keep_the_links_of_what_can_be_read(english: wm.Aligner, language: str) -> None:
    (left, right), foreign = PARAPHRASES[0], FOREIGN[language]
    plain, mixed = english.align(left, right), english.align(f"{left}\n\n{foreign[0]}", f"{right}\n\n{foreign[1]}")
    assert not plain.notes
    assert len(mixed.notes) == 2
    assert [link.texts for link in mixed.links] == [link.texts for link in plain.links] != []
    assert mixed.bits == pytest.approx(plain.bits, rel=1e-4)
    assert mixed.probability == pytest.approx(plain.probability, rel=1e-3)


def test_the_shipped_files_agree_with_each_other(english: wm.Aligner) -> None:
    background = shipped_background(english)
    assert background.general
    assert background.name == NAME
    documents = [english.split(text) for text in shipped_texts()]
    assert len({text.text for text in documents}) == len(documents) >= MANY_TEXTS
    assert background.documents == tuple(documents)
    assert len(background.vectors) == sum(map(len, documents)) >= MIN_BATCH_SPANS
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= 8 * 2**20
    assert json.loads((FOLDER / "measured.json").read_text())["digest"] == background.digest
    for general in (True, False):
        assert shipped_calibration(general=general).slope > 0


def test_the_shipped_vectors_are_those_of_the_bundled_model(english: wm.Aligner) -> None:
    background = shipped_background(english)
    places = np.linspace(0, len(background.documents) - 1, 40).astype(int)
    starts = np.cumsum([0, *map(len, background.documents)])
    texts = [background.documents[place] for place in places]
    fresh = english.encoder.encode([text.text for text in texts], [text.spans for text in texts])
    for place, rows in zip(places, fresh, strict=True):
        shipped = background.vectors[starts[place] : starts[place + 1]]
        cosines = (rows * shipped).sum(axis=1) / np.linalg.norm(shipped, axis=1) / np.linalg.norm(rows, axis=1)
        assert cosines.min() >= 0.999


def test_what_was_measured_is_used_for_its_own_background_and_cost_alone(
    english: wm.Aligner, drawn: wm.Aligner
) -> None:
    background = shipped_background(english)
    measured = shipped_chance(english.cost, background)
    assert measured is not None
    assert english.judge.scale_of(background).chance == measured
    assert shipped_chance(Cost(Cosine(), Neighbours(0.4), Evidence()), background) is None
    assert drawn.judge.background is not None
    assert shipped_chance(english.cost, drawn.judge.background) is None
    again = english.judge._chance(background)
    for bits in (0.0, 5.0, 20.0):
        expected, found = (np.log(chance.p_value(bits, 4, 6)) for chance in (measured, again))
        assert found == pytest.approx(expected, rel=0.02, abs=0.02)
    assert isinstance(again, Chance)


class Counting(Drawn):
    """Counts the texts that it encodes."""

    name = "counting"

    def __init__(self, dimensions: int = 8) -> None:
        super().__init__(dimensions)
        self.encoded = 0

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        self.encoded += len(texts)
        return super().encode(texts, spans)


def test_another_encoders_background_is_encoded_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "whymatch"
    encoder = Counting()
    made = shipped_background(aligner_of_lines(encoder=encoder))
    assert encoder.encoded == len(made.documents) + len(PROBES)  # by which the model is known
    assert (made.name, made.encoder, made.general) == (NAME, "counting", True)
    (file,) = cache_folder().iterdir()
    encoder.encoded = 0
    read = shipped_background(aligner_of_lines(encoder=encoder))
    assert encoder.encoded == len(PROBES)
    assert (read.digest, read.documents) == (made.digest, made.documents)
    np.testing.assert_array_equal(read.vectors, made.vectors)
    shipped_background(aligner_of_lines(encoder=Counting(9)))  # the same name, and other vectors
    shipped_background(wm.Aligner("sentence", encoder, "evidence"))
    assert len([*cache_folder().iterdir()]) == 3
    assert file.exists()


def test_set_phrases_are_encoded_once_by_another_encoder_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    encoder = Counting()
    made = phrase_vectors(encoder)
    assert made is not None
    assert made.shape == (len(set_phrases()), 8)
    (file,) = cache_folder().rglob("*.safetensors")
    for content, texts in ((file.read_bytes(), 0), (file.read_bytes()[:-500], 1)):
        file.write_bytes(content)
        encoder.encoded = 0
        np.testing.assert_array_equal(phrase_vectors(encoder), made)
        assert encoder.encoded == len(PROBES) + texts
    phrase_vectors(Counting(9))  # the same name, and other vectors
    assert len([*cache_folder().iterdir()]) == 2


def test_a_damaged_cache_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    encoder = Counting()
    made = shipped_background(aligner_of_lines(encoder=encoder))
    (file,) = cache_folder().iterdir()
    content = file.read_bytes()
    for damaged in (b"", content[:1000], content[:-500] + bytes(500)):
        file.write_bytes(damaged)
        assert shipped_background(aligner_of_lines(encoder=encoder)).digest == made.digest
        assert Background.read(file).digest == made.digest


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "whymatch").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert shipped_background(aligner_of_lines(encoder=Counting())).general


def test_of_texts_that_are_long_pieces_are_the_background() -> None:
    aligner = aligner_of_lines(encoder=Drawn(2))
    texts = [
        Document(f"{number:03}" + "x" * 900, tuple(Span(i, i + 1) for i in range(900))) for number in range(MANY_TEXTS)
    ]
    rows = np.random.default_rng(0).standard_normal((900, 2)).astype(np.float32)
    scale = aligner.judge.scale([*zip(texts, texts, strict=True)], [(rows, rows)] * len(texts))
    assert scale is not None
    assert len(scale.background.documents) == MANY_TEXTS
    for text, own in zip(scale.background.documents, np.split(scale.background.vectors, MANY_TEXTS), strict=True):
        np.testing.assert_array_equal(own, rows[text.spans[0].start : text.spans[-1].end])


def test_a_vector_that_is_not_finite_is_the_error_of_its_pair_alone() -> None:
    class Broken(Drawn):
        def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
            rows = super().encode(texts, spans)
            return [
                np.full_like(own, np.nan) if "broken" in text else own for text, own in zip(texts, rows, strict=True)
            ]

    aligner, pairs = aligner_of_lines(encoder=Broken()), batch(MANY_TEXTS + 20, 2 * MIN_BATCH_SPANS)
    texts = [(aligner.split(left), aligner.split(right)) for left, right in [*pairs, ("broken 1", "word 2")]]
    vectors = [
        (Broken().encode([left.text], [left.spans])[0], Broken().encode([right.text], [right.spans])[0])
        for left, right in texts
    ]
    *good, bad = aligner.solve(texts, vectors)
    assert isinstance(bad, ValueError)
    assert not any(isinstance(one, ValueError) for one in good)


@pytest.mark.parametrize("texts", [100, 300])
def test_p_values_of_texts_that_the_background_does_not_have_are_no_smaller_than_they_say(texts: int) -> None:
    draw = np.random.default_rng(0)
    words = [f"w{number}" for number in range(60)]
    made = ["\n".join(f"{draw.choice(words)} {draw.integers(10**6)}" for _ in range(5)) for _ in range(texts + 400)]
    aligner = aligner_of_lines(Background.of(made[:texts], aligner_of_lines()))
    others = made[texts:]
    pairs = [(others[i], others[(i + shift) % 400]) for shift in (1, 5, 9, 50) for i in range(400)]
    p_values = np.array([why.p_value for why in aligner.align_many(pairs, links_only=True)], float)
    for level in (0.1, 0.01):
        assert (p_values <= level).mean() <= 1.6 * level + 0.002


def test_spans_that_cannot_be_read_are_none_in_random_pairs_either() -> None:
    noisy = ["\n".join([text, *("?!" * n for n in range(1, 6))]) for text in CORPUS]
    plain, mixed = (aligner_of_lines(Background.of(texts, aligner_of_lines())) for texts in (CORPUS, noisy))
    pair = CORPUS[0], CORPUS[20].replace("word60", "word0")
    p_values = [aligner.align(*pair).p_value for aligner in (plain, mixed)]
    assert p_values[0] is not None
    assert p_values[1] is not None
    assert p_values[1] <= 3 * p_values[0]


def test_set_phrases_are_no_evidence_unless_a_text_has_nothing_else(english: wm.Aligner) -> None:
    asked = "Hi all, how do I bake bread? Any help would be appreciated. Many thanks in advance!"
    other = "Hello everybody. Can I still return the lamp? Any help is appreciated. Thank you in advance!"
    why = english.align(asked, other)
    assert why.probability is not None
    assert why.probability < 0.5
    assert not any("thank" in text.lower() for link in why.links for text in link.texts)
    same = english.align(asked, other.replace("Can I still return the lamp?", "What is the way to bake bread?"))
    assert same.probability is not None
    assert same.probability > 0.5
    thanks = english.align("Thanks a lot!", "Thank you very much.").probability
    assert thanks is not None
    assert thanks > 0.5


def test_texts_that_differ_in_white_space_or_composition_alone_are_the_same(english: wm.Aligner) -> None:
    for left, right in (("!!!", "!!! "), ("a\r\nb", "a\nb\n"), ("Café", "Cafe\u0301"), ("犬が好き。", "犬が好き。\n")):
        assert english.align(left, right).probability == 1.0


def test_a_calibration_of_single_pairs_knows_sizes_and_is_given_or_read(english: wm.Aligner, tmp_path: Path) -> None:
    by_length = sorted(shipped_texts(), key=len)
    texts = [text for both in zip(by_length[200:212], by_length[1500:1512], strict=True) for text in both]
    pairs = [(text, f"Indeed. {text}") for text in texts[:8]] + [*zip(texts[8:16], texts[16:], strict=True)]
    aligner = wm.Aligner()
    calibration = aligner.calibrate(pairs, [True] * 8 + [False] * 8)
    assert calibration.general
    assert calibration.by_size != 0
    file = tmp_path / "calibration.json"
    file.write_text(json.dumps(calibration.to_dict()))
    for source in (calibration, file, str(file)):
        assert wm.Aligner(calibration=source).align(*pairs[0]) == aligner.align(*pairs[0])
    for share in (0, 1, 2, -1, float("nan"), "0.5"):
        with pytest.raises(ValueError, match="share is"):
            aligner.calibrate(pairs, [True] * 8 + [False] * 8, share=share)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="16 pairs and 2 labels"):
        aligner.calibrate(pairs, [True, False])
