"""e-SNLI's official CSV files, with the words that people marked, and SNLI's labels alone."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal, TypeAlias

from whymatch.datasets.records import Pair
from whymatch.reading import errors_at, read_rows, tab_fields
from whymatch.text.document import document
from whymatch.text.spans import Span, Splitter, words

Annotation: TypeAlias = Literal["first", "second", "majority"]
Marks: TypeAlias = tuple[Span, ...]
LABELS = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True)
class Marked:
    """Two sentences, what is true of them, and what each annotator marked on the left and on the right."""

    id: str
    left: str
    right: str
    label: str
    left_marks: tuple[Marks, ...] = ()
    right_marks: tuple[Marks, ...] = ()

    def rationales(self, annotation: Annotation = "first") -> tuple[Marks | None, Marks | None]:
        """What one annotator marked on either side, or more than half of them; None where nobody was asked."""
        asked = 1 if annotation == "second" else 0
        if len(self.left_marks) <= asked:
            return None, None
        if annotation == "majority":
            return majority(self.left_marks), majority(self.right_marks)
        return self.left_marks[asked], self.right_marks[asked]

    def pair(self, annotation: Annotation = "first", splitter: Splitter = words) -> Pair:
        """The record, with the rationale of that annotation."""
        left, right = document(self.left, splitter), document(self.right, splitter)
        return Pair(self.id, left, right, self.label, *self.rationales(annotation))


def majority(marks: tuple[Marks, ...]) -> Marks:
    """What more than half of the annotators marked.

    >>> majority(((Span(0, 3),), (Span(0, 3), Span(8, 9)), (Span(8, 9),)))
    (Span(start=0, end=3), Span(start=8, end=9))
    """
    every = [[at for span in some for at in range(span.start, span.end)] for some in marks]
    agreed = sorted(at for at in set().union(*every) if 2 * sum(at in some for some in every) > len(marks))
    runs = [[at for _, at in run] for _, run in groupby(enumerate(agreed), lambda item: item[1] - item[0])]
    return tuple(Span(run[0], run[-1] + 1) for run in runs)


def highlights(marked: str, plain: str) -> Marks:
    """The spans of a sentence that stand between stars in its marked form, which is the same up to white space.

    >>> highlights(" The *men* are *fighting.*", "The men are fighting.")
    (Span(start=4, end=7), Span(start=12, end=21))
    """
    tokens = [match.span() for match in re.finditer(r"\S+", plain)]
    pieces = [plain[start:end] for start, end in tokens]
    found = marked.split()
    if len(found) == len(pieces) and all(
        one in (piece, f"*{piece}*") for one, piece in zip(found, pieces, strict=True)
    ):
        starred = [one != piece for one, piece in zip(found, pieces, strict=True)]
        return tuple(Span(*token) for token, star in zip(tokens, starred, strict=True) if star)
    return between_stars(marked, plain)


def between_stars(marked: str, plain: str) -> Marks:
    """The same by characters, where stars do not stand around whole words; the sentence has no star of its own."""
    spans, start, here, end = [], -1, 0, 0  # start of the open span, place in the plain sentence, end of what was read
    for character in marked:
        while here < len(plain) and plain[here].isspace():
            here += 1
        if character == "*":
            if end > start >= 0:
                spans.append(Span(start, end))
            start = -1 if start >= 0 else here
        elif not character.isspace():
            if plain[here : here + 1] != character:
                raise ValueError(f"the marked sentence {marked!r} is another than {plain!r} with stars.")
            here = end = here + 1
    if plain[here:].strip():
        raise ValueError(f"the marked sentence {marked!r} ends before {plain!r} does.")
    if start >= 0:
        raise ValueError(f"the marked sentence {marked!r} has a star that none closes.")
    return tuple(spans)


def read_esnli(file: Path) -> Iterator[Marked]:
    """The rows of an official file: gold_label, Sentence1, Sentence2, and Sentence*_marked_* of one to three people."""
    for number, row, _ in read_rows(file):
        with errors_at(file, number):
            if isinstance(row, ValueError):
                raise row
            read = esnli_row(row, f"{file.name.split('.')[0]}:{number}")
        yield read


def esnli_row(row: dict[str, str], name: str) -> Marked:
    """One row, checked."""
    left, right = row["Sentence1"], row["Sentence2"]
    marks: list[tuple[Marks, ...]] = []
    for side, plain in ((1, left), (2, right)):
        columns = [f"Sentence{side}_marked_{number}" for number in (1, 2, 3)]
        marks.append(tuple(highlights(row[column], plain) for column in columns if row.get(column)))
    if not marks[0] or len(marks[0]) != len(marks[1]):
        raise ValueError("a row has as many marked first as marked second sentences, and one or more of each.")
    return Marked(row.get("pairID") or name, left, right, known(row["gold_label"]), *marks)


def read_snli(file: Path) -> Iterator[Marked]:
    """Labels alone: rows of premise, hypothesis, label and source between tabs, under a header."""
    for number, (left, right, label, *_) in tab_fields(file, 3, 4):
        if number == 1 and label == "label":
            continue
        with errors_at(file, number):
            if not left.strip() or not right.strip():
                raise ValueError("a sentence is blank.")
            read = Marked(f"{file.name.split('.')[0]}:{number}", left, right, known(label))
        yield read


def known(label: str) -> str:
    if label not in LABELS:
        raise ValueError(f"a label is {', '.join(LABELS)}, got {label!r}.")
    return label
