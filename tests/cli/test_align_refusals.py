"""`whymatch align` refuses in one line, with status 2, and never ends in a traceback."""

import os
import shutil
import socket
import sys
import tracemalloc
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.running import DUPLICATE, GOOD, LONG, QUESTION, SHORT, Align, aligned, refused, written
from whymatch.text.encoders import models

pytestmark = pytest.mark.skipif(find_spec(models.BUNDLE) is None, reason=f"{models.BUNDLE} is not installed")


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
        (["--constraint", ""], "Constraints are exactly:2, up-to:2, one-to:2, balanced"),
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
        (["--html", "."], "it is a folder"),
        (["--html", "missing/page.html"], "there is no folder missing"),
        (["--figure", "missing/picture.png"], "there is no folder missing"),
        (["--figure", "picture.xyz"], ".svg, .pdf or .png, got picture.xyz"),
        (["--encoder", "."], "no config.json"),
        (["--background", "missing"], "There is no missing"),
        (["--background", ".", "--cost", "cosine"], "--background goes with evidence, and cosine distance is none"),
        (["--background", "."], "holds no documents"),
        (["--calibration", "missing.json"], "missing.json: No such file"),
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
        ("café".encode("utf-16-le"), "is a binary file"),
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


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred"])
def test_an_error_is_one_line_that_no_terminal_obeys(align: Align, name: str) -> None:
    assert refused(align(name, DUPLICATE)).rstrip("\n").isprintable()


@pytest.mark.parametrize(("spelling", "encoding"), [("utf16", "utf-16"), ("U16", "utf-16"), ("U8", "utf-8-sig")])
def test_every_spelling_of_an_encoding_is_the_same(align: Align, tmp_path: Path, spelling: str, encoding: str) -> None:
    file = written(tmp_path, "text.txt", SHORT.encode(encoding))
    assert aligned(align(file, file, "--json", "--encoding", spelling)).left.text == SHORT


def test_a_figure_without_matplotlib_says_what_to_install(
    align: Align, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "whymatch.show.figures", raising=False)
    assert "whymatch[figures]" in refused(align("--text", SHORT, LONG, "--figure", tmp_path / "figure.svg"))


SMALL = '{"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 1}'


def link_or_copy(file: Path, place: Path) -> None:
    """The same file in another place; a symbolic link would be refused, since it leads out of the model's folder."""
    try:
        place.hardlink_to(file)
    except OSError:  # another disk
        shutil.copyfile(file, place)


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
    for file in whole.rglob("*.*"):
        if file.name not in files and not any(file.match(pattern) for pattern in missing.split()):
            (tmp_path / file.relative_to(whole)).parent.mkdir(exist_ok=True)
            link_or_copy(file, tmp_path / file.relative_to(whole))
    for name, content in files.items():
        written(tmp_path, name, content)
    assert f"{tmp_path}" in refused(align("--text", SHORT, LONG, "--constraint", "exactly:1", "--encoder", tmp_path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "own.json is no calibration"),
        ("3", "own.json is no calibration"),
        ("{}", "has slope, offset and fitted_on"),
        ('{"slope": "x", "offset": 0, "fitted_on": ""}', "has slope, offset and fitted_on"),
        (
            '{"slope": -1, "offset": 0, "fitted_on": ""}',
            "got -1, 0, 0 and 0.5",
        ),
        (
            '{"slope": 1, "offset": NaN, "fitted_on": ""}',
            "got 1, nan, 0 and 0.5",
        ),
    ],
)
def test_what_is_no_calibration_is_refused(align: Align, tmp_path: Path, content: str, message: str) -> None:
    assert message in refused(align("--text", SHORT, LONG, "--calibration", written(tmp_path, "own.json", content)))


def test_a_calibration_of_evidence_does_not_go_with_other_costs(align: Align, tmp_path: Path) -> None:
    file = written(tmp_path, "own.json", '{"slope": 1, "offset": 0, "fitted_on": "x"}')
    settings = ("--cost", "cosine", "--below", "0.5", "--calibration", file)
    assert "--calibration goes with evidence" in refused(align("--text", SHORT, LONG, *settings))


def test_too_few_texts_are_no_background(align: Align, tmp_path: Path) -> None:
    (tmp_path / "few").mkdir()
    written(tmp_path / "few", "one.txt", LONG)
    assert "A background takes" in refused(align("--text", SHORT, LONG, "--background", tmp_path / "few"))
