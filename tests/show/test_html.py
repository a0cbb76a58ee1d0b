"""Whatever the texts say, the page is the intended one and says exactly what the alignment says."""

import base64
import hashlib
import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import whymatch as wm
from tests.show.evidence import LEFT, aligner, matching, unrelated
from whymatch.show.html import framed, marked_pieces, meanings, page, views
from whymatch.show.words import SHIPPED_BACKGROUND, number, percent, short
from whymatch.text.spans import is_blank

MARKUP = [
    "</script>",
    "</script x",
    "<!--<script y",
    "<script>window.hacked=1</script>",
    '<img src=x onerror="window.hacked=1">',
    "</span></section>",
    "</style><style>*{display:none}",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "&",
    "&lt;b&gt;",
    "&#60;",
    '"',
    "'",
    "`",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "javascript:alert(1)",
    "\\u003c",
    "\u2028\u2029",
    "\x00\x1b[31m",
    "\r\n",
    "👩\u200d👩\u200d👧 🇩🇪",
    "שלום \u202eעולם",
    "a long and harmless sentence of many words",
]
CONSTRAINTS: list[wm.Constraint] = [
    wm.UpTo(1, below=0.9),
    wm.UpTo(2, below=1.5),
    wm.UpTo(1, below=1e-6),
    wm.Exactly(1),
    wm.Balanced(),
]
VOID = {"meta", "input", "br"}
LOADING = {"src", "srcset", "href", "xlink:href", "action", "formaction", "data", "poster", "background", "style"}

texts = st.one_of(st.text(max_size=12), st.lists(st.sampled_from(MARKUP), max_size=4).map("".join))
pieces = texts.map(lambda text: f"{text}." if is_blank(text) else text)
vectors = st.lists(st.integers(-2, 2), min_size=2, max_size=2)


@st.composite
def documents(draw: st.DrawFn, fewest: int) -> wm.Document:
    """A text with anything as a span and anything between spans."""
    text, spans = draw(texts), []
    for piece in draw(st.lists(pieces, min_size=fewest, max_size=4)):
        spans.append(wm.Span(len(text), len(text) + len(piece)))
        text += piece + draw(texts)
    return wm.Document(text, tuple(spans))


@st.composite
def alignments(draw: st.DrawFn) -> wm.Alignment:
    constraint = draw(st.sampled_from(CONSTRAINTS))
    left, right = (draw(documents(0 if isinstance(constraint, wm.UpTo) else 1)) for _ in range(2))
    known = {piece: draw(vectors) for piece in ["", *left.pieces, *right.pieces]}
    return wm.Aligner(encode=wm.Precomputed(known, name=draw(texts))).align(left, right, constraint)


def with_words(alignment: wm.Alignment) -> dict[str, Any]:
    """The alignment's dictionary with any texts inside its links."""
    inside = [{"at": [*link.at], **alignment.to_dict()} for link in alignment.links]
    return alignment.picture(zoom=False) | {"words": inside}


class Element:
    def __init__(self, tag: str, attributes: dict[str, str | None]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element | str] = []

    def __iter__(self) -> Iterator["Element"]:
        """This element and all inside it, in the order of the page."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child

    def all(self, tag: str, of_class: str | None = None) -> list["Element"]:
        return [one for one in self if one.tag == tag and (of_class is None or of_class in one.classes)]

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)


class Parser(HTMLParser):
    """The page as a tree; raises where an end tag does not close the element that is open."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("document", {})]
        self.others: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_decl(self, decl: str) -> None:
        self.others.append(decl)

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)


def parsed(text: str) -> Element:
    parser = Parser()
    parser.feed(text)
    parser.close()
    assert [element.tag for element in parser.open] == ["document"]
    assert parser.others == ["doctype html"]
    return parser.open[0]


def parse(alignment: wm.Alignment) -> Element:
    return parsed(alignment.to_html(zoom=False))


def data_of(tree: Element) -> Any:
    (found,) = [script for script in tree.all("script") if script.attributes.get("type") == "application/json"]
    assert not {*"<>&"} & {*found.text}
    return json.loads(found.text)


def sha256(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def harmless(value: Any) -> Any:
    """The same dictionary, every text in it made of x."""
    if isinstance(value, dict):
        return {key: found if key in ("constraint", "name") else harmless(found) for key, found in value.items()}
    if isinstance(value, list | tuple):
        return [harmless(found) for found in value]
    return "".join(c if c.isspace() else "x" for c in value) if isinstance(value, str) else value


@given(alignments())
def test_markup_in_a_text_is_text_on_the_page(alignment: wm.Alignment) -> None:
    picture = with_words(alignment)
    found, expected = (parsed(page(values)) for values in (picture, harmless(picture)))
    assert [(one.tag, one.attributes) for one in found] == [(one.tag, one.attributes) for one in expected]


@given(alignments())
def test_the_policy_names_the_one_script_and_the_one_style_and_nothing_else(alignment: wm.Alignment) -> None:
    tree = parsed(page(with_words(alignment)))
    order = [one for one in tree if one.attributes.get("http-equiv") or one.tag in ("style", "script")]
    assert [one.tag for one in order] == ["meta", "style", "script", "script"]
    policy, style, data, script = order
    assert policy.attributes["http-equiv"] == "Content-Security-Policy"
    assert data.attributes == {"type": "application/json", "id": "data"}
    assert style.attributes == script.attributes == {}
    rules = dict(rule.strip().split(" ", 1) for rule in str(policy.attributes["content"]).split(";"))
    assert rules == {
        "default-src": "'none'",
        "style-src": sha256(style.text),
        "script-src": sha256(script.text),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


@given(alignments())
def test_nothing_on_the_page_runs_or_loads_by_an_attribute(alignment: wm.Alignment) -> None:
    tree = parse(alignment)
    names = {name for one in tree for name in one.attributes}
    assert not [name for name in names if name.startswith("on")]
    assert not names & LOADING
    (style,) = tree.all("style")
    assert "url(" not in style.text
    assert "@import" not in style.text


@given(alignments())
def test_the_data_are_the_links(alignment: wm.Alignment) -> None:
    data = data_of(parse(alignment))
    assert data["words"] == []
    asked = data["views"][0]
    assert [link[:3] for link in asked["links"]] == [[*link.at, link.cost] for link in alignment.links]
    mass = sum(link.mass for link in alignment.links)
    mean = sum(link.mass * (alignment.neutral - link.cost) for link in alignment.links) / (mass or 1)
    assert asked["score"] == pytest.approx(mean)


@given(alignments())
def test_the_data_are_the_words_inside_the_links(alignment: wm.Alignment) -> None:
    picture = with_words(alignment)
    words = data_of(parsed(page(picture)))["words"]
    assert [inside["at"] for inside in words] == [[*link.at] for link in alignment.links]
    for inside in words:
        assert {side: inside[side] for side in ("left", "right")} == {side: picture[side] for side in ("left", "right")}
        assert inside["links"] == [[*link.at, link.cost, link.share] for link in alignment.links]


@given(alignments())
def test_every_span_stands_on_the_page_as_it_is_in_the_text(alignment: wm.Alignment) -> None:
    sections = parse(alignment).all("section", "text")
    assert [section.attributes["data-side"] for section in sections] == ["left", "right"]
    for section, document in zip(sections, (alignment.left, alignment.right), strict=True):
        spans = section.all("span", "span")
        assert [span.attributes["data-number"] for span in spans] == [str(place) for place in range(len(document))]
        assert [[words.text for words in span.all("span", "words")] for span in spans] == [
            [piece] for piece in document.pieces
        ]
        shown = "".join(part.text for part in section.all("span") if {"words", "between"} & {*part.classes})
        assert "".join(shown.split()) == "".join(document.text.split())
        if "inline" in section.classes:
            assert shown == document.text


@given(alignments())
def test_a_span_wears_the_numbers_of_its_links_or_is_unmatched(alignment: wm.Alignment) -> None:
    for side, section in enumerate(parse(alignment).all("section", "text")):
        for place, span in enumerate(section.all("span", "span")):
            ranks = [str(rank) for rank, link in enumerate(alignment.links, start=1) if link.at[side] == place]
            assert [badge.text for badge in span.all("sup", "badge")] == ranks
            assert ("unmatched" in span.classes) == (not ranks)


@given(alignments())
def test_the_table_has_a_row_for_each_link(alignment: wm.Alignment) -> None:
    rows = [row for body in parse(alignment).all("tbody") for row in body.all("tr")]
    assert [[cell.text for cell in row.all("td")] for row in rows] == [
        [str(rank), *link.texts, number(link.cost), number(strength)]
        for rank, (link, (*_, strength)) in enumerate(
            zip(alignment.links, views(alignment.picture(zoom=False))[0]["links"], strict=True), start=1
        )
    ]


@given(alignments())
def test_the_views_are_the_one_asked_for_and_one_for_each_k_of_the_path(alignment: wm.Alignment) -> None:
    asked, *others = data_of(parse(alignment))["views"]
    assert sum(share for *_, share in asked["links"]) == pytest.approx(asked["score"], abs=1e-12)
    assert len(others) == len(alignment.path) == min(len(alignment.left), len(alignment.right))
    for k, (view, step) in enumerate(zip(others, alignment.path, strict=True), start=1):
        assert len(view["links"]) == step.k == k
        assert sorted((i, j, cost) for i, j, cost, _ in view["links"]) == sorted(step.links)
        assert view["score"] == step.score
        shares = [share for *_, share in view["links"]]
        assert sum(shares) == pytest.approx(step.score, abs=1e-9)
        assert shares == sorted(shares, reverse=True)


def test_a_view_of_exactly_k_is_what_exactly_k_would_give() -> None:
    known = {"a": [4, 1, 0], "b": [0, 3, 1], "c": [1, 0, 2], "d": [3, 1, 1], "e": [0, 1, 1], "f": [1, 1, 4]}
    aligner = wm.Aligner(encode=wm.Precomputed(known))
    others = views(aligner.align(["a", "b", "c"], ["d", "e", "f"], wm.Balanced()).picture(zoom=False))[1:]
    for k, view in enumerate(others, start=1):
        exactly = aligner.align(["a", "b", "c"], ["d", "e", "f"], wm.Exactly(k))
        assert [tuple(link[:2]) for link in view["links"]] == [link.at for link in exactly.links]
        assert view["score"] == pytest.approx(exactly.score)
        assert [link[3] for link in view["links"]] == pytest.approx([link.share for link in exactly.links])


def test_the_page_that_is_returned_is_the_page_that_is_written(tmp_path: Path) -> None:
    alignment = wm.Aligner(encode=wm.Precomputed({"ünï": [1, 0]})).align(["ünï"], ["ünï"], wm.OneTo())
    assert alignment.to_html(tmp_path / "page.html", zoom=False) == (tmp_path / "page.html").read_text("utf-8")


@given(alignments())
def test_a_notebook_gets_the_page_in_one_sandboxed_frame(alignment: wm.Alignment) -> None:
    parser = Parser()
    parser.feed(alignment._repr_html_())
    parser.close()
    frame, fit = parser.open[0].children
    assert isinstance(frame, Element)
    assert isinstance(fit, Element)
    assert (frame.tag, fit.tag) == ("iframe", "script")
    assert framed("", "Alignment", 100).endswith(f"<script>{fit.text}</script>")  # nothing of the texts is in it
    assert frame.children == []
    assert frame.attributes["sandbox"] == "allow-scripts"
    assert frame.attributes["srcdoc"] == alignment.to_html(zoom=False)


def heading(tree: Element) -> str:
    (found,) = tree.all("h1")
    return found.text


def test_the_heading_and_the_title_of_evidence_are_the_verdict() -> None:
    for why in (matching(), unrelated(), aligner().align(LEFT, LEFT)):
        tree = parse(why)
        assert heading(tree) == why.verdict
        assert [title.text for title in tree.all("title")] == [why.verdict]
    assert heading(parse(unrelated())).startswith("No sign of a match")
    assert "They match" not in parse(unrelated()).all("main")[0].text


def test_probability_and_evidence_stand_beneath_the_heading() -> None:
    why = matching()
    (likely,) = parse(why).all("p", "likely")
    assert why.probability is not None
    assert why.probability > 0.9
    assert likely.text.strip() == f"{percent(why.probability)} likely to match, {why.bits:.1f} bits of evidence"
    (likely,) = parse(unrelated()).all("p", "likely")
    assert likely.text.strip().startswith("under 1% likely to match, no evidence")


def test_what_a_probability_rests_on_is_behind_a_disclosure() -> None:
    why = matching()
    tree = parse(why)
    (details,) = tree.all("details")
    assert "open" not in details.attributes
    assert [summary.text for summary in details.all("summary")] == ["How sure is this?"]
    assert why.judgement is not None
    shown = dict(zip(*([one.text for one in details.all(tag)] for tag in ("dt", "dd")), strict=True))
    assert why.p_value is not None
    assert f"p = {short(why.p_value)}" in shown["Chance"]
    assert why.judgement.background in shown["Judged against"]
    assert why.judgement.calibrated_on in shown["Probability"]
    assert shown["Certificate"] == str(why.certificate)
    visible = tree.all("main")[0].text.replace(details.text, "")
    assert str(why.certificate) not in visible
    shipped = parse(aligner(SHIPPED_BACKGROUND).align(["One."], ["Two."]))
    assert "--background" in shipped.all("details")[0].text
    assert "--background" not in details.text


def test_links_with_evidence_show_their_bits() -> None:
    why = matching()
    tree = parse(why)
    rows = [[cell.text for cell in row.all("td")] for body in tree.all("tbody") for row in body.all("tr")]
    assert rows == [[str(rank), *link.texts, f"{link.bits:.1f}"] for rank, link in enumerate(why.links, start=1)]
    assert [cell.text for cell in tree.all("th")] == ["#", "left", "right", "bits"]


@pytest.mark.parametrize(
    "constraint", [None, wm.Exactly(1), wm.UpTo(1, below=-15.0), wm.UpTo(2), wm.OneTo(1), wm.Balanced()]
)
def test_every_view_of_evidence_is_the_sum_of_the_bits_that_it_shows(constraint: wm.Constraint | None) -> None:
    why = matching(constraint)
    asked, *others = views(why.picture(zoom=False))
    assert asked["score"] == pytest.approx(sum(share for *_, share in asked["links"]))
    assert [bits for *_, bits, _ in asked["links"]] == [link.bits for link in why.links]
    if constraint != wm.Balanced():
        assert asked["score"] == pytest.approx(sum(link.bits or 0.0 for link in why.links))
    best = aligner().align(why.left, why.right, wm.Exactly(len(others)))
    assert others[-1]["score"] == pytest.approx(best.score)
    for view in others:
        assert all(bits == share for *_, bits, share in view["links"])
        assert view["score"] == pytest.approx(sum(share for *_, share in view["links"]))


def test_a_view_of_all_significant_links_has_the_evidence_of_the_texts() -> None:
    why = matching(wm.Exactly(1))
    assert views(why.picture(zoom=False))[2]["score"] == pytest.approx(why.bits)


@given(st.lists(st.sampled_from(MARKUP).filter(lambda text: not is_blank(text)), min_size=1, max_size=4, unique=True))
def test_markup_in_texts_with_evidence_is_text_on_the_page(found: list[str]) -> None:
    picture = aligner().align(found, [*found, "Glass breaks."]).picture(zoom=False) | {"notes": found}
    shown, expected = (parsed(page(values)) for values in (picture, harmless(picture)))
    assert [(one.tag, one.attributes) for one in shown] == [(one.tag, one.attributes) for one in expected]
    assert [note.text for note in shown.all("p", "note")] == found


def contradicting(pieces: list[str]) -> dict[str, Any]:
    """An alignment of texts with themselves, whose first link contradicts itself in all of its words."""
    picture = aligner().align(pieces, pieces).picture(zoom=False)
    relation = {"name": "related", "probabilities": {}}
    conflict = {"kind": "number", "left": [picture["links"][0]["left"]], "right": []}
    first = picture["links"][0] | {"relation": relation, "conflicts": [conflict]}
    return picture | {"links": [first, *picture["links"][1:]]}


def test_a_link_with_words_in_conflict_contradicts_on_the_page() -> None:
    picture = contradicting(LEFT)
    shown = parsed(page(picture))
    words = picture["links"][0]["texts"][0]
    assert [mark.text for mark in shown.all("mark", "conflict")] == [words]
    (cell,) = [cell for cell in shown.all("td", "meaning") if cell.text]
    assert cell.text == f"≠ contradicts{words} – nothing (number)"
    assert meanings(picture)["{}-{}".format(*picture["links"][0]["at"])]["relation"] == "contradicts"


def test_a_page_without_relations_shows_no_legend_of_them() -> None:
    shown = parsed(page(matching().picture(zoom=False)))
    assert not shown.all("td", "meaning")
    assert not shown.all("span", "relation")


@given(st.sampled_from(MARKUP).filter(lambda text: not is_blank(text)))
def test_markup_in_words_in_conflict_is_text_on_the_page(found: str) -> None:
    picture = contradicting([f"{found} The river rises quickly."])
    shown, expected = (parsed(page(values)) for values in (picture, harmless(picture)))
    assert [(one.tag, one.attributes) for one in shown] == [(one.tag, one.attributes) for one in expected]


@given(st.text(min_size=1, max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=4))
def test_the_pieces_of_a_span_are_the_span_and_marked_where_a_mark_is(text: str, edges: list[tuple[int, int]]) -> None:
    marks = [sorted(min(edge, len(text)) for edge in pair) for pair in edges]
    cut = marked_pieces(text, 0, len(text), marks)
    assert "".join(piece["text"] for piece in cut) == text
    marked = [any(start <= place < end for start, end in marks) for place in range(len(text))]
    assert [piece["conflict"] for piece in cut for _ in piece["text"]] == marked
