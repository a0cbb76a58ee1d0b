"""Words of one sentence aligned with words of its paraphrase, without training: F1 on sure links.

    WHYMATCH_DATA=… python -m benchmarks.word_alignment

Every method uses the same vectors (the default word encoder). Thresholds are chosen on the train file of each set, and
for the aligner's default on both train files together.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

import whymatch as wm
from benchmarks.data import data_folder
from whymatch.cost import Order, PaddedPairs
from whymatch.show.terminal import table
from whymatch.text.document import joined
from whymatch.transport import pad

Links: TypeAlias = set[tuple[int, int]]
Example: TypeAlias = tuple[wm.Document, wm.Document, Links]
GRID = [round(0.02 * step, 2) for step in range(20, 50)]


def links(text: str) -> Links:
    return {(int(i), int(j)) for i, j in (pair.split("-") for pair in text.split())}


def edinburgh(folder: Path, split: str) -> Iterator[Example]:
    for row in json.loads((folder / "edinburgh" / f"gold.{split}.sure.json").read_text()):
        left, right = (joined(row[side].split(), " ") for side in ("source", "target"))
        yield left, right, links(row["sureAlign"])


def mtref(folder: Path, split: str) -> Iterator[Example]:
    for line in (folder / "mtref" / f"mtref-{split}.tsv").read_text().splitlines():
        fields = line.split("\t")
        yield joined(fields[1].split(), " "), joined(fields[3].split(), " "), links(fields[7])


def f1(found: Sequence[Links], gold: Sequence[Links]) -> float:
    agreed = sum(len(a & b) for a, b in zip(found, gold, strict=True))
    return 2 * agreed / (sum(map(len, found)) + sum(map(len, gold)))


def mutual_argmax(costs: Sequence[np.ndarray], below: float) -> list[Links]:
    found = []
    for cost in costs:
        row, column = cost.argmin(axis=1).tolist(), cost.argmin(axis=0).tolist()
        found.append({(i, j) for i, j in enumerate(row) if column[j] == i and cost[i, j] < below})
    return found


def up_to_one(costs: Sequence[np.ndarray], below: float) -> list[Links]:
    found: list[Links] = [set() for _ in costs]
    batch, sizes = pad(costs)
    for b, i, j in wm.solve(batch, wm.UpTo(1, below=below), sizes=sizes).links.tolist():
        found[b].add((i, j))
    return found


def same_word(examples: Sequence[Example]) -> list[Links]:
    """Equal strings, whatever their case, each word at most once, in order where there is a choice."""
    found = []
    for left, right, _ in examples:
        other = np.array([[float(a.lower() != b.lower()) for b in right.pieces] for a in left.pieces])
        found.append(up_to_one([Order(0.4).changed(other[None], PaddedPairs(np.array([other.shape])))[0]], 0.5)[0])
    return found


def main() -> None:
    folder = data_folder(__doc__) / "word_alignment"
    sets = {"Edinburgh++ test": (edinburgh, "train", "test"), "MTRef dev": (mtref, "train", "dev")}
    examples = {name: [list(read(folder, split)) for split in splits] for name, (read, *splits) in sets.items()}
    ours, plain, evidence = (wm.Aligner("word", cost=cost) for cost in ("calibrated", "cosine", "evidence"))
    methods: dict[str, tuple[wm.Aligner, Callable[[Sequence[np.ndarray], float], list[Links]]]] = {
        "mutual argmax, cosine": (plain, mutual_argmax),
        "UpTo(1), cosine": (plain, up_to_one),
        "UpTo(1), calibrated and in order": (ours, up_to_one),
    }
    rows = [
        ["exact match", *(f"{f1(same_word(test), [g for *_, g in test]):.3f}" for _, test in examples.values()), ""]
    ]
    for name, (aligner, method) in methods.items():
        curves, tests, chosen = [], [], []
        for train, test in examples.values():
            costs = [aligner.costs([(left, right) for left, right, _ in some]) for some in (train, test)]
            gold = [[g for *_, g in some] for some in (train, test)]
            curves.append([f1(method(costs[0], below), gold[0]) for below in GRID])
            chosen.append(GRID[curves[-1].index(max(curves[-1]))])
            tests.append((costs[1], gold[1]))
        scores = [f1(method(costs, below), gold) for (costs, gold), below in zip(tests, chosen, strict=True)]
        rows.append([name, *(f"{score:.3f}" for score in scores), ", ".join(f"{below:g}" for below in chosen)])
        if aligner is ours:
            both = [sum(values) for values in zip(*curves, strict=True)]
            below = GRID[both.index(max(both))]
            scores = [f1(method(costs, below), gold) for costs, gold in tests]
            rows.append(["the same, one threshold for both", *(f"{score:.3f}" for score in scores), f"{below:g}"])
    scores = []
    for _, test in examples.values():
        whys = evidence.align_many([(left, right) for left, right, _ in test], links_only=True)
        scores.append(f1([{link.at for link in why.links} for why in whys], [g for *_, g in test]))
    rows.append(["all significant links: evidence", *(f"{score:.3f}" for score in scores), "0"])
    print(table(["F1 on sure links", *examples, "below"], rows))


if __name__ == "__main__":
    main()
