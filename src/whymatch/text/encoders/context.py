"""Spans encoded in their context: a text is read as a whole, and a span is the mean of its sub-words."""

from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from whymatch.text.document import Document
from whymatch.text.encoders.adapter import Adapter
from whymatch.text.encoders.models import MINILM, is_folder, locate, short
from whymatch.text.encoders.network import Network, load
from whymatch.text.encoders.trainable import mean_rows, to_array
from whymatch.text.encoders.tuning import TunedEncoder
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
        self.size = self.network.size

    @property
    def name(self) -> str:
        return f"{self.model}, layer {self.layer}"

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        with torch.no_grad():
            return [to_array(vectors) for vectors in _read_texts(self.network, texts, spans, self.layer)]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens the model reads for each text: those of all windows."""
        return _tokens_in_windows(self.network, texts)

    def reads(self, pieces: Sequence[str]) -> list[bool]:
        """Whether the model knows most tokens of each piece; the bundled model knows the Latin script alone."""
        return self.network.reads(pieces, only_latin=self.model == MINILM)


class InContext(TunedEncoder):
    """Each text read as a whole, or with the other one where `jointly`; the model's weights or `adapter` are trained.

    What is predicted from such vectors is faithful to the vectors and not to the text: a span without a link may have
    had its part in the vector of one with a link.
    """

    contextual = True

    def __init__(
        self,
        model: str | Path = MINILM,
        *,
        jointly: bool = False,
        adapter: Adapter | None = None,
        device: str | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(model, adapter, device, download)
        self.jointly = jointly
        self.name += ", both texts together" if jointly else ", in context"
        self.eval()  # as the network is after loading

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        return _read_texts(self.network, texts, spans)

    def pair_states(self, pairs: Sequence[tuple[Document, Document]]) -> list[tuple[Tensor, Tensor]]:
        """The vectors of both texts of each pair, read together, with gradients.

        Texts that do not fit in one window are cut, every part of one is read with every part of the other, and a
        sub-word is the mean over all readings of it, of which there are as many for every sub-word of its text.
        """
        texts = list(dict.fromkeys(text.text for pair in pairs for text in pair))
        tokens = dict(zip(texts, self.network.tokens(texts), strict=True))
        windows, types, places = [], [], []
        for number, (left, right) in enumerate(pairs):
            ids = tokens[left.text].ids, tokens[right.text].ids
            for i, j in product(*cuts(len(ids[0]), len(ids[1]), self.pair_room)):
                window, kinds, start = self.network.together(ids[0][i.start : i.stop], ids[1][j.start : j.stop])
                windows.append(window)
                types.append(kinds)
                places += [(2 * number, i, len(self.network.before)), (2 * number + 1, j, start)]
        states, first_rows = self.network.read(windows, types=types)
        sides = [text for pair in pairs for text in pair]
        readings: list[dict[range, list[np.ndarray]]] = [{} for _ in sides]  # of each part of a text, its rows
        for first_row, (side, part, start) in zip(first_rows.repeat(2), places, strict=True):
            readings[side].setdefault(part, []).append(first_row + start + np.arange(len(part)))
        rows = []
        for text, parts in zip(sides, readings, strict=True):
            of_text = np.concatenate([np.stack(readings_of_part) for readings_of_part in parts.values()], axis=1)
            covered = overlaps(tokens[text.text].offsets, text.spans)
            rows += [of_text[:, inside.start : inside.stop].ravel() for inside in covered]
        vectors = _split(states, rows, [text.spans for text in sides])
        return list(zip(vectors[::2], vectors[1::2], strict=True))

    def encode_pairs(self, pairs: Sequence[tuple[Document, Document]]) -> list[tuple[np.ndarray, np.ndarray]]:
        """The vectors of `pair_states` as arrays, without gradients and without dropout."""
        with self.at_rest():
            return [(to_array(left), to_array(right)) for left, right in self.pair_states(pairs)]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens the model reads for each text by itself: those of all windows."""
        return _tokens_in_windows(self.network, texts)

    def reads(self, pieces: Sequence[str]) -> list[bool]:
        """Whether the model knows most tokens of each piece."""
        return self.network.reads(pieces)

    def pair_token_counts(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """How many tokens the model reads for each pair: each part of one text with each part of the other."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        counts = dict(zip(texts, self.network.token_counts(texts), strict=True))
        parts = [cuts(counts[left], counts[right], self.pair_room) for left, right in pairs]
        return [sum(map(len, left)) * len(right) + len(left) * sum(map(len, right)) for left, right in parts]

    @property
    def pair_room(self) -> int:
        """Tokens of two texts that fit in one window."""
        return self.network.room - len(self.network.together([], [])[0])


def _tokens_in_windows(network: Network, texts: Sequence[str]) -> list[int]:
    """How many tokens the overlapping windows of each text hold."""
    size = network.fits
    return [sum(min(count, size) for _ in overlapping(count, size)) for count in network.token_counts(texts)]


def _read_texts(
    network: Network, texts: Sequence[str], spans: Sequence[Sequence[Span]], layer: int | None = None
) -> list[Tensor]:
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
    return _split(states, rows, spans)


def _split(states: Tensor, rows: Sequence[np.ndarray], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
    """The means of the rows of each span, (spans, dimensions) for each text."""
    counts = np.array([len(own) for own in rows], dtype=np.int64)
    means = mean_rows(states, np.concatenate([np.zeros(0, np.int64), *rows]), counts)
    return list(torch.split(means, [len(own) for own in spans]))


def overlapping(length: int, size: int) -> list[tuple[int, int, int]]:
    """Windows that overlap by half: where each starts, and the first and last token that are taken from it.

    >>> overlapping(10, 4)
    [(0, 0, 3), (2, 3, 5), (4, 5, 7), (6, 7, 10)]
    """
    starts = [0] if length <= size else [*range(0, length - size, size - size // 2), length - size]
    edges = [0, *(((a + size) + b) // 2 for a, b in pairwise(starts)), length]
    return [(start, edges[i], edges[i + 1]) for i, start in enumerate(starts)]


def cuts(left: int, right: int, room: int) -> tuple[list[range], list[range]]:
    """Where two texts are cut so that any part of one and any part of the other fit in a window together.

    >>> cuts(3, 4, room=8)
    ([range(0, 3)], [range(0, 4)])
    >>> cuts(3, 9, room=8)
    ([range(0, 3)], [range(0, 5), range(5, 9)])
    """
    size = min(left, max(room // 2, room - right))
    return _parts(left, max(size, 1)), _parts(right, max(room - size, 1))


def _parts(length: int, size: int) -> list[range]:
    """A text in parts of a size; the last may be shorter, and an empty text is one part."""
    return [range(start, min(start + size, length)) for start in range(0, max(length, 1), size)]
