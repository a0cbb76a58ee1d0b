"""`whymatch train`: a ranker or a classifier from a file of settings."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("train", help="train a ranker or a classifier; what its settings leave open is chosen")
    parser.add_argument(
        "settings", metavar="RUN.toml", type=Path, help="the settings; lists as values are tried in turn"
    )
    parser.add_argument("--out", type=Path, help="folder of the run (default: runs/ and the name of the file)")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.set_defaults(run=run, after_interrupt=advice)


def run(settings: argparse.Namespace) -> None:
    """Trains, and says where the model is."""
    from whymatch.cli.console import training_progress
    from whymatch.learning.settings import Settings, read_settings, read_values, typed
    from whymatch.learning.train import train
    from whymatch.learning.tuning import chooses

    folder = folder_of(settings)
    written = read_values(settings.settings)
    runs: Sequence[Settings] | Mapping[str, Any] = written
    if not chooses(written):
        runs = read_settings(settings.settings)
    else:
        typed(Settings, written, str(settings.settings))  # what is wrong with it is said with the name of the file
    with training_progress() as watch:
        best = train(runs, folder, resume=settings.resume, watch=watch)
    if best.first:
        print(f"validation {best.measure} {best.validation:.4f}, model in {folder / 'model'}")


def advice(settings: argparse.Namespace) -> str:
    """How to go on after an interrupt."""
    resumed = f"whymatch train {settings.settings} --out {folder_of(settings)} --resume"
    return f"What was done is kept. To go on: {resumed}"


def folder_of(settings: argparse.Namespace) -> Path:
    """The folder of the run."""
    return settings.out or Path("runs") / settings.settings.stem
