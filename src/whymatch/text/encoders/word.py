"""One vector for a word in its context, from the middle of a Hugging Face encoder."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor

from whymatch.text.encoders.models import MINILM, Network, load, locate, short
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
        self.model, self.local = short(model), Path(model).is_dir()
        self.size = int(self.network.model.config.hidden_size)

    @property
    def name(self) -> str:
        return f"{self.model}, layer {self.layer}"

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        with torch.no_grad():
            return by_text(in_context(self.network, texts, spans, self.layer).cpu(), spans)


def in_context(
    network: Network, texts: Sequence[str], spans: Sequence[Sequence[Span]], layer: int | None = None
) -> Tensor:
    """(spans of all texts, dimensions), each distinct text read once; from the last layer unless told."""
    distinct = list(dict.fromkeys(texts))
    encoded = subwords(network, distinct, layer)
    first, total = {}, 0
    for text, (vectors, offsets) in zip(distinct, encoded, strict=True):
        first[text] = total, offsets
        total += len(vectors)
    ranges = []
    for text, some in zip(texts, spans, strict=True):
        start, offsets = first[text]
        ranges += [range(start + inside.start, start + inside.stop) for inside in overlaps(offsets, some)]
    none = torch.zeros(0, int(network.model.config.hidden_size), device=network.device)
    return mean_over(torch.cat([none, *(vectors for vectors, _ in encoded)]), ranges)


def by_text(vectors: Tensor, spans: Sequence[Sequence[Span]]) -> list[Tensor]:
    """The vectors of all spans, one after another, as those of each text."""
    return list(torch.split(vectors, [len(some) for some in spans]))


def subwords(network: Network, texts: Sequence[str], layer: int | None) -> list[tuple[Tensor, list[tuple[int, int]]]]:
    """Vectors (sub-words, dimensions) and offsets for each text."""
    if not texts:
        return []
    tokenized = network.tokens(texts)
    windows, places, shift = [], [], len(network.before)
    for number, tokens in enumerate(tokenized["input_ids"]):
        for start, first, last in overlapping(len(tokens), network.fits):
            windows.append(network.window(tokens[start : start + network.fits]))
            places.append((number, slice(shift + first - start, shift + last - start)))
    parts: dict[int, dict[int, Tensor]] = {number: {} for number in range(len(texts))}
    for place, states in network.states(windows, layer):
        number, taken = places[place]
        parts[number][place] = states[taken]
    none = torch.zeros(0, int(network.model.config.hidden_size), device=network.device)
    joined = [torch.cat([none, *(found[place] for place in sorted(found))]) for found in parts.values()]
    return list(zip(joined, tokenized["offset_mapping"], strict=True))


def pool(vectors: Tensor, offsets: list[tuple[int, int]], spans: Sequence[Span]) -> Tensor:
    """The mean of the sub-words that overlap each span."""
    return mean_over(vectors, overlaps(offsets, spans))


def mean_over(vectors: Tensor, ranges: Sequence[range]) -> Tensor:
    """The mean of the rows in each range, zero for an empty one."""
    rows = torch.tensor([row for some in ranges for row in some], dtype=torch.long, device=vectors.device)
    lengths = torch.tensor([len(some) for some in ranges], dtype=torch.long, device=vectors.device)
    sums = torch.segment_reduce(vectors[rows], "sum", lengths=lengths, unsafe=True)  # the check would wait for the GPU
    return sums / lengths.clamp(min=1)[:, None]


def overlapping(length: int, size: int) -> list[tuple[int, int, int]]:
    """Windows that overlap by half: where each starts, and the first and last token that are taken from it.

    >>> overlapping(10, 4)
    [(0, 0, 3), (2, 3, 5), (4, 5, 7), (6, 7, 10)]
    """
    starts = [0] if length <= size else [*range(0, length - size, size - size // 2), length - size]
    edges = [0, *(((a + size) + b) // 2 for a, b in pairwise(starts)), length]
    return [(start, edges[i], edges[i + 1]) for i, start in enumerate(starts)]
