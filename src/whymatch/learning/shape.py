"""What a data set looks like, before any work: how many records and spans, marks or none, and what is wrong with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from whymatch.datasets.records import Pair, Query, as_pair
from whymatch.learning.settings import Settings
from whymatch.text.document import Document

MIN_MARKED, MIN_MARKED_VALIDATION = 50, 20  # pairs with marks, from which on a training by marks is tried


@dataclass(frozen=True)
class Shape:
    """The sizes of a data set, and how many of its records people marked."""

    train: int
    validation: int
    left: float
    """The median number of spans of left texts, or of queries."""
    right: float
    """The median number of spans of right texts, or of similar documents."""
    marked_train: int
    marked_validation: int

    @classmethod
    def of(cls, train: Sequence[Pair | Query], validation: Sequence[Pair | Query]) -> "Shape":
        """The shape of a training and a validation split, both of which have records."""
        pairs = [as_pair(record) for record in (*train, *validation)]
        left, right = (float(median(len(text) for text in side)) for side in zip(*map(_texts, pairs), strict=True))
        return cls(
            len(train), len(validation), left, right, sum(map(is_marked, train)), sum(map(is_marked, validation))
        )

    @property
    def one_span(self) -> bool:
        """Whether one of the two texts has a single span as a rule, and the other several."""
        return min(self.left, self.right) <= 1 < max(self.left, self.right)

    @property
    def one_each(self) -> bool:
        """Whether both texts have a single span as a rule, so that there is one way to link them."""
        return max(self.left, self.right) <= 1

    @property
    def learns_from_marks(self) -> bool:
        """Whether there are marks enough to learn from, and some to measure that by."""
        return self.marked_train >= MIN_MARKED and self.marked_validation >= MIN_MARKED_VALIDATION

    def lines(self, task: str) -> list[str]:
        """What it says, for people."""
        one, other = ("query", "document") if task == "rank" else ("left", "right text")
        marks = f"{self.marked_train:,} and {self.marked_validation:,} of them with marks"
        return [
            f"{self.train:,} training and {self.validation:,} validation records, "
            f"{marks if self.marked_train or self.marked_validation else 'none with marks'}",
            f"spans of a {one} and of a {other}, median: {self.left:g} and {self.right:g}",
        ]


def _texts(pair: Pair) -> tuple[Document, Document]:
    return pair.left, pair.right


def is_marked(record: Any) -> bool:
    """Whether people marked any of a record."""
    return isinstance(record, Pair) and bool(record.left_rationale or record.right_rationale)


def check_records(settings: Settings, train_split: Sequence[Any], validation: Sequence[Any]) -> None:
    """Raises for records that could not be learned from or chosen by, before any work."""
    if not train_split:
        raise ValueError("The training split is empty: there is nothing to learn from.")
    if not validation:
        raise ValueError("The validation split is empty: there is nothing to choose by.")
    labels = {record.label for record in train_split if isinstance(record, Pair)}
    for record in [*train_split, *validation]:
        if isinstance(record, Query) and not (any(record.relevant) and not all(record.relevant)):
            raise ValueError(f"Query {record.id} needs a similar and a dissimilar document.")
        if isinstance(record, Pair) and record.label is None:
            raise ValueError(f"Pair {record.id} has no label.")
        if isinstance(record, Pair) and record.label not in labels:
            raise ValueError(f"Pair {record.id} has the label {record.label!r}, which is not in the training split.")
    if settings.loss.alpha is not None and not any(map(is_marked, train_split)):
        raise ValueError("[loss] alpha supervises rationales, and the training split has none. Leave alpha out.")
