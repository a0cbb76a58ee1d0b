"""A damaged file of answers gives the answers that were given or an error that says what to do, never other answers."""

import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.study.studies import serving, written
from whymatch.cli import main
from whymatch.study.answers import FILE, Answer, Answers, Unusable, open_study
from whymatch.study.items import Study

PAGE = 4096  # bytes of a page of SQLite
JOURNAL = f"{FILE}-journal"


class Judged(NamedTuple):
    """A study with answers in a folder, and the bytes of their file."""

    study: Study
    folder: Path
    answers: list[Answer]
    content: bytes


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder = tmp_path_factory.mktemp("judged")
    study = written(folder, pairs=4)
    answers, chance = Answers(study, folder), random.Random(1)
    for name in ("Ada", "Ben", "Cy"):
        for item in study.items:
            for question, values in study.questions(item).items():
                answers.give(name, item.id, question, chance.choice(values))
    answers.give("Ada", study.items[0].id, "overall", 1)  # in place of another
    content = (folder / FILE).read_bytes()
    assert len(content) >= 5 * PAGE
    return Judged(study, folder, answers.all(), content)


def is_reported(judged: Judged, content: bytes) -> bool:
    """Whether a damaged file is refused in words; if it is not, it has the answers that were given."""
    file = judged.folder / FILE
    file.write_bytes(content)
    try:
        answers = open_study(judged.folder)[1].all()
    except Unusable as error:
        message = str(error)
    else:
        assert answers == judged.answers
        return False
    finally:
        file.write_bytes(judged.content)
    assert re.match(
        rf"{re.escape(str(file))} is damaged: .*put back a copy|.* another study.*Put back the two", message
    )
    return True


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def bits(content: bytes, number: int, first: int = 0) -> list[int]:
    """Random places in a file, and all of its first bytes."""
    return [*range(8 * first), *random.Random(2).sample(range(8 * len(content)), number)]


def test_no_bit_that_flips_changes_the_answers(judged: Judged) -> None:
    reported = [is_reported(judged, flipped(judged.content, bit)) for bit in bits(judged.content, 400, first=20)]
    assert 50 < sum(reported) < len(reported)  # flips in unused space do no harm


def test_every_byte_of_an_answer_counts(judged: Judged) -> None:
    """Its header holds the types of its values, zero and one among them, and stands before the name."""
    assert judged.content.count(b"Ben1overall") == 1
    name = judged.content.index(b"Ben1overall")
    chance = random.Random(4)
    for place in range(name - 8, name + len(b"Ben1overall2026-01-01T00:00:00.000+00:00") + 32):
        assert is_reported(judged, flipped(judged.content, 8 * place + chance.randrange(8)))


@pytest.mark.parametrize("length", [0, 1, 99, 100, 512, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 3 * PAGE + 7, 4 * PAGE])
def test_a_file_that_was_cut_short_is_reported(judged: Judged, length: int) -> None:
    assert is_reported(judged, judged.content[:length])


def pages(content: bytes) -> Iterator[tuple[int, int]]:
    return ((start, start + PAGE) for start in range(0, len(content), PAGE))


def test_a_page_that_was_zeroed_lost_or_replaced_by_another_is_reported(judged: Judged) -> None:
    content = judged.content
    for start, end in pages(content):
        assert is_reported(judged, content[:start] + bytes(PAGE) + content[end:])
        assert is_reported(judged, content[:start] + content[end:])
        for other, other_end in pages(content):
            if other != start:
                assert is_reported(judged, content[:start] + content[other:other_end] + content[end:])


def test_random_bytes_over_random_places_are_reported_or_harmless(judged: Judged) -> None:
    chance = random.Random(3)
    for _ in range(100):
        start, length = chance.randrange(len(judged.content)), chance.choice([1, 2, 8, 64, 512])
        is_reported(judged, judged.content[:start] + chance.randbytes(length) + judged.content[start + length :])
    assert is_reported(judged, bytes(len(judged.content)))
    assert is_reported(judged, chance.randbytes(len(judged.content)))


def test_answers_of_an_earlier_time_beside_a_later_tally_are_reported(judged: Judged, tmp_path: Path) -> None:
    """As when only one of two pages was written: SQLite finds nothing wrong, and every answer has its checksum."""
    shutil.copytree(judged.folder, tmp_path / "later")
    answers = Answers(judged.study, tmp_path / "later")
    answers.give("Ada", judged.study.items[0].id, "overall", 2)
    later = answers.file.read_bytes()
    changed = [(start, end) for start, end in pages(later) if later[start:end] != judged.content[start:end]]
    assert len(changed) >= 2
    for start, end in changed[1:]:
        assert is_reported(judged, judged.content[:start] + later[start:end] + judged.content[end:])


# A server that was killed while it wrote: the journal beside the file undoes what was not complete.


@pytest.fixture(scope="module")
def killed(judged: Judged, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """The folder of a server that was killed in the middle of an answer, with half of it in the file."""
    folder = tmp_path_factory.mktemp("killed")
    answers = Answers(judged.study, judged.folder)
    with answers._opened() as database:
        database.execute("pragma cache_size = 1")  # pages go to the file before the transaction is complete
        database.execute("begin immediate")
        answers._keep(database, Answer("Zoe", judged.study.items[0].id, "overall", 2))
        shutil.copytree(judged.folder, folder, dirs_exist_ok=True)
    assert (folder / JOURNAL).stat().st_size > PAGE
    content = (folder / FILE).read_bytes()
    assert content != judged.content
    return Judged(judged.study, folder, judged.answers, content)


def test_an_answer_that_was_never_complete_is_undone(killed: Judged, tmp_path: Path) -> None:
    shutil.copytree(killed.folder, tmp_path / "study")
    assert open_study(tmp_path / "study")[1].all() == killed.answers


def test_no_bit_that_flips_in_the_journal_changes_the_answers(killed: Judged) -> None:
    journal = (killed.folder / JOURNAL).read_bytes()
    for bit in bits(journal, 200, first=28):
        (killed.folder / JOURNAL).write_bytes(flipped(journal, bit))
        is_reported(killed, killed.content)
    (killed.folder / JOURNAL).unlink(missing_ok=True)
    assert is_reported(killed, killed.content)


# What people see of it.


def test_a_study_without_its_file_of_answers_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "study")
    (tmp_path / "study" / FILE).unlink()
    for verb in (["report"], ["export"], ["serve", "--port", "0"]):
        folders = [str(tmp_path / "study"), *([str(tmp_path / "out")] if verb == ["export"] else [])]
        assert main(["study", *verb, *folders]) == 2
        error = capsys.readouterr().err
        assert f"{FILE} is missing" in error
        assert "copy this file as well" in error
        assert "whymatch study create" in error
    assert not (tmp_path / "study" / FILE).exists()


def test_a_file_that_is_emptied_while_the_server_runs_is_no_new_study(tmp_path: Path) -> None:
    study = written(tmp_path)
    Answers(study, tmp_path).give("Ada", "1", "overall", 2)
    with serving(tmp_path) as (url, _), httpx.Client(base_url=url) as client:
        for content, says in ((b"", "it is empty"), (b"\0" * PAGE, "not a database")):
            (tmp_path / FILE).write_bytes(content)
            read = client.get("/api/items", params={"annotator": "Ada"})
            put = client.put("/api/answers/1/overall", json={"annotator": "Ada", "value": 1})
            for response in (read, put):
                assert response.status_code == 503
                assert "at present" in response.json()["detail"]
            assert (tmp_path / FILE).read_bytes() == content
            log = (tmp_path / "server.log").read_text()
            assert says in log
            assert FILE in log
            assert "Ada" not in log


def test_a_damaged_answer_is_not_written_over(judged: Judged, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    shutil.copytree(judged.folder, folder)
    answers = Answers(judged.study, folder)
    before = judged.content.index(b"Ben1overall") + len(b"Ben1overall202")
    answers.file.write_bytes(flipped(judged.content, 8 * before))
    with pytest.raises(Unusable, match="does not match its checksum"):
        answers.give("Ben", "1", "overall", 1)
    answers.give("Cy", "1", "overall", 1)  # nothing that is given later hides the damage
    with pytest.raises(Unusable, match="1 of 108 answers do not match"):
        answers.of("Cy")
