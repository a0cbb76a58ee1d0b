"""e-SNLI's official CSV files, with the words that people marked, and SNLI's labels alone."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Literal, TypeAlias

from whymatch.datasets.conversion import Conversion, pair_conversion
from whymatch.datasets.records import Pair
from whymatch.datasets.splits import split_whole
from whymatch.reading import JsonObject, errors_at, find_file, read_rows, required_file, tab_fields
from whymatch.text.document import document
from whymatch.text.spans import Span, Splitter, words

Annotation: TypeAlias = Literal["first", "second", "majority"]
Marks: TypeAlias = tuple[Span, ...]
LABELS = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True)
class MarkedPair:
    """Two sentences, their label, and what each annotator marked on the left and on the right."""

    id: str
    left: str
    right: str
    label: str
    left_marks: tuple[Marks, ...] = ()
    right_marks: tuple[Marks, ...] = ()

    def __post_init__(self) -> None:
        if self.label not in LABELS:
            raise ValueError(f"a label is {', '.join(LABELS)}, got {self.label!r}.")

    def rationales(self, annotation: Annotation = "first") -> tuple[Marks | None, Marks | None]:
        """What one annotator marked on either side, or more than half of them; None where nobody was asked."""
        annotator = 1 if annotation == "second" else 0
        if len(self.left_marks) <= annotator:
            return None, None
        if annotation == "majority":
            return majority(self.left_marks), majority(self.right_marks)
        return self.left_marks[annotator], self.right_marks[annotator]

    def pair(self, annotation: Annotation = "first", splitter: Splitter = words) -> Pair:
        """The record, with the rationales of that annotation."""
        left, right = document(self.left, splitter), document(self.right, splitter)
        return Pair(self.id, left, right, self.label, *self.rationales(annotation))


def majority(marks: Sequence[Marks]) -> Marks:
    """The characters that more than half of the annotators marked, as spans.

    >>> majority(((Span(0, 3),), (Span(0, 3), Span(8, 9)), (Span(8, 9),)))
    (Span(start=0, end=3), Span(start=8, end=9))
    """
    counts = Counter(place for spans in marks for place in {place for span in spans for place in range(*span)})
    agreed = sorted(place for place, count in counts.items() if 2 * count > len(marks))
    runs = [[place for _, place in run] for _, run in groupby(enumerate(agreed), lambda item: item[1] - item[0])]
    return tuple(Span(run[0], run[-1] + 1) for run in runs)


def highlights(marked: str, plain: str) -> Marks:
    """The spans of a sentence that stand between stars in its marked form, which is the same up to white space.

    >>> highlights(" The *men* are *fighting.*", "The men are fighting.")
    (Span(start=4, end=7), Span(start=12, end=21))
    """
    tokens = [Span(*match.span()) for match in re.finditer(r"\S+", plain)]
    pieces, starred = [plain[start:end] for start, end in tokens], marked.split()
    if len(starred) == len(pieces) and all(s in (p, f"*{p}*") for s, p in zip(starred, pieces, strict=True)):
        return tuple(token for token, s, p in zip(tokens, starred, pieces, strict=True) if s != p)
    return _between_stars(marked, plain)


def _between_stars(marked: str, plain: str) -> Marks:
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


def read_esnli(file: Path) -> Iterator[MarkedPair]:
    """The rows of an official file: gold_label, Sentence1, Sentence2, and Sentence*_marked_* of one to three people."""
    for number, row, _ in read_rows(file):
        with errors_at(file, number):
            if isinstance(row, ValueError):
                raise row
            pair = _marked_pair(row, f"{file.name.split('.')[0]}:{number}")
        yield pair


def _marked_pair(row: JsonObject, name: str) -> MarkedPair:
    left, right = row["Sentence1"], row["Sentence2"]
    marks: list[tuple[Marks, ...]] = []
    for side, plain in ((1, left), (2, right)):
        columns = [f"Sentence{side}_marked_{number}" for number in (1, 2, 3)]
        marks.append(tuple(highlights(row[column], plain) for column in columns if row.get(column)))
    if not marks[0] or len(marks[0]) != len(marks[1]):
        raise ValueError("a row has as many marked first as marked second sentences, and one or more of each.")
    return MarkedPair(row.get("pairID") or name, left, right, row["gold_label"], *marks)


def read_snli(file: Path) -> Iterator[MarkedPair]:
    """Labels alone: rows of premise, hypothesis, label and perhaps source between tabs, under a header or none."""
    for number, (left, right, label, *_) in tab_fields(file, 3, 4):
        if number == 1 and label == "label":
            continue
        with errors_at(file, number):
            if not left.strip() or not right.strip():
                raise ValueError("a sentence is blank.")
            pair = MarkedPair(f"{file.name.split('.')[0]}:{number}", left, right, label)
        yield pair


def convert_esnli(folders: Sequence[Path], annotation: Annotation, seed: int) -> Conversion:
    """e-SNLI's official splits, or SNLI's labels to train on where there is no file to train on with marks.

    Then half of the validation pairs, by premise, move into training, so that there are rationales to learn from.
    """
    val, test = required_file(folders, "esnli_dev.csv"), required_file(folders, "esnli_test.csv")
    halves = [find_file(folders, f"esnli_train_{number}.csv") for number in (1, 2)]
    marked = [file for file in (find_file(folders, "esnli_train.csv"), *halves) if file is not None]
    labels = find_file(folders, "train.tsv")
    names = ", ".join(map(str, folders))
    if None in halves and any(halves):
        raise ValueError(f"{names} has one of esnli_train_1.csv and esnli_train_2.csv: both are needed.")
    train: Iterable[MarkedPair] = chain.from_iterable(map(read_esnli, marked))
    held_out: Iterable[MarkedPair] = read_esnli(val)
    if not marked:
        if labels is None:
            raise ValueError(
                f"{names} has no esnli_train_1.csv and esnli_train_2.csv. Without them, name a folder with SNLI's "
                "labels (train.tsv) too: --from ESNLI SNLI."
            )
        premises: dict[str, list[MarkedPair]] = {}
        for pair in held_out:
            premises.setdefault(pair.left, []).append(pair)
        groups = split_whole(premises.values(), seed, {"train": 0.5, "val": 0.5})
        train = chain(read_snli(labels), chain.from_iterable(groups["train"]))
        held_out = chain.from_iterable(groups["val"])
    splits = {"train": train, "val": held_out, "test": read_esnli(test)}
    pairs = {split: (pair.pair(annotation) for pair in marked_pairs) for split, marked_pairs in splits.items()}
    return pair_conversion(pairs, "word spans", annotation=annotation, seed=seed)
