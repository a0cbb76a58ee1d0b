"""The statistics of the paper's table 2, ours beside the paper's."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from whymatch.datasets.records import Pair
from whymatch.text.spans import sentences, token_ranges

PAPER: dict[str, dict[str, float]] = {
    "stackexchange": {
        "documents": 730_818,
        "similar pairs": 187_377,
        "sentences a document": 3.7,
        "sentences at most": 54,
        "words a document": 87,
        "vocabulary": 603_801,
    },
    "multinews": {
        "documents": 10_130,
        "similar pairs": 22_623,
        "sentences a document": 31,
        "sentences at most": 1_632,
        "words a document": 680,
        "vocabulary": 299_732,
    },
}
"""Table 2 of the paper, which has the two ranking sets alone."""

OFFICIAL: dict[str, dict[str, float]] = {
    "multirc": {"train: pairs": 24_029, "val: pairs": 3_214, "test: pairs": 4_848},
    "esnli": {"train: pairs": 549_367, "val: pairs": 9_842, "test: pairs": 9_824},
}
"""The sizes of the official splits, which the paper uses and does not print."""


@dataclass
class Tally:
    """Counts texts as they pass: sentences, and words between blanks."""

    documents: int = 0
    sentences: int = 0
    longest: int = 0
    words: int = 0
    vocabulary: set[str] = field(default_factory=set)

    def add(self, text: str, sentences: int) -> None:
        """Counts one text of so many sentences."""
        words = text.split()
        self.documents += 1
        self.sentences += sentences
        self.longest = max(self.longest, sentences)
        self.words += len(words)
        self.vocabulary.update(words)

    def values(self, name: str = "document", spans: str = "sentences") -> dict[str, float]:
        """What was counted, in the words of the table; `spans` are what the texts were split into."""
        some = max(self.documents, 1)
        return {
            f"{name}s": self.documents,
            f"{spans} a {name}": round(self.sentences / some, 1),
            f"{spans} at most": self.longest,
            f"words a {name}": round(self.words / some, 1),
            "vocabulary": len(self.vocabulary),
        }


def of_texts(texts: Iterable[str]) -> dict[str, float]:
    """The statistics of documents, of which each is split into sentences."""
    tally = Tally()
    for text in texts:
        tally.add(text, len(sentences(text)))
    return tally.values()


@dataclass
class PairTally:
    """Counts pairs as they pass, each different text of a side once."""

    sides: tuple[Tally, Tally] = field(default_factory=lambda: (Tally(), Tally()))
    seen: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    splits: dict[str, Counter[str]] = field(default_factory=dict)

    def passing(self, split: str, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """The same pairs, counted."""
        counts = self.splits.setdefault(split, Counter())
        for pair in pairs:
            self.add(counts, pair)
            yield pair

    def add(self, counts: Counter[str], pair: Pair) -> None:
        """Counts one pair."""
        counts["pairs"] += 1
        counts[f"label {pair.label}"] += 1
        counts["pairs with a rationale"] += pair.left_rationale is not None or pair.right_rationale is not None
        texts, marks = (pair.left, pair.right), (pair.left_rationale, pair.right_rationale)
        for tally, seen, text, marked in zip(self.sides, self.seen, texts, marks, strict=True):
            if text.text not in seen:
                seen.add(text.text)
                tally.add(text.text, len(text))
            if marked is not None:
                counts["words where people marked"] += len(text.text.split())
                counts["words marked"] += len({n for span in token_ranges(text.text, marked) for n in range(*span)})

    def values(self, spans: str) -> dict[str, Any]:
        """What was counted, in the words of the table; `spans` are what the texts were split into."""
        left, right = (
            tally.values(f"{side} text", spans) for tally, side in zip(self.sides, ("left", "right"), strict=True)
        )
        most = max(tally.longest for tally in self.sides)
        words = len(self.sides[0].vocabulary | self.sides[1].vocabulary)
        return {
            **left,
            **right,
            f"{spans} at most": most,
            "vocabulary": words,
            "splits": {split: of_split(counts) for split, counts in self.splits.items()},
        }


def of_split(counts: Counter[str]) -> dict[str, float]:
    """The counts of one split, the labels in order, and how much of the words people marked."""
    labels = {name: counts[name] for name in sorted(counts) if name.startswith("label ")}
    found: dict[str, float] = {"pairs": counts["pairs"], "pairs with a rationale": counts["pairs with a rationale"]}
    found.update(labels)
    if counts["words where people marked"]:
        found["words marked, %"] = round(100 * counts["words marked"] / counts["words where people marked"], 1)
    return found


def rows(name: str, statistics: Mapping[str, Any]) -> list[list[str]]:
    """A table: what, ours, the paper's."""
    theirs: dict[str, float] = PAPER.get(name, {}) | OFFICIAL.get(name, {})
    ours = dict(flat(statistics))
    return [[what, shown(ours.get(what)), shown(theirs.get(what))] for what in dict.fromkeys((*ours, *theirs))]


def flat(statistics: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every value that is a number, under the name of its split or reason too."""
    for what, value in statistics.items():
        if what == "splits":
            for split, counts in value.items():
                yield from ((f"{split}: {name}", count) for name, count in counts.items())
        elif what == "left out":
            yield from ((f"left out: {reason}", count) for reason, count in value.items())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield what, value


def shown(value: float | None) -> str:
    return "" if value is None else f"{value:,}"
