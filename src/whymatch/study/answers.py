"""A study's folder: study.json, which names the models, and answers.sqlite, made together.

Each answer is a transaction, on disk before it is acknowledged. Every answer has a checksum, and the same transaction
adds it to a tally of all checksums, so that an answer that was changed, lost or repeated by damage to the file is
noticed when answers are read. The file is made with the study: one that is missing or empty later is damaged too.

The journal is SQLite's rollback journal, under which every acknowledged answer is in the file itself. From a
write-ahead log, SQLite drops the newest transactions without an error if one bit of them is damaged.
"""

import hashlib
import json
import sqlite3
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from whymatch.files import check_new, write_whole
from whymatch.study.items import Study
from whymatch.text.spans import is_blank

FILE = "answers.sqlite"
MAX_NAME = 60  # characters of an annotator's name
_STUDY_FILE = "study.json"
_MAX_WAIT = 60.0  # seconds for other processes to finish writing
_TABLES = """
create table study (
    fingerprint text not null,
    answers integer not null,
    checksums blob not null
) strict;
create table answers (
    annotator text not null,
    item text not null,
    question text not null,
    value integer not null,
    at text not null,
    checksum blob not null,
    primary key (annotator, item, question)
) strict, without rowid;
"""
_READ_TALLY = "select fingerprint, answers, checksums from study"
_READ_ALL = "select annotator, item, question, value, at, checksum from answers"
_READ_ONE = f"{_READ_ALL} where (annotator, item, question) = (?, ?, ?)"
_ADVICE = "Stop the server, keep the damaged file, and put back a copy of the study's folder from before the damage."


class Unusable(ValueError):  # noqa: N818 (of a file, not of the caller)
    """The file of answers is missing, damaged, of another study, or held by another program."""


class Answer(NamedTuple):
    """What one person said to one question about one item."""

    annotator: str
    item: str
    question: str
    value: int


class _Tally(NamedTuple):
    """How many answers there are, and the sum of their checksums modulo 2**256: the same in whichever order."""

    answers: int = 0
    checksums: int = 0

    def changed(self, added: Sequence[bytes], removed: Sequence[bytes] = ()) -> "_Tally":
        difference = sum(map(int.from_bytes, added)) - sum(map(int.from_bytes, removed))
        return _Tally(self.answers + len(added) - len(removed), (self.checksums + difference) % 2**256)


def write_study(study: Study, folder: Path) -> None:
    """Writes a study without answers into a new folder, or into an empty one.

    Other users of this machine cannot open a new folder: annotators may be among them, and study.json names the models.

    Raises:
        ValueError: if the folder holds anything already.
        OSError: naming the file that cannot be written.
    """
    content = json.dumps(study.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    check_new(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(folder / FILE, _empty_file(study))
    write_whole(folder / _STUDY_FILE, content)  # last: a folder without it holds no study


def read_study(folder: Path) -> Study:
    """The study in a folder. Raises ValueError, saying what to do, if there is none that can be read."""
    file = folder / _STUDY_FILE
    try:
        return Study.from_dict(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ValueError(f"{folder} holds no study: whymatch study create makes one.") from None
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError, RecursionError) as error:
        reason, advice = f"{type(error).__name__}: {error}", "If it was readable before, put back a copy of the folder."
        raise ValueError(f"The study in {file} cannot be read: {reason}. {advice}") from None


def open_study(folder: Path) -> "tuple[Study, Answers]":
    """The study in a folder and its answers, checked. Raises ValueError, saying what to do, if either is damaged."""
    study = read_study(folder)
    return study, Answers(study, folder)


def _empty_file(study: Study) -> bytes:
    """The file of a study that nobody has answered yet."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(_TABLES)
        database.execute("insert into study values (?, 0, ?)", (study.fingerprint, bytes(32)))
        database.commit()
        return database.serialize()


class Answers:
    """The answers to a study. Any number of threads and processes may give and read them at once.

    All methods raise Unusable, naming the file and what to do, if the file is not what it was after the last answer.
    """

    def __init__(self, study: Study, folder: Path) -> None:
        self.study = study
        self.file = folder / FILE
        self._writing = Lock()  # threads take turns here: SQLite lets them try again and again
        with self._opened() as database:
            (result,) = database.execute("pragma integrity_check(1)").fetchone()
            if result != "ok":
                raise self._damaged(result)
        self.all()

    def give(self, annotator: str, item: str, question: str, value: int) -> Answer:
        """Keeps an answer, in place of what this person said before; it is on disk when this returns."""
        answer = Answer(normalised_name(annotator), item, question, value)
        known = self.study.by_id.get(item)
        if known is None:
            raise LookupError(f"There is no item {item!r:.60} in this study.")
        questions = self.study.questions(known)
        if question not in questions:
            raise LookupError(f"Item {item} has no question {question!r:.60}, only {', '.join(questions)}.")
        if value not in questions[question] or isinstance(value, bool):
            wanted = ", ".join(map(str, questions[question]))
            raise ValueError(f"The answer to {question} is one of {wanted}, got {value!r:.60}.")
        with self._writing, self._opened() as database:
            database.execute("begin immediate")
            self._keep(database, answer)
            database.execute("commit")
        return answer

    def of(self, annotator: str) -> dict[str, dict[str, int]]:
        """The answers of one person, by item and question."""
        name = normalised_name(annotator)
        given: dict[str, dict[str, int]] = {}
        for answer in self.all():
            if answer.annotator == name:
                given.setdefault(answer.item, {})[answer.question] = answer.value
        return given

    def all(self) -> list[Answer]:
        """Every answer, by person, item and question."""
        with self._opened() as database:
            database.execute("begin")  # both reads see the same answers
            tally = self._tally(database)
            rows = database.execute(_READ_ALL).fetchall()
        wrong = sum(not self._is_intact(row) for row in rows)
        if wrong:
            raise self._damaged(f"{wrong} of {len(rows)} answers do not match their checksums")
        if _Tally().changed([row[-1] for row in rows]) != tally:
            raise self._damaged(f"it holds {len(rows)} answers, which are not the {tally.answers} that were given")
        return sorted(Answer(*row[:4]) for row in rows)

    def _keep(self, database: sqlite3.Connection, answer: Answer) -> None:
        """Writes an answer and the tally, in the caller's transaction."""
        tally = self._tally(database)
        before = database.execute(_READ_ONE, answer[:3]).fetchone()
        if before is not None and not self._is_intact(before):
            raise self._damaged("an answer does not match its checksum")
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        checksum = self._checksum(*answer, at)
        tally = tally.changed([checksum], [] if before is None else [before[-1]])
        database.execute("insert or replace into answers values (?, ?, ?, ?, ?, ?)", (*answer, at, checksum))
        values = (tally.answers, tally.checksums.to_bytes(32))
        database.execute("update study set answers = ?, checksums = ?", values)

    def _tally(self, database: sqlite3.Connection) -> _Tally:
        """The stored tally, once it is clear that it belongs to this study."""
        rows = database.execute(_READ_TALLY).fetchall()
        match rows:
            case [(str(fingerprint), int(count), bytes(checksums))] if len(checksums) == 32:
                if fingerprint != self.study.fingerprint:
                    raise Unusable(
                        f"{self.file} has the answers to another study, or study.json was changed after it was made."
                        " Put back the two files that belong together."
                    )
                return _Tally(count, int.from_bytes(checksums))
        raise self._damaged("its tally of the answers cannot be read")

    def _checksum(self, *values: Any) -> bytes:
        """The hash of an answer with its time, bound to the study; of any values that a damaged file may hold."""
        return hashlib.sha256(json.dumps([self.study.fingerprint, *values], default=repr).encode()).digest()

    def _is_intact(self, row: tuple[Any, ...]) -> bool:
        return self._checksum(*row[:-1]) == row[-1]

    def _damaged(self, reason: str) -> Unusable:
        line = " ".join(reason.partition(" with text ")[0].split())  # errors go to a log, where no names belong
        return Unusable(f"{self.file} is damaged: {line:.120}. {_ADVICE}")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own for each use, since connections belong to threads. Closing it undoes what is open."""
        if not self.file.is_file():
            raise Unusable(
                f"{self.file} is missing, which holds the answers to the study. If the folder was copied, copy this"
                " file as well; to begin again without answers, make a new study with whymatch study create."
            )
        if not self.file.stat().st_size:
            raise self._damaged("it is empty")
        address = f"{self.file.absolute().as_uri()}?mode=rw"  # never creates the file
        try:
            with closing(sqlite3.connect(address, uri=True, timeout=_MAX_WAIT, isolation_level=None)) as database:
                database.execute("pragma synchronous = extra")  # what is acknowledged survives a power cut, too
                yield database
        except (sqlite3.Error, UnicodeDecodeError) as error:  # names in a damaged file may be no text
            raise self._explained(error) from None

    def _explained(self, error: Exception) -> Unusable:
        """What an error of SQLite means for whoever runs the study."""
        match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return Unusable(f"{self.file} is in use by another program. Stop that program, or try again later.")
            case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN:
                advice = "See that the disk has room, and that the file and its folder can be read and written."
                return Unusable(f"{self.file} cannot be used: {error}. {advice}")
        return self._damaged(str(error))


def normalised_name(annotator: str) -> str:
    """The name under which answers are kept: one spelling for what looks the same.

    >>> normalised_name("  Ada   Lovelace ")
    'Ada Lovelace'
    """
    name = " ".join(unicodedata.normalize("NFKC", annotator).split())
    if is_blank(name) or len(name) > MAX_NAME or not name.isprintable():
        raise ValueError(f"A name has 1 to {MAX_NAME} characters that can be seen, got {annotator!r:.60}.")
    return name
