"""A data set on its way into our layout: rows by split, which pass once, and what was counted when they have."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

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
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(f"{out} is there already. Name a new or an empty folder.")
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    try:
        statistics = write(conversion, draft, progress)
        draft.rename(out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return statistics


def write(conversion: Conversion, folder: Path, progress: Progress) -> dict[str, Any]:
    """The splits, and `statistics.json`."""
    for split in conversion.splits:
        rows = passing(conversion, split, progress)
        with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    statistics = conversion.statistics()
    text = json.dumps(statistics, indent=2, ensure_ascii=False) + "\n"
    (folder / "statistics.json").write_text(text, encoding="utf-8")
    return statistics


def passing(conversion: Conversion, split: str, progress: Progress) -> Iterator[Row]:
    """The rows of a split, each of them told to whoever watches."""
    for number, row in enumerate(conversion.splits[split], start=1):
        yield row
        progress(number, split)
