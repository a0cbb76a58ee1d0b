"""A disk that is full ends a run in words, and costs it nothing that was written before."""

import io
import json
import random
import re
import resource
import shutil
from contextlib import redirect_stderr
from pathlib import Path

import pytest
import torch

from whymatch.cli import main
from whymatch.learning.checkpoint import load_checkpoint
from whymatch.matching.saving import from_pretrained

WORDS = ["the", "cat", "sat", "on", "a", "mat", "it", "rained", "dog", "ran"]
LIMIT = 60_000  # bytes in a file: settings and measurements fit, a checkpoint or a model does not
FULL, LATER, FINISHED = "full", "full later", "full at the end"


def settings(folder: Path, epochs: int) -> str:
    file = folder / f"{epochs} epochs.toml"
    file.write_text(
        f"""
        task = "classify"
        data = "{folder / "data"}"
        dropout = 0.2
        encoder = {{ kind = "recurrent", vectors = "{folder / "toy.vec"}", hidden = 16, layers = 1 }}
        rule = {{ constraint = "exactly:1" }}
        schedule = {{ epochs = {epochs}, batch = 4, patience = 9, rate = 0.01 }}
        """
    )
    return str(file)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, word vectors, a run of one epoch, and one of three that nothing disturbed."""
    folder, chance = tmp_path_factory.mktemp("disk"), random.Random(0)

    def text() -> str:
        return " ".join(" ".join(chance.choices(WORDS, k=4)).capitalize() + "." for _ in range(3))

    (folder / "data").mkdir()
    for split in ("train", "val", "test"):
        rows = [{"left": text(), "right": text(), "label": label} for label in ("no", "yes") * 6]
        (folder / "data" / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    vectors = [f"{word} {' '.join(f'{chance.gauss(0, 1):.3f}' for _ in range(8))}\n" for word in WORDS]
    (folder / "toy.vec").write_text("".join(vectors))
    for epochs in (1, 3):
        assert main(["train", settings(folder, epochs), "--out", str(folder / str(epochs))]) == 0
    return folder


@pytest.fixture(scope="module")
def ended(place: Path) -> dict[str, tuple[int, str]]:
    """How three runs end where files cannot grow: a new one, one that goes on, one that has only its model to write."""
    shutil.copytree(place / "1", place / LATER)
    shutil.copy(place / "3" / "settings.json", place / LATER)  # as a run of three epochs stands after the first
    shutil.copytree(place / "1", place / FINISHED)
    shutil.rmtree(place / FINISHED / "best")
    ended = {}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for name, epochs, more in ((FULL, 1, []), (LATER, 3, ["--resume"]), (FINISHED, 1, ["--resume"])):
        command = ["train", settings(place, epochs), "--out", str(place / name), *more]
        errors = io.StringIO()
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, limits[1]))
        try:
            with redirect_stderr(errors):
                status = main(command)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        ended[name] = status, errors.getvalue()
    return ended


def ends_in_words(status: int, errors: str) -> None:
    """One complaint, the last line, and no trace of the code."""
    assert status == 2, errors
    assert "Traceback" not in errors
    *before, last = errors.splitlines()
    assert re.fullmatch(r"whymatch: .*File too large.*", last)
    assert not any(line.startswith("whymatch: ") for line in before)


@pytest.mark.parametrize("name", [FULL, LATER])
def test_a_checkpoint_that_cannot_be_written_ends_a_run_in_words(
    name: str, ended: dict[str, tuple[int, str]], place: Path
) -> None:
    ends_in_words(*ended[name])
    assert (place / name / "settings.json").is_file()
    assert not list((place / name).rglob(".*.draft"))


def test_a_model_that_cannot_be_written_ends_a_run_in_words(ended: dict[str, tuple[int, str]]) -> None:
    ends_in_words(*ended[FINISHED])


@pytest.fixture(scope="module")
def resumed(place: Path, ended: dict[str, tuple[int, str]]) -> Path:
    """The run that came to nothing later, with room to go on; what it had written before was whole."""
    before, first = (load_checkpoint(place / name / "checkpoints") for name in (LATER, "1"))
    assert before is not None
    assert first is not None
    assert (before[1], before[2]) == (first[1], [])
    assert all(torch.equal(before[0][name], first[0][name]) for name in first[0])
    assert main(["train", settings(place, 3), "--out", str(place / LATER), "--resume"]) == 0
    return place


def test_a_run_with_room_again_goes_on_as_if_nothing_had_been(resumed: Path) -> None:
    place = resumed
    after, whole = (load_checkpoint(place / name / "checkpoints") for name in (LATER, "3"))
    assert after is not None
    assert whole is not None
    assert after[1] == whole[1]
    assert after[0].keys() == whole[0].keys()
    assert all(torch.equal(after[0][name], whole[0][name]) for name in whole[0])
    assert (place / LATER / "metrics.jsonl").read_text() == (place / "3" / "metrics.jsonl").read_text()
    ours, theirs = (from_pretrained(place / name / "model").state_dict() for name in (LATER, "3"))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_the_card_of_a_run_that_went_on_is_that_of_its_last_model(resumed: Path) -> None:
    cards = [(resumed / name / "model" / "README.md").read_text().splitlines() for name in (LATER, "3")]
    said, expected = ([line for line in card if "a second" not in line] for card in cards)
    assert said == expected


@pytest.mark.usefixtures("ended")
def test_a_run_that_never_had_a_checkpoint_begins_anew(place: Path) -> None:
    assert not list((place / FULL / "checkpoints").glob("step-*"))
    assert main(["train", settings(place, 1), "--out", str(place / FULL), "--resume"]) == 0
    ours, theirs = (from_pretrained(place / name / "model").state_dict() for name in (FULL, "1"))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize("spoiled", ["README.md", "evaluations.json"])
def test_a_card_that_cannot_be_written_does_not_spoil_an_evaluation(
    spoiled: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(place / "1" / "model", tmp_path / "model")
    (tmp_path / "model" / spoiled).unlink()
    (tmp_path / "model" / spoiled).mkdir()  # nobody can write there, whoever asks
    assert main(["evaluate", str(tmp_path / "model"), "--data", str(place / "data"), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["pairs"] == 12
    assert re.fullmatch(r"whymatch: the card in .* stays as it is: .*Is a directory.*\n", printed.err)


def test_a_damaged_record_of_earlier_evaluations_does_not_spoil_this_one(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(place / "1" / "model", tmp_path / "model")
    (tmp_path / "model" / "evaluations.json").write_text('[{"data": "tor')
    assert main(["evaluate", str(tmp_path / "model"), "--data", str(place / "data"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 12
