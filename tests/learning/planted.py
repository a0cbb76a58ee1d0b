"""Matching tasks whose true links are planted: similar texts share signals in some spans, under larger noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import whymatch as wm
from whymatch.batching import Size
from whymatch.learning import Adapter, FineTuned
from whymatch.text.document import Document, joined

SPANS, LINKS, SIGNAL, NOISE = 6, 3, 8, 8
SIZE = SIGNAL + 1 + NOISE


@dataclass(frozen=True)
class Planted:
    """A pair with its true links, an unrelated text, and whether the marks of most linked spans agree."""

    left: Document
    similar: Document
    dissimilar: Document
    links: frozenset[tuple[int, int]]
    agree: bool


def planted(count: int, seed: int) -> tuple[list[Planted], wm.Precomputed]:
    """Tasks, and the vectors of their pieces: a signal of length 1, a mark of 1/3 or −1/3, and noise of length 2."""
    generator = torch.Generator().manual_seed(seed)
    vectors: dict[str, torch.Tensor] = {}

    def text(name: str, signals: torch.Tensor, marks: torch.Tensor) -> Document:
        noise = 2 * torch.nn.functional.normalize(torch.randn(SPANS, NOISE, generator=generator))
        pieces = [f"{name} {number}" for number in range(SPANS)]
        vectors.update(zip(pieces, torch.cat([signals, marks[:, None] / 3, noise], dim=1), strict=True))
        return joined(pieces)

    def signals() -> torch.Tensor:
        return torch.nn.functional.normalize(torch.randn(SPANS, SIGNAL, generator=generator))

    def marks() -> torch.Tensor:
        return 2.0 * torch.randint(0, 2, (SPANS,), generator=generator) - 1

    tasks = []
    for number in range(count):
        left, right, of_left, of_right = signals(), signals(), marks(), marks()
        i, j = (torch.randperm(SPANS, generator=generator)[:LINKS] for _ in range(2))
        right[j] = left[i] + 0.1 * torch.randn(LINKS, SIGNAL, generator=generator)
        votes = marks()[:LINKS]  # most of them decide, so that every link counts
        of_right[j] = of_left[i] * votes
        name = f"{seed}.{number}"
        tasks.append(
            Planted(
                text(f"{name}.left", left, of_left),
                text(f"{name}.similar", right, of_right),
                text(f"{name}.dissimilar", signals(), marks()),
                frozenset(zip(i.tolist(), j.tolist(), strict=True)),
                bool(votes.sum() > 0),
            )
        )
    return tasks, wm.Precomputed(vectors)


def tuned_ranker(folder: Path, adapter: Adapter | None) -> wm.Ranker:
    """A ranker over the model in a folder, which sees the names of planted texts and can learn them by heart."""
    torch.manual_seed(0)
    return wm.Ranker(wm.Aligner("line", FineTuned(folder, adapter=adapter, device="cpu")), wm.Exactly(LINKS))


@dataclass
class PlantedTask:
    """A task made of what a test wants: what items cost, and how good the model is."""

    model: torch.nn.Module
    losses: Callable[[Sequence[Any]], Tensor]
    validate: Callable[[], float]
    measure: str = "score"

    def size(self, item: Any) -> Size:
        return Size()

    def draw(self, item: Any, generator: torch.Generator) -> Any:
        return item

    def loss(self, items: Sequence[Any]) -> Tensor:
        return self.losses(items)

    def score(self) -> float:
        return self.validate()

    def calibrate(self, report: Callable[[str], None]) -> None:
        pass
