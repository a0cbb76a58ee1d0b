"""Data sets on their way into our layout: rows by split, which pass once and are counted as they do."""

import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from whymatch.datasets.catalog import OFFICIAL, PAPER
from whymatch.datasets.records import Pair
from whymatch.files import whole_folder, write_whole
from whymatch.reading import JsonObject, write_json_lines
from whymatch.text.document import Document
from whymatch.text.spans import Span, token_ranges

ReportRow: TypeAlias = Callable[[int, str], None]
"""Called after every row, with the number of rows so far and the name of their split."""


@dataclass(frozen=True)
class Conversion:
    """The rows of each split, and a function that gives the statistics once all rows have passed."""

    splits: Mapping[str, Iterable[JsonObject]]
    statistics: Callable[[], JsonObject]

    def run(self, out: Path | None = None, report: ReportRow = lambda done, split: None) -> JsonObject:
        """Passes all rows and returns the statistics; writes both into a new folder, whole or not at all, if named."""
        if out is None:
            for split in self.splits:
                deque(self._reported(split, report), maxlen=0)
            return self.statistics()
        with whole_folder(out) as draft:
            for split in self.splits:
                write_json_lines(draft / f"{split}.jsonl", self._reported(split, report))
            statistics = self.statistics()
            write_whole(draft / "statistics.json", json.dumps(statistics, indent=2, ensure_ascii=False) + "\n")
        return statistics

    def _reported(self, split: str, report: ReportRow) -> Iterator[JsonObject]:
        for number, row in enumerate(self.splits[split], start=1):
            yield row
            report(number, split)


def text_statistics(
    texts: Iterable[tuple[str, int]], name: str = "document", spans: str = "sentences"
) -> dict[str, float]:
    """The statistics of texts, given with the numbers of their spans, in the words of the paper's table 2.

    `spans` says what kind of spans they are. Words are what stands between blanks.
    """
    span_counts, word_counts, vocabulary = [0], [0], set[str]()
    for text, number in texts:
        words = text.split()
        span_counts.append(number)
        word_counts.append(len(words))
        vocabulary.update(words)
    count = len(span_counts) - 1
    return {
        f"{name}s": count,
        f"{spans} a {name}": round(sum(span_counts) / max(count, 1), 1),
        f"{spans} at most": max(span_counts),
        f"words a {name}": round(sum(word_counts) / max(count, 1), 1),
        "vocabulary": len(vocabulary),
    }


@dataclass
class PairTally:
    """Counts pairs by split, and each different text of a side once."""

    sides: dict[str, dict[str, int]] = field(default_factory=lambda: {"left": {}, "right": {}})
    """Texts with the numbers of their spans."""
    splits: dict[str, Counter[str]] = field(default_factory=dict)

    def counted(self, split: str, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """The same pairs, counted as they pass."""
        counts = self.splits.setdefault(split, Counter())
        for pair in pairs:
            counts["pairs"] += 1
            counts[f"label {pair.label}"] += 1
            counts["pairs with a rationale"] += pair.left_rationale is not None or pair.right_rationale is not None
            self._add("left", pair.left, pair.left_rationale, counts)
            self._add("right", pair.right, pair.right_rationale, counts)
            yield pair

    def _add(self, side: str, text: Document, rationale: tuple[Span, ...] | None, counts: Counter[str]) -> None:
        self.sides[side][text.text] = len(text)
        if rationale is not None:
            counts["words where people marked"] += len(text.text.split())
            counts["words marked"] += len({n for span in token_ranges(text.text, rationale) for n in range(*span)})

    def values(self, spans: str) -> JsonObject:
        """What was counted, in the words of the paper's table 2; `spans` says what kind of spans the texts have."""
        values: JsonObject = {}
        for side, texts in self.sides.items():
            values |= text_statistics(texts.items(), f"{side} text", spans)
        left, right = self.sides.values()
        values[f"{spans} at most"] = max((*left.values(), *right.values()), default=0)
        values["vocabulary"] = len({word for text in (*left, *right) for word in text.split()})
        return values | {"splits": {split: _split_values(counts) for split, counts in self.splits.items()}}


def _split_values(counts: Counter[str]) -> dict[str, float]:
    """The counts of one split, its labels in order, and the share of the words that people marked."""
    names = ["pairs", "pairs with a rationale", *sorted(name for name in counts if name.startswith("label "))]
    values: dict[str, float] = {name: counts[name] for name in names}
    if counts["words where people marked"]:
        values["words marked, %"] = round(100 * counts["words marked"] / counts["words where people marked"], 1)
    return values


def pair_row(pair: Pair) -> JsonObject:
    """A row of our layout; rationales that nobody was asked for are left away."""
    row = {"id": pair.id, "left": pair.left.text, "right": pair.right.text, "label": pair.label}
    sides = {"left_rationale": pair.left_rationale, "right_rationale": pair.right_rationale}
    return row | {side: [[*span] for span in marks] for side, marks in sides.items() if marks is not None}


def pair_conversion(
    splits: Mapping[str, Iterable[Pair]],
    spans: str,
    row: Callable[[Pair], JsonObject] = pair_row,
    **more: str | float,
) -> Conversion:
    """Pairs by split as rows; `spans` says what kind of spans their texts have, and `more` joins the statistics."""
    tally = PairTally()
    rows = {split: map(row, tally.counted(split, pairs)) for split, pairs in splits.items()}
    return Conversion(rows, lambda: {**tally.values(spans), **more})


def statistics_table(name: str, statistics: JsonObject) -> list[list[str]]:
    """Rows of what was counted, the count here, and the paper's or the official one."""
    published = PAPER.get(name, {}) | OFFICIAL.get(name, {})
    ours = flat_statistics(statistics)
    names = dict.fromkeys((*ours, *published))
    return [[what, shown_count(ours.get(what)), shown_count(published.get(what))] for what in names]


def flat_statistics(statistics: JsonObject) -> dict[str, float]:
    """Every value that is a number; those of a split, and of what was left out, under its name too."""
    flat: dict[str, float] = {}
    for what, value in statistics.items():
        if what == "splits":
            flat |= {f"{split}: {name}": count for split, counts in value.items() for name, count in counts.items()}
        elif what == "left out":
            flat |= {f"left out: {reason}": count for reason, count in value.items()}
        elif isinstance(value, int | float) and not isinstance(value, bool):
            flat[what] = value
    return flat


def shown_count(value: float | None) -> str:
    """A number with commas between thousands; empty where there is none."""
    return "" if value is None else f"{value:,}"
