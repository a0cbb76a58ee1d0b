"""Vectors that need no model: those that the caller has, and those that were computed before."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from whymatch.files import whole_file
from whymatch.text.spans import Span

MAX_KNOWN_VECTORS = 2**21  # 3 GB for MiniLM
Entry: TypeAlias = tuple[str, tuple[Span, ...], np.ndarray]


class Precomputed:
    """A vector for each piece by its text, or by its name where it is no text: a region of an image, a product."""

    contextual = False

    def __init__(self, vectors: Mapping[str, Any], name: str = "precomputed") -> None:
        self.name = name
        self.vectors = {piece: _to_array(vector) for piece, vector in vectors.items()}
        shapes = {vector.shape for vector in self.vectors.values()}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ValueError(f"Vectors must all have one length, got shapes {sorted(shapes)[:3]}.")
        self.size = next(iter(shapes))[0]

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        return [
            np.array([self._vector(text[start:end]) for start, end in own], np.float32).reshape(-1, self.size)
            for text, own in zip(texts, spans, strict=True)
        ]

    def _vector(self, piece: str) -> np.ndarray:
        if piece not in self.vectors:
            raise ValueError(f"There is no vector for {piece!r}. Precomputed takes one for every piece.")
        return self.vectors[piece]


def _to_array(vector: Any) -> np.ndarray:
    """A vector in single precision from an array, a list of numbers or a tensor on any device."""
    if hasattr(vector, "detach"):
        vector = vector.detach().cpu().float()
    return np.asarray(vector, dtype=np.float32)


class KnownVectors:
    """The vectors of texts that were encoded before, in memory and in a folder.

    They are found by text first and spans second: to hash the spans would take longer than to compare them.
    """

    def __init__(self) -> None:
        self.texts: dict[str, list[tuple[tuple[Span, ...], np.ndarray]]] = {}
        self.entries: list[Entry] = []
        self.count = 0
        """The number of vectors."""
        self.on_disk = 0
        """How many of the entries are in the folder that was read or written last."""

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def get(self, text: str, spans: tuple[Span, ...]) -> np.ndarray | None:
        """The vectors of a text that was split so, if they are known."""
        return next((vectors for known, vectors in self.texts.get(text, ()) if known == spans), None)

    def put(self, text: str, spans: tuple[Span, ...], vectors: np.ndarray) -> None:
        """Keeps the vectors, unless there are too many or they are known."""
        if self.count + len(vectors) <= MAX_KNOWN_VECTORS and self.get(text, spans) is None:
            self.texts.setdefault(text, []).append((spans, vectors))
            self.entries.append((text, spans, vectors))
            self.count += len(vectors)

    def write(self, folder: Path) -> None:
        """Writes what is new since the last call, or since `read`, as one more file of the folder."""
        new = self.entries[self.on_disk :]
        if not new:
            return
        arrays: dict[str, np.ndarray] = {
            "texts": np.frombuffer(json.dumps([text for text, _, _ in new]).encode(), dtype=np.uint8),
            "counts": np.array([len(spans) for _, spans, _ in new], dtype=np.int64),
            "spans": np.array([span for _, spans, _ in new for span in spans], dtype=np.int64).reshape(-1, 2),
            "vectors": np.concatenate([vectors for _, _, vectors in new]),
        }
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / f"{uuid4().hex}.safetensors") as draft:  # other processes write to the folder too
            save_file(arrays, draft, {"sha256": _digest(arrays)})
        self.on_disk = len(self.entries)

    @classmethod
    def read(cls, folder: Path) -> "KnownVectors":
        """What `write` wrote, by any process; damaged files are skipped, and their texts encoded again."""
        known = cls()
        for file in sorted(folder.glob("*.safetensors")):
            try:
                entries = _read_entries(file)
            except (OSError, SafetensorError, KeyError, ValueError, TypeError):
                continue
            for entry in entries:
                known.put(*entry)
        known.on_disk = len(known.entries)
        return known


def _read_entries(file: Path) -> list[Entry]:
    """The entries of one file; raises ValueError where they are not what was written."""
    with safe_open(file, framework="np") as stored:
        arrays = {name: stored.get_tensor(name) for name in ("texts", "counts", "spans", "vectors")}
        if (stored.metadata() or {}).get("sha256") != _digest(arrays):
            raise ValueError(f"{file} is damaged")
    texts = json.loads(arrays["texts"].tobytes())
    spans = [Span(start, end) for start, end in arrays["spans"].tolist()]
    entries, first = list[Entry](), 0
    for text, count in zip(texts, arrays["counts"].tolist(), strict=True):
        entries.append((text, tuple(spans[first : first + count]), arrays["vectors"][first : first + count]))
        first += count
    return entries


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """A hash of names, types, shapes and values."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
