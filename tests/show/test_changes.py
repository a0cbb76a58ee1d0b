"""Comparisons in words, at a terminal and on a page: the order of things, and hostile text."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import whymatch as wm
from tests.versions.test_comparing import NEW, OLD, PARAGRAPHS, ByLetters
from whymatch.show.changes import KIND_SIGNS, changes_in_words, in_reading_order

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> \x1b[31mred\x07 \u202etxt & \"quotes\" 'too' {{ 7*7 }}"


def compared(old: str, new: str) -> wm.Comparison:
    return wm.compare(old, new, relations=False, encoder=ByLetters())


def test_the_verdict_names_what_there_is_and_counts_a_run_that_moved_once() -> None:
    run = [*PARAGRAPHS[4:], *PARAGRAPHS[:4]]
    verdict = compared("\n\n".join(PARAGRAPHS), "\n\n".join(run)).verdict
    assert verdict == "1 passage moved; 4 unchanged."
    assert compared(OLD, OLD).verdict == "Both versions have the same words: 24 passages unchanged."
    assert compared("One rule.", "").verdict == "1 passage deleted."


def test_the_verdict_names_at_most_four_changes_that_matter_one_by_one() -> None:
    change = {"kind": "changed", "matters": True, "conflicts": [{"kind": "number"}], "was": "1", "where": "2"}
    change |= {"left": [0], "right": [0], "edited": True, "reworded": False, "renumbered": False}
    assert changes_in_words([change]) == "1 change that matters: a number in 2."
    assert changes_in_words([change] * 3) == "3 changes that matter: a number in 2 (3×)."
    many = changes_in_words([change | {"conflicts": [], "where": str(n)} for n in range(6)])
    assert many.startswith("6 changes that matter: a contradiction in 0, ")
    assert many.endswith(", 2 more.")


def test_a_diff_shows_both_sides_of_what_changed_and_leaves_out_what_did_not() -> None:
    changed = [PARAGRAPHS[0], PARAGRAPHS[1].replace("Dogs", "Cats"), *PARAGRAPHS[3:], "Ponies are kept elsewhere."]
    text = str(compared("\n\n".join(PARAGRAPHS), "\n\n".join(changed)))
    assert "- [Dogs] may be kept in the garden if neighbours agree." in text
    assert "+ [Cats] may be kept in the garden if neighbours agree." in text
    assert f"- {PARAGRAPHS[2]}" in text
    assert "+ Ponies are kept elsewhere." in text
    assert "… 3 passages unchanged" in text
    assert PARAGRAPHS[4] not in text
    assert text.index("Cats") < text.index(PARAGRAPHS[2]) < text.index("Ponies"), "in the order of the document"


def test_what_is_missing_stands_where_it_was() -> None:
    comparison = compared("\n\n".join(PARAGRAPHS), "\n\n".join([*PARAGRAPHS[:2], *PARAGRAPHS[3:]]))
    ordered = in_reading_order(comparison.to_dict()["changes"])
    assert [change["left"][0] for change in ordered] == [*range(6)]


def test_nothing_in_a_text_can_control_a_terminal() -> None:
    text = str(compared(f"{PARAGRAPHS[0]}\n\n{HOSTILE} one.", f"{PARAGRAPHS[0]}\n\n{HOSTILE} two.\n\n{HOSTILE}"))
    assert not {"\x1b", "\x07", "\u202e"} & {*text}
    assert "[one]" in text


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "compared.html"
    compared(OLD, NEW).to_html(file)
    return file


def test_text_on_the_page_is_text(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    html = compared(f"{HOSTILE} one.\n\n# {HOSTILE}", f"{HOSTILE} two.\n\n# Rules").to_html(file)
    assert "<script" not in html, "the page has no script at all"
    page, heard = browser.new_page(), []
    page.on("console", lambda message: heard.append(message.text))
    page.on("dialog", lambda dialog: heard.append(dialog.message))
    page.goto(file.as_uri())
    assert heard == []
    assert "<script>alert(1)</script>" in page.inner_text(".versions")
    assert page.locator("img, script").count() == 0
    page.close()


@pytest.mark.parametrize("width", [390, 820, 1600])
def test_the_page_shows_every_change_once_at_every_width(browser: Any, contract: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(contract.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    changes = compared(OLD, NEW).changes
    assert page.locator("article.row:not(.gone)").count() == len(changes)
    listed = page.locator(".list li")
    assert listed.count() == sum(change.kind != "same" for change in changes)
    assert page.locator("details.same").first.evaluate("one => one.open") is False
    assert page.locator(".map").is_visible() == (width > 700)
    page.close()


def test_links_of_the_list_and_the_map_lead_to_rows_that_have_signs(browser: Any, contract: Path) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.goto(contract.as_uri())
    targets = page.eval_on_selector_all(".list a, .map a, .what a", "all => all.map(one => one.getAttribute('href'))")
    assert len(targets) > 10
    for target in targets:
        assert page.locator(target).count() == 1
    signs = page.eval_on_selector_all(".what .sign", "all => all.map(one => one.textContent)")
    assert {*signs} <= {*KIND_SIGNS.values(), "≠"}
    page.locator(".list a").last.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector(':target') !== null")
    page.close()


def test_only_what_matters_can_be_shown(minilm: Path, browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "compared.html"
    wm.compare(OLD, NEW).to_html(file)
    page = browser.new_page()
    page.goto(file.as_uri())
    assert page.locator(".row:visible:not(.head)").count() > 3
    page.locator("#only").check()
    assert page.locator(".row:visible:not(.head)").count() == 3
    assert page.locator(".list li:visible").count() == 3
    page.close()
