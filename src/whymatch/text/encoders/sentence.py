"""One vector for a span by itself, pooled as the model was trained to."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from whymatch.text.encoders.models import MINILM, is_folder, locate, short
from whymatch.text.encoders.modules import Pooling, read_pooling
from whymatch.text.encoders.network import Network, load
from whymatch.text.encoders.trainable import to_array
from whymatch.text.spans import Span


class SentenceEncoder:
    """Each span encoded alone by a sentence model; MiniLM unless told.

    Vectors equal those of sentence-transformers for models that pool by the mean or by the first token, with any Dense
    and Normalize after that; other kinds are refused. A span longer than the model takes is read in windows, where
    sentence-transformers would cut it off.
    """

    contextual = False

    def __init__(self, model: str | Path = MINILM, *, device: str | None = None, download: bool = False) -> None:
        self.name, self.local = short(model), is_folder(model)
        self.folder = locate(model, download=download)
        self.pooling = read_pooling(self.folder)
        self.network = load(self.folder, device)
        self.pooling.layers.to(self.network.device)
        self.size = self.pooling.size(int(self.network.model.config.hidden_size))

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        pieces = [[text[start:end] for start, end in some] for text, some in zip(texts, spans, strict=True)]
        distinct = list(dict.fromkeys(piece for some in pieces for piece in some))
        if not distinct:
            return [np.zeros((0, self.size), np.float32) for _ in texts]
        with torch.no_grad():
            vectors = to_array(pooled(self.network, distinct, self.pooling))
        number = {piece: i for i, piece in enumerate(distinct)}
        return [vectors[[number[piece] for piece in some]] for some in pieces]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, special ones not counted."""
        return self.network.token_counts(texts)


def pooled(network: Network, pieces: Sequence[str], pooling: Pooling) -> Tensor:
    """(pieces, dimensions); a piece in several windows is the mean over the tokens of all of them, or their first."""
    windows, owner = [], []
    size = max(1, min(network.fits, pooling.room - len(network.before) - len(network.after)))
    for number, tokens in enumerate(network.tokens(pieces)["input_ids"] if pieces else []):
        for start in range(0, max(len(tokens), 1), size):
            windows.append(network.window(tokens[start : start + size]))
            owner.append(number)
    sums = torch.zeros(len(pieces), network.model.config.hidden_size, device=network.device)
    counts = torch.zeros(len(pieces), device=network.device)
    for numbers, states in network.batches(windows):
        sizes = [len(windows[number]) if pooling.by_mean else 1 for number in numbers]
        lengths = torch.tensor(sizes, device=network.device)
        counted = torch.arange(states.shape[1], device=network.device)[None] < lengths[:, None]
        of = torch.tensor([owner[number] for number in numbers], device=network.device)
        sums.index_add_(0, of, (states * counted[:, :, None]).sum(dim=1))
        counts.index_add_(0, of, lengths.float())
    vectors: Tensor = pooling.layers(sums / counts.clamp(min=1)[:, None])
    return vectors
