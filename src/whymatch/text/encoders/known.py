"""Vectors that were computed before, in memory and in a folder."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from whymatch.files import whole_file
from whymatch.text.spans import Span

MAX_VECTORS = 2**21  # 3 GB for MiniLM
Entry: TypeAlias = tuple[str, tuple[Span, ...], Tensor]


class Known:
    """Vectors of texts, by text and spans: to hash the spans would take longer than to compare them."""

    def __init__(self) -> None:
        self.texts: dict[str, list[tuple[tuple[Span, ...], Tensor]]] = {}
        self.entries: list[Entry] = []
        self.kept = 0
        self.on_disk = 0
        """How many of the entries are in the folder that was read or written last."""

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def get(self, text: str, spans: tuple[Span, ...]) -> Tensor | None:
        return next((vectors for known, vectors in self.texts.get(text, ()) if known == spans), None)

    def put(self, text: str, spans: tuple[Span, ...], vectors: Tensor) -> None:
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
            "texts": torch.frombuffer(bytearray(texts), dtype=torch.uint8),
            "counts": torch.tensor([len(spans) for _, spans, _ in new]),
            "spans": torch.tensor([span for _, spans, _ in new for span in spans], dtype=torch.int64).view(-1, 2),
            "vectors": torch.cat([torch.zeros(0), *(vectors for _, _, vectors in new if len(vectors))]),
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
    with safe_open(file, framework="pt") as stored:
        tensors = {name: stored.get_tensor(name) for name in ("texts", "counts", "spans", "vectors")}
        if (stored.metadata() or {}).get("sha256") != _digest(tensors):
            raise ValueError(f"{file} is damaged")
    texts = json.loads(tensors["texts"].numpy().tobytes())
    spans = [Span(start, end) for start, end in tensors["spans"].tolist()]
    entries, first = list[Entry](), 0
    for text, count in zip(texts, tensors["counts"].tolist(), strict=True):
        entries.append((text, tuple(spans[first : first + count]), tensors["vectors"][first : first + count]))
        first += count
    return entries


def _digest(tensors: dict[str, Tensor]) -> str:
    """A hash of names, types, shapes and values."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.contiguous().numpy().data)
    return digest.hexdigest()
