"""The page in a real browser: a whole study by keyboard, nothing in a text runs, and no answer is lost."""

import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.show.test_browser import WATCH, background, browser, scrolls_sideways  # noqa: F401 (a fixture)
from tests.study.studies import LEFT, RIGHT, serving, written
from whymatch.study.answers import Answers
from whymatch.study.items import Study

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., "Page"]
NAME = '<img src=x onerror="window.hacked=1">'
OFFLINE = "Failed to load resource"
PHONE = {"width": 390, "height": 800}


@pytest.fixture
def show(browser: "Browser") -> Iterator[Open]:  # noqa: F811
    """Opens an address; at the end the page has complained of nothing and asked for nothing from elsewhere."""
    contexts: list[Any] = []
    complaints: list[str] = []
    requests: list[str] = []

    def opened(url: str, **settings: Any) -> "Page":
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **settings})
        contexts.append((context, url))
        context.add_init_script(WATCH)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(url)
        page.locator("main:visible, #failed:visible").first.wait_for()
        return page

    yield opened
    for context, _ in contexts:
        for page in context.pages:
            complaints.extend(page.evaluate("window.violations ?? []"))
            assert page.evaluate("window.hacked") is None
        context.close()
    assert [text for text in complaints if OFFLINE not in text] == []
    assert all(any(request.startswith(url.split("#")[0]) for _, url in contexts) for request in requests)


def begin(page: "Page", name: str) -> None:
    page.locator("#name").fill(name)
    page.keyboard.press("Enter")
    at_item(page, 1)


def at_item(page: "Page", number: int) -> None:
    page.locator("#heading", has_text=f"Item {number} of").wait_for()


def saved(page: "Page") -> None:
    page.locator('#saved[data-state="saved"]').wait_for()


def press(page: "Page", *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def expected(made: Study, name: str, verdict: int, ratings: tuple[int, int, int]) -> dict[str, dict[str, int]]:
    names = ("redundancy", "relevance", "overall")
    return {
        item.id: dict.fromkeys((f"{i}-{j}" for i, j in item.links), verdict) | dict(zip(names, ratings, strict=True))
        for item in made.order(name)
    }


def test_a_whole_study_by_keyboard_by_two_people_at_once(show: Open, tmp_path: Path) -> None:
    made = written(tmp_path)
    with serving(tmp_path) as (url, _):
        ada, ben = show(url), show(url)
        begin(ada, "Ada")
        begin(ben, "Ben")
        for number, (hers, his) in enumerate(zip(made.order("Ada"), made.order("Ben"), strict=True), start=1):
            at_item(ada, number)
            at_item(ben, number)
            press(ada, *("a" for _ in hers.links), "2", "1", "0", "Enter")
            press(ben, *("r" for _ in his.links), "0", "0", "2", "Enter")
        for page in (ada, ben):
            page.get_by_role("heading", name="you have judged everything").wait_for()
            page.locator('#end .saved[data-state="saved"]').wait_for()
        answers = Answers(made, tmp_path)
        assert answers.of("Ada") == expected(made, "Ada", 1, (2, 1, 0))
        assert answers.of("Ben") == expected(made, "Ben", 0, (0, 0, 2))


def test_no_script_in_a_text_a_title_or_a_name_runs(show: Open, tmp_path: Path) -> None:
    made = written(tmp_path)
    with serving(tmp_path) as (url, _):
        page = show(url)
        assert page.locator("#title").inner_text() == made.title
        begin(page, NAME)
        for number, item in enumerate(made.order(NAME), start=1):
            at_item(page, number)
            pair = made.pairs[item.pair]
            for side, text in (("left", pair.left), ("right", pair.right)):
                words = page.locator(f'[data-side="{side}"] .words')
                assert words.evaluate_all("all => all.map(one => one.textContent)") == text.pieces
            pieces = page.locator(".link q").evaluate_all("all => all.map(one => one.textContent)")
            assert pieces == [piece for i, j in item.links for piece in (pair.left.pieces[i], pair.right.pieces[j])]
            assert page.locator("path").count() == len(item.links)
            assert page.locator("img, b, main script").count() == 0
            page.locator("#skip").click()
        assert page.locator("#leave").text_content() == f"Not {NAME}?"
        assert LEFT[0] in made.pairs[0].left.text
        assert RIGHT[0] in made.pairs[0].right.text


def test_answers_can_be_changed_and_are_there_after_a_reload(show: Open, tmp_path: Path) -> None:
    made = written(tmp_path)
    first, second = made.order("Ada")[:2]
    with serving(tmp_path) as (url, _):
        page = show(url)
        begin(page, "Ada")
        press(page, *("a" for _ in first.links), "2", "2", "2", "Enter")
        at_item(page, 2)
        press(page, "r")
        saved(page)
        page.reload()
        at_item(page, 2)  # the first that is open, half answered as before
        assert page.locator("input:checked").evaluate_all("all => all.map(one => one.value)") == ["0"]
        press(page, "Backspace")
        at_item(page, 1)
        assert page.locator("input:checked").count() == 3 + len(first.links)
        page.get_by_role("group", name="Overall quality").get_by_role("radio", name="0 No").check()
        saved(page)
    answers = Answers(made, tmp_path).of("Ada")
    assert answers[first.id]["overall"] == 0
    assert answers[first.id]["relevance"] == 2
    assert [*answers[second.id].values()] == [0]


def test_what_is_typed_before_an_item_is_there_belongs_to_no_item(show: Open, tmp_path: Path) -> None:
    made = written(tmp_path)
    first, second = made.order("Ada")[:2]
    with serving(tmp_path) as (url, _):
        page = show(url)
        held: list[Any] = []
        page.route(f"**/api/items/{second.id}", lambda route: held.append(route))
        begin(page, "Ada")
        press(page, *("a" for _ in first.links), "2", "2", "2", "Enter", "0", "r", "Enter", "0")
        saved(page)
        assert Answers(made, tmp_path).of("Ada") == {first.id: expected(made, "Ada", 1, (2, 2, 2))[first.id]}
        for route in held:
            route.continue_()
        at_item(page, 2)
        assert page.locator("input:checked").count() == 0


def test_what_is_answered_while_the_server_is_dead_arrives_when_it_is_back(show: Open, tmp_path: Path) -> None:
    made = written(tmp_path)
    item = made.order("Ada")[0]
    with serving(tmp_path, stop=False) as (url, process):
        page = show(url)
        begin(page, "Ada")
        process.send_signal(signal.SIGKILL)
        process.wait()
        press(page, *("a" for _ in item.links), "0", "1", "2")
        page.locator('#saved[data-state="trying"]').wait_for()
        assert "Not saved yet" in (page.locator("#trouble").text_content() or "")
        assert Answers(made, tmp_path).all() == []
    port = re.findall(r"\d+", url)[-1]
    with serving(tmp_path, "--port", port):
        page.reload()  # what waits is kept by the browser, too
        at_item(page, 2)
        saved(page)
    assert Answers(made, tmp_path).of("Ada")[item.id] == expected(made, "Ada", 1, (0, 1, 2))[item.id]


def test_an_open_question_holds_an_item_and_skipping_does_not_lose_it(show: Open, tmp_path: Path) -> None:
    made = written(tmp_path, asked="ratings")
    with serving(tmp_path) as (url, _):
        page = show(url)
        begin(page, "Ada")
        press(page, "1", "Enter")
        page.get_by_text("2 questions are still open").wait_for()
        at_item(page, 1)
        assert page.locator(".link").count() == 0
        for number in range(2, len(made.items) + 1):
            page.locator("#skip").click()
            at_item(page, number)
        page.locator("#skip").click()
        page.get_by_text(f"{len(made.items)} of {len(made.items)} items still have open questions").wait_for()
        page.locator("#open").click()
        at_item(page, 1)
        press(page, "1", "1")
        saved(page)
        assert page.locator("#complete").inner_text() == f"1 of {len(made.items)} complete."


def test_groups_and_choices_have_names_for_those_who_hear_the_page(show: Open, tmp_path: Path) -> None:
    made = written(tmp_path)
    with serving(tmp_path) as (url, _):
        page = show(url)
        page.get_by_label("Your name").fill("Ada")
        page.get_by_role("button", name="Begin").click()
        at_item(page, 1)
        links = made.order("Ada")[0].links
        for number in range(1, len(links) + 1):
            group = page.get_by_role("group", name=re.compile(rf"^Link {number} "))
            assert group.get_by_role("radio", name="Accept").count() == 1
            assert group.get_by_role("radio", name="Reject").count() == 1
        for name in ("Redundancy", "Relevance", "Overall quality"):
            assert page.get_by_role("group", name=name).get_by_role("radio").count() == 3
        assert page.get_by_role("progressbar", name="Items complete").count() == 1
        assert page.get_by_role("region", name="left text").count() == 1
        assert page.evaluate("document.activeElement.id") == "heading"  # what is read first on a new item


def test_a_phone_and_a_dark_room(show: Open, tmp_path: Path) -> None:
    written(tmp_path)
    with serving(tmp_path) as (url, _):
        page = show(url, viewport=PHONE, color_scheme="light", has_touch=True)
        assert not scrolls_sideways(page)
        begin(page, "Ada")
        assert not scrolls_sideways(page)
        heights = page.locator(".choice, footer button").evaluate_all("all => all.map(one => one.offsetHeight)")
        assert min(heights) >= 40  # a finger's width
        page.locator(".choice").first.tap()
        saved(page)
        light = background(page)
        page.emulate_media(color_scheme="dark")
        assert background(page) != light


def test_the_token_comes_with_the_address_and_goes_with_every_request(show: Open, tmp_path: Path) -> None:
    made = written(tmp_path)
    (tmp_path / "token").write_text("a+token/of%20some=length")
    with serving(tmp_path, "--token-file", str(tmp_path / "token")) as (url, _):
        page = show(url)
        page.get_by_text("needs its token").wait_for()
        page = show(f"{url}/#token=a+token/of%20some=length")
        begin(page, "Ada")
        assert "token" not in page.url
        press(page, "a")
        saved(page)
    assert len(Answers(made, tmp_path).all()) == 1
