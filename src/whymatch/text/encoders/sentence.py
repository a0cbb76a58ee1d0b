"""Spans encoded alone by a sentence model whose weights stay as they are, pooled as the model was trained to."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from whymatch.text.encoders.backends import load_frozen
from whymatch.text.encoders.folders import check_not_static
from whymatch.text.encoders.models import MINILM, is_folder, locate, short
from whymatch.text.encoders.modules import Pooling, read_pooling
from whymatch.text.encoders.windows import Rows, WindowNetwork, as_array, ranges, summed_rows
from whymatch.text.spans import Span


class SentenceEncoder:
    """Each span encoded alone by a sentence model; MiniLM unless told otherwise.

    Vectors equal those of sentence-transformers for models that pool by the mean or by the first token, with any Dense
    and Normalize after that; other kinds are refused. A span longer than the model takes is read in windows, where
    sentence-transformers would cut it off.

    `backend` is as for `load_frozen`: OpenVINO on a CPU, in bfloat16 where the processor has it, torch elsewhere.

    >>> import whymatch as wm
    >>> encoder = wm.SentenceEncoder()
    >>> [rows] = encoder.encode(["A cat slept. It rained."], [[wm.Span(0, 12), wm.Span(13, 23)]])
    >>> rows.shape                                                 # (spans, dimensions)
    (2, 384)

    Args:
        model: the name or the folder of a sentence model.
        device: where torch computes, such as "cuda"; a GPU if there is one.
        download: whether a model may be fetched from the Hugging Face hub.
        backend: "openvino", "openvino float32" or "torch", in place of the choice that is made.

    Raises:
        ValueError: if the model is not on this machine, or of a kind that cannot be read.
    """

    contextual = False

    def __init__(
        self,
        model: str | Path = MINILM,
        *,
        device: str | None = None,
        download: bool = False,
        backend: str | None = None,
    ) -> None:
        self.name, self.local = short(model), is_folder(model)
        self.folder = locate(model, download=download)
        check_not_static(self.folder)
        self.pooling = read_pooling(self.folder)
        self.network = load_frozen(self.folder, device, backend)
        self.network.prepare()
        self.size = self.pooling.size(self.network.size)
        self.languages = frozenset({"en"}) if self.name == MINILM else None

    @property
    def backend(self) -> str:
        """The library that computes, and its precision: "openvino bfloat16", "torch float32"."""
        return self.network.backend

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        pieces, rows = distinct_pieces(texts, spans)
        with self.network.frozen():
            vectors = self.pooling.finished(as_array(pooled(self.network, pieces, self.pooling)))
        return [vectors[own] for own in rows]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, special ones not counted."""
        return self.network.token_counts(texts)

    def reads(self, pieces: Sequence[str]) -> list[bool]:
        """Whether the model knows most tokens of each piece; the bundled model knows the Latin script alone."""
        return self.network.reads(pieces, only_latin=self.name == MINILM)


def distinct_pieces(texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> tuple[list[str], list[list[int]]]:
    """The distinct spans of all texts, and for each text the numbers of its spans among them."""
    pieces = [[text[start:end] for start, end in own] for text, own in zip(texts, spans, strict=True)]
    row = {piece: i for i, piece in enumerate(dict.fromkeys(piece for own in pieces for piece in own))}
    return list(row), [[row[piece] for piece in own] for own in pieces]


def pooled(network: WindowNetwork, pieces: Sequence[str], pooling: Pooling) -> Rows:
    """(pieces, dimensions) before the layers after pooling, as rows of the network.

    A piece in several windows is the mean over the tokens of all of them, or over their first tokens.
    """
    windows, owners = list[list[int]](), list[int]()
    size = max(1, min(network.fits, pooling.room - len(network.before) - len(network.after)))
    for number, tokens in enumerate(network.tokens(pieces)):
        for start in range(0, max(len(tokens), 1), size):
            windows.append(network.window(tokens.ids[start : start + size]))
            owners.append(number)
    lengths = np.array([len(window) if pooling.by_mean else 1 for window in windows], dtype=np.int64)
    sums, row_of, total = list[Rows](), np.full(len(windows), -1), 0
    for numbers, states, first_rows in network.batches(windows):
        row_of[numbers] = total + np.arange(len(numbers))
        sums.append(summed_rows(states, ranges(first_rows, lengths[numbers]), lengths[numbers]))
        total += len(numbers)
    read = row_of >= 0  # an empty window is not read
    owner = np.array(owners, dtype=np.int64)[read]
    counts = np.bincount(owner, minlength=len(pieces))
    tokens_read = np.bincount(owner, weights=lengths[read], minlength=len(pieces)).astype(np.float32)
    total_sums = summed_rows(network.joined(sums), row_of[read], counts)
    divisors = np.maximum(tokens_read, 1)[:, None]
    return total_sums / (divisors if isinstance(total_sums, np.ndarray) else total_sums.new_tensor(divisors))
