"""The vectors of frozen encoders: computed once, shared by runs, and kept on disk."""

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from whymatch.text.document import Document
from whymatch.text.encoders.models import locate
from whymatch.text.encoders.precomputed import KnownVectors
from whymatch.text.encoders.trainable import Projected

TEXTS_PER_BATCH = 2048  # texts that are encoded at a time
SECONDS_BETWEEN_WRITES = 60.0  # of vectors, while texts are being encoded


class VectorCache:
    """Vectors by encoder. With a folder they outlast the process, so that an interrupted run need not start again."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.known: dict[str, KnownVectors] = {}

    def share(self, encoder: Projected, model: str | None) -> None:
        """Gives the encoder the vectors that runs with the same model, the bundled one if None, have left."""
        key = _key(encoder, model)
        if key not in self.known:
            self.known[key] = encoder.known if self.folder is None else KnownVectors.read(self.folder / key)
        encoder.known = self.known[key]

    def keep(self) -> None:
        """Writes what is new; other processes may write to the same folder."""
        if self.folder is not None:
            for key, known in self.known.items():
                known.write(self.folder / key)


def encode_once(
    encoder: Projected,
    texts: Sequence[Document],
    report: Callable[[str], None],
    progress: Callable[[int, int], None],
    cache: VectorCache | None,
) -> None:
    """Leaves the vectors of all texts with the encoder; the cache writes them now and then, and at an interrupt."""
    new = [text for text in texts if encoder.known.get(text.text, text.spans) is None]
    known = f", {len(texts) - len(new):,} more are known" if len(new) < len(texts) else ""
    report(f"encoding {len(new):,} texts, once{known}")
    written = time.monotonic()
    try:
        for start in range(0, len(new), TEXTS_PER_BATCH):
            batch = new[start : start + TEXTS_PER_BATCH]
            encoder.frozen([text.text for text in batch], [text.spans for text in batch])
            progress(start + len(batch), len(new))
            if cache is not None and time.monotonic() - written > SECONDS_BETWEEN_WRITES:
                cache.keep()
                written = time.monotonic()
    finally:
        if cache is not None:
            cache.keep()


def _key(encoder: Projected, model: str | None) -> str:
    """A name for the encoder with these weights: those of the bundled model never change, a folder's files may.

    Vectors of one backend are not mixed with those of another.
    """
    files = [] if model is None else [file for file in sorted(locate(model).rglob("*")) if file.is_file()]
    states = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(f"{encoder.name} {encoder.backend} {states}".encode()).hexdigest()[:16]
