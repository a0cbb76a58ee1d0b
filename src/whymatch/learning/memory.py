"""The vectors of frozen encoders, shared by runs."""

import hashlib
from pathlib import Path

from whymatch.learning.settings import Settings
from whymatch.text.encoders.known import Known
from whymatch.text.encoders.projected import Projected


class Memory:
    """Vectors by encoder. With a folder, those of the bundled model outlast the process: its weights never change."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.known: dict[str, Known] = {}
        self.written: dict[str, int] = {}

    def share(self, encoder: Projected, settings: Settings) -> None:
        """Gives the encoder what runs with the same model have left; two folders may have the same name."""
        key = f"{settings.encoder.model}: {encoder.name}"
        if key not in self.known:
            self.known[key] = Known.read(self.file(key)) if self.lasts(key) else encoder.known
            self.written[key] = self.known[key].kept
        encoder.known = self.known[key]

    def keep(self) -> None:
        """Writes what is new, beside what other processes have written meanwhile."""
        for key, known in self.known.items():
            if self.lasts(key) and known.kept > self.written[key]:
                for text, spans, vectors in Known.read(self.file(key)):
                    known.put(text, spans, vectors)
                known.write(self.file(key))
                self.written[key] = known.kept

    def lasts(self, key: str) -> bool:
        return self.folder is not None and key.startswith("None: ")

    def file(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.safetensors"
