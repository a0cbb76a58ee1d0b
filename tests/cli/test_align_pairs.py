"""`whymatch align --pairs`: a bad line is reported and loses no other."""

import gc
import os
import tracemalloc
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import GOOD, LONG, QUESTION, SHORT, Align, Ran, row, strict, written
from whymatch.cli.align import PAIRS_PER_BATCH
from whymatch.cost.background import MANY_TEXTS
from whymatch.matching.aligner import Aligner
from whymatch.matching.alignment import Alignment
from whymatch.text.encoders import models
from whymatch.text.encoders.caching import PROBES
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.spans import Span

pytestmark = pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed")


BAD_LINES = {
    b"this is not JSON": "this is not JSON",
    b'{"left": "cut o': "this is not JSON",
    b"[" * 50: "this is not JSON",
    b'{"left": "A cat sat."}': 'a line is an object with "left" and "right"',
    b'["A cat sat.", "A cat slept."]': 'a line is an object with "left" and "right"',
    b"null": 'a line is an object with "left" and "right"',
    row(3, "A cat slept."): '"left" is a text or a list of texts, got int',
    row("A cat sat.", None): '"right" is a text or a list of texts, got NoneType',
    row(["A cat sat.", 3], "A cat slept."): '"left" is a text or a list of texts, got list',
    row("", "A cat slept."): '"left" is empty',
    row("A cat sat.", "\u200b \ufeff"): '"right" is empty',
    row([], "A cat slept."): '"left" is empty',
    row(["A cat sat.", " "], "A cat slept."): "Span 1 is blank",
    row("It rained.", "It poured."): "Exactly(k=2) needs 2 or more spans on both sides, got 1 and 1",
    b'{"left": "caf\xe9", "right": "caf\xe9"}': "the line is not utf-8: byte 13",
    rb'{"left": "A cat sat.\ud800", "right": "A cat slept."}': "half a surrogate pair at character 10",
    b'{"left": "A cat\x00", "right": "A cat slept."}': "zero bytes",
    row("Cat. " * 2001, "A cat slept. It slept."): "2,001 spans, and the limit is 2,000",
}


@pytest.mark.parametrize("source", ["file", "standard input"])
def test_a_bad_line_is_reported_with_its_number_and_loses_no_other(align: Align, tmp_path: Path, source: str) -> None:
    lines = [GOOD] * PAIRS_PER_BATCH
    for line in BAD_LINES:
        lines += [b"", GOOD, line, b" \t\r", GOOD]
    good = {number: f"id {number}" for number, line in enumerate(lines, start=1) if line == GOOD}
    bad = {number: BAD_LINES[line] for number, line in enumerate(lines, start=1) if line in BAD_LINES}
    for number, name in good.items():
        lines[number - 1] = GOOD[:-1] + b', "id": "%b"}' % name.encode()
    data = b"\n".join(lines)
    settings = ("--constraint", "exactly:2")
    if source == "file":
        ran = align("--pairs", written(tmp_path, "pairs.jsonl", data), *settings)
    else:
        ran = align("--pairs", "-", *settings, stdin=data)
    assert ran.status == 2
    rows = [strict(line) for line in ran.out.split("\n")[:-1]]
    assert {found["line"]: found["id"] for found in rows} == good
    assert len(rows) == len(good)
    assert {Alignment.from_dict(found).to_pharaoh() for found in rows} == {"0-1 1-0"}
    *reports, summary = ran.err.split("\n")[:-1]
    assert len(reports) == len(bad)
    for report, (number, message) in zip(reports, bad.items(), strict=True):
        assert report.startswith(f"whymatch: line {number}: ")
        assert message in report
    assert summary == f"whymatch: lines that could not be aligned: {len(bad)}."


def test_pairs_that_are_all_good_are_aligned_as_alone_and_in_silence(
    align: Align, library: Aligner, tmp_path: Path
) -> None:
    texts = [(SHORT, LONG), (LONG, SHORT), (SHORT, "Quite something else."), (QUESTION.read_text("utf-8"), LONG)]
    data = b"\xef\xbb\xbf" + b"\r\n".join(row(*pair) for pair in texts)
    ran = align("--pairs", written(tmp_path, "pairs.jsonl", data))
    assert (ran.status, ran.err) == (0, "")
    rows = [strict(line) for line in ran.out.split("\n")[:-1]]
    assert [found["line"] for found in rows] == [1, 2, 3, 4]
    assert not any("id" in found for found in rows)
    for pair, found in zip(texts, map(Alignment.from_dict, rows), strict=True):
        alone = library.align(*pair)
        assert (found.left.text, found.right.text) == pair
        assert found.to_pharaoh() == alone.to_pharaoh()
        assert found.score == pytest.approx(alone.score, abs=1e-3)
        assert found.probability == pytest.approx(alone.probability, abs=1e-3)


def test_with_a_cache_a_second_run_encodes_nothing_and_prints_the_same(
    align: Align, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("--pairs", written(tmp_path, "pairs.jsonl", row(SHORT, LONG)), "--cache", tmp_path / "vectors")
    plain, first = align(*arguments[:2], "--no-relations"), align(*arguments, "--no-relations")
    gc.collect()  # what was encoded is written when the encoder is no longer used
    read, encode = list[str](), SentenceEncoder.encode

    def counted(self: SentenceEncoder, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        read.extend(texts)
        return encode(self, texts, spans)

    monkeypatch.setattr(SentenceEncoder, "encode", counted)
    second = align(*arguments, "--no-relations")
    assert plain == first == second
    assert not {*read} - {*PROBES}
    assert [*(tmp_path / "vectors").glob("*/*.safetensors")]


@pytest.mark.parametrize("id_", ["a\u2028b", 0, None, 1.5, ["x", {"y": "é"}], False])
def test_an_id_comes_back_as_it_was(align: Align, id_: object) -> None:
    ran = align("--pairs", "-", stdin=row(SHORT, LONG, id=id_, other=3))
    assert ran.status == 0
    found = strict(ran.out)
    assert found["id"] == id_
    assert "other" not in found


def test_no_pairs_are_no_error(align: Align) -> None:
    assert align("--pairs", "-", stdin=b"\n \n") == Ran(0, "", "")


def test_clip_makes_k_smaller_where_a_text_is_short(align: Align) -> None:
    data = row(SHORT, LONG) + b"\n" + row(LONG, LONG)
    ran = align("--pairs", "-", "--constraint", "exactly:3", "--clip", stdin=data)
    assert (ran.status, ran.err) == (0, "")
    short, long = (Alignment.from_dict(strict(line)) for line in ran.out.split("\n")[:-1])
    assert (len(short.links), short.certificate.clipped) == (2, True)
    assert (len(long.links), long.certificate.clipped) == (3, False)


def test_a_line_larger_than_two_texts_is_reported(align: Align) -> None:
    ran = align("--pairs", "-", "--max-mb", "0.0001", stdin=row("a" * 300, "b") + b"\n" + row("a", "b"))
    assert ran.status == 2
    assert strict(ran.out)["line"] == 2
    assert ran.err.startswith("whymatch: line 1: the line is longer than 0.0002 MB")


@pytest.mark.parametrize(
    "line",
    [
        b'{"left": "A cat.", "right": "A dog.", "id": NaN}',
        b'{"left": "A cat.", "right": "A dog.", "id": [1e999]}',
        rb'{"left": "A cat.", "right": "A dog.", "id": "\ud800"}',
        b'{"left": "A cat.", "right": "A dog.", "id": ' + b"[" * 10**5 + b"]" * 10**5 + b"}",
        b"[" * 10**5,
    ],
    ids=["NaN", "infinity", "surrogate", "deep id", "deep line"],
)
def test_a_line_that_json_cannot_hold_loses_no_other(align: Align, line: bytes) -> None:
    ran = align("--pairs", "-", stdin=b"\n".join([GOOD, line, GOOD]))
    assert ran.status == 2
    assert [strict(found)["line"] for found in ran.out.split("\n")[:-1]] == [1, 3]
    report, summary = ran.err.split("\n")[:-1]
    assert report.startswith("whymatch: line 2: ")
    assert summary == "whymatch: lines that could not be aligned: 1."


def test_a_line_of_50_mb_is_reported_and_not_read_whole(align: Align, library: Aligner, tmp_path: Path) -> None:
    file = written(tmp_path, "large.jsonl", "")
    os.truncate(file, 50 * 10**6)
    with file.open("ab") as end:
        end.write(b"\n" + GOOD)
    tracemalloc.start()
    try:
        ran = align("--pairs", file, "--no-relations")
        assert tracemalloc.get_traced_memory()[1] < 40 * 10**6
    finally:
        tracemalloc.stop()
    assert ran.status == 2
    assert strict(ran.out)["line"] == 2
    assert ran.err.startswith("whymatch: line 1: the line is longer than 10 MB")


def many(count: int) -> list[tuple[str, str]]:
    """Pairs of texts of four sentences; of every other pair the two texts say the same."""
    pairs = []
    for number in range(count):
        other = number + 1000 * (number % 2)
        left = [f"{thing.format(number)}." for thing in THINGS]
        right = [f"It is true that {thing.format(other)}!" for thing in THINGS]
        pairs.append(("\n".join(left), "\n".join(right)))
    return pairs


THINGS = [
    "The train {} came late",
    "A cat of {} pounds is red",
    "Our boat {} was sold",
    "My guitar needs {} strings",
]


def test_many_texts_of_a_file_are_one_background_for_all_its_pairs(align: Align, tmp_path: Path) -> None:
    pairs = many(MANY_TEXTS)
    file = written(tmp_path, "pairs.jsonl", b"\n".join([*(row(*pair) for pair in pairs), b"{", row("A cat.", 3)]))
    ran = align("--pairs", file)
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 3
    rows = [strict(line) for line in ran.out.split("\n")[:-1]]
    assert len(rows) == len(pairs) > PAIRS_PER_BATCH
    assert {found["judgement"]["background"] for found in rows} == {f"{2 * len(pairs)} texts of pairs.jsonl"}
    whole = Aligner().align_many(pairs)
    assert [found["bits"] for found in rows] == pytest.approx([why.bits for why in whole], abs=1e-2)
    assert [*rows[0]][:5] == ["line", "format", "verdict", "probability", "bits"]


def test_few_texts_and_pairs_from_a_pipe_are_judged_against_the_background_that_ships(
    align: Align, tmp_path: Path
) -> None:
    data = b"\n".join(row(*pair) for pair in many(3))
    for ran in (align("--pairs", written(tmp_path, "pairs.jsonl", data)), align("--pairs", "-", stdin=data)):
        backgrounds = {strict(line)["judgement"]["background"] for line in ran.out.split("\n")[:-1]}
        assert backgrounds == {"texts of many kinds"}
