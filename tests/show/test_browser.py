"""The page in a real browser: nothing in a text runs, and everything on it answers to pointer and keys."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whymatch as wm
from tests.show.evidence import matching, unrelated
from whymatch.cost import Base, Cost

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., "Page"]
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
HACK = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'
LEFT = [
    f"We paid 120 euros a night {HACK}",
    "The dog barked & barked </script x <!--<script y",
    f"Parking <b>is</b> free {HACK}",
    "x" * 300,
]
RIGHT = [
    f"You can park at no charge {HACK}",
    "Breakfast was served until eleven",
    "A night costs €120",
    "y" * 300,
    "Sea",
]
NASTY = [
    "]]> --> <!-- <![CDATA[ &amp; &lt;b&gt; &#60; \"'`",
    "</span></section></main></html> <plaintext> <textarea>",
    "lines\nof\ttext \u2028\u2029 and  blanks",
    "👩\u200d👩\u200d👧\u200d👦 🇩🇪 e\u0301tude \U0001f950",
    "\u202eשלום עולם\u202c",
    "{{ 7 * 7 }} {% raw %} ${x} \\u003c \\n",
]
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
"""


class Given(Base):
    """Costs that are given: left vectors are rows of similarities, right ones the axes."""

    name, words, neutral = "given", "given", 1.0

    def compared(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return 1 - left @ right.mT


def aligned(left: list[str], right: list[str], costs: list[list[float]], constraint: wm.Constraint) -> wm.Alignment:
    """Pieces aligned by costs that are given: left vectors are rows of similarities, right ones the axes."""
    vectors: dict[str, Any] = {
        piece: [1.0 * (j == axis) for axis in range(len(right))] for j, piece in enumerate(right)
    }
    vectors |= {piece: [1 - cost for cost in row] for piece, row in zip(left, costs, strict=True)}
    return wm.Aligner(encode=wm.Precomputed(vectors), cost=Cost(Given())).align(left, right, constraint)


def hostile() -> wm.Alignment:
    """Two links, 0-2 and 2-0, of four left and five right spans, and a path of four steps."""
    costs = [[0.9, 0.8, 0.1, 0.9, 1.0], [0.9, 0.7, 0.8, 1.0, 0.9], [0.2, 0.9, 1.0, 0.8, 0.9], [1.0, 0.9, 0.9, 0.6, 1.0]]
    return aligned(LEFT, RIGHT, costs, wm.UpTo(1, below=0.5))


def words(left: str, right: str) -> wm.Alignment:
    """Words aligned one after another."""
    vectors: dict[str, Any] = {}
    for text in (left, right):
        vectors |= {word: [1.0 * (place == axis) for axis in range(20)] for place, word in enumerate(text.split())}
    return wm.Aligner(str.split, encode=wm.Precomputed(vectors)).align(left, right, wm.UpTo(1, below=0.5))


def diagonal(left: list[str], right: list[str]) -> wm.Alignment:
    """Pieces linked one after another."""
    costs = [[0.1 if i == j else 0.9 for j in range(len(right))] for i in range(len(left))]
    return aligned(left, right, costs, wm.UpTo(1, below=0.5))


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    absent = pytest.fail if os.environ.get("CI") else pytest.skip
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        absent("there is no chromium on the path")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS, timeout=0)
        yield started
        started.close()


@pytest.fixture
def show(browser: "Browser", tmp_path: Path) -> Iterator[Open]:
    """Opens a page; at the end of the test, it has complained of nothing and asked for nothing but itself."""
    contexts, complaints, requests = [], [], []
    file = tmp_path / "page.html"

    def opened(html: str, **settings: Any) -> "Page":
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **settings})
        contexts.append(context)
        context.set_default_timeout(0)  # the test itself has a limit
        context.add_init_script(WATCH)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        return page

    yield opened
    for context in contexts:
        for page in context.pages:
            for frame in page.frames:
                complaints.extend(frame.evaluate("window.violations ?? []"))
        context.close()
    assert complaints == []
    assert {*requests} <= {file.as_uri(), "about:srcdoc"}


def counts(page: "Page") -> dict[str, int]:
    """How many links the page shows, in each place that shows them."""
    return {
        "said": int(page.locator("#count").inner_text()),
        "rows": page.locator("#links tr").count(),
        "curves": page.locator("#texts path").count(),
        "left badges": page.locator('[data-side="left"] .span .badge').count(),
        "right badges": page.locator('[data-side="right"] .span .badge').count(),
        "left spans": page.locator('.text[data-side="left"] .span:not(.unmatched)').count(),
        "right spans": page.locator('.text[data-side="right"] .span:not(.unmatched)').count(),
    }


def followed(page: "Page") -> list[str]:
    """What is followed, in the order of the page, if main says that something is."""
    assert page.locator("main.following").count() == (page.locator(".followed").count() > 0)
    found = page.locator(".followed").evaluate_all(
        """elements => elements.map(element => element.matches(".span")
            ? `${element.closest(".text").dataset.side} ${element.dataset.number}`
            : `${element.localName} ${element.dataset.link}`)"""
    )
    return [str(element) for element in found]


def shown(page: "Page", selector: str) -> list[str | None]:
    return page.locator(selector).evaluate_all("elements => elements.map(element => element.textContent)")


def background(page: "Page") -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def scrolls_sideways(page: "Page") -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def test_a_script_in_a_text_does_not_run(show: Open) -> None:
    page = show(hostile().to_html(zoom=False))
    for key in ("Home", "End"):
        page.locator("#slider").press(key)
        assert page.evaluate("window.hacked") is None
    assert page.locator("script").count() == 2
    assert page.locator("img, b").count() == 0
    assert HACK in page.locator("#links").inner_text()


def test_texts_come_back_from_the_page_as_they_are(show: Open) -> None:
    page = show(diagonal(NASTY, [f"{piece}!" for piece in NASTY]).to_html(zoom=False))
    assert shown(page, '[data-side="left"] .words') == NASTY
    assert shown(page, '[data-side="right"] .words') == [f"{piece}!" for piece in NASTY]
    assert shown(page, "#links td:nth-child(2)") == NASTY


def test_spans_without_a_counterpart_are_marked(show: Open) -> None:
    page = show(hostile().to_html(zoom=False))
    assert shown(page, '[data-side="left"] .unmatched .words') == [LEFT[1], LEFT[3]]
    assert shown(page, '[data-side="right"] .unmatched .words') == [RIGHT[1], RIGHT[3], RIGHT[4]]
    borders = page.locator(".text .span").evaluate_all(
        "spans => spans.map(span => getComputedStyle(span).borderTopStyle)"
    )
    assert borders == ["solid", "dashed", "solid", "dashed", "solid", "dashed", "solid", "dashed", "dashed"]


def test_the_slider_shows_exactly_k_links(show: Open) -> None:
    alignment = hostile()
    page = show(alignment.to_html(zoom=False))
    slider = page.locator("#slider")
    slider.press("Home")
    for step in alignment.path:
        assert {*counts(page).values()} == {step.k}
        assert page.locator("#score").inner_text() == f"{step.score:.3f}"
        assert page.locator("#asked").get_attribute("aria-pressed") == "false"
        pieces = {(LEFT[i], RIGHT[j]) for i, j, _ in step.links}
        rows = zip(shown(page, "#links td:nth-child(2)"), shown(page, "#links td:nth-child(3)"), strict=True)
        assert {*rows} == pieces
        slider.press("ArrowRight")
    assert {*counts(page).values()} == {4}


def test_as_asked_returns_to_the_links_that_were_asked_for(show: Open) -> None:
    page = show(hostile().to_html(zoom=False))
    before = page.locator("main").inner_html()
    page.locator("#slider").press("End")
    assert page.locator("main").inner_html() != before
    page.locator("#asked").click()
    page.mouse.move(0, 0)
    assert page.locator("main").inner_html() == before
    assert page.locator("#asked").get_attribute("aria-pressed") == "true"


def test_the_pointer_follows_a_link_from_either_text_and_from_the_table(show: Open) -> None:
    page = show(hostile().to_html(zoom=False))
    assert followed(page) == []
    for place in (
        '[data-side="left"] [data-number="2"]',
        '[data-side="right"] [data-number="0"]',
        "#links tr >> nth=1",
    ):
        page.locator(place).hover()
        assert followed(page) == ["path 1", "left 2", "right 0", "tr 1"]
    page.locator('[data-side="left"] [data-number="1"]').hover()
    assert followed(page) == []


def test_the_tab_key_follows_the_links_in_the_order_of_the_page(show: Open) -> None:
    page = show(hostile().to_html(zoom=False))
    page.locator("#asked").focus()
    first, second = ["path 0", "left 0", "right 2", "tr 0"], ["path 1", "left 2", "right 0", "tr 1"]
    for expected in (first, second, second, first, first, second):
        page.keyboard.press("Tab")
        assert followed(page) == expected
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_focus_that_leaves_the_links_follows_none(show: Open) -> None:
    page = show(hostile().to_html(zoom=False))
    page.locator("#asked").focus()
    page.keyboard.press("Tab")
    assert followed(page) != []
    page.keyboard.press("Shift+Tab")
    assert followed(page) == []


def test_a_click_holds_a_link_until_another_click_or_escape(show: Open) -> None:
    page = show(hostile().to_html(zoom=False))
    row = page.locator("#links tr").nth(0)
    for release in ("click", "Escape"):
        row.click()
        page.mouse.move(0, 0)
        assert followed(page) == ["path 0", "left 0", "right 2", "tr 0"]
        if release == "click":
            row.click()
        else:
            page.keyboard.press(release)
        page.mouse.move(0, 0)
        assert followed(page) == []


def test_curves_run_from_span_to_span(show: Open) -> None:
    page = show(hostile().to_html(zoom=False))
    origin = page.locator("#texts").bounding_box()
    assert origin is not None
    for link, (i, j) in enumerate([(0, 2), (2, 0)]):
        left = page.locator(f'[data-side="left"] [data-number="{i}"]').bounding_box()
        right = page.locator(f'[data-side="right"] [data-number="{j}"]').bounding_box()
        assert left is not None
        assert right is not None
        numbers = re.findall(r"-?[\d.]+", page.locator(f'#texts path[data-link="{link}"]').get_attribute("d") or "")
        x, y, *_, end_x, end_y = map(float, numbers)
        ends = [left["x"] + left["width"], left["y"] + left["height"] / 2, right["x"], right["y"] + right["height"] / 2]
        assert [x + origin["x"], y + origin["y"], end_x + origin["x"], end_y + origin["y"]] == pytest.approx(
            ends, abs=1
        )


@pytest.mark.parametrize("inline", [False, True])
def test_a_narrow_window_does_not_scroll_sideways(show: Open, inline: bool) -> None:
    text = " ".join(f"word{number}" for number in range(20))
    alignment = words(text, text) if inline else hostile()
    page = show(alignment.to_html(zoom=False), viewport={"width": 390, "height": 800})
    assert not scrolls_sideways(page)
    assert page.locator("#texts > .curves").is_visible() == inline
    left, right = (page.locator(f'.text[data-side="{side}"]').bounding_box() for side in ("left", "right"))
    assert left is not None
    assert right is not None
    assert left["y"] + left["height"] <= right["y"]


def test_a_number_of_two_digits_stays_on_one_line(show: Open) -> None:
    pieces = [f"Sentence number {number} has so many words that it does not fit on one line." for number in range(12)]
    page = show(diagonal(pieces, [f"{piece}!" for piece in pieces]).to_html(zoom=False))
    heights = page.locator(".badge").evaluate_all("badges => badges.map(badge => badge.offsetHeight)")
    assert len(heights) == 36
    assert len({*heights}) == 1


def test_words_of_a_text_from_right_to_left_stand_from_right_to_left(show: Open) -> None:
    page = show(words("המלון היה קרוב לחוף", "מקום שקט ליד הים").to_html(zoom=False))
    for side in ("left", "right"):
        spans = page.locator(f'.text[data-side="{side}"] .span')
        edges = spans.evaluate_all("spans => spans.map(span => span.getBoundingClientRect().left)")
        assert edges == sorted(edges, reverse=True)


def test_paper_has_the_texts_and_the_table_and_no_controls(show: Open) -> None:
    page = show(hostile().to_html(zoom=False))
    controls = [".controls", ".hint", "#texts > .curves"]
    assert all(page.locator(selector).is_visible() for selector in controls)
    page.emulate_media(media="print")
    assert all(page.locator(selector).is_hidden() for selector in controls)
    assert all(page.locator(selector).is_visible() for selector in ("#score", "#texts", "table", "#certificate"))


def test_a_dark_scheme_has_a_dark_page(show: Open) -> None:
    page = show(hostile().to_html(zoom=False), color_scheme="light")
    light = background(page)
    page.emulate_media(color_scheme="dark")
    assert background(page) != light
    paper, ink = (
        [int(part) for part in re.findall(r"\d+", str(page.evaluate(f"getComputedStyle(document.body).{name}")))]
        for name in ("backgroundColor", "color")
    )
    assert max(paper) < 64
    assert min(ink) > 192


def test_without_scripts_the_texts_and_the_links_are_there(show: Open) -> None:
    page = show(hostile().to_html(zoom=False), java_script_enabled=False)
    assert page.locator('[data-side="left"] .words').all_text_contents() == LEFT
    assert page.locator('[data-side="right"] .words').all_text_contents() == RIGHT
    assert page.locator("#links td:nth-child(2)").all_text_contents() == [LEFT[0], LEFT[2]]
    assert page.locator("#links td:nth-child(3)").all_text_contents() == [RIGHT[2], RIGHT[0]]
    assert page.locator('[data-side="left"] .unmatched .words').all_text_contents() == [LEFT[1], LEFT[3]]


def test_a_notebook_shows_the_picture_in_a_frame_of_its_own(show: Open) -> None:
    page = show(f"<!doctype html><title>Host</title>{hostile()._repr_html_()}")
    frame = page.frames[1]
    assert frame.locator("#links tr").count() == frame.locator("#texts path").count() == 2
    assert frame.evaluate("window.origin") == "null"
    assert frame.evaluate("window.hacked") is page.evaluate("window.hacked") is None
    frame.locator("#slider").press("End")
    assert frame.locator("#links tr").count() == 4
    for width in (500, 1000):  # the frame is as tall as the picture
        page.set_viewport_size({"width": width, "height": 900})
        picture = frame.locator(".picture")
        while picture.evaluate("one => one.offsetHeight") != page.locator("iframe").evaluate("one => one.offsetHeight"):
            page.wait_for_timeout(20)


def test_a_page_without_links_works(show: Open) -> None:
    page = show(aligned(["One span here"], ["Another one there"], [[0.9]], wm.UpTo(1, below=0.5)).to_html(zoom=False))
    assert {*counts(page).values()} == {0}
    page.locator("#slider").focus()
    page.locator(".unmatched").nth(0).click()
    assert followed(page) == []


def test_texts_without_spans_make_a_page(show: Open) -> None:
    page = show(aligned([], ["Only here"], [], wm.UpTo(1, below=0.5)).to_html(zoom=False))
    assert {*counts(page).values()} == {0}
    assert page.locator("#slider").count() == 0


def test_the_slider_keeps_the_scale_of_evidence(show: Open) -> None:
    why = matching()
    page = show(why.to_html(zoom=False))
    assert page.locator("h1").inner_text() == why.verdict
    assert page.locator("#score").inner_text() == f"{why.bits:.1f} bits"
    page.locator("#slider").press("Home")
    for step in why.path:
        assert page.locator("#score").inner_text() == f"{step.score:.1f} bits"
        assert {*counts(page).values()} == {step.k}
        shares = sorted((-cost for *_, cost in step.links), reverse=True)
        assert shown(page, "#links td:nth-child(4)") == [f"{bits:.1f}" for bits in shares]
        page.locator("#slider").press("ArrowRight")
    assert page.locator("h1").inner_text() == why.verdict


def test_a_page_of_texts_that_do_not_match_has_no_table(show: Open) -> None:
    page = show(unrelated().to_html(zoom=False))
    assert page.locator("h1").inner_text().startswith("No sign of a match")
    assert page.locator("table").is_hidden()
    page.locator("#slider").press("End")
    assert page.locator("table").is_visible()
