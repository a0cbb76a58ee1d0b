"""A data set on its way into our layout: rows by split, which pass once, and what was counted when they have."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from whymatch.files import whole_folder, write_whole
from whymatch.reading import write_json_lines

Row: TypeAlias = dict[str, Any]
Progress: TypeAlias = Callable[[int, str], None]


@dataclass(frozen=True)
class Conversion:
    """The rows of each split, and a function that gives the statistics when they have passed."""

    splits: Mapping[str, Iterable[Row]]
    statistics: Callable[[], dict[str, Any]]


def run(conversion: Conversion, out: Path | None, progress: Progress) -> dict[str, Any]:
    """Takes all rows, writes them into a new folder if one is named, all or nothing, and gives the statistics."""
    if out is None:
        for split in conversion.splits:
            for _ in passing(conversion, split, progress):
                pass
        return conversion.statistics()
    with whole_folder(out) as draft:
        return write(conversion, draft, progress)


def write(conversion: Conversion, folder: Path, progress: Progress) -> dict[str, Any]:
    """The splits, and `statistics.json`."""
    for split in conversion.splits:
        write_json_lines(folder / f"{split}.jsonl", passing(conversion, split, progress))
    statistics = conversion.statistics()
    text = json.dumps(statistics, indent=2, ensure_ascii=False) + "\n"
    write_whole(folder / "statistics.json", text)
    return statistics


def passing(conversion: Conversion, split: str, progress: Progress) -> Iterator[Row]:
    """The rows of a split, each of them told to whoever watches."""
    for number, row in enumerate(conversion.splits[split], start=1):
        yield row
        progress(number, split)
