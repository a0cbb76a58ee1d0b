"""`whymatch align` as a user runs it: what it prints, what it refuses, and that it never ends in a traceback."""

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import IO, Any, NamedTuple, TypeAlias

import pytest

from whymatch.cli import main
from whymatch.cli.align import TOGETHER
from whymatch.matching.aligner import Aligner, default_words
from whymatch.matching.alignment import Alignment
from whymatch.matching.costs import COSTS
from whymatch.text.encoders import models
from whymatch.text.spans import SPLITTERS
from whymatch.transport.constraints import Balanced, Constraint, Exactly, OneTo, UpTo

pytestmark = pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed")

EXAMPLES = Path(__file__).parents[2] / "examples"
QUESTION, DUPLICATE = EXAMPLES / "question.txt", EXAMPLES / "duplicate.txt"
SHORT = "The cat slept on the mat. It rained all day."
LONG = "All day long there was rain.\nMy uncle sells cars.\n\nA cat was asleep on a mat. Prices rose. Wine is red."
COMMAND = [sys.executable, "-m", "whymatch", "align"]
LIMIT = 60  # seconds, after which a process that hangs is ended


class Ran(NamedTuple):
    status: int
    out: str
    err: str


Align: TypeAlias = Callable[..., Ran]


@pytest.fixture
def align(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Align:
    """The verb in this process, with bytes for standard input."""

    def run(*arguments: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return Ran(main(["align", *map(str, arguments)]), *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def library() -> Aligner:
    return Aligner()


def refused(ran: Ran) -> str:
    """The one line with which the verb refuses."""
    assert ran.status == 2
    assert ran.out == ""
    assert re.fullmatch(r"whymatch: \S.*\n", ran.err)
    assert "Traceback" not in ran.err
    return ran.err


def strict(line: str) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    return json.loads(line, parse_constant=refuse)


def aligned(ran: Ran) -> Alignment:
    """What `--json` printed."""
    assert ran.status == 0
    assert ran.err == ""
    assert ran.out.count("\n") == 1
    return Alignment.from_dict(strict(ran.out))


def written(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


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
    assert "2 links" in ran.out.splitlines()[0]
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


def test_up_to_without_a_threshold_takes_the_calibrated_one(align: Align, library: Aligner) -> None:
    found = aligned(align("--text", SHORT, LONG, "--json", "--constraint", "up-to:1"))
    assert found == library.align(SHORT, LONG, library.default())
    assert not found.by_default


def test_below_alone_moves_the_threshold_of_the_default(align: Align, library: Aligner) -> None:
    found = aligned(align("--text", SHORT, LONG, "--json", "--below", "0.3"))
    assert found.constraint == UpTo(1, below=0.3)
    assert found.links == library.align(SHORT, LONG, UpTo(1, below=0.3)).links


@pytest.mark.parametrize("name", ["sentence", "word", "paragraph", "line"])
def test_spans_are_those_of_the_splitter_that_is_named(align: Align, name: str) -> None:
    found = aligned(align("--text", SHORT, LONG, "--json", "--spans", name))
    assert found == Aligner(name).align(SHORT, LONG)
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
    assert found == Aligner(encode=library.encoder, cost=COSTS[name]).align(SHORT, LONG, Exactly(2))
    assert found.cost == COSTS[name].name


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--constraint", "exactly"], "got 'exactly'"),
        (["--constraint", "exactly:"], "got 'exactly:'"),
        (["--constraint", "exactly:x"], "got 'exactly:x'"),
        (["--constraint", "exactly:-1"], "got 'exactly:-1'"),
        (["--constraint", "exactly:²"], "got 'exactly:²'"),
        (["--constraint", "nonsense:2"], "got 'nonsense:2'"),
        (["--constraint", "balanced:2"], "got 'balanced:2'"),
        (["--constraint", ""], "Constraints are exactly:2, up-to:1, one-to:2 and balanced"),
        (["--constraint", "exactly:0"], "Use k = 1 or more"),
        (["--constraint", "up-to:0"], "Use k = 1 or more"),
        (["--constraint", "exactly:2", "--below", "0.5"], "--below goes with up-to"),
        (["--constraint", "balanced", "--below", "0.5"], "--below goes with up-to"),
        (["--constraint", "exactly:3"], "needs 3 or more spans on both sides, got 2 and 5"),
        (["--constraint", "one-to:3"], "Use a smaller k"),
        (["--below", "nan"], "finite"),
        (["--constraint", "up-to:1", "--below", "inf"], "finite"),
        (["--spans", "verse"], "got 'verse'"),
        (["--cost", "nonsense"], "got 'nonsense'"),
        (["--cost", "dot"], "No threshold is known"),
        (["--layer", "3"], "--layer goes with --spans word"),
        (["--spans", "word", "--layer", "99"], "layers 0 (its input) to 6, got 99"),
        (["--limit", "4"], "5 spans, and the limit is 4"),
        (["--limit", "0"], "limit"),
        (["--limit", "-1"], "limit"),
        (["--html", "."], "Is a directory"),
        (["--html", "missing/page.html"], "missing/page.html: No such file or directory"),
        (["--figure", "missing/picture.png"], "missing/picture.png: No such file or directory"),
        (["--figure", "picture.xyz"], ".svg, .pdf or .png, got picture.xyz"),
        (["--encoder", "."], "no config.json"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_one_line(
    align: Align, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(align("--text", SHORT, LONG, *words))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give two texts"),
        (["one.txt"], "Give two texts"),
        (["one.txt", "two.txt", "--pairs", "three.jsonl"], "Give two texts"),
        (["-", "-"], "one of the two texts, not both"),
        (["--pairs", "-", "one.txt"], "--pairs takes no LEFT"),
        (["--pairs", "-", "--text"], "--pairs takes no LEFT"),
        (["--pairs", "-", "--html", "page.html"], "--pairs takes no LEFT"),
        (["--pairs", "missing.jsonl"], "missing.jsonl: No such file"),
        (["--pairs", "/"], "Is a directory"),
        (["--text", "", "some"], "LEFT is empty"),
        (["--text", "some", " \n"], "RIGHT is empty"),
        (["--text", "some\ud800", "some"], "surrogate pair at character 4"),
    ],
)
def test_arguments_that_are_no_texts_are_refused_in_one_line(align: Align, arguments: list[str], message: str) -> None:
    assert message in refused(align(*arguments))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "RIGHT is empty"),
        ("\ufeff\u200b\u200d \r\n\u00a0\u2060", "RIGHT is empty"),
        (b"\x7fELF\x02\x01\x00\x00", "is a binary file"),
        ("café".encode("latin-1"), "is not utf-8: byte 3"),
        ("café".encode("utf-16"), "is a binary file"),
    ],
)
def test_a_file_that_holds_no_text_is_refused_in_one_line(
    align: Align, tmp_path: Path, content: str | bytes, message: str
) -> None:
    assert message in refused(align(QUESTION, written(tmp_path, "other.txt", content)))
    assert message in refused(align(QUESTION, "-", stdin=(tmp_path / "other.txt").read_bytes()))


def test_a_missing_file_and_a_folder_are_named(align: Align, tmp_path: Path) -> None:
    assert f"{tmp_path / 'missing'}: No such file" in refused(align(tmp_path / "missing", DUPLICATE))
    assert f"{tmp_path} is a folder" in refused(align(QUESTION, tmp_path))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "UTF-16-LE", "utf-32", "cp1252"])
def test_the_encoding_of_files_can_be_named(align: Align, tmp_path: Path, encoding: str) -> None:
    text = "Le café était fermé. Il pleuvait à Besançon."
    file = written(tmp_path, "text.txt", text.encode(encoding))
    found = aligned(align(file, "-", "--json", "--encoding", encoding, stdin=text.encode(encoding)))
    assert found.left.text == found.right.text == text


def test_an_unknown_encoding_is_refused(align: Align) -> None:
    assert "no encoding 'klingon'" in refused(align(QUESTION, DUPLICATE, "--encoding", "klingon"))


def test_a_mark_of_byte_order_and_ends_of_lines_change_no_link(align: Align, tmp_path: Path) -> None:
    plain = "A cat sat on the mat.\n\nIt rained."
    windows = written(tmp_path, "windows.txt", b"\xef\xbb\xbf" + plain.replace("\n", "\r\n").encode())
    found = aligned(align(windows, written(tmp_path, "plain.txt", plain), "--json"))
    assert found.left.pieces == found.right.pieces == ["A cat sat on the mat.", "It rained."]
    assert found.to_pharaoh() == "0-0 1-1"


def test_a_file_of_50_mb_is_refused_and_not_read_whole(align: Align, tmp_path: Path) -> None:
    file = written(tmp_path, "large.txt", "")
    os.truncate(file, 50 * 10**6)
    tracemalloc.start()
    try:
        assert f"{file} is larger than 5 MB" in refused(align(QUESTION, file))
        assert tracemalloc.get_traced_memory()[1] < 15 * 10**6
    finally:
        tracemalloc.stop()


def test_the_size_of_a_text_can_be_limited(align: Align) -> None:
    size = QUESTION.stat().st_size
    assert "larger than" in refused(align("-", DUPLICATE, "--max-mb", (size - 1) / 10**6, stdin=QUESTION.read_bytes()))
    assert align("-", DUPLICATE, "--max-mb", 1, stdin=QUESTION.read_bytes()).status == 0


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


@pytest.mark.parametrize("spans", ["sentence", "word"])
def test_an_unknown_model_is_refused_without_a_call_to_the_network_unless_that_is_allowed(
    align: Align, monkeypatch: pytest.MonkeyPatch, spans: str
) -> None:
    calls = []

    def refuse(*arguments: object, **_: object) -> None:
        calls.append(arguments)
        raise OSError("no network in this test")

    for owner, name in ((socket.socket, "connect"), (socket, "create_connection"), (socket, "getaddrinfo")):
        monkeypatch.setattr(owner, name, refuse)
    unknown = ("--text", SHORT, LONG, "--encoder", "nobody/no-such-model", "--spans", spans)
    message = refused(align(*unknown))
    assert not calls
    assert "nobody/no-such-model is not on this machine" in message
    assert "folder" in message
    assert "--download" in message
    assert "could not be fetched" in refused(align(*unknown, "--download"))
    assert calls


def row(left: object, right: object, **more: object) -> bytes:
    return json.dumps({"left": left, "right": right, **more}).encode()


BAD_LINES = {
    b"this is not JSON": "This is not JSON",
    b'{"left": "cut o': "This is not JSON",
    b"[" * 50: "This is not JSON",
    b'{"left": "A cat sat."}': 'A line is an object with "left" and "right"',
    b'["A cat sat.", "A cat slept."]': 'A line is an object with "left" and "right"',
    b"null": 'A line is an object with "left" and "right"',
    row(3, "A cat slept."): '"left" is a text or a list of texts, got int',
    row("A cat sat.", None): '"right" is a text or a list of texts, got NoneType',
    row(["A cat sat.", 3], "A cat slept."): '"left" is a text or a list of texts, got list',
    row("", "A cat slept."): '"left" is empty',
    row("A cat sat.", "\u200b \ufeff"): '"right" is empty',
    row([], "A cat slept."): '"left" is empty',
    row(["A cat sat.", " "], "A cat slept."): "Span 1 is blank",
    row("It rained.", "It poured."): "Exactly(k=2) needs 2 or more spans on both sides, got 1 and 1",
    b'{"left": "caf\xe9", "right": "caf\xe9"}': "The line is not utf-8: byte 13",
    rb'{"left": "A cat sat.\ud800", "right": "A cat slept."}': "half a surrogate pair at character 10",
    b'{"left": "A cat\x00", "right": "A cat slept."}': "zero bytes",
    row("Cat. " * 2001, "A cat slept. It slept."): "2,001 spans, and the limit is 2,000",
}
GOOD = row("The cat slept. It rained all day.", ["All day, rain.", "A cat was asleep."])


@pytest.mark.parametrize("source", ["file", "standard input"])
def test_a_bad_line_is_reported_with_its_number_and_loses_no_other(align: Align, tmp_path: Path, source: str) -> None:
    lines = [GOOD] * TOGETHER
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
        assert found.score == pytest.approx(alone.score, abs=1e-5)


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
    assert ran.err.startswith("whymatch: line 1: The line is larger than two texts of 0.0001 MB")


def test_an_error_of_a_process_is_one_line_and_a_status(tmp_path: Path) -> None:
    command = [*COMMAND, str(tmp_path / "missing"), str(DUPLICATE)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "No such file" in refused(Ran(ran.returncode, ran.stdout, ran.stderr))


class Process(NamedTuple):
    """A command that runs, and its three pipes."""

    popen: subprocess.Popen[bytes]
    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def end(self) -> tuple[int, bytes]:
        """Its status and its standard error."""
        return self.popen.wait(), self.stderr.read()


@contextmanager
def started(*arguments: str) -> Iterator[Process]:
    """A process whose output is buffered as Python does, and which is ended if it hangs."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, env=buffered) as popen:
        assert popen.stdin is not None
        assert popen.stdout is not None
        assert popen.stderr is not None
        timer = Timer(LIMIT, popen.kill)
        timer.start()
        try:
            yield Process(popen, popen.stdin, popen.stdout, popen.stderr)
        finally:
            timer.cancel()
            popen.kill()


def answered(process: Process) -> None:
    """Sends as many pairs as are aligned together, and reads all answers while standard input stays open."""
    process.stdin.write((GOOD + b"\n") * TOGETHER)
    process.stdin.flush()
    numbers = [json.loads(process.stdout.readline())["line"] for _ in range(TOGETHER)]
    assert numbers == [*range(1, TOGETHER + 1)]


def test_pairs_are_answered_in_chunks_and_a_reader_that_leaves_ends_it_quietly() -> None:
    with started("--pairs", "-") as process:
        answered(process)
        process.stdout.close()
        process.stdin.write((GOOD + b"\n") * TOGETHER)
        process.stdin.flush()
        assert process.end() == (0, b"")


def test_an_interrupt_ends_it_in_one_line() -> None:
    with started("--pairs", "-") as process:
        answered(process)
        process.popen.send_signal(signal.SIGINT)
        assert process.end() == (130, b"whymatch: interrupted\n")


def test_a_reader_that_leaves_before_the_table_ends_it_quietly() -> None:
    with started("-", str(DUPLICATE)) as process:
        process.stdout.close()
        process.stdin.write(QUESTION.read_bytes())
        process.stdin.close()
        assert process.end() == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_line_and_a_status() -> None:
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            [*COMMAND, "--text", SHORT, LONG], stdout=full, stderr=subprocess.PIPE, env=buffered, text=True, check=False
        )
    assert "No space left" in refused(Ran(ran.returncode, "", ran.stderr))


def test_a_closed_output_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    status = main(["align", "--text", SHORT, LONG, "--json"])
    monkeypatch.undo()
    assert "output is closed" in refused(Ran(status, *capsys.readouterr()))


@pytest.mark.parametrize("arguments", [["--pairs", "-"], ["-", str(DUPLICATE)]])
def test_a_closed_input_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "input is closed" in refused(Ran(main(["align", *arguments]), *capsys.readouterr()))


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
        ran = align("--pairs", file)
        assert tracemalloc.get_traced_memory()[1] < 40 * 10**6
    finally:
        tracemalloc.stop()
    assert ran.status == 2
    assert strict(ran.out)["line"] == 2
    assert ran.err.startswith("whymatch: line 1: The line is larger than two texts of 5 MB")


@pytest.mark.parametrize("size", ["inf", "1e300", "nan", "-1", "0"])
def test_a_size_that_is_none_is_refused(align: Align, size: str) -> None:
    assert "--max-mb takes" in refused(align(QUESTION, DUPLICATE, f"--max-mb={size}"))
    assert "--max-mb takes" in refused(align("--pairs", "-", f"--max-mb={size}", stdin=GOOD))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--constraint", "exactly:9", "--clip"], "--clip goes with --pairs"),
        (["--constraint", "nonsense:2", "--below", "0.5"], "got 'nonsense:2'"),
        (["--figure", "figure.pgf"], ".svg, .pdf or .png, got figure.pgf"),
        (["--figure", "figure.jpg"], ".svg, .pdf or .png, got figure.jpg"),
        (["--encoder", "~nobody-of-this-name/model"], "~nobody-of-this-name/model is not on this machine"),
    ],
)
def test_settings_are_refused_for_the_reason_that_counts(
    align: Align, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(align("--text", SHORT, LONG, *words))


def test_a_threshold_that_was_given_is_not_called_the_default(align: Align) -> None:
    assert not aligned(align("--text", SHORT, LONG, "--json", "--below", "0.3")).by_default


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred"])
def test_an_error_is_one_line_that_no_terminal_obeys(align: Align, name: str) -> None:
    assert refused(align(name, DUPLICATE)).rstrip("\n").isprintable()


@pytest.mark.parametrize(("spelling", "encoding"), [("utf16", "utf-16"), ("U16", "utf-16"), ("U8", "utf-8-sig")])
def test_every_spelling_of_an_encoding_is_the_same(align: Align, tmp_path: Path, spelling: str, encoding: str) -> None:
    file = written(tmp_path, "text.txt", SHORT.encode(encoding))
    assert aligned(align(file, file, "--json", "--encoding", spelling)).left.text == SHORT


def test_a_page_shows_a_sentence_of_too_many_words_without_its_words(align: Align, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert align("--text", "rain and " * 1001, "It rains.", "--constraint", "exactly:1", "--html", page).status == 0
    assert "It rains." in page.read_text("utf-8")


def test_a_page_is_written_where_there_is_another_model_only(
    align: Align, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, page = str(models.bundle()), tmp_path / "page.html"
    monkeypatch.setattr(models, "bundle", lambda: None)
    default_words.cache_clear()
    assert align("--text", SHORT, LONG, "--encoder", other, "--below", "0.6", "--html", page).status == 0
    assert "It rained all day." in page.read_text("utf-8")


def test_a_figure_without_matplotlib_says_what_to_install(
    align: Align, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "whymatch.show.figures", raising=False)
    assert "whymatch[figures]" in refused(align("--text", SHORT, LONG, "--figure", tmp_path / "figure.svg"))


def test_a_figure_of_characters_without_a_font_is_drawn_in_silence(align: Align, tmp_path: Path) -> None:
    ran = align("--text", "日本語です。", "日本語だ。", "--figure", tmp_path / "figure.png")
    assert (ran.status, ran.err) == (0, "")


SMALL = '{"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 1}'


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({"config.json": "3"}, ""),
        ({"config.json": '{"model_type": "bert", "hidden_size": "x"}'}, ""),
        ({"config.json": '{"model_type": "bert", "hidden_size": -5}'}, ""),
        ({"config.json": SMALL}, ""),
        ({"model.safetensors": "no weights"}, ""),
        ({"modules.json": "[3]"}, ""),
        ({"modules.json": '[{"type": "a.Transformer"}, {"type": "a.Pooling"}]'}, ""),
        ({"sentence_bert_config.json": "[]"}, ""),
        ({"sentence_bert_config.json": '{"max_seq_length": 1}'}, ""),
        ({}, "tokenizer*.json vocab.txt"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_damaged_model_is_refused(align: Align, tmp_path: Path, files: dict[str, str], missing: str) -> None:
    whole = models.bundle()
    assert whole is not None
    for file in whole.iterdir():
        if file.name not in files and not any(file.match(pattern) for pattern in missing.split()):
            (tmp_path / file.name).symlink_to(file)
    for name, content in files.items():
        written(tmp_path, name, content)
    assert f"{tmp_path}" in refused(align("--text", SHORT, LONG, "--constraint", "exactly:1", "--encoder", tmp_path))
