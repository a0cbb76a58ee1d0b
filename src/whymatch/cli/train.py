"""`whymatch train`: a ranker or a classifier from a file of settings."""

import argparse
from pathlib import Path
from typing import Any


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("train", help="train a ranker or a classifier")
    parser.add_argument(
        "settings", metavar="RUN.toml", type=Path, help="the settings; lists as values are tried in turn"
    )
    parser.add_argument("--out", type=Path, help="folder of the run (default: runs/ and the name of the file)")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.set_defaults(run=run, after_interrupt=advice)


def run(settings: argparse.Namespace) -> None:
    """Trains, and says where the model is."""
    from whymatch.cli.console import training_progress
    from whymatch.learning.settings import read_settings
    from whymatch.learning.train import train

    folder = folder_of(settings)
    runs = read_settings(settings.settings)
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
