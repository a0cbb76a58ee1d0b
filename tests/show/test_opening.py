"""What a reader opens, in a real browser: the words inside a link, and how sure an answer is."""

import whymatch as wm
from tests.show.evidence import matching
from tests.show.test_browser import LEFT, RIGHT, Open, browser, diagonal, hostile, show, shown, words  # noqa: F401
from whymatch.show.html import page as page_of


def test_enter_shows_the_words_inside_a_link_and_escape_hides_them(show: Open) -> None:  # noqa: F811
    left = "Parking is free. Breakfast was served until eleven."
    right = "They serve breakfast until eleven. You can park at no charge."
    alignment = wm.Aligner().align(left, right)
    page = show(alignment.to_html())
    assert page.locator("#zoom").is_hidden()
    for rank, link in enumerate(alignment.links):
        page.locator("#links tr").nth(rank).press("Enter")
        assert page.locator("#zoomed").inner_text() == str(rank + 1)
        inside = alignment.zoom(rank)
        assert page.locator("#zoom path").count() == len(inside.links) > 0
        for side, pieces, text in zip(("left", "right"), (inside.left, inside.right), link.texts, strict=True):
            assert page.locator(f'#stack [data-side="{side}"]').inner_text() == text
            assert shown(page, f'#stack [data-side="{side}"] .span') == pieces.pieces
        page.keyboard.press("Escape")
        assert page.locator("#zoom").is_hidden()


def test_the_words_of_a_link_stand_beneath_what_was_clicked(show: Open) -> None:  # noqa: F811
    page = show(wm.Aligner().align("Parking is free. Tea is hot.", "Hot tea. You can park at no charge.").to_html())
    for place in (
        '[data-side="left"] [data-number="0"]',
        '[data-side="right"] [data-number="0"]',
        "#links tr >> nth=0",
    ):
        page.locator(place).click()
        clicked, words = (page.locator(name).bounding_box() for name in (place, "#zoom"))
        assert clicked is not None
        assert words is not None
        assert 0 <= words["y"] - clicked["y"] - clicked["height"] < 20
        page.get_by_role("button", name="Close").click()
        assert page.locator("#zoom").is_hidden()
        assert page.locator(place).evaluate("element => element === document.activeElement")


def test_a_script_inside_a_link_does_not_run_when_its_words_are_shown(show: Open) -> None:  # noqa: F811
    alignment = hostile()
    page = show(page_of(alignment.picture(zoom=False) | {"words": [{"at": [0, 2], **alignment.to_dict()}]}))
    page.locator("#links tr").nth(0).click()
    assert shown(page, '#stack [data-side="left"] .span') == LEFT
    assert shown(page, '#stack [data-side="right"] .unmatched') == [RIGHT[1], RIGHT[3], RIGHT[4]]
    assert page.locator("#stack path").count() == 2
    assert page.evaluate("window.hacked") is None
    page.locator('#links tr[data-link="1"]').click()
    assert page.locator("#zoom").is_hidden()


def test_words_after_an_emoji_are_cut_where_they_begin(show: Open) -> None:  # noqa: F811
    left, right = "🥐 and coffee 🇩🇪 all day", "🐕 und Kaffee den ganzen Tag"
    inside = words(left, right).to_dict()
    page = show(page_of(diagonal([left], [right]).picture(zoom=False) | {"words": [{"at": [0, 0], **inside}]}))
    page.locator("#links tr").press("Enter")
    assert shown(page, '#stack [data-side="left"] .span') == left.split()
    assert shown(page, '#stack [data-side="right"] .span') == right.split()


def test_how_sure_it_is_opens_by_pointer_and_by_keys(show: Open) -> None:  # noqa: F811
    why = matching()
    page = show(why.to_html(zoom=False))
    assert page.locator("#certificate").is_hidden()
    page.get_by_text("How sure is this?").click()
    assert page.locator("#certificate").inner_text() == str(why.certificate)
    page.keyboard.press("Enter")
    assert page.locator("#certificate").is_hidden()
