"""Vectors that were computed before, in memory and in a file."""

import json
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from whymatch.files import whole_file
from whymatch.text.spans import Span

MOST = 2**21  # vectors that are kept: 3 GB for MiniLM


class Known:
    """Vectors of texts, by text and spans: to hash the spans would take longer than to compare them."""

    def __init__(self) -> None:
        self.texts: dict[str, list[tuple[tuple[Span, ...], Tensor]]] = {}
        self.kept = 0

    def __iter__(self) -> Iterator[tuple[str, tuple[Span, ...], Tensor]]:
        return ((text, spans, vectors) for text, found in self.texts.items() for spans, vectors in found)

    def get(self, text: str, spans: tuple[Span, ...]) -> Tensor | None:
        return next((vectors for known, vectors in self.texts.get(text, ()) if known == spans), None)

    def put(self, text: str, spans: tuple[Span, ...], vectors: Tensor) -> None:
        """Keeps the vectors, unless there are too many or they are there."""
        if self.kept + len(vectors) <= MOST and self.get(text, spans) is None:
            self.texts.setdefault(text, []).append((spans, vectors))
            self.kept += len(vectors)

    def write(self, file: Path) -> None:
        """Everything into one file, whole or not at all."""
        texts = json.dumps([text for text, _, _ in self]).encode()
        tensors = {
            "texts": torch.frombuffer(bytearray(texts), dtype=torch.uint8),
            "counts": torch.tensor([len(spans) for _, spans, _ in self]),
            "spans": torch.tensor([span for _, spans, _ in self for span in spans], dtype=torch.int64).view(-1, 2),
            "vectors": torch.cat([torch.zeros(0), *(vectors for _, _, vectors in self if len(vectors))]),
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as draft:
            save_file(tensors, draft)

    @classmethod
    def read(cls, file: Path) -> "Known":
        """What `write` wrote; nothing where there is no file that can be read."""
        known = cls()
        try:
            tensors = load_file(file)
            texts = json.loads(tensors["texts"].numpy().tobytes())
            spans = [Span(start, end) for start, end in tensors["spans"].tolist()]
            first = 0
            for text, count in zip(texts, tensors["counts"].tolist(), strict=True):
                known.put(text, tuple(spans[first : first + count]), tensors["vectors"][first : first + count])
                first += count
        except (OSError, SafetensorError, KeyError, ValueError):
            return cls()
        return known
