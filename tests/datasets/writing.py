"""Small data sets, written for the tests."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest


def write(file: Path, text: str) -> Path:
    """A file, gzipped where its name says so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.encode()) if file.suffix == ".gz" else text.encode())
    return file


def write_rows(file: Path, rows: list[dict[str, Any]]) -> Path:
    return write(file, "".join(json.dumps(row) + "\n" for row in rows))


def read_rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def real(name: str) -> Path:
    """The folder of a real data set; the test is skipped where there is none."""
    folder = Path(os.environ.get("WHYMATCH_DATA", "")) / name
    if not os.environ.get("WHYMATCH_DATA") or not folder.is_dir():
        pytest.skip(f"{name} is not there: name the folder of the data sets with WHYMATCH_DATA")
    return folder


WORDS = ["boot", "disk", "mount", "wifi", "driver", "kernel", "screen", "sound", "printer", "update", "shell", "font"]


def corpus_folder(folder: Path, pairs: int = 20, alone: int = 80, sites: int = 2) -> Path:
    """Pairs of questions of which each two are similar, and others that are alone."""
    ids = [f"{side}{number}" for number in range(pairs) for side in "ab"] + [f"c{number}" for number in range(alone)]
    rows = [
        {
            "id": id_,
            "title": f"Question {id_}" if number % 2 else "",
            "text": f"How do I fix the {WORDS[number % 12]} with {WORDS[number % 7]}? It says {id_}.",
            "site": f"site{int(id_[1:]) % sites}",
        }
        for number, id_ in enumerate(ids)
    ]
    write_rows(folder / "corpus.jsonl.gz", rows)
    write(folder / "duplicates.tsv", "".join(f"a{number}\tb{number}\n" for number in range(pairs)))
    return folder
