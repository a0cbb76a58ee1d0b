"""Vectors that were computed before, in memory and in a folder."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from whymatch.files import whole_file
from whymatch.text.spans import Span

MAX_VECTORS = 2**21  # 3 GB for MiniLM
Entry: TypeAlias = tuple[str, tuple[Span, ...], np.ndarray]


class Known:
    """Vectors of texts, by text and spans: to hash the spans would take longer than to compare them."""

    def __init__(self) -> None:
        self.texts: dict[str, list[tuple[tuple[Span, ...], np.ndarray]]] = {}
        self.entries: list[Entry] = []
        self.kept = 0
        self.on_disk = 0
        """How many of the entries are in the folder that was read or written last."""

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def get(self, text: str, spans: tuple[Span, ...]) -> np.ndarray | None:
        return next((vectors for known, vectors in self.texts.get(text, ()) if known == spans), None)

    def put(self, text: str, spans: tuple[Span, ...], vectors: np.ndarray) -> None:
        """Keeps the vectors, unless there are too many or they are there."""
        if self.kept + len(vectors) <= MAX_VECTORS and self.get(text, spans) is None:
            self.texts.setdefault(text, []).append((spans, vectors))
            self.entries.append((text, spans, vectors))
            self.kept += len(vectors)

    def write(self, folder: Path) -> None:
        """Writes what is new since the last call, or since `read`, as one more file of the folder."""
        new = self.entries[self.on_disk :]
        if not new:
            return
        texts = json.dumps([text for text, _, _ in new]).encode()
        tensors = {
            "texts": np.frombuffer(texts, dtype=np.uint8),
            "counts": np.array([len(spans) for _, spans, _ in new]),
            "spans": np.array([span for _, spans, _ in new for span in spans], dtype=np.int64).reshape(-1, 2),
            "vectors": np.concatenate([vectors for _, _, vectors in new]),
        }
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / f"{uuid4().hex}.safetensors") as draft:  # other processes write to the folder too
            save_file(tensors, draft, {"sha256": _digest(tensors)})
        self.on_disk = len(self.entries)

    @classmethod
    def read(cls, folder: Path) -> "Known":
        """What `write` wrote, by any process; files that are damaged are passed over."""
        known = cls()
        for file in sorted(folder.glob("*.safetensors")):
            try:
                entries = _read_entries(file)
            except (OSError, SafetensorError, KeyError, ValueError, TypeError):
                continue  # it costs the time to encode these texts again
            for entry in entries:
                known.put(*entry)
        known.on_disk = len(known.entries)
        return known


def _read_entries(file: Path) -> list[Entry]:
    """The entries of one file; raises ValueError where they are not what was written."""
    with safe_open(file, framework="np") as stored:
        tensors = {name: stored.get_tensor(name) for name in ("texts", "counts", "spans", "vectors")}
        if (stored.metadata() or {}).get("sha256") != _digest(tensors):
            raise ValueError(f"{file} is damaged")
    texts = json.loads(tensors["texts"].tobytes())
    spans = [Span(start, end) for start, end in tensors["spans"].tolist()]
    entries, first = list[Entry](), 0
    for text, count in zip(texts, tensors["counts"].tolist(), strict=True):
        entries.append((text, tuple(spans[first : first + count]), tensors["vectors"][first : first + count]))
        first += count
    return entries


def _digest(tensors: dict[str, np.ndarray]) -> str:
    """A hash of names, types, shapes and values."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tensor.shape} ".encode())
        digest.update(np.ascontiguousarray(tensor).data)
    return digest.hexdigest()
