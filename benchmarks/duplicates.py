"""Semantic duplicates in a corpus: how many of the known ones are found, and how many finds are none.

    WHYMATCH_DATA=… python -m benchmarks.duplicates --index FOLDER [--sites choosing] [--read F]

2,000 posts of StackExchange are drawn by a seed so that they hold 400 known duplicate pairs. Not every duplicate is
labelled as one: `--read F` writes 100 finds without a label, drawn by the seed, to be judged. The
judgements of those of the sites of `reporting`, made by reading the first 300 characters and the last 60 of each text,
are in benchmarks/duplicates.tsv (left, right, and yes or no), from which the precision follows.
"""

import argparse
import os
import random
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from whymatch.datasets.corpora import read_corpus
from whymatch.datasets.documents import CorpusRow
from whymatch.files import write_whole
from whymatch.search.building import build
from whymatch.search.duplicates import NEIGHBOURS, Duplicate, duplicates
from whymatch.search.index import Index
from whymatch.show.terminal import table

SITES = {
    "choosing": ("tex", "gaming", "physics", "wordpress", "mathematica", "stats"),
    "reporting": ("english", "unix", "android", "gis", "webmasters", "programmers"),
}
POSTS, KNOWN_PAIRS = 2000, 400
READ, MAX_E_VALUE_READ = 100, 0.1  # finds that are read, and the largest e-value of those that they are drawn from
LIMITS = (1e-6, 1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
JUDGED = Path(__file__).with_suffix(".tsv")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--index", type=Path, required=True, help="where indices are kept")
    parser.add_argument("--sites", choices=SITES, default="reporting")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--neighbours", type=int, default=NEIGHBOURS)
    parser.add_argument("--read", type=Path, metavar="F", help="write finds without a label, to be judged")
    settings = parser.parse_args()
    if settings.data is None or not Path(settings.data).is_dir():
        sys.exit(f"No data: name their folder with --data or WHYMATCH_DATA (got {settings.data}).")
    texts, known = drawn(Path(settings.data) / "stackexchange" / "cqadupstack", SITES[settings.sites], settings.seed)
    index = Index.create(settings.index / f"{settings.sites}-{settings.seed}")
    rows = (CorpusRow(id_, 0, id_, text) for id_, text in texts.items())
    build(index, rows, print)
    groups = duplicates(index, e_value=max(LIMITS), neighbours=settings.neighbours)
    finds = sorted((pair for group in groups for pair in group.pairs), key=lambda pair: pair.p_value)
    print(f"{len(index):,} posts of {', '.join(SITES[settings.sites])} with {len(known)} known pairs\n")
    print(table(HEADER, [row(finds, known, limit) for limit in LIMITS]))
    if settings.read:
        unlabelled = [pair for pair in finds if ids(pair) not in known and pair.e_value <= MAX_E_VALUE_READ]
        chosen = random.Random(settings.seed).sample(unlabelled, min(READ, len(unlabelled)))
        write_whole(settings.read, "\n".join(page(pair, texts) for pair in chosen))


def drawn(folder: Path, sites: Collection[str], seed: int) -> tuple[dict[str, str], set[tuple[str, str]]]:
    """Posts of some sites by id, and the known pairs of duplicates among them."""
    corpus, draw = read_corpus(folder), random.Random(seed)
    own = {id_: text for id_, text in corpus.texts.items() if id_.rpartition("-")[0] in sites}
    pairs = sorted({(min(pair), max(pair)) for pair in corpus.similar if {*pair} <= own.keys()})
    alone = sorted(own.keys() - {id_ for pair in pairs for id_ in pair})
    draw.shuffle(pairs)
    chosen: set[str] = set()
    known: set[tuple[str, str]] = set()
    for pair in pairs:
        if len(known) >= KNOWN_PAIRS:
            break
        chosen |= {*pair}
        known = {each for each in pairs if {*each} <= chosen}
    chosen |= {*draw.sample(alone, POSTS - len(chosen))}
    return {id_: own[id_] for id_ in sorted(chosen)}, known


def ids(pair: Duplicate) -> tuple[str, str]:
    return min(pair.left, pair.right), max(pair.left, pair.right)


HEADER = ["e-value up to", "pairs", "recall", "labelled", "judged", "of these duplicates", "precision"]


def row(finds: list[Duplicate], known: set[tuple[str, str]], limit: float) -> list[str]:
    """What a limit finds; the precision counts finds without a label as those that were judged."""
    kept = [ids(pair) for pair in finds if pair.e_value <= limit]
    labelled = sum(pair in known for pair in kept)
    judged = [verdict for pair, verdict in judgements().items() if pair in {*kept}]
    counts = [f"{limit:g}", str(len(kept)), f"{labelled / len(known):.3f}", str(labelled)]
    if not judged or limit > MAX_E_VALUE_READ:
        return [*counts, "", "", ""]
    right = sum(judged) / len(judged)
    precision = (labelled + right * (len(kept) - labelled)) / max(1, len(kept))
    return [*counts, str(len(judged)), str(sum(judged)), f"{precision:.3f}"]


def judgements() -> Mapping[tuple[str, str], bool]:
    """Whether pairs without a label were judged to be duplicates."""
    lines = JUDGED.read_text(encoding="utf-8").splitlines() if JUDGED.exists() else []
    return {(left, right): verdict == "yes" for left, right, verdict in (line.split("\t") for line in lines)}


def page(pair: Duplicate, texts: Mapping[str, str]) -> str:
    left, right = ids(pair)
    return f"### {left}\t{right}\t{pair.e_value:.2g}\n\n{texts[left]}\n\n--- and ---\n\n{texts[right]}\n"


if __name__ == "__main__":
    main()
