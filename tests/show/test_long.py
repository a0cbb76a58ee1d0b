"""Long texts in a real browser: what they have in common is folded, and few enough curves are drawn to be followed."""

import whymatch as wm
from tests.show.test_browser import Open, aligned, browser, followed, hostile, show, words  # noqa: F401


def long_texts() -> wm.Alignment:
    """Sixty pieces a side; the first ten are linked in opposite order, with the last ten of the right text."""
    left = [f"piece {number} of the left text" for number in range(60)]
    right = [f"piece {number} of the right text" for number in range(60)]
    costs = [[0.1 if i < 12 and i + j == 59 else 0.9 for j in range(60)] for i in range(60)]
    return aligned(left, right, costs, wm.UpTo(1, below=0.5))


def test_long_texts_fold_what_has_no_counterpart_and_show_ten_links_before_the_texts(show: Open) -> None:  # noqa: F811
    page = show(long_texts().to_html(zoom=False))
    folds = page.locator(".fold")
    assert folds.all_inner_texts() == ["48 without a counterpart"] * 2
    assert page.locator(".span:visible").count() == 24
    folds.first.click()
    assert page.locator(".span:visible").count() == 72
    assert folds.first.get_attribute("aria-expanded") == "true"
    assert page.locator("#links tr:visible").count() == 10
    page.get_by_role("button", name="Show all 12 links").click()
    assert page.locator("#links tr:visible").count() == 12
    table, texts = (page.locator(name).bounding_box() for name in (".links", "#texts"))
    assert table is not None
    assert texts is not None
    assert table["y"] < texts["y"]


def repeated() -> wm.Alignment:
    """Fifty pieces a side, the same but for the twentieth, and a piece more before those of the right text."""
    left = [f"clause {number} of the contract" for number in range(50)]
    right = ["a new first clause", *left[:20], "another twentieth clause", *left[21:]]
    return aligned(
        left, right, [[0.1 if j == i + 1 else 0.9 for j in range(51)] for i in range(50)], wm.UpTo(1, below=0.5)
    )


def test_long_texts_fold_what_is_the_same_in_both_and_unfold_it_on_both_sides(show: Open) -> None:  # noqa: F811
    page = show(repeated().to_html(zoom=False))
    folds = page.locator(".fold")
    assert folds.all_inner_texts() == ["20 the same in both texts", "29 the same in both texts"] * 2
    assert page.locator(".span:visible").count() == 3
    assert page.locator(".map line").count() == page.locator("#texts .curves path").count() == 1
    folds.nth(2).click()
    assert [fold.get_attribute("aria-expanded") for fold in folds.all()] == ["true", "false"] * 2
    assert page.locator(".span:visible").count() == 43
    page.get_by_role("button", name="Show all").click()
    row = page.locator("#links tr:has-text('clause 49 ')")
    for side, number in (("left", 49), ("right", 50)):
        row.press("Enter")
        page.get_by_role("button", name=f"Show it in the {side} text").click()
        assert page.evaluate("document.activeElement.dataset.number") == str(number)
        assert page.locator(".span:visible").count() == 101
        page.keyboard.press("Escape")


def test_words_are_not_folded_and_crowded_curves_wait_to_be_pointed_at(show: Open) -> None:  # noqa: F811
    text = " ".join(f"word{number}" for number in range(20))
    page = show(words(f"{text} {'more ' * 60}", text).to_html(zoom=False))
    assert page.locator(".fold, .map").count() == 0
    drawn = "paths => paths.filter(path => getComputedStyle(path).display !== 'none').length"
    assert page.locator("#texts path").count() == 20
    assert page.locator("#texts path").evaluate_all(drawn) == 0
    page.locator('[data-side="left"] [data-number="3"]').hover()
    assert page.locator("#texts path").evaluate_all(drawn) == 1


def test_curves_of_long_texts_join_only_what_is_in_view(show: Open) -> None:  # noqa: F811
    page = show(long_texts().to_html(zoom=False))
    page.set_viewport_size({"width": 1200, "height": 500})
    for fold in page.locator(".fold").all():
        fold.click()  # now the links run from the top of the left to the bottom of the right text
    page.evaluate("document.getElementById('texts').scrollIntoView()")
    page.wait_for_function("document.querySelectorAll('#texts .curves path').length === 0")
    assert page.locator(".map line").count() == 12
    box = page.locator(".map").bounding_box()
    assert box is not None
    before = page.evaluate("scrollY")
    page.mouse.click(box["x"] + 5, box["y"] + 0.9 * box["height"])
    page.wait_for_function(f"scrollY > {before} + 500")


def test_what_scrolls_under_a_pointer_at_rest_is_not_highlighted(show: Open) -> None:  # noqa: F811
    page = show(hostile().to_html(zoom=False), viewport={"width": 1100, "height": 500})
    page.mouse.move(300, 5)
    page.evaluate("document.getElementById('texts').scrollIntoView()")
    page.wait_for_timeout(300)
    assert page.evaluate("document.elementFromPoint(300, 25).closest('[data-link]') !== null")
    assert followed(page) == []
    page.mouse.move(300, 25)
    assert followed(page) != []
