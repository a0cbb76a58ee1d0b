"""Answers are on disk when they are acknowledged, one for each person and question, whoever else is writing."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.study.studies import study, written
from whymatch.study.answers import Answer, Answers
from whymatch.study.items import Asked


def test_answers_survive_and_the_last_one_counts(tmp_path: Path) -> None:
    made = written(tmp_path)
    answers = Answers(made, tmp_path)
    answers.give("Ada", "1", "overall", 0)
    answers.give("Ada", "1", "overall", 2)
    answers.give("Ben", "1", "overall", 1)
    answers.give("Ada", "1", "0-2", 1)
    again = Answers(made, tmp_path)
    assert again.of("Ada") == {"1": {"overall": 2, "0-2": 1}}
    assert again.of("Ben") == {"1": {"overall": 1}}
    assert again.of("Cy") == {}
    assert Answer("Ada", "1", "overall", 2) in again.all()
    assert len(again.all()) == 3


def test_many_people_answer_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    made = written(tmp_path, pairs=5)
    names = [f"Person {number}" for number in range(8)]

    def judge(name: str) -> list[Answer]:
        answers = Answers(made, tmp_path)  # as a process of its own would
        return [
            answers.give(name, item.id, question, values[len(name + item.id) % len(values)])
            for item in made.order(name)
            for question, values in made.questions(item).items()
        ]

    with ThreadPoolExecutor(len(names)) as pool:
        given = [answer for some in pool.map(judge, names) for answer in some]
    assert sorted(given) == sorted(Answers(made, tmp_path).all())


def test_a_name_has_one_spelling(tmp_path: Path) -> None:
    answers = Answers(written(tmp_path), tmp_path)
    for name in ("Ada Lovelace", " Ada  Lovelace ", "Ａda Lovelace"):
        answers.give(name, "1", "overall", 1)
    assert {answer.annotator for answer in answers.all()} == {"Ada Lovelace"}


@pytest.mark.parametrize("name", ["", "  ", "\u200b", "x" * 61, "a\x00b", "\ud800"])
def test_a_name_that_cannot_be_seen_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="A name has 1 to 60"):
        Answers(written(tmp_path), tmp_path).give(name, "1", "overall", 1)


@pytest.mark.parametrize(
    ("asked", "item", "question", "value", "says"),
    [
        ("both", "99", "overall", 1, "no item '99'"),
        ("both", "1", "1-1", 1, "no question '1-1', only redundancy, relevance, overall, 0-2, 2-0"),
        ("ratings", "1", "0-2", 1, "no question '0-2'"),
        ("links", "1", "overall", 1, "no question 'overall'"),
        ("both", "1", "overall", 3, "one of 0, 1, 2, got 3"),
        ("both", "1", "0-2", 2, "one of 0, 1, got 2"),
        ("both", "1", "0-2", True, "got True"),
    ],
)
def test_an_answer_that_nobody_asked_for_is_refused(
    asked: Asked, item: str, question: str, value: int, says: str, tmp_path: Path
) -> None:
    answers = Answers(written(tmp_path, asked), tmp_path)
    with pytest.raises((LookupError, ValueError), match=says):
        answers.give("Ada", item, question, value)
    assert answers.all() == []


def test_answers_belong_to_one_study(tmp_path: Path) -> None:
    Answers(written(tmp_path), tmp_path).give("Ada", "1", "overall", 1)
    for other in (replace(study(), title="Changed"), replace(study(), secret="another")):
        with pytest.raises(ValueError, match="answers to another study"):
            Answers(other, tmp_path)


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_text("these are no answers " * 100)
    with pytest.raises(ValueError, match="is damaged: file is not a database"):
        Answers(study(), tmp_path)
    assert (tmp_path / "answers.sqlite").read_text().startswith("these are no answers")


def test_a_file_that_lost_its_tables_is_no_new_study(tmp_path: Path) -> None:
    answers = Answers(written(tmp_path), tmp_path)
    with closing(sqlite3.connect(answers.file)) as database:
        database.execute("drop table answers")
    for use in (answers.all, lambda: answers.of("Ada"), lambda: answers.give("Ada", "1", "overall", 1)):
        with pytest.raises(ValueError, match="is damaged: no such table"):
            use()


@pytest.mark.parametrize(
    "change",
    [
        "delete from answers where annotator = 'Ada'",
        "delete from answers",
        "update answers set value = 0 where annotator = 'Ada'",
        "update answers set annotator = 'Cy' where annotator = 'Ada'",
        "update answers set at = '2000-01-01T00:00:00.000+00:00'",
        "insert into answers select 'Cy', item, question, value, at, checksum from answers limit 1",
        "delete from study",
        "update study set answers = 0, checksums = zeroblob(32)",
        "update study set checksums = zeroblob(31)",
    ],
)
def test_rows_that_were_changed_lost_or_added_are_noticed(change: str, tmp_path: Path) -> None:
    """Where SQLite itself finds nothing wrong with the file."""
    answers = Answers(written(tmp_path), tmp_path)
    for name in ("Ada", "Ben"):
        answers.give(name, "1", "overall", 2)
    with closing(sqlite3.connect(answers.file)) as database:
        database.execute(change)
        database.commit()
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    for use in (answers.all, lambda: answers.of("Ben"), lambda: Answers(study(), tmp_path)):
        with pytest.raises(ValueError, match=r"answers\.sqlite is damaged: .* put back a copy"):
            use()


def test_a_file_that_another_program_holds_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whymatch.study.answers._MAX_WAIT", 0.01)
    answers = Answers(written(tmp_path), tmp_path)
    with closing(sqlite3.connect(answers.file)) as database:
        database.execute("begin exclusive")
        with pytest.raises(ValueError, match="in use by another program"):
            answers.give("Ada", "1", "overall", 1)
        database.rollback()
    answers.give("Ada", "1", "overall", 1)


def test_what_is_acknowledged_is_in_the_file_itself_and_synced(tmp_path: Path) -> None:
    answers = Answers(written(tmp_path), tmp_path)
    with answers._opened() as database:
        assert database.execute("pragma journal_mode").fetchone() == ("delete",)
        assert database.execute("pragma synchronous").fetchone() == (3,)  # extra: the folder is synced, too
        answers.give("Ada", "1", "overall", 1)
        copy = tmp_path / "copy"
        copy.mkdir()
        (copy / "answers.sqlite").write_bytes(answers.file.read_bytes())
    assert Answers(study(), copy).all() == [Answer("Ada", "1", "overall", 1)]
