"""Official files of a data set, checked, as a folder in our own layout with its statistics."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whymatch.datasets.catalog import NAMES
from whymatch.datasets.conversion import Conversion, ReportRow
from whymatch.datasets.corpora import read_multinews
from whymatch.datasets.eraser import QuerySpans, convert_eraser, is_eraser
from whymatch.datasets.esnli import Annotation, convert_esnli
from whymatch.datasets.ranking import Sampling, convert_corpus
from whymatch.datasets.stackexchange import convert_benchmark, only_folder, read_stackexchange
from whymatch.reading import JsonObject, find_file

_NEGATIVES = {"stackexchange": 20, "multinews": 10}
"""Dissimilar documents per query, as in the paper."""


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
    report: ReportRow = lambda done, split: None,
) -> JsonObject:
    """Checks the files of a data set, writes them in our layout if `out` is given, and returns the statistics.

    Raises:
        ValueError: if a file or a row is not what the data set has, or a choice does not fit it; nothing is written.
    """
    if name not in NAMES:
        raise ValueError(f"Data sets are {', '.join(NAMES)}, got {name!r}.")
    paths = [Path(source) for source in sources]
    missing = [path for path in paths if not path.exists()]
    if missing or not paths:
        raise ValueError(f"{missing[0]} is not there." if missing else "Name the folder of the official files: --from.")
    choices = choices or Choices()
    if choices.negatives is not None and choices.negatives < 1:
        raise ValueError(f"A query has 1 or more dissimilar documents, got {choices.negatives}.")
    if name not in _NEGATIVES and (choices.hard or choices.negatives is not None):
        raise ValueError(f"{name} has labels: hard and other negatives are for {' and '.join(_NEGATIVES)}.")
    if choices.query != "parts" and name not in ("multirc", "eraser"):
        raise ValueError(f"{name} has no queries of several parts: --query is for multirc and eraser.")
    return _conversion(name, paths, choices).run(None if out is None else Path(out), report)


def _conversion(name: str, paths: Sequence[Path], choices: Choices) -> Conversion:
    """The conversion that fits the name and what lies in the folders."""
    sampling = Sampling(choices.negatives or _NEGATIVES.get(name, 0), choices.hard, choices.seed)
    if name == "stackexchange":
        if find_file(paths, "text_tokenized.txt"):
            if choices.hard:
                raise ValueError("The AskUbuntu benchmark has candidates of its own, by BM25: leave --hard away.")
            return convert_benchmark(only_folder(paths), sampling.negatives, choices.seed)
        return convert_corpus(read_stackexchange(paths), sampling)
    if name == "multinews":  # files of all splits: they are split again, so that no article is in two
        files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.glob("*.src*")))]
        if not files:
            raise ValueError(f"{', '.join(map(str, paths))} holds no .src or .src.gz file.")
        return convert_corpus(read_multinews(files), sampling)
    if name == "esnli" and not any(map(is_eraser, paths)):
        return convert_esnli(paths, choices.annotation, choices.seed)
    return convert_eraser(only_folder(paths), choices.query)
