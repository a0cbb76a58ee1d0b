"""One vector for a word in its context, from the middle of a Hugging Face encoder."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from whymatch.text.encoders.models import MINILM, is_folder, locate, short
from whymatch.text.encoders.network import Network, load
from whymatch.text.encoders.trainable import to_array
from whymatch.text.spans import Span, overlaps


class WordEncoder:
    """Each text encoded once, and the mean of the sub-words that a span covers, from one layer.

    A middle layer says most about words, and is the default. Texts longer than the model takes are read in windows that
    overlap by half, and each sub-word is taken from the window in which it stands farthest from an edge. A span that
    the tokenizer drops (a lone control character) has the zero vector.
    """

    contextual = True

    def __init__(
        self, model: str | Path = MINILM, *, layer: int | None = None, device: str | None = None, download: bool = False
    ) -> None:
        self.folder = locate(model, download=download)
        self.network = load(self.folder, device)
        layers = self.network.layers
        self.layer = layers // 2 if layer is None else layer
        if not 0 <= self.layer <= layers:
            raise ValueError(f"{model} has layers 0 (its input) to {layers}, got {layer}.")
        self.model, self.local = short(model), is_folder(model)
        self.size = int(self.network.model.config.hidden_size)

    @property
    def name(self) -> str:
        return f"{self.model}, layer {self.layer}"

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        with torch.no_grad():
            return [to_array(some) for some in by_text(in_context(self.network, texts, spans, self.layer), spans)]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens the model reads for each text: those of all windows."""
        return in_windows(self.network, texts)


def in_windows(network: Network, texts: Sequence[str]) -> list[int]:
    """How many tokens the overlapping windows of each text hold."""
    return [
        sum(min(count, network.fits) for _ in overlapping(count, network.fits)) for count in network.token_counts(texts)
    ]


def in_context(
    network: Network, texts: Sequence[str], spans: Sequence[Sequence[Span]], layer: int | None = None
) -> Tensor:
    """(spans of all texts, dimensions), each distinct text read once; from the last layer unless told."""
    distinct = list(dict.fromkeys(texts))
    states, found = subwords(network, distinct, layer)
    known = dict(zip(distinct, found, strict=True))
    rows = []
    for text, some in zip(texts, spans, strict=True):
        of_text, offsets = known[text]
        rows += [of_text[inside.start : inside.stop] for inside in overlaps(offsets, some)]
    return mean_over(states, rows)


def by_text(vectors: Tensor, spans: Sequence[Sequence[Span]]) -> list[Tensor]:
    """The vectors of all spans, one after another, as those of each text."""
    return list(torch.split(vectors, [len(some) for some in spans]))


def subwords(
    network: Network, texts: Sequence[str], layer: int | None
) -> tuple[Tensor, list[tuple[np.ndarray, list[tuple[int, int]]]]]:
    """Vectors (rows, dimensions), and for each text the rows of its sub-words and their offsets."""
    tokenized = network.tokens(texts) if texts else {"input_ids": [], "offset_mapping": []}
    windows, places, shift = [], [], len(network.before)
    for number, tokens in enumerate(tokenized["input_ids"]):
        for start, first, last in overlapping(len(tokens), network.fits):
            windows.append(network.window(tokens[start : start + network.fits]))
            places.append((number, np.arange(shift + first - start, shift + last - start)))
    states, begin = network.read(windows, layer)
    rows: list[list[np.ndarray]] = [[] for _ in texts]
    for row, (number, taken) in zip(begin, places, strict=True):
        rows[number].append(row + taken)
    return states, list(zip(map(np.concatenate, rows), tokenized["offset_mapping"], strict=True))


def mean_over(vectors: Tensor, rows: Sequence[np.ndarray]) -> Tensor:
    """The mean of some rows, for each choice of them; zero for none."""
    chosen = torch.from_numpy(np.concatenate([np.zeros(0, np.int64), *rows])).to(vectors.device)
    lengths = torch.tensor([len(some) for some in rows], dtype=torch.long, device=vectors.device)
    inside = vectors[chosen]
    sums = torch.segment_reduce(inside, "sum", lengths=lengths, unsafe=True)  # the check would wait for the GPU
    return sums / lengths.clamp(min=1)[:, None]


def overlapping(length: int, size: int) -> list[tuple[int, int, int]]:
    """Windows that overlap by half: where each starts, and the first and last token that are taken from it.

    >>> overlapping(10, 4)
    [(0, 0, 3), (2, 3, 5), (4, 5, 7), (6, 7, 10)]
    """
    starts = [0] if length <= size else [*range(0, length - size, size - size // 2), length - size]
    edges = [0, *(((a + size) + b) // 2 for a, b in pairwise(starts)), length]
    return [(start, edges[i], edges[i + 1]) for i, start in enumerate(starts)]
