"""`whymatch evaluate`: the metrics of a trained model."""

import argparse
import json
from pathlib import Path
from typing import Any


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("evaluate", help="metrics of a trained model on a split")
    parser.add_argument("model", metavar="RUN", type=Path, help="the folder of a run, or of a model")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data set")
    parser.add_argument("--split", default="test", help="train, val or test (default)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> None:
    """Evaluates and prints."""
    from whymatch.datasets.eraser import read_eraser
    from whymatch.datasets.jsonl import read_pairs, read_queries
    from whymatch.learning.evaluate import evaluate_classifier, evaluate_ranker
    from whymatch.matching.ranker import Ranker
    from whymatch.matching.saving import from_pretrained
    from whymatch.show.terminal import table
    from whymatch.text.spans import splitter

    inside = settings.model / "model"
    model = from_pretrained(inside if inside.is_dir() else settings.model)
    data, split = settings.data, settings.split
    if isinstance(model, Ranker):
        found = evaluate_ranker(model, list(read_queries(data, split, splitter(model.split))))
    elif (data / "docs").is_dir():
        found = evaluate_classifier(model, list(read_eraser(data, split)))
    else:
        found = evaluate_classifier(model, list(read_pairs(data, split, splitter(model.split))))
    if settings.json:
        print(json.dumps(found))
        return
    rows = []
    for name, value in found.items():
        if isinstance(value, dict):
            rows.append([name, f"{value['mean']:.4f}", f"{value['low']:.4f} to {value['high']:.4f}"])
        else:
            rows.append([name, f"{value:.4g}" if isinstance(value, float) else str(value), ""])
    print(table(["", f"{data.name}, {split}", "95% interval"], rows))
