"""Relations of chunks that people aligned and typed, and what reading relations takes.

    WHYMATCH_DATA=… python -m benchmarks.relations

Interpretable STS (SemEval 2016, task 2), all of its train part, by source; nothing was trained or chosen on it. The
chunks are given. They are aligned by the cosine of MiniLM's third layer, each chunk at most once, and the relation of
linked chunks is read by the model that ships. As in the task's scorer, chunks that are aligned link each token of one
with each token of the other; precision and recall count such links, of all sentences of a source together. "With
relations" counts a link of tokens only if the relation is right too: EQUI is same, SPE1 implies, SPE2 implied, OPPO
contradicts, SIMI and REL related. Chunks that people joined with several others (ALIC) or with none have no link.

The time is that of `align_many` for 1,000 pairs of posts, words inside links and all, best of three rounds.
"""

import argparse
import gzip
import os
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import whymatch as wm
from whymatch.datasets.corpora import read_texts
from whymatch.matching.alignment import Alignment
from whymatch.matching.relations import shipped_reader
from whymatch.show.terminal import table

TIMED_PAIRS = 1000
CHUNKS_BELOW = 0.5  # the cost of chunks that are linked: half of what vectors at a right angle cost; not tuned
_RELATIONS = {
    "EQUI": "same",
    "SPE1": "implies",
    "SPE2": "implied",
    "OPPO": "contradicts",
    "SIMI": "related",
    "REL": "related",
}
_TOKEN = re.compile(r"^(\d+) (.+?) ?:\s*$", re.MULTILINE)
_LINE = re.compile(r"([\d ]+) <==> ([\d ]+) // (\w+) // ")
TokenLinks: TypeAlias = set[tuple[int, int, int]]
"""The numbers of a sentence pair, of a left and of a right token."""


class Chunked(NamedTuple):
    """A pair of sentences cut into chunks, and the relation of those that people aligned."""

    chunks: tuple[list[str], list[str]]
    tokens: tuple[list[tuple[int, ...]], list[tuple[int, ...]]]
    """The numbers of the tokens of each chunk."""
    relations: dict[tuple[int, int], str]
    """The relation of aligned chunks, by their numbers."""


def read(file: Path) -> Iterator[Chunked]:
    """The pairs of sentences of a file of the task."""
    for block in gzip.decompress(file.read_bytes()).decode("utf-8").split("</sentence>")[:-1]:
        words = [dict(_TOKEN.findall(_inside(block, name))) for name in ("source", "translation")]
        rows = [
            (tuple(map(int, left.split())), tuple(map(int, right.split())), kind.split("_")[0])
            for left, right, kind in _LINE.findall(_inside(block, "alignment"))
        ]
        tokens = [sorted({row[side] for row in rows} - {(0,)}) for side in (0, 1)]
        relations = {
            (tokens[0].index(left), tokens[1].index(right)): _RELATIONS[kind]
            for left, right, kind in rows
            if kind in _RELATIONS
        }
        chunks = [
            [" ".join(own[str(number)] for number in chunk) for chunk in side]
            for own, side in zip(words, tokens, strict=True)
        ]
        yield Chunked((chunks[0], chunks[1]), (tokens[0], tokens[1]), relations)


def _inside(block: str, name: str) -> str:
    return block.partition(f"<{name}>")[2].partition(f"</{name}>")[0]


def token_links(
    pairs: Sequence[Chunked], linked: Sequence[dict[tuple[int, int], str]]
) -> dict[tuple[int, int, int], str]:
    """The links of tokens that links of chunks stand for, with their relation."""
    return {
        (number, i, j): relation
        for number, (pair, links) in enumerate(zip(pairs, linked, strict=True))
        for (left, right), relation in links.items()
        for i in pair.tokens[0][left]
        for j in pair.tokens[1][right]
    }


def f1(ours: TokenLinks, gold: TokenLinks) -> float:
    return 2 * len(ours & gold) / max(1, len(ours) + len(gold))


def interpretable_similarity(folder: Path) -> None:
    """The F1 of aligned tokens, and with relations, by source and in the mean."""
    aligner = wm.Aligner("word", wm.WordEncoder(), "cosine", below=CHUNKS_BELOW)
    rows = []
    for file in sorted(folder.glob("train.*.wa.gz")):
        pairs = [*read(file)]
        alignments = aligner.align_many([pair.chunks for pair in pairs], links_only=True)
        texts = [link.texts for why in alignments for link in why.links]
        relations = iter(shipped_reader().relations(texts))
        linked = [{link.at: next(relations).name for link in why.links} for why in alignments]
        ours, gold = token_links(pairs, linked), token_links(pairs, [pair.relations for pair in pairs])
        same = f1({*ours}, {*gold})
        typed = 2 * sum(gold.get(link) == relation for link, relation in ours.items()) / max(1, len(ours) + len(gold))
        rows.append((file.name.split(".")[1], len(pairs), same, typed))
    mean = [sum(row[column] for row in rows) / len(rows) for column in (2, 3)]  # type: ignore[misc]
    lines = [[name, str(number), f"{same:.3f}", f"{typed:.3f}"] for name, number, same, typed in rows]
    print("Interpretable STS, chunks given: F1 of aligned tokens\n")
    print(
        table(["source", "pairs", "aligned", "with relations"], [*lines, ["mean", "", *(f"{m:.3f}" for m in mean)]]),
        "\n",
    )


def times(folder: Path) -> None:
    """What `align_many` takes with relations, as a multiple of what it takes without."""
    posts = [text.text for text in read_texts(folder / "stackexchange" / "cqadupstack" / "corpus.jsonl.gz")]
    draw = random.Random(0)
    pairs = [(draw.choice(posts), draw.choice(posts)) for _ in range(TIMED_PAIRS)]
    aligners = {"without relations": wm.Aligner(), "with relations": wm.Aligner(relations=True)}
    best: dict[str, float] = {}
    links = 0
    for _ in range(3):
        for name, aligner in aligners.items():
            start = time.process_time()  # of the processor: a busy machine does not count
            alignments: list[Alignment] = aligner.align_many(pairs)
            best[name] = min(best.get(name, 1e9), time.process_time() - start)
            links = sum(len(why.links) for why in alignments)
    rows = [[name, f"{seconds:.1f} s", f"{seconds / best['without relations']:.2f}"] for name, seconds in best.items()]
    print(f"{TIMED_PAIRS:,} random pairs of posts, {links:,} links\n")
    print(table(["align_many", "processor time", "as a multiple"], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    settings = parser.parse_args()
    if settings.data is None or not Path(settings.data).is_dir():
        sys.exit(f"No data: name their folder with --data or WHYMATCH_DATA (got {settings.data}).")
    interpretable_similarity(Path(settings.data) / "ists")
    times(Path(settings.data))


if __name__ == "__main__":
    main()
