"""Where the real data lie: `--data PATH`, or the environment variable WHYMATCH_DATA."""

import argparse
import os
import sys
from pathlib import Path


def data_folder(description: str | None) -> Path:
    """The folder that the command line or the environment names; the program ends in words if there is none."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("WHYMATCH_DATA"), help="folder of the data sets")
    folder: Path | None = parser.parse_args().data
    if folder is None or not Path(folder).is_dir():
        sys.exit(f"No data: name their folder with --data or WHYMATCH_DATA (got {folder}).")
    return Path(folder)
