"""The page in a real browser, at a real server: two texts in, their links out, and nothing in a text runs."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whymatch as wm
from tests.serve.serving import HACK, LEFT, RIGHT, Served, serving
from tests.show.test_browser import WATCH, background, browser, scrolls_sideways, shown  # noqa: F401
from whymatch.datasets.office import document_text
from whymatch.learning import Projected
from whymatch.matching.alignment import Alignment
from whymatch.transport.constraints import CONSTRAINTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Visit = Callable[..., "Page"]
PAGE = Path(wm.__file__).parent / "serve" / "static" / "page.html"
TOKEN = "a-token-of-some-length"


@pytest.fixture
def visit(browser: "Browser", served: Served) -> Iterator[Visit]:  # noqa: F811
    """Opens the page; at the end of the test nothing ran, broke the policy, or was asked of anybody else."""
    contexts, complaints, requests = [], [], []

    def opened(fragment: str = "", *, url: str = served.url, **settings: Any) -> "Page":
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **settings})
        contexts.append(context)
        context.set_default_timeout(0)
        context.add_init_script(WATCH)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{url}/{fragment}")
        return page

    yield opened
    for context in contexts:
        for page in context.pages:
            complaints.extend(page.evaluate("window.violations ?? []"))
            complaints.extend(page.evaluate("window.hacked ? ['hacked'] : []"))
        context.close()
    assert complaints == []
    hosts = {url.split("/")[2] for url in requests if not url.startswith("blob:")}
    assert len(hosts) == 1
    assert not any("#" in url or "?" in url for url in requests)


def paste(page: "Page", left: str = LEFT, right: str = RIGHT) -> None:
    page.get_by_label("Left text", exact=True).fill(left)
    page.get_by_label("Right text", exact=True).fill(right)


def align(page: "Page") -> None:
    page.get_by_role("button", name="Match", exact=True).click()
    page.locator("#shown .picture").wait_for()


def said(page: "Page") -> str:
    return page.get_by_role("status").inner_text()


def test_a_first_visit_gets_from_two_pasted_posts_to_their_links_with_one_click(visit: Visit) -> None:
    page = visit()
    paste(page)
    align(page)
    why = wm.Aligner().align(LEFT, RIGHT)
    assert shown(page, "#links td:nth-child(2)") == [link.texts[0] for link in why.links]
    assert shown(page, "#links td:nth-child(3)") == [link.texts[1] for link in why.links]
    assert page.locator("#texts path").count() == len(why.links) > 0
    assert page.locator("#result-title").inner_text() == why.verdict
    assert page.locator("#shown .verdict").count() == 0  # the heading says it
    assert page.locator("#score").inner_text() == f"{why.bits:.1f} bits"
    page.get_by_text("How sure is this?").click()
    assert page.locator("#certificate").inner_text() == str(why.certificate)
    assert shown(page, '[data-side="left"] .unmatched .words') == [why.left[span] for span in why.unmatched.left]
    assert f", {why.bits:.1f} bits; " in said(page)


def test_texts_that_do_not_match_are_not_said_to(visit: Visit) -> None:
    page = visit()
    paste(page, LEFT, "The council approved a playground. Bread is baked at night.")
    align(page)
    assert page.locator("#result-title").inner_text().startswith("No sign of a match")
    assert "match" not in said(page)
    page.get_by_label("of each text’s").select_option("words")
    page.get_by_role("button", name="Match", exact=True).click()
    page.locator("#texts.stacked").wait_for()
    assert page.locator("#result-title").inner_text().startswith("No sign of a match")


def test_texts_that_contradict_each_other_are_said_to(visit: Visit) -> None:
    page = visit()
    paste(page, "Take 5 mg of it twice a day. It rains.", "It rains. Take 50 mg of it twice a day.")
    align(page)
    assert "but contradict each other in 1 place" in page.locator("#result-title").inner_text()
    assert page.locator("mark.conflict").all_inner_texts() == ["5 mg", "50 mg"]
    assert page.locator("td.meaning").all_inner_texts() == ["≠ contradicts\n5 mg – 50 mg (number)", "= same"]
    page.get_by_label("Conflicts only").check()
    assert [row.is_visible() for row in page.locator("#links tr").all()] == [True, False]


def test_every_example_shows_links_after_one_click(visit: Visit) -> None:
    page = visit()
    for button in page.locator("#match .examples button").all():
        button.click()
        page.locator("#result:not([aria-busy]) #links tr").first.wait_for()
        page.evaluate("document.getElementById('shown').replaceChildren()")


@pytest.mark.parametrize("way", ["check", "compare", "search"])
def test_every_way_has_an_example_that_shows_an_answer(visit: Visit, way: str) -> None:
    page = visit()
    page.locator(f"#way-{way}").click()
    page.locator(f"#{way} .examples button").click()
    page.locator("#result:not([aria-busy]) .picture").wait_for()
    assert page.evaluate("document.activeElement.id") == "result-title"
    assert page.locator("#progress").is_hidden()
    assert page.locator("h1").count() == 1
    assert "#t=" not in page.url
    page.get_by_role("button", name="Copy a link").click()
    page.get_by_text("The link is in the clipboard").wait_for()
    other = visit(page.url.split("/")[-1])
    other.locator("#result:not([aria-busy]) .picture").wait_for()
    assert other.locator("#shown").inner_text() == page.locator("#shown").inner_text()
    assert other.locator(f"#{way}").is_visible()


def test_a_check_says_which_claims_the_sources_support(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Check an answer").click()
    page.get_by_role("button", name="Check", exact=True).click()
    assert "An answer and a source are needed" in said(page)
    page.get_by_label("Answer", exact=True).fill(f"Tea costs 5 euros. Cake costs 9 euros. Dogs may come in {HACK}.")
    page.get_by_role("button", name="Check", exact=True).click()
    assert page.evaluate("document.activeElement.id") == "source-1"
    page.get_by_label("Source 1", exact=True).fill("Cake costs 3 euros. The tea costs 5 euros.")
    page.get_by_role("button", name="Add a source").click()
    assert page.evaluate("document.activeElement.id") == "source-2"
    files: Any = [{"name": f"<b>{name}", "mimeType": "text/plain", "buffer": b"It opens at nine."} for name in "ab"]
    page.locator("#sources .box input[type=file]").last.set_input_files(files)
    page.get_by_text("<b>b was read").wait_for()
    assert page.locator("#sources textarea").count() == 3
    page.get_by_role("button", name="Check", exact=True).click()
    page.locator("#shown .claim").first.wait_for()
    assert (
        page.locator("#result-title").inner_text()
        == "1 of 3 claims is supported; 1 is contradicted, and 1 has no source."
    )
    assert page.locator("#shown .claim .word").all_inner_texts() == ["supported", "contradicted", "no source"]
    assert page.locator("#shown h3").all_inner_texts() == ["source 1", "<b>a (not cited)", "<b>b (not cited)"]
    assert page.locator("#shown .followed").count() == 0  # until a claim is pointed at
    page.locator("#shown .claim").nth(1).click()
    assert page.locator("#shown .quote.followed").inner_text().startswith("Cake costs 3 euros.")


def test_a_comparison_lists_what_matters_first(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Compare versions").click()
    page.get_by_role("button", name="Compare", exact=True).click()
    assert "Both versions are needed" in said(page)
    page.get_by_label("Old version", exact=True).fill(
        f"1. The fee is 5 euros.\n2. It rains {HACK}.\n3. Dogs are welcome."
    )
    page.get_by_label("New version", exact=True).fill(f"1. The fee is 50 euros.\n2. It rains {HACK}.")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.locator("#shown .list").wait_for()
    assert (
        page.locator("#result-title").inner_text().startswith("1 change that matters: a number in 1; 1 passage deleted")
    )
    assert page.locator("#shown .list .conflict").all_inner_texts() == ["number: 5 euros → 50 euros"]
    page.locator("#shown .list a").last.click()
    assert page.locator("#shown .row:target").inner_text().count("Dogs are welcome") == 1
    assert page.locator("#result").is_visible()  # an address within the page asks for nothing


def test_the_choice_of_constraint_and_spans_is_kept_to(visit: Visit) -> None:
    page = visit()
    paste(page)
    assert page.locator("#k").is_hidden()
    page.get_by_label("Link").select_option("the k best pairs")
    page.locator("#k").fill("3")
    align(page)
    assert page.locator("#links tr").count() == 3
    page.locator("#slider").press("Home")
    assert page.locator("#links tr").count() == 1
    page.get_by_label("of each text’s").select_option("words")
    page.get_by_role("button", name="Match", exact=True).click()
    page.locator("#texts.stacked").wait_for()
    assert "layer 3" in (page.locator(".parts").text_content() or "")


def test_it_can_be_used_with_keys_alone(visit: Visit) -> None:
    page = visit()
    page.get_by_label("Left text", exact=True).focus()
    page.keyboard.insert_text(LEFT)
    for _ in range(2):  # past the button that opens a file
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "right"
    page.keyboard.insert_text(RIGHT)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#shown .picture").wait_for()
    assert page.evaluate("document.activeElement.id") == "result-title"
    for _ in range(6):  # three tools, the slider, as asked, and the first link
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("#zoom").is_visible()
    assert page.locator("#zoom path").count() > 0


def test_everything_that_can_be_used_has_a_name(visit: Visit) -> None:
    page = visit()
    paste(page)
    align(page)
    nameless = page.locator("button, input:not([type=file]), select, textarea, section, nav, form").evaluate_all(
        """elements => elements.filter(element => !(element.ariaLabel || element.labels?.length
            || element.getAttribute("aria-labelledby") || element.textContent.trim())).map(some => some.outerHTML)"""
    )
    assert nameless == []
    assert page.locator("html[lang=en]").count() == page.locator("h1").count() == page.locator("main").count() == 1


def test_scripts_in_texts_do_not_run(visit: Visit) -> None:
    page = visit()
    left, right = f"My wifi drops {HACK}. Wine.", f"The wifi drops, too {HACK}. Beer."
    paste(page, left, right)
    align(page)
    page.locator("#links tr").first.press("Enter")
    assert page.locator("#zoom").is_visible()
    assert page.locator("#shown img, #shown script").count() == 0
    assert HACK in page.locator("#links").inner_text()
    assert page.evaluate("window.hacked") is None


def test_scripts_in_ids_and_documents_do_not_run(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Search the index").click()
    page.get_by_label("What to look for").fill(f"My wifi drops {HACK}. The driver is new.")
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator("#shown .example").first.wait_for()
    assert f"post {HACK}" in page.locator("#shown h3").first.inner_text()
    assert page.locator("#shown .example").count() == 3
    assert page.locator("#shown img, #shown script").count() == 0
    assert page.locator("#shown .example").first.locator(".curves path").count() > 0
    for result in page.locator("#shown .example").all():
        assert result.locator(".hit").inner_text().startswith("probability ")


def test_scripts_in_names_of_files_do_not_run(visit: Visit) -> None:
    page = visit()
    name = '<img src=x onerror="window.hacked=1">.txt'
    payload: Any = {"name": name, "mimeType": "text/plain", "buffer": LEFT.encode()}
    page.locator(".box:has(#left) input[type=file]").set_input_files(payload)
    page.get_by_text("was read").wait_for()
    assert page.get_by_label("Left text", exact=True).input_value() == LEFT
    assert page.locator(".box:has(#left) .from").inner_text() == name
    broken: Any = {"name": name, "mimeType": "text/plain", "buffer": b"\xff\xfe\x00"}
    page.locator(".box:has(#right) input[type=file]").set_input_files(broken)
    page.get_by_text("is no text in UTF-8").wait_for()
    assert page.locator("main img").count() == 0


def test_a_file_of_html_is_read_as_the_command_line_reads_it_and_one_of_word_is_refused(visit: Visit) -> None:
    page = visit()
    html = """<!doctype html><title>Fees</title><script>window.hacked = 1</script><h1>Our <b>fees</b></h1>
      <style>p {}</style><p style="color: red">Rent &amp; gas<br>per month.
      <ul><li>Express: 9.90 €</li><li><p>Standard: 5.90 €</p></li></ul>
      <table><tr><th>item</th><th>price</th></tr><tr><td>gas. oil.</td><td>5</td></tr></table>
      <img src=x onerror="window.hacked = 1"><pre>a\n  b</pre><p>3.1 Rent is   due."""
    payload: Any = {"name": "fees.html", "mimeType": "text/html", "buffer": html.encode()}
    page.locator(".box:has(#left) input[type=file]").set_input_files(payload)
    page.get_by_text("was read").wait_for()
    assert page.get_by_label("Left text", exact=True).input_value() == document_text(html.encode(), "fees.html")
    word: Any = {"name": "fees.docx", "mimeType": "application/zip", "buffer": b"PK\x03\x04 and more"}
    page.locator(".box:has(#right) input[type=file]").set_input_files(word)
    page.get_by_text("save it as plain text or HTML").wait_for()
    assert page.get_by_label("Right text", exact=True).input_value() == ""


def test_a_file_can_be_dropped(visit: Visit) -> None:
    page = visit()
    page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.items.add(new File([text], "post.txt", { type: "text/plain" }));
            const box = document.querySelector(".box:has(#right)");
            for (const kind of ["dragenter", "dragover", "drop"]) {
                box.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
            }
        }""",
        RIGHT,
    )
    page.get_by_text("post.txt was read").wait_for()
    assert page.get_by_label("Right text", exact=True).input_value() == RIGHT


def test_the_json_of_an_alignment_can_be_copied(visit: Visit) -> None:
    page = visit()
    paste(page)
    align(page)
    page.get_by_role("button", name="Copy as JSON").click()
    page.get_by_text("The JSON is in the clipboard").wait_for()
    found = Alignment.from_dict(json.loads(page.evaluate("navigator.clipboard.readText()")))
    assert [link.at for link in found.links] == [link.at for link in wm.Aligner().align(LEFT, RIGHT).links]


def test_a_link_opens_the_same_picture_and_its_texts_never_leave_the_browser(visit: Visit, served: Served) -> None:
    page = visit()
    paste(page, f"{LEFT} Grüße, swordfish 🥐.", RIGHT)
    page.get_by_label("Link").select_option("the k best pairs")
    align(page)
    page.get_by_role("button", name="Copy a link").click()
    page.get_by_text("The link is in the clipboard").wait_for()
    link = str(page.evaluate("navigator.clipboard.readText()"))
    assert link.startswith(f"{served.url}/#")
    other = visit(link.removeprefix(f"{served.url}/"))
    other.locator("#shown .picture").wait_for()
    assert other.get_by_label("Left text", exact=True).input_value().endswith("Grüße, swordfish 🥐.")
    assert other.locator("#shown").inner_text() == page.locator("#shown").inner_text()
    damaged = visit("#t=%%%")
    assert "damaged" in said(damaged)


def test_the_saved_page_stands_alone(visit: Visit, browser: "Browser", tmp_path: Path) -> None:  # noqa: F811
    page = visit()
    paste(page)
    align(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a page").click()
    file = tmp_path / "saved.html"
    download.value.save_as(file)
    alone = browser.new_page()
    alone.goto(file.as_uri())
    assert shown(alone, "#links td:nth-child(2)") == shown(page, "#links td:nth-child(2)")
    alone.close()


@pytest.mark.parametrize("then", ["another way", "nothing to ask", "a refusal"])
def test_an_answer_is_not_left_under_another_question(visit: Visit, then: str) -> None:
    page = visit()
    paste(page)
    align(page)
    if then == "another way":
        page.get_by_role("button", name="Compare", exact=False).first.click()
    else:
        page.get_by_label("Right text", exact=True).fill("" if then == "nothing to ask" else "word " * 24_000)
        page.get_by_role("button", name="Match", exact=True).click()
    page.locator("#result").wait_for(state="hidden")
    assert page.locator("#shown").inner_text() == ""
    assert bool(said(page)) == (then != "another way")


def test_what_is_wrong_is_said(visit: Visit) -> None:
    page = visit()
    page.get_by_role("button", name="Match", exact=True).click()
    assert "Both texts are needed" in said(page)
    assert page.evaluate("document.activeElement.id") == "left"
    paste(page, "word. " * 501, RIGHT)
    page.get_by_role("button", name="Match", exact=True).click()
    page.get_by_text("A text has 501 spans").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("way", ["match", "check", "compare", "search"])
def test_a_phone_shows_it_without_scrolling_sideways(visit: Visit, way: str, scheme: str) -> None:
    page = visit(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page.locator(f"#way-{way}").click()
    assert not scrolls_sideways(page)
    for example in page.locator(f"#{way} .examples button").all():
        example.click()
        page.locator("#result:not([aria-busy]) .picture").wait_for()
        assert not scrolls_sideways(page)
        page.evaluate("document.getElementById('shown').replaceChildren()")
    red, green, blue = map(int, background(page)[4:-1].split(","))
    assert (max(red, green, blue) < 64) == (scheme == "dark")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a token, a model of whole texts, and no index."""
    folder = tmp_path_factory.mktemp("guarded")
    black_box = wm.Ranker(wm.Aligner("text", Projected(wm.SentenceEncoder(), 384)), wm.Exactly(1))
    black_box.save_pretrained(folder / "model")
    with serving(folder, "--model", folder / "model", WHYMATCH_TOKEN=TOKEN) as server:
        yield server


def admitted(page: "Page") -> None:
    """Aligns two texts, and gives the token that is asked for."""
    paste(page)
    page.get_by_role("button", name="Match", exact=True).click()
    page.get_by_label("This server needs its token:").fill(TOKEN)
    page.keyboard.press("Enter")
    page.locator("#shown .picture").wait_for()


def test_a_server_with_a_token_asks_for_it(visit: Visit, guarded: Served) -> None:
    page = visit(url=guarded.url)
    admitted(page)
    assert page.locator("#token-row").is_hidden()
    assert page.locator("#way-search").is_hidden()  # there is no index
    page.close()


def test_a_model_of_whole_texts_can_be_used(visit: Visit, guarded: Served) -> None:
    page = visit(url=guarded.url)
    page.locator("#spans option[value=text]").wait_for(state="attached")
    admitted(page)
    assert page.locator("#status").inner_text() == "1 link."
    page.close()


def test_the_page_offers_every_constraint() -> None:
    offered = set(re.findall(r'<option value="([a-z-]+)">', PAGE.read_text(encoding="utf-8")))
    assert {kind.word for kind in CONSTRAINTS} <= offered
