"""What people answered, in one SQLite file: each answer is a transaction, on disk before it is acknowledged."""

import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from whymatch.study.items import Study
from whymatch.text.spans import is_blank

FILE = "answers.sqlite"
WAIT = 10.0  # seconds for somebody else's answer to be written
LONGEST = 60  # characters of a name
TABLES = (
    "create table if not exists study (fingerprint text not null) strict",
    """
    create table if not exists answers (
        annotator text not null,
        item text not null,
        question text not null,
        value integer not null,
        at text not null,
        primary key (annotator, item, question)
    ) strict, without rowid
    """,
)
KEEP = """
insert into answers values (?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
on conflict do update set value = excluded.value, at = excluded.at
"""


class Unusable(ValueError):  # noqa: N818 (of a file, not of the caller)
    """The file of answers is damaged, of something else, or held by another program."""


class Answer(NamedTuple):
    """What one person said to one question about one item."""

    annotator: str
    item: str
    question: str
    value: int


class Answers:
    """The answers to a study in its folder. Any number of threads and processes may give and read them at once."""

    def __init__(self, study: Study, folder: Path) -> None:
        self.study = study
        self.file = folder / FILE
        if self.begin() != study.fingerprint:
            raise ValueError(
                f"{self.file} has the answers to another study: study.json was changed after it was begun."
            )

    def begin(self) -> str:
        """Makes the tables where there are none; gives the fingerprint of the study that they belong to."""
        with self.opened() as database:
            database.execute("pragma journal_mode = wal")  # which the file remembers
            with database:
                database.execute("begin immediate")
                for table in TABLES:
                    database.execute(table)
                known = database.execute("select fingerprint from study").fetchone()
                if known is None:
                    database.execute("insert into study values (?)", (self.study.fingerprint,))
        return self.study.fingerprint if known is None else str(known[0])

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own for each use, since connections belong to threads."""
        try:
            with closing(sqlite3.connect(self.file, timeout=WAIT, isolation_level=None)) as database:
                database.execute("pragma synchronous = full")  # what is acknowledged survives a power cut, too
                yield database
        except sqlite3.DatabaseError as error:
            raise Unusable(f"{self.file} cannot be used: {error}.") from None

    def give(self, annotator: str, item: str, question: str, value: int) -> Answer:
        """Keeps an answer, in place of what this person said before; it is on disk when this returns."""
        answer = Answer(named(annotator), item, question, value)
        known = self.study.by_id.get(item)
        if known is None:
            raise LookupError(f"There is no item {item!r:.60} in this study.")
        questions = self.study.questions(known)
        if question not in questions:
            raise LookupError(f"Item {item} has no question {question!r:.60}, only {', '.join(questions)}.")
        if value not in questions[question] or isinstance(value, bool):
            wanted = ", ".join(map(str, questions[question]))
            raise ValueError(f"The answer to {question} is one of {wanted}, got {value!r:.60}.")
        with self.opened() as database:
            database.execute(KEEP, answer)
        return answer

    def of(self, annotator: str) -> dict[str, dict[str, int]]:
        """The answers of one person, by item and question."""
        found: dict[str, dict[str, int]] = {}
        with self.opened() as database:
            asked = "select item, question, value from answers where annotator = ?"
            for item, question, value in database.execute(asked, (named(annotator),)):
                found.setdefault(item, {})[question] = value
        return found

    def all(self) -> list[Answer]:
        """Every answer, by person, item and question."""
        with self.opened() as database:
            rows = database.execute("select annotator, item, question, value from answers order by 1, 2, 3")
            return [Answer(*row) for row in rows]


def named(annotator: str) -> str:
    """The name under which answers are kept: one spelling for what looks the same.

    >>> named("  Ada   Lovelace ")
    'Ada Lovelace'
    """
    name = " ".join(unicodedata.normalize("NFKC", annotator).split())
    if is_blank(name) or len(name) > LONGEST or not name.isprintable():
        raise ValueError(f"A name has 1 to {LONGEST} characters that can be seen, got {annotator!r:.60}.")
    return name
