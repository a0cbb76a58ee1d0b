"""What settings that choose themselves are worth on test splits, beside defaults and what was chosen by hand.

    WHYMATCH_DATA=… python -m benchmarks.tuning --folder FOLDER [--only wice paws]

Frozen vectors of MiniLM and untrained links, but for PAWS, whose labels a head learns from 1,500 pairs. Each set is
prepared in FOLDER, tuned on its training and validation splits, and only then measured on a sample of its test split:
up to 300 queries or 3,000 pairs. Vectors and prepared data are kept, so that a second run is faster. The
procedure was designed with MultiRC, e-SNLI and WiCE in view; StackExchange, MultiNews and PAWS had no part in it.
"""

import argparse
import csv
import gzip
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from whymatch.cost import Cost, WordCounts
from whymatch.datasets.folders import read_split
from whymatch.datasets.prepare import Choices, prepare
from whymatch.learning.building import build, texts_of
from whymatch.learning.settings import Settings, typed
from whymatch.learning.trials import Candidate, Links, Trials
from whymatch.learning.tuning import merged, tune
from whymatch.show.terminal import table
from whymatch.text.document import Document, joined
from whymatch.text.encoders.caching import VectorCache
from whymatch.text.encoders.trainable import Projected

Row = dict[str, Any]
BY_HAND: dict[str, dict[str, Row]] = {
    "multirc": {
        "by hand": {"cost": [{"neighbours": 0.4}, {"shared_words": 0.5}]},
        "by hand, without shared words": {"cost": [{"neighbours": 0.4}]},
    },
    "esnli": {
        "by hand": {"cost": [{"novelty": 1.5}, {"rare_words": 0.5}], "rule": {"constraint": "exactly:3"}},
    },
    "wice": {
        "MultiRC's by hand": {"cost": [{"neighbours": 0.4}, {"shared_words": 0.5}]},
        "rare words alone, one": {"cost": [{"shared_words": 100.0}]},
        "rare words alone, six": {"cost": [{"shared_words": 100.0}], "rule": {"constraint": "one-to:6"}},
    },
    "stackexchange": {"by hand": {}, "whole text, by hand": {"cost": [{"whole_text": 2.0}]}},
    "stackexchange-hard": {"by hand": {"cost": [{"whole_text": 2.0}]}},
    "multinews": {
        "by hand": {"rule": {"constraint": "up-to:1", "below": 0.8}},
        "six links, by hand": {"rule": {"constraint": "exactly:6"}},
    },
    "paws": {
        "e-SNLI's by hand": {"cost": [{"novelty": 1.5}, {"rare_words": 0.5}], "rule": {"constraint": "exactly:3"}}
    },
}
"""The settings of rows in `experiments/`, by data set; those of another set where there are none."""
RANKED = ("stackexchange", "stackexchange-hard", "multinews")


class Measured(NamedTuple):
    """What settings are worth on a test split: the mean, and its difference from those that chose themselves."""

    name: str
    settings: Row
    score: float
    gain: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    parser.add_argument("--folder", type=Path, required=True, help="where prepared data and vectors are kept")
    parser.add_argument("--only", nargs="+", choices=[*BY_HAND], default=[*BY_HAND])
    settings = parser.parse_args()
    for name in settings.only:
        prepared = settings.folder / name
        if not prepared.is_dir():
            _prepare(name, Path(settings.data), prepared)
        start = time.process_time()
        rows, measure, spans = measured(name, prepared, VectorCache(settings.folder / "vectors"))
        print(f"\n{name}: {measure} on the test split, spans: {spans}, {time.process_time() - start:.0f} s of CPU\n")
        cells = [[one.name, json.dumps(one.settings), f"{100 * one.score:.1f}", one.gain] for one in rows]
        print(table(["", "cost and links", measure, "beside what was chosen"], cells), flush=True)


def measured(name: str, data: Path, cache: VectorCache) -> tuple[list[Measured], str, str]:
    """The rows of a data set, what they are measured by, and how texts were cut."""
    task = "rank" if name in RANKED else "classify"
    written = {"task": task, "data": str(data)}
    choice = tune(written, report=lambda line: print(line, file=sys.stderr), cache=cache)
    cache.keep()
    settings: Settings = typed(Settings, merged({"spans": choice.chosen.get("spans", "sentence")}, written), name)
    train, validation, test = (
        read_split(data, split, settings.task, settings.spans) for split in ("train", "val", "test")
    )
    encoder = build(settings, [*train, *validation]).aligner.encoder
    assert isinstance(encoder, Projected)
    cache.share(encoder)
    counts = WordCounts.of(text.text for text in texts_of([*train, *validation]))
    chosen = {key: choice.chosen[key] for key in ("cost", "rule") if choice.chosen.get(key)}
    rows: list[Measured] = []
    first: np.ndarray | None = None
    for row, own in {"chosen": chosen, "defaults": {}, **BY_HAND[name]}.items():
        trials = Trials(task, train, test, partial(_vectors, encoder), counts, 0)
        trials.fixed = Cost.from_list(own.get("cost", []), counts)
        rule = own.get("rule", {"constraint": "exactly:2"})
        values = trials.values(Candidate((), Links(rule["constraint"], below=rule.get("below"))))
        first = values if first is None else first
        mean, low, high = (100 * value for value in trials.interval(values - first))
        gain = f"{mean:+.1f} ({low:+.1f} to {high:+.1f})" if rows else ""
        rows.append(Measured(row, own, float(values.mean()), gain))
    cache.keep()
    return rows, trials.measure, settings.spans


def _vectors(encoder: Projected, texts: Sequence[Document]) -> list[np.ndarray]:
    return encoder.frozen([text.text for text in texts], [text.spans for text in texts])


def _prepare(name: str, data: Path, out: Path) -> None:
    """A data set in our layout."""
    if name in ("wice", "paws"):
        rows = [*(_wice(data) if name == "wice" else _paws(data))]
        random.Random(0).shuffle(rows)
        ends = (0, len(rows) // 2, 3 * len(rows) // 4, len(rows)) if name == "wice" else (0, 6000, 7000, len(rows))
        out.mkdir(parents=True)
        for split, start, end in zip(("train", "val", "test"), ends, ends[1:], strict=False):
            (out / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[start:end]))
        return
    sources = {"stackexchange": [data / "stackexchange" / "cqadupstack"], "esnli": [data / "esnli", data / "snli"]}
    official = name.removesuffix("-hard")
    prepare(official, sources.get(official, [data / official]), out, Choices(hard=name.endswith("-hard")))


def _wice(data: Path) -> Iterator[Row]:
    """Claims, the sentences of the pages that they cite, and which of these support them."""
    with gzip.open(data / "wice" / "claims_dev.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            text = joined([" ".join(sentence.split()) or "-" for sentence in row["evidence"]])
            marked = sorted({number for support in row["supporting_sentences"] for number in support})
            rationale = [[*text.spans[number]] for number in marked]
            yield {"left": [row["claim"]], "right": text.pieces, "label": row["label"], "right_rationale": rationale}


def _paws(data: Path) -> Iterator[Row]:
    """Pairs of sentences that share their words, and whether they say the same."""
    with gzip.open(data / "paws" / "dev.tsv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            label = "same" if row["label"] == "1" else "other"
            yield {"left": row["sentence1"], "right": row["sentence2"], "label": label}


if __name__ == "__main__":
    main()
