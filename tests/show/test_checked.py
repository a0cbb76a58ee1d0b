"""The page of a check: text is escaped, verdicts have words, and what no claim cites is folded."""

import re
from typing import Any, get_args

import pytest

from tests.show.test_browser import Open, browser, show  # noqa: F401
from whymatch.checking.result import Check, Citation, Claim, NoClaim, NoClaimKind, SourceText
from whymatch.matching.conflicts import Conflict
from whymatch.show.checked import as_text, frame, page
from whymatch.text.spans import Span

HACK = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'


def made(answer: str, source: str, name: str = "source", verdict: Any = "contradicted") -> Check:
    whole, other = Span(0, len(answer)), Span(0, len(source))
    conflict = Conflict("number", (Span(0, 2),), (Span(0, 2),))
    citation = Citation(name, other, source, 9.0, None, (conflict,) if verdict == "contradicted" else ())
    claim = Claim(whole, answer, 0, verdict, f"{name} says so.", 0.5, (citation,), (Span(0, 2),))
    return Check(answer, (claim,), (SourceText(name, source, (other,)),), "texts of many kinds", (name,))


@pytest.mark.parametrize("verdict", ["supported", "contradicted", "unsupported"])
def test_nothing_of_a_text_is_markup(verdict: Any) -> None:
    check = made(f"A {HACK}", f"B {HACK}", f"name {HACK}", verdict)
    html = page(check.to_dict())
    assert html.count("<script>") == 1
    assert "<img" not in html
    assert "<iframe" not in html.replace(frame(check.to_dict()), "")
    assert "&lt;script&gt;" in html


def test_words_in_conflict_are_marked_in_the_answer_and_in_the_source() -> None:
    html = page(made("12 cats", "34 cats").to_dict())
    assert re.findall(r'<mark class="conflict">(\d+)</mark>', html) == ["12", "34"]
    assert "≠ 12 – 34 (number)" in html


def test_every_verdict_has_a_sign_and_a_word_on_the_page_and_in_text() -> None:
    for verdict, words in [("supported", "supported"), ("contradicted", "contradicted"), ("unsupported", "no source")]:
        check = made("12 cats", "34 cats", verdict=verdict)
        assert re.search(
            rf'data-verdict="{verdict}"[^>]*>.*?<span class="word">{words}</span>', page(check.to_dict()), re.S
        )
        assert f"{words}: 12 cats" in as_text(check.to_dict())


@pytest.mark.parametrize("kind", get_args(NoClaimKind))
def test_a_piece_that_claims_nothing_is_shown_on_the_page_in_text_and_in_json(kind: NoClaimKind) -> None:
    piece = f"A {HACK}"
    check = Check(piece, (), (), "texts", (), (NoClaim(Span(0, len(piece)), piece, kind),))
    assert f'– no claim ({kind})</span> <span dir="auto">A &lt;/script&gt;' in check.to_html()
    assert "<iframe" in check._repr_html_()
    assert f"– no claim: {piece} ({kind})" in str(check)
    assert check.to_dict()["no_claims"] == [{"span": [0, len(piece)], "text": piece, "kind": kind}]


def test_runs_of_spans_that_no_claim_cites_are_folded_and_nothing_is_lost() -> None:
    pieces = [f"Sentence {number}." for number in range(12)]
    source = " ".join(pieces)
    spans = tuple(Span(source.index(piece), source.index(piece) + len(piece)) for piece in pieces)
    citation = Citation("s", spans[5], pieces[5], 9.0)
    claim = Claim(Span(0, 2), "A.", 0, "supported", "s says all of it.", 1.0, (citation,))
    html = page(Check("A.", (claim,), (SourceText("s", source, spans),), "texts").to_dict())
    assert all(piece in html for piece in pieces)
    folded = "".join(re.findall(r"<details>.*?</details>", html, re.S))
    assert [piece in folded for piece in pieces] == [number not in (4, 5, 6) for number in range(12)]


def test_a_claim_that_is_chosen_by_pointer_or_key_shows_its_spans_and_no_text_runs(show: Open) -> None:  # noqa: F811
    page = show(
        made(f"12 cats {HACK}", f"34 cats {HACK}", f"name {HACK}").to_html(), viewport={"width": 390, "height": 800}
    )
    claim, quote = page.locator(".claim"), page.locator(".quote[data-claims]")
    assert page.locator(".followed").count() == 0
    claim.click()
    assert (quote.get_attribute("class"), claim.get_attribute("aria-pressed")) == ("quote followed", "true")
    claim.click()
    page.mouse.move(1, 1)
    assert page.locator(".followed").count() == 0
    quote.focus()
    page.keyboard.press("Enter")
    assert claim.get_attribute("aria-pressed") == "true"
    assert HACK in quote.inner_text()
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
