"""Spans encoded in their context: a text is read as a whole, and a span is the mean of its sub-words."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from whymatch.text.encoders.backends import load_frozen
from whymatch.text.encoders.folders import check_not_static
from whymatch.text.encoders.models import MINILM, is_folder, locate, short
from whymatch.text.encoders.windows import Rows, WindowNetwork, as_array, mean_rows
from whymatch.text.spans import Span, overlaps


class WordEncoder:
    """Each text encoded once, and the mean of the sub-words that a span covers, from one layer.

    A middle layer says most about words, and is the default. Texts longer than the model takes are read in windows that
    overlap by half, and each sub-word is taken from the window in which it stands farthest from an edge. A span that
    the tokenizer drops (a lone control character) has the zero vector. Layers above the chosen one are not computed on
    OpenVINO; `backend` is as for `SentenceEncoder`.

    >>> import whymatch as wm
    >>> encoder = wm.WordEncoder(layer=3)
    >>> [rows] = encoder.encode(["A cat slept."], [[wm.Span(2, 5), wm.Span(6, 11)]])
    >>> rows.shape                                                 # (spans, dimensions)
    (2, 384)

    Args:
        model: the name or the folder of a model of a transformer.
        layer: whose states are the vectors; 0 is the input, and the middle one the default.
        device: as for `SentenceEncoder`.
        download: as for `SentenceEncoder`.
        backend: as for `SentenceEncoder`.

    Raises:
        ValueError: if the model is not on this machine, or has no such layer.
    """

    contextual = True

    def __init__(
        self,
        model: str | Path = MINILM,
        *,
        layer: int | None = None,
        device: str | None = None,
        download: bool = False,
        backend: str | None = None,
    ) -> None:
        self.folder = locate(model, download=download)
        check_not_static(self.folder)
        self.network = load_frozen(self.folder, device, backend)
        layers = self.network.layers
        self.layer = layers // 2 if layer is None else layer
        if not 0 <= self.layer <= layers:
            raise ValueError(f"{model} has layers 0 (its input) to {layers}, got {layer}.")
        self.network.prepare(self.layer)
        self.model, self.local = short(model), is_folder(model)
        self.size = self.network.size
        self.languages = frozenset({"en"}) if self.model == MINILM else None

    @property
    def name(self) -> str:
        return f"{self.model}, layer {self.layer}"

    @property
    def backend(self) -> str:
        """The library that computes, and its precision: "openvino bfloat16", "torch float32"."""
        return self.network.backend

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        with self.network.frozen():
            return [as_array(vectors) for vectors in read_texts(self.network, texts, spans, self.layer)]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens the model reads for each text: those of all windows."""
        return tokens_in_windows(self.network, texts)

    def reads(self, pieces: Sequence[str]) -> list[bool]:
        """Whether the model knows most tokens of each piece; the bundled model knows the Latin script alone."""
        return self.network.reads(pieces, only_latin=self.model == MINILM)


def tokens_in_windows(network: WindowNetwork, texts: Sequence[str]) -> list[int]:
    """How many tokens the overlapping windows of each text hold."""
    size = network.fits
    return [sum(min(count, size) for _ in overlapping(count, size)) for count in network.token_counts(texts)]


def read_texts(
    network: WindowNetwork, texts: Sequence[str], spans: Sequence[Sequence[Span]], layer: int | None = None
) -> list[Rows]:
    """(spans, dimensions) for each text from a layer, the last one by default; each distinct text is read once."""
    distinct = list(dict.fromkeys(texts))
    tokenized = dict(zip(distinct, network.tokens(distinct), strict=True))
    windows, places, shift = [], [], len(network.before)
    for text, tokens in tokenized.items():
        for start, first, last in overlapping(len(tokens), network.fits):
            windows.append(network.window(tokens.ids[start : start + network.fits]))
            places.append((text, np.arange(shift + first - start, shift + last - start)))
    states, first_rows = network.read(windows, layer)
    subwords: dict[str, list[np.ndarray]] = {text: [] for text in distinct}
    for first_row, (text, taken) in zip(first_rows, places, strict=True):
        subwords[text].append(first_row + taken)
    rows_of = {text: np.concatenate(rows) for text, rows in subwords.items()}
    rows = [
        rows_of[text][inside.start : inside.stop]
        for text, own in zip(texts, spans, strict=True)
        for inside in overlaps(tokenized[text].offsets, own)
    ]
    return split_means(states, rows, spans)


def split_means(states: Rows, rows: Sequence[np.ndarray], spans: Sequence[Sequence[Span]]) -> list[Rows]:
    """The means of the rows of each span, (spans, dimensions) for each text."""
    counts = np.array([len(own) for own in rows], dtype=np.int64)
    means = mean_rows(states, np.concatenate([np.zeros(0, np.int64), *rows]), counts)
    ends = np.cumsum([0, *(len(own) for own in spans)]).tolist()
    return [means[start:end] for start, end in pairwise(ends)]


def overlapping(length: int, size: int) -> list[tuple[int, int, int]]:
    """Windows that overlap by half: where each starts, and the first and last token that are taken from it.

    >>> overlapping(10, 4)
    [(0, 0, 3), (2, 3, 5), (4, 5, 7), (6, 7, 10)]
    """
    starts = [0] if length <= size else [*range(0, length - size, size - size // 2), length - size]
    edges = [0, *(((a + size) + b) // 2 for a, b in pairwise(starts)), length]
    return [(start, edges[i], edges[i + 1]) for i, start in enumerate(starts)]
