"""Figures for papers: every format, and any text as it stands."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

import whymatch as wm
from tests.show.evidence import matching
from whymatch.matching.relations import RELATIONS, Relation

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

SIGNATURES = {".svg": b"<?xml", ".pdf": b"%PDF-", ".png": b"\x89PNG\r\n\x1a\n"}
AWKWARD = [
    "$",
    "$$",
    r"\$",
    "costs $5 and $6",
    "unbalanced $x_{",
    r"$\frac{1}{0}$ and $\nosuchcommand$",
    "snake_case ^ {braces} % # & ~",
    "\\",
    r"\begin{document} \alpha",
    "w" * 500,
    "a" + "$" * 99,
    "<b>&amp;</b> --> ]]>",
    "two\nlines\tand a tab",
]


def aligned(left: list[str], right: list[str], constraint: wm.Constraint) -> wm.Alignment:
    """Pieces of the same place are alike."""
    vectors = {piece: [1.0 * (axis == place) for axis in range(20)] for place, piece in enumerate(left)}
    vectors |= {piece: [1.0 * (axis == place) for axis in range(20)] for place, piece in enumerate(right)}
    return wm.Aligner(encode=wm.Precomputed(vectors | {"": [0.0] * 20})).align(left, right, constraint)


def drawn(alignment: wm.Alignment, file: Path) -> str:
    alignment.to_figure(file)
    return file.read_text(encoding="utf-8")


def words(svg: str) -> str:
    """What is drawn, without blanks: matplotlib names each line of text in a comment beside its glyphs."""
    return "".join("".join(unescape(line).split()) for line in re.findall("<!--(.*?)-->", svg, re.DOTALL))


def curves(svg: str) -> int:
    """Lines that bend and are not closed, as only links are."""
    paths = [element.get("d", "") for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}path")]
    return sum(path.split()[0] == "M" and path.count("C") == 1 and "z" not in path for path in paths if path)


@pytest.mark.parametrize("ending", [".svg", ".pdf", ".png", ".PNG"])
def test_the_ending_of_the_name_is_the_format(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"figure{ending}"
    aligned(["One.", "Two."], ["Eins.", "Zwei.", "Drei."], wm.UpTo(1, below=0.5)).to_figure(file)
    assert file.read_bytes().startswith(SIGNATURES[ending.lower()])


def test_a_name_may_be_a_string(tmp_path: Path) -> None:
    aligned(["One."], ["Eins."], wm.OneTo()).to_figure(str(tmp_path / "figure.svg"))
    assert (tmp_path / "figure.svg").exists()


def test_a_figure_is_returned_and_written_only_where_a_file_is_given(tmp_path: Path) -> None:
    figure = aligned(["One."], ["Eins."], wm.OneTo()).to_figure()
    assert len(figure.axes) == 1
    figure.savefig(tmp_path / "own.png")
    assert [file.name for file in tmp_path.iterdir()] == ["own.png"]


@pytest.mark.parametrize("name", ["figure.docx", "figure.svg.txt"])
def test_an_ending_that_is_no_format_is_refused_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"\.svg, \.pdf or \.png, got {name}"):
        aligned(["One."], ["Eins."], wm.OneTo()).to_figure(tmp_path / name)
    assert [*tmp_path.iterdir()] == []


def test_a_figure_holds_every_piece_and_a_curve_for_each_link(tmp_path: Path) -> None:
    left, right = ["One sentence.", "Two sentences."], ["Ein Satz.", "Zwei Sätze.", "Drei Sätze."]
    svg = drawn(aligned(left, right, wm.UpTo(1, below=0.5)), tmp_path / "figure.svg")
    assert words(svg) == "".join([*left, *right]).replace(" ", "")
    assert curves(svg) == 2
    assert curves(drawn(aligned(left, right, wm.Exactly(1)), tmp_path / "figure.svg")) == 1


@pytest.mark.parametrize("constraint", [wm.Balanced(), wm.UpTo(2, below=1.5)])
def test_a_span_may_be_in_several_links(constraint: wm.Constraint, tmp_path: Path) -> None:
    alignment = aligned(["One."], ["Eins.", "Zwei."], constraint)
    assert len(alignment.links) == 2
    assert curves(drawn(alignment, tmp_path / "figure.svg")) == 2


@pytest.mark.parametrize("text", AWKWARD)
def test_signs_that_a_typesetter_obeys_are_drawn_as_they_are(text: str, tmp_path: Path) -> None:
    alignment = aligned([text], ["plain"], wm.OneTo())
    for ending in SIGNATURES:
        alignment.to_figure(tmp_path / f"figure{ending}")
    svg = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert words(svg) == "".join(text.split()) + "plain"
    assert curves(svg) == 1


@pytest.mark.parametrize(("left", "right"), [([], []), ([], ["Eins."]), (["One."], [])])
def test_texts_without_links_make_a_figure(left: list[str], right: list[str], tmp_path: Path) -> None:
    svg = drawn(aligned(left, right, wm.UpTo(1, below=0.5)), tmp_path / "figure.svg")
    assert words(svg) == "".join([*left, *right])
    assert curves(svg) == 0


def widths(svg: str) -> list[float]:
    """The widths of the curves of links."""
    found = []
    for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}path"):
        path = element.get("d", "")
        if path.split()[:1] == ["M"] and path.count("C") == 1 and "z" not in path:
            found.append(float(re.findall(r"stroke-width: ([\d.]+)", element.get("style", ""))[0]))
    return found


def test_a_curve_is_as_wide_as_its_evidence(tmp_path: Path) -> None:
    why = matching(wm.UpTo(1, below=-5.0))
    bits = [link.bits or 0.0 for link in why.links]
    assert len(bits) == 2
    drawn_widths = widths(drawn(why, tmp_path / "figure.svg"))
    assert drawn_widths == pytest.approx([1 + 4 * value / max(bits) for value in bits], abs=1e-4)


@pytest.mark.parametrize("ending", SIGNATURES)
def test_a_reliability_diagram_is_drawn_in_every_format(ending: str, tmp_path: Path) -> None:
    from whymatch.show.figures import reliability_diagram

    file = tmp_path / f"diagram{ending}"
    reliability_diagram([[0.5, 0.2, 0.1], [0.5, 0.8, 0.9]], [[0.2, 0], [0.8, 1], [0.85, 1]], file)
    assert file.read_bytes().startswith(SIGNATURES[ending])


def test_a_figure_has_the_sign_of_every_relation_a_legend_and_a_broken_line_for_contradictions(tmp_path: Path) -> None:
    why = matching(wm.UpTo(1, below=-5.0))
    assert len(why.links) == 2
    meanings = [
        Relation(name, {other: float(other == name) for other in RELATIONS}) for name in ("same", "contradicts")
    ]
    links = tuple(replace(link, relation=meaning) for link, meaning in zip(why.links, meanings, strict=True))
    plain, read = (drawn(each, tmp_path / "figure.svg") for each in (why, replace(why, links=links)))
    assert "stroke-dasharray" not in "".join(line for line in plain.splitlines() if "C " in line)
    assert [drawn_text.count(sign) for drawn_text in (words(plain), words(read)) for sign in "=≠"] == [0, 0, 2, 2]
    assert curves(read) == 2
