"""`whymatch align` as a user runs it: what it prints and writes."""

import json
import math
import re
import resource
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.running import DUPLICATE, LONG, QUESTION, SHORT, Align, aligned, refused, written
from whymatch.cost import COSTS, Background
from whymatch.matching.aligner import Aligner
from whymatch.matching.defaults import default_aligner
from whymatch.text.encoders import models
from whymatch.text.spans import SPLITTERS
from whymatch.transport.constraints import Balanced, Constraint, Exactly, OneTo, UpTo

pytestmark = pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed")


def test_a_question_and_its_duplicate_share_three_links_and_the_firmware(align: Align) -> None:
    found = aligned(align(QUESTION, DUPLICATE, "--json"))
    assert len(found.links) >= 3
    firmware = [sentence for text in (found.left, found.right) for sentence in text.pieces if "firmware" in sentence]
    assert [*found.links[0].texts] == firmware


def test_two_files_align_as_the_library_says(align: Align, library: Aligner) -> None:
    found = aligned(align(QUESTION, DUPLICATE, "--json"))
    assert found == library.align(QUESTION.read_text("utf-8"), DUPLICATE.read_text("utf-8"))


def test_either_file_can_come_from_standard_input(align: Align) -> None:
    files = align(QUESTION, DUPLICATE, "--json")
    assert align("-", DUPLICATE, "--json", stdin=QUESTION.read_bytes()) == files
    assert align(QUESTION, "-", "--json", stdin=DUPLICATE.read_bytes()) == files


def test_texts_can_stand_on_the_command_line(align: Align) -> None:
    found = aligned(align("--text", SHORT, LONG, "--json"))
    assert (found.left.text, found.right.text) == (SHORT, LONG)
    assert found.to_pharaoh() == "0-2 1-0"
    assert aligned(align("--text", "-", "-", "--json")).left.text == "-"


def test_the_table_shows_the_links_what_is_left_over_and_the_certificate(
    align: Align, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    ran = align("--text", SHORT, LONG)
    assert (ran.status, ran.err) == (0, "")
    verdict, likely = ran.out.splitlines()[:2]
    assert verdict.startswith("They match: 2 reasons cover ")
    assert re.match(
        r"(over )?\d+% likely to match, [\d.]+ bits of evidence, judged against texts of many kinds\.", likely
    )
    assert "--background FOLDER" in ran.out
    assert re.search(r"The cat slept on the mat\. +A cat was asleep on a mat\.", ran.out)
    assert re.search(r"^No counterpart, right: My uncle sells cars\. · Prices rose\. · Wine is red\.", ran.out, re.M)
    assert "No counterpart, left" not in ran.out
    assert ran.out.splitlines()[-1].startswith("Certificate: 2 links; optimal")


@pytest.mark.parametrize(
    ("words", "constraint"),
    [
        (["--constraint", "exactly:1"], Exactly(1)),
        (["--constraint", "exactly:2"], Exactly(2)),
        (["--constraint", "up-to:2", "--below", "0.95"], UpTo(2, below=0.95)),
        (["--constraint", "up-to:1", "--below", "0.1"], UpTo(1, below=0.1)),
        (["--constraint", "one-to:2"], OneTo(2)),
        (["--constraint", "balanced"], Balanced()),
    ],
)
def test_every_constraint_is_the_one_its_word_names(
    align: Align, library: Aligner, words: list[str], constraint: Constraint
) -> None:
    found = aligned(align("--text", SHORT, LONG, "--json", *words))
    assert found == library.align(SHORT, LONG, constraint)
    assert found.constraint == constraint


def test_up_to_without_a_threshold_takes_what_is_significant(align: Align, library: Aligner) -> None:
    found = aligned(align("--text", SHORT, LONG, "--json", "--constraint", "up-to:1"))
    assert found == library.align(SHORT, LONG, library.resolve(None))
    assert not found.by_default
    assert found.constraint == UpTo(1, below=0.0)


def test_below_alone_moves_the_threshold_of_the_default(align: Align, library: Aligner) -> None:
    found = aligned(align("--text", SHORT, LONG, "--json", "--below", "-12"))
    assert found.constraint == UpTo(1, below=-12.0)
    assert found.links == library.align(SHORT, LONG, UpTo(1, below=-12.0)).links
    assert all(link.bits is not None and link.bits > 12 for link in found.links)


@pytest.mark.parametrize("name", ["sentence", "word", "paragraph", "line"])
def test_spans_are_those_of_the_splitter_that_is_named(align: Align, name: str) -> None:
    found = aligned(align("--text", SHORT, LONG, "--json", "--spans", name))
    assert found == Aligner(name, relations=name != "word").align(SHORT, LONG)
    assert found.right.spans == tuple(SPLITTERS[name](LONG))


def test_the_layer_of_words_can_be_chosen(align: Align) -> None:
    layers = [
        aligned(
            align("--text", SHORT, LONG, "--json", "--spans", "word", "--layer", layer, "--constraint", "exactly:3")
        )
        for layer in (0, 6)
    ]
    assert [found.encoder[-1] for found in layers] == ["0", "6"]
    assert layers[0].score != layers[1].score


@pytest.mark.parametrize("name", COSTS)
def test_costs_are_those_of_the_library(align: Align, library: Aligner, name: str) -> None:
    found = aligned(align("--text", SHORT, LONG, "--json", "--cost", name, "--constraint", "exactly:2"))
    expected = Aligner(encode=library.encoder, cost=COSTS[name], relations=True)
    assert found == expected.align(SHORT, LONG, Exactly(2))
    assert found.cost == COSTS[name].name


def test_a_mark_of_byte_order_and_ends_of_lines_change_no_link(align: Align, tmp_path: Path) -> None:
    plain = "A cat sat on the mat.\n\nIt rained."
    windows = written(tmp_path, "windows.txt", b"\xef\xbb\xbf" + plain.replace("\n", "\r\n").encode())
    found = aligned(align(windows, written(tmp_path, "plain.txt", plain), "--json"))
    assert found.left.pieces == found.right.pieces == ["A cat sat on the mat.", "It rained."]
    assert found.to_pharaoh() == "0-0 1-1"


@pytest.mark.parametrize("json_too", [False, True])
def test_pictures_are_written_where_they_are_wanted(align: Align, tmp_path: Path, json_too: bool) -> None:
    page, figure = tmp_path / "page.html", tmp_path / "figure.svg"
    ran = align("--text", SHORT, LONG, "--html", page, "--figure", figure, *(["--json"] if json_too else []))
    if json_too:
        assert aligned(ran).to_pharaoh() == "0-2 1-0"
    else:
        assert ran.out.endswith(f"Picture: {page}\nPicture: {figure}\n")
    text = page.read_text("utf-8")
    assert text.lstrip().lower().startswith("<!doctype html>")
    assert "The cat slept on the mat." in text
    assert "Wine is red." in text
    assert "<svg" in figure.read_text("utf-8")


@pytest.mark.parametrize(("ending", "start"), [("pdf", b"%PDF-"), ("png", b"\x89PNG"), ("PNG", b"\x89PNG")])
def test_a_figure_has_the_format_of_its_ending(align: Align, tmp_path: Path, ending: str, start: bytes) -> None:
    file = tmp_path / f"figure.{ending}"
    assert align("--text", SHORT, LONG, "--figure", file).status == 0
    assert file.read_bytes().startswith(start)


def test_a_threshold_that_was_given_is_not_called_the_default(align: Align) -> None:
    assert not aligned(align("--text", SHORT, LONG, "--json", "--below", "0.3")).by_default


def test_a_page_shows_a_sentence_of_too_many_words_without_its_words(align: Align, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert align("--text", "rain and " * 1001, "It rains.", "--constraint", "exactly:1", "--html", page).status == 0
    assert "It rains." in page.read_text("utf-8")


def test_a_page_is_written_where_there_is_another_model_only(
    align: Align, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, page = str(models.bundle()), tmp_path / "page.html"
    monkeypatch.setattr(models, "bundle", lambda: None)
    default_aligner.cache_clear()
    ran = align("--text", SHORT, LONG, "--encoder", other, "--cost", "cosine", "--below", "0.6", "--html", page)
    assert ran.status == 0
    assert ran.err.startswith("whymatch: Relations are not read: they take the bundled model")
    assert "It rained all day." in page.read_text("utf-8")


def test_a_figure_of_characters_without_a_font_is_drawn_in_silence(align: Align, tmp_path: Path) -> None:
    ran = align(
        "--text", "It is cold. 日本語です。", "It is cold today. 日本語だ。", "--figure", tmp_path / "figure.png"
    )
    assert (ran.status, ran.err) == (0, "")


@pytest.mark.parametrize("option", ["--html", "--figure"])
def test_a_full_disk_leaves_no_half_written_picture_and_the_message_names_the_file(
    option: str, align: Align, tmp_path: Path
) -> None:
    file = tmp_path / ("why.html" if option == "--html" else "why.svg")
    file.write_text("before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        message = refused(align("--text", SHORT, LONG, option, file))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert f"{file}: File too large" in message
    assert file.read_text() == "before"
    assert [*tmp_path.iterdir()] == [file]


def corpus(folder: Path) -> Path:
    """A folder of texts about a few things, enough to be a background."""
    folder.mkdir()
    for number in range(24):
        sentences = [f"{noun} number {number} {verb}." for noun in NOUNS for verb in VERBS]
        written(folder, f"{number}.txt", "\n".join(sentences))
    return folder


NOUNS = ["The train", "A cat", "Our boat"]
VERBS = ["came late", "is red", "slept well", "was sold"]


def test_evidence_is_judged_against_texts_that_are_given(align: Align, tmp_path: Path) -> None:
    folder = corpus(tmp_path / "posts")
    found = aligned(align("--text", SHORT, LONG, "--json", "--background", folder))
    assert found.judgement is not None
    assert found.judgement.background == "24 texts of posts"
    texts = [file.read_text("utf-8") for file in sorted(folder.iterdir(), key=lambda file: file.name)]
    background = Background.of(texts, Aligner(), "24 texts of posts")
    assert found == Aligner(background=background, relations=True).align(SHORT, LONG)
    lines = [json.dumps({"id": number, "text": text}) for number, text in enumerate(texts)]
    file = written(tmp_path, "posts.jsonl", "\n".join(lines))
    again = aligned(align("--text", SHORT, LONG, "--json", "--background", file))
    assert again.probability == pytest.approx(found.probability)


def test_evidence_is_judged_against_the_documents_of_an_index(align: Align, tmp_path: Path) -> None:
    index = pytest.importorskip("whymatch.search.index").Index.create(tmp_path / "index")
    folder = corpus(tmp_path / "posts")
    index.add({file.name: file.read_text("utf-8") for file in folder.iterdir()})
    index.compact()
    found = aligned(align("--text", SHORT, LONG, "--json", "--background", tmp_path / "index"))
    assert found == Aligner(background=index, relations=True).align(SHORT, LONG)


def test_probabilities_are_those_of_a_calibration_that_is_given(align: Align, tmp_path: Path) -> None:
    before = aligned(align("--text", SHORT, LONG, "--json"))
    assert before.p_value is not None
    own = {"slope": 0.5, "offset": -1, "fitted_on": "3 pairs", "general": True, "pairs": 3}
    file = written(tmp_path, "own.json", json.dumps(own))
    found = aligned(align("--text", SHORT, LONG, "--json", "--calibration", file))
    assert found.judgement is not None
    assert found.judgement.calibrated_on == "3 pairs"
    assert found.p_value == before.p_value
    assert found.probability == pytest.approx(1 / (1 + math.exp(1 - 0.5 * math.sqrt(-math.log2(before.p_value)))))
