"""The vectors of frozen encoders, shared by runs and kept on disk."""

import hashlib
from pathlib import Path

from whymatch.learning.settings import Settings
from whymatch.text.encoders.models import locate
from whymatch.text.encoders.precomputed import KnownVectors
from whymatch.text.encoders.trainable import Projected


class Memory:
    """Vectors by encoder. With a folder they outlast the process, so that an interrupted run need not start again."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.known: dict[str, KnownVectors] = {}

    def share(self, encoder: Projected, settings: Settings) -> None:
        """Gives the encoder the vectors that runs with the same model have left."""
        key = _key(encoder, settings.encoder.model)
        if key not in self.known:
            self.known[key] = encoder.known if self.folder is None else KnownVectors.read(self.folder / key)
        encoder.known = self.known[key]

    def keep(self) -> None:
        """Writes what is new; other processes may write to the same folder."""
        if self.folder is not None:
            for key, known in self.known.items():
                known.write(self.folder / key)


def _key(encoder: Projected, model: str | None) -> str:
    """A name for the encoder with these weights: those of the bundled model never change, a folder's files may."""
    files = [] if model is None else [file for file in sorted(locate(model).rglob("*")) if file.is_file()]
    states = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(f"{encoder.name} {states}".encode()).hexdigest()[:16]
