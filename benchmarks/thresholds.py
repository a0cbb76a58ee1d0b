"""How often sentences of posts are linked, by threshold: duplicates, posts on one site, posts at random.

    WHYMATCH_DATA=… python -m benchmarks.thresholds

The default threshold for sentences is the largest at which no more than 2 of 100 random pairs of posts have any link.
"""

import random

import whymatch as wm
from benchmarks.data import data_folder
from whymatch.datasets.corpora import read_texts
from whymatch.show.terminal import table

PAIRS = 500
GRID = [0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7]


def main() -> None:
    folder = data_folder(__doc__) / "stackexchange" / "cqadupstack"
    posts = {text.id: text.text for text in read_texts(folder / "corpus.jsonl.gz")}
    choose = random.Random(0)
    kinds = {
        "duplicates": [line.split() for line in (folder / "duplicates.tsv").read_text().splitlines()],
        "same site, no duplicates": [line.split() for line in (folder / "non_duplicates.tsv").read_text().splitlines()],
        "random": [choose.sample(sorted(posts), 2) for _ in range(PAIRS)],
    }
    aligner = wm.Aligner(below=max(GRID))
    found = {}
    for name, pairs in kinds.items():
        some = choose.sample(pairs, PAIRS)
        outcomes = aligner.outcomes([(posts[left], posts[right]) for left, right in some])
        found[name] = [why.path[0].links[0][2] for why in outcomes if isinstance(why, wm.Alignment) and why.path]
    lines = []
    for below in GRID:
        shares = [sum(cheapest < below for cheapest in some) / len(some) for some in found.values()]
        lines.append([f"{below:g}", *(f"{share:.1%}" for share in shares)])
    print(f"Pairs of posts with any link, {PAIRS} pairs of each kind, {aligner.encoder.name}\n")
    print(table(["below", *found], lines))


if __name__ == "__main__":
    main()
