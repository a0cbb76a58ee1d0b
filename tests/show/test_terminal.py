"""What a terminal prints of an alignment: every link in words, and nothing that the terminal would obey."""

import builtins

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whymatch as wm
from tests.show.evidence import aligner, matching, unrelated
from whymatch.cost import Base, Cost
from whymatch.show.terminal import links_as_text
from whymatch.show.words import JOINERS, OWN_BACKGROUND, SHIPPED_BACKGROUND, bits, plain
from whymatch.text.spans import is_blank

LEFT, RIGHT = (
    ["Parking is free", "The dog barked", "120 euros"],
    ["A night costs €120", "You can park", "The sea", "Fish"],
)
NASTY = [
    "\x1b[31mred\x1b[0m",
    "\x9b31m",
    "\x1b]8;;http://a.b\x07link",
    "\a\b\r\x7f",
    "[bold]",
    "[/]",
    "[link=x]",
    ":smile:",
    "\u202e",
    "\n",
    "a\t",
    "日本",
    "x",
]
pieces = (
    st.lists(st.sampled_from(NASTY), max_size=5).map("".join).map(lambda text: f"{text}." if is_blank(text) else text)
)


class Given(Base):
    """Costs that are given: left vectors are rows of similarities, right ones the axes."""

    name, words, neutral = "given", "given", 1.0

    def compared(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return 1 - left @ right.mT


def aligned(left: list[str], right: list[str], similar: dict[str, float], below: float = 0.5) -> wm.Alignment:
    """Left pieces with their right counterparts in order, as similar as asked."""
    axes = {piece: [1.0 * (axis == place) for axis in range(9)] for place, piece in enumerate(right)}
    vectors = axes | {
        piece: [share * value for value in axes[other]]
        for (piece, share), other in zip(similar.items(), right, strict=False)
    }
    vectors |= {piece: [0.0] * 9 for piece in left if piece not in vectors}
    return wm.Aligner(encode=wm.Precomputed(vectors | {"": [0.0] * 9}), cost=Cost(Given())).align(
        left, right, wm.UpTo(1, below)
    )


def two_links() -> wm.Alignment:
    return aligned(LEFT, RIGHT, {"120 euros": 0.9, "Parking is free": 0.8})


def row(text: str, start: str) -> str:
    (found,) = [line for line in text.splitlines() if line.startswith(start)]
    return found


def test_every_link_is_a_line_with_its_texts_its_cost_and_its_share() -> None:
    alignment = two_links()
    text = links_as_text(alignment.to_dict())
    assert len(alignment.links) == 2
    for rank, link in enumerate(alignment.links, start=1):
        assert row(text, f"{rank} ").split() == [
            str(rank),
            *" ".join(link.texts).split(),
            f"{link.cost:.3f}",
            f"{link.share:.3f}",
        ]


def test_score_count_constraint_and_certificate_are_said() -> None:
    alignment = two_links()
    text = links_as_text(alignment.to_dict(), width=300)
    constraint = "up to one link a span, where the cost is below 0.5"
    assert text.splitlines()[0] == f"score {alignment.score:.3f}, 2 links: {constraint}"
    assert text.splitlines()[-1] == f"Certificate: {alignment.certificate}"
    assert links_as_text(aligned(["a"], ["b"], {"a": 1.0}).to_dict()).startswith("score 0.500, 1 link: ")


def test_what_has_no_counterpart_is_named_for_each_side() -> None:
    text = str(two_links())
    assert row(text, "No counterpart, left: ") == "No counterpart, left: The dog barked"
    assert row(text, "No counterpart, right: ") == "No counterpart, right: The sea · Fish"
    assert "No counterpart" not in str(aligned(["a"], ["b"], {"a": 1.0}))


@pytest.mark.parametrize(("left", "right"), [([], []), ([], ["b"]), (["a"], []), (["a"], ["b"])])
def test_no_links_is_said_and_not_a_failure(left: list[str], right: list[str]) -> None:
    text = str(aligned(left, right, {}))
    assert text.startswith("score 0.000, 0 links: ")
    assert "Certificate: 0 links; optimal" in text
    assert ("No counterpart, left: a" in text) == bool(left)
    assert ("No counterpart, right: b" in text) == bool(right)
    assert "#" not in text


def obedient(line: str) -> bool:
    """Whether a terminal only shows the line."""
    return all(character.isprintable() or character in JOINERS for character in line)


@given(st.lists(pieces, min_size=1, max_size=3, unique=True), st.integers(20, 120))
def test_a_terminal_is_told_nothing_but_characters_that_show(found: list[str], width: int) -> None:
    alignment = aligned(found, [f"{piece}!" for piece in found], {found[0]: 0.9})
    text = links_as_text(alignment.to_dict(), width)
    assert all(obedient(line) for line in text.split("\n"))


@given(st.text())
def test_plain_text_is_one_line_and_keeps_what_shows(text: str) -> None:
    found = plain(text)
    assert obedient(found)
    assert found == plain(found)
    if text.isprintable():
        assert found == " ".join(text.split())


@pytest.mark.parametrize(
    "markup", ["[bold]no[/bold]", "[/]", "[link=http://a.b]c", "[red", ":smile:", "\\[x]", "[[1, 2]]"]
)
def test_markup_of_the_printing_library_is_printed_as_it_is(markup: str) -> None:
    text = str(aligned([markup, f"{markup}?"], [f"{markup}!", f"{markup}*"], {markup: 0.9}))
    assert row(text, "1 ").split()[1:-2] == f"{markup} {markup}!".split()
    assert f"No counterpart, left: {markup}?" in text
    assert f"No counterpart, right: {markup}*" in text


def test_text_has_no_colours_even_where_colours_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = str(two_links())
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    assert str(two_links()) == expected


def test_a_notebook_gets_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    class ZMQInteractiveShell:
        """What rich takes for a notebook, by its name."""

    expected = str(two_links())
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    assert str(two_links()) == expected


def test_long_texts_wrap_inside_their_columns_and_lose_no_word() -> None:
    left, right = (" ".join(f"{side}{number}" for number in range(60)) for side in ("left", "right"))
    text = links_as_text(aligned([left], [right], {left: 0.9}).to_dict(), width=80)
    assert max(map(len, text.splitlines())) <= 80
    found = text.split()
    for words in (left.split(), right.split()):
        assert [word for word in found if word in words] == words


def test_evidence_says_the_verdict_first_then_how_likely_by_how_much_and_against_what() -> None:
    why = matching()
    verdict, likely, *_, certificate = links_as_text(why.to_dict(), width=300).splitlines()
    assert verdict == why.verdict
    assert verdict.startswith("They match: 2 reasons cover ")
    assert likely.startswith(f"{why.probability:.0%} likely to match, {why.bits:.1f} bits of evidence, judged against ")
    assert certificate == f"Certificate: {why.certificate}"


def test_a_link_with_evidence_is_a_line_with_its_bits_and_without_cost_and_share() -> None:
    why = matching()
    text = links_as_text(why.to_dict())
    for rank, link in enumerate(why.links, start=1):
        assert row(text, f"{rank} ").split() == [str(rank), *" ".join(link.texts).split(), f"{link.bits:.1f}"]
    assert "cost" not in text
    assert "share" not in text


def test_texts_that_do_not_match_are_not_said_to() -> None:
    verdict, likely, *_ = str(unrelated()).splitlines()
    assert verdict.startswith("No sign of a match")
    assert likely.startswith("under 1% likely to match, no evidence")


@pytest.mark.parametrize("constraint", [wm.Exactly(1), wm.Exactly(3), wm.UpTo(1, below=-15.0), wm.Balanced()])
def test_links_that_were_asked_for_have_their_own_sum_of_bits(constraint: wm.Constraint) -> None:
    why = matching(constraint)
    heading = links_as_text(why.to_dict(), width=300).splitlines()[2]
    shares = [link.bits or 0.0 if isinstance(constraint, wm.UpTo) else link.share for link in why.links]
    assert heading.startswith(f"{len(why.links)} link")
    assert f", {bits(sum(shares))}: " in heading
    assert "cost" not in heading


@pytest.mark.parametrize("name", [SHIPPED_BACKGROUND, "made-up sentences"])
def test_the_background_that_ships_comes_with_a_way_to_a_better_one(name: str) -> None:
    text = links_as_text(aligner(name).align(["One."], ["Two."]).to_dict(), width=300)
    assert f"judged against {name}." in text
    assert (OWN_BACKGROUND in text) == (name == SHIPPED_BACKGROUND)


def test_notes_are_said() -> None:
    values = matching().to_dict() | {"notes": ["1 span could not be read.", "\x1b[31mred"]}
    text = links_as_text(values)
    assert row(text, "Note: 1 ") == "Note: 1 span could not be read."
    assert "\x1b" not in text


def test_meanings_and_words_in_conflict_are_printed() -> None:
    picture = matching().to_dict()
    first, second = picture["links"][0], picture["links"][1]
    first["relation"] = {"name": "implies", "probabilities": {}}
    second["conflicts"] = [{"kind": "number", "left": [second["left"]], "right": []}]
    printed = links_as_text(picture)
    assert "→ implies" in printed
    assert "≠ contradicts" in printed
    assert f"≠ in link 1: {second['texts'][0]} – nothing (number)" in printed  # conflicts come first
    assert printed.index("≠ contradicts") < printed.index("→ implies")
    assert "meaning" not in links_as_text(matching().to_dict())
