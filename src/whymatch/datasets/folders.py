"""The records of a folder, whichever layout it has."""

from functools import lru_cache
from pathlib import Path
from typing import Literal

from whymatch.datasets.eraser import is_eraser, read_eraser
from whymatch.datasets.jsonl import read_pairs, read_queries
from whymatch.datasets.records import Pair, Query
from whymatch.text.spans import lines, splitter


def read_split(folder: str | Path, split: str, task: Literal["rank", "classify"], spans: str) -> list[Pair | Query]:
    """Queries to rank, or pairs to classify: ERASER's layout where there are its docs, ours otherwise.

    ERASER's documents have a sentence a line, so that sentences are lines there.
    """
    folder = Path(folder)
    files = sorted([*folder.glob(f"{split}.jsonl*"), *folder.glob("docs*")])
    found = [file.stat() for file in files]
    return [*read_once(folder, split, task, spans, tuple((one.st_mtime_ns, one.st_size) for one in found))]


@lru_cache(maxsize=6)
def read_once(
    folder: Path, split: str, task: str, spans: str, changed: tuple[tuple[int, int], ...]
) -> tuple[Pair | Query, ...]:
    """The records of a split, which several runs of one table read; `changed` is when its files did, and their size."""
    split_text = splitter(spans)
    if task == "rank":
        return (*read_queries(folder, split, split_text),)
    if is_eraser(folder):
        return (*read_eraser(folder, split, lines if spans == "sentence" else split_text),)
    return (*read_pairs(folder, split, split_text),)
