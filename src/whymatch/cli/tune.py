"""`whymatch tune`: what settings leave open, chosen on validation, without a training."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whymatch.learning.tuning import Choice


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("tune", help="choose costs and links for a data set, as train does, without training")
    parser.add_argument("settings", metavar="RUN.toml", type=Path, help="the settings: task and data are enough")
    cache = "keep the vectors in FOLDER, for searches that repeat"
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help=cache)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> None:
    """Searches, and prints what was tried and what would be trained."""
    from whymatch.cli.console import training_progress
    from whymatch.learning.settings import read_values
    from whymatch.learning.tuning import tune
    from whymatch.text.encoders.caching import VectorCache

    cache = VectorCache(settings.cache)
    with training_progress() as watch:
        choice = tune(settings.settings, report=watch.line, progress=watch.encoded, cache=cache)
    if settings.json:
        print(json.dumps(choice.to_dict(), indent=1))
        return
    if choice.tried:
        print(_table(choice))
    print()
    print(choice.to_toml(read_values(settings.settings)), end="")


def _table(choice: "Choice") -> str:
    """What was tried at each step, best first."""
    from whymatch.show.terminal import table

    rows = [
        [
            str(one.step),
            one.change,
            f"{one.score:.3f}",
            f"{one.gain.mean:+.3f}",
            f"{one.gain.low:+.3f} to {one.gain.high:+.3f}",
            "chosen" if one.chosen else "",
        ]
        for one in choice.tried
    ]
    return table(["step", "change", choice.measure, "gain", "95% interval", ""], rows)
