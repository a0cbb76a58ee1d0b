"""The records of a folder, whichever layout it has."""

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
    folder, split_text = Path(folder), splitter(spans)
    if task == "rank":
        return [*read_queries(folder, split, split_text)]
    if is_eraser(folder):
        return [*read_eraser(folder, split, lines if spans == "sentence" else split_text)]
    return [*read_pairs(folder, split, split_text)]
