"""`whymatch evaluate`: the metrics of a trained model."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from whymatch.cli.console import complain
from whymatch.progress import progress_bar

if TYPE_CHECKING:
    from whymatch.text.encoders.caching import VectorCache


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("evaluate", help="metrics of a trained model on a split")
    parser.add_argument("model", metavar="RUN", type=Path, help="the folder of a run, or of a model")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data set")
    parser.add_argument("--split", default="test", help="train, val or test (default)")
    parser.add_argument(
        "--deletions", action="store_true", help="also measure what comes of deleting text (takes longer)"
    )
    cache = "keep the vectors of a frozen encoder in FOLDER, for runs that repeat"
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help=cache)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> None:
    """Evaluates and prints; the card in the model's folder says the same."""
    from whymatch.datasets.folders import read_split
    from whymatch.learning.evaluate import evaluate
    from whymatch.matching.card import rows, write_card
    from whymatch.matching.ranker import Ranker
    from whymatch.matching.saving import from_pretrained
    from whymatch.show.terminal import table
    from whymatch.show.words import IN_CONTEXT

    inside = settings.model / "model"
    folder = inside if inside.is_dir() else settings.model
    model = from_pretrained(folder)
    task: Literal["rank", "classify"] = "rank" if isinstance(model, Ranker) else "classify"
    records = read_split(settings.data, settings.split, task, str(model.aligner.spans))
    cache = _shared_vectors(model, settings.cache)
    with progress_bar("evaluating", len(records)) as progress:
        metrics = evaluate(model, records, deletions=settings.deletions, progress=progress)
    if cache is not None:
        cache.keep()
    if settings.json:
        print(json.dumps(metrics))
    else:
        header = ["", f"{settings.data.resolve().name}, {settings.split}", "95% interval"]
        print(table(header, [[*row] for row in rows(metrics)]))
        if model.contextual:
            print(IN_CONTEXT)
    try:
        write_card(folder, metrics, settings.data, settings.split)
    except (OSError, ValueError, KeyError, TypeError) as error:
        complain(f"the card in {folder} stays as it is: {error}")


def _shared_vectors(model: Any, folder: Path | None) -> "VectorCache | None":
    """The vectors that a folder keeps, which the model takes and adds to; None where there is no folder.

    Raises:
        ValueError: if the model's encoder is not a frozen one.
    """
    if folder is None:
        return None
    from whymatch.text.encoders.caching import VectorCache
    from whymatch.text.encoders.trainable import Projected

    encoder = model.aligner.encoder
    if not isinstance(encoder, Projected):
        raise ValueError(f"--cache goes with frozen encoders: the vectors of {encoder.name} are of this model alone.")
    cache = VectorCache(folder)
    cache.share(encoder)
    return cache
