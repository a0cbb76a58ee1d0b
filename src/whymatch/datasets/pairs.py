"""Pairs with labels and rationales, e-SNLI's and those of ERASER's folders, into our layout."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

from whymatch.datasets.conversion import Conversion, Row
from whymatch.datasets.eraser import count_documents, read_eraser
from whymatch.datasets.esnli import Annotation, Marked, read_esnli, read_snli
from whymatch.datasets.records import Pair
from whymatch.datasets.splits import split_whole
from whymatch.datasets.statistics import PairTally
from whymatch.reading import find_file
from whymatch.text.document import Document, joined
from whymatch.text.spans import Span, overlaps

QuerySpans: TypeAlias = Literal["parts", "whole", "one"]
SPLITS = ("train", "val", "test")
HALVES = {"train": 0.5, "val": 0.5}


def pair_row(pair: Pair) -> Row:
    """A row of our layout; rationales that nobody was asked for are left away."""
    row = {"id": pair.id, "left": pair.left.text, "right": pair.right.text, "label": pair.label}
    sides = {"left_rationale": pair.left_rationale, "right_rationale": pair.right_rationale}
    return row | {side: [[*span] for span in marks] for side, marks in sides.items() if marks is not None}


def split_row(pair: Pair) -> Row:
    """A row whose texts come as their spans."""
    return pair_row(pair) | {"left": pair.left.pieces, "right": pair.right.pieces}


def conversion(
    splits: Mapping[str, Iterable[Pair]],
    spans: str,
    *,
    row: Callable[[Pair], Row] = pair_row,
    **more: Any,
) -> Conversion:
    """Pairs by split as rows, counted as they pass."""
    tally = PairTally()
    rows: dict[str, Iterable[Row]] = {split: map(row, tally.passing(split, some)) for split, some in splits.items()}
    return Conversion(rows, lambda: {**tally.values(spans), **more})


def eraser(folder: Path, query: QuerySpans = "parts") -> Conversion:
    """A folder of the ERASER benchmark, checked row by row."""
    spelled = partial(in_pieces, query=query)
    splits = {split: map(spelled, read_eraser(folder, split)) for split in SPLITS}
    more: dict[str, Any] = {"documents in all": count_documents(folder)}
    return conversion(splits, "sentences", row=split_row, **more)


def in_pieces(pair: Pair, query: QuerySpans) -> Pair:
    """The pair with texts put together from their spans; all of the left ones as one more span, or as the only one."""
    pieces = pair.left.pieces
    spans = {"parts": pieces, "whole": [*pieces, " ".join(pieces)], "one": [" ".join(pieces)]}
    left = joined(spans[query] if len(pieces) > 1 else pieces)
    right = joined(pair.right.pieces)
    marks = (
        marked_again(before, rationale, after)
        for before, rationale, after in (
            (pair.left, pair.left_rationale, left),
            (pair.right, pair.right_rationale, right),
        )
    )
    return Pair(pair.id, left, right, pair.label, *marks)


def marked_again(before: Document, marks: Sequence[Span] | None, after: Document) -> tuple[Span, ...] | None:
    """The spans of a text that have the numbers of those that were marked in another; the only one has them all."""
    if marks is None:
        return None
    numbers = {number if len(after) > 1 else 0 for some in overlaps(before.spans, marks) for number in some}
    return tuple(after.spans[number] for number in sorted(numbers))


def esnli(folders: Sequence[Path], annotation: Annotation, seed: int) -> Conversion:
    """e-SNLI's official splits, or SNLI's labels to train on where there is no file to train on with marks.

    Then half of the validation pairs, by premise, move into training, so that there are rationales to learn from.
    """
    val, test = find_file(folders, "esnli_dev.csv"), find_file(folders, "esnli_test.csv")
    numbered = [find_file(folders, f"esnli_train_{number}.csv") for number in (1, 2)]
    marked = [file for file in (find_file(folders, "esnli_train.csv"), *numbered) if file is not None]
    labels = find_file(folders, "train.tsv")
    names = ", ".join(map(str, folders))
    if val is None or test is None:
        raise ValueError(f"{names} has no esnli_dev.csv and esnli_test.csv, plain or gzipped.")
    if None in numbered and any(numbered):
        raise ValueError(f"{names} has one of esnli_train_1.csv and esnli_train_2.csv: both are needed.")
    if not marked and labels is None:
        raise ValueError(
            f"{names} has no esnli_train_1.csv and esnli_train_2.csv. Without them, name a folder with SNLI's labels "
            "(train.tsv) too: --from ESNLI SNLI."
        )

    if marked:
        train: Iterable[Marked] = chain.from_iterable(map(read_esnli, marked))
        held_out: Iterable[Marked] = read_esnli(val)
    else:
        assert labels is not None
        halves = by_premise(read_esnli(val), seed)
        train, held_out = chain(read_snli(labels), halves["train"]), halves["val"]
    splits = {"train": train, "val": held_out, "test": read_esnli(test)}
    found: dict[str, Iterable[Pair]] = {split: (one.pair(annotation) for one in some) for split, some in splits.items()}
    return conversion(found, "word spans", annotation=annotation, seed=seed)


def by_premise(pairs: Iterable[Marked], seed: int) -> dict[str, list[Marked]]:
    """Two halves that share no premise."""
    groups: dict[str, list[Marked]] = {}
    for pair in pairs:
        groups.setdefault(pair.left, []).append(pair)
    return {split: [*chain.from_iterable(some)] for split, some in split_whole(groups.values(), seed, HALVES).items()}
