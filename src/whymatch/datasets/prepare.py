"""Official files of a data set, checked, as a folder in our own layout with its statistics."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whymatch.datasets.askubuntu import benchmark
from whymatch.datasets.catalog import NAMES
from whymatch.datasets.conversion import Conversion, Progress, run
from whymatch.datasets.corpora import Corpus, labelled_corpus, read_corpus
from whymatch.datasets.eraser import is_eraser
from whymatch.datasets.esnli import Annotation
from whymatch.datasets.multinews import read_multinews
from whymatch.datasets.pairs import QuerySpans, eraser, esnli
from whymatch.datasets.ranking import Protocol, ranking
from whymatch.datasets.stackexchange import dumps, read_dumps
from whymatch.reading import find_file

NEGATIVES = {"stackexchange": 20, "multinews": 10}
"""Dissimilar documents a query, as in the paper's protocol."""


@dataclass(frozen=True)
class Choices:
    """What the caller may choose: negatives, random or hard, for ranking; whose marks count, for e-SNLI.

    `query` is for ERASER's queries: their parts as spans, the whole query as one more, or as the only one.
    """

    seed: int = 0
    hard: bool = False
    negatives: int | None = None
    annotation: Annotation = "first"
    query: QuerySpans = "parts"


def prepare(
    name: str,
    sources: Sequence[str | Path],
    out: str | Path | None = None,
    choices: Choices | None = None,
    progress: Progress = lambda done, split: None,
) -> dict[str, Any]:
    """Checks the files of a data set, writes them in our layout if `out` is given, and returns the statistics."""
    if name not in NAMES:
        raise ValueError(f"Data sets are {', '.join(NAMES)}, got {name!r}.")
    paths = [Path(source) for source in sources]
    missing = [path for path in paths if not path.exists()]
    if missing or not paths:
        raise ValueError(f"{missing[0]} is not there." if missing else "Name the folder of the official files: --from.")
    chosen = Choices() if choices is None else choices
    if chosen.negatives is not None and chosen.negatives < 1:
        raise ValueError(f"A query has 1 or more dissimilar documents, got {chosen.negatives}.")
    if name not in NEGATIVES and (chosen.hard or chosen.negatives is not None):
        raise ValueError(f"{name} has labels: hard and other negatives are for {' and '.join(NEGATIVES)}.")
    if chosen.query != "parts" and name not in ("multirc", "eraser"):
        raise ValueError(f"{name} has no queries of several parts: --query is for multirc and eraser.")
    return run(converted(name, paths, chosen), None if out is None else Path(out), progress)


def converted(name: str, paths: Sequence[Path], choices: Choices) -> Conversion:
    """The conversion that fits the name and what lies in the folders."""
    negatives = choices.negatives or NEGATIVES.get(name, 0)
    protocol = Protocol(negatives, choices.hard, choices.seed)
    if name == "stackexchange":
        if find_file(paths, "text_tokenized.txt"):
            if choices.hard:
                raise ValueError("The AskUbuntu benchmark has candidates of its own, by BM25: leave --hard away.")
            return benchmark(one(paths), negatives, choices.seed)
        return ranking(stackexchange(paths), protocol)
    if name == "multinews":
        return ranking(multinews(paths), protocol)
    if name == "esnli" and not any(map(is_eraser, paths)):
        return esnli(paths, choices.annotation, choices.seed)
    return eraser(one(paths), choices.query)


def one(paths: Sequence[Path]) -> Path:
    if len(paths) != 1:
        raise ValueError(f"This layout is one folder, got {len(paths)}: {', '.join(map(str, paths))}.")
    return paths[0]


def stackexchange(paths: Sequence[Path]) -> Corpus:
    """The corpus in these folders, whichever layout they have."""
    if found := dumps(paths):
        return read_dumps(found)
    if find_file(paths, "corpus.jsonl"):
        return read_corpus(one(paths))
    inside = [file for path in paths for file in ([path] if path.is_file() else sorted(path.glob("*.tsv*")))]
    if inside:
        return labelled_corpus(inside)
    raise ValueError(
        f"{', '.join(map(str, paths))} holds none of Posts.xml with PostLinks.xml, text_tokenized.txt, corpus.jsonl "
        "with duplicates.tsv, or .tsv files of label, left and right. `whymatch data list` says where they are found."
    )


def multinews(paths: Sequence[Path]) -> Corpus:
    """The corpus of all .src files, of whichever splits: they are split again, so that no article is in two."""
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.glob("*.src*")))]
    if not files:
        raise ValueError(f"{', '.join(map(str, paths))} holds no .src or .src.gz file.")
    return read_multinews(files)
