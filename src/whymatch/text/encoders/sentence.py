"""Spans encoded alone by a sentence model, pooled as the model was trained to: frozen, or fine-tuned."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from whymatch.text.encoders.adapter import Adapter
from whymatch.text.encoders.models import MINILM, is_folder, locate, short
from whymatch.text.encoders.modules import LIMITS, MODULES, Pooling, read_pooling, sentence_files
from whymatch.text.encoders.network import Network, load
from whymatch.text.encoders.trainable import to_array
from whymatch.text.encoders.tuning import TunedEncoder
from whymatch.text.spans import Span


class SentenceEncoder:
    """Each span encoded alone by a sentence model; MiniLM unless told otherwise.

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
        self.size = self.pooling.size(self.network.size)

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        with torch.no_grad():
            vectors, rows = _encode_spans(self.network, self.pooling, texts, spans)
        array = to_array(vectors)
        return [array[own] for own in rows]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, special ones not counted."""
        return self.network.token_counts(texts)

    def reads(self, pieces: Sequence[str]) -> list[bool]:
        """Whether the model knows most tokens of each piece; the bundled model knows the Latin script alone."""
        return self.network.reads(pieces, only_latin=self.name == MINILM)


class FineTuned(TunedEncoder):
    """As `SentenceEncoder`, with a copy of the model of its own, whose weights or whose `adapter` are trained."""

    contextual = False

    def __init__(
        self,
        model: str | Path = MINILM,
        *,
        adapter: Adapter | None = None,
        device: str | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(model, adapter, device, download)
        self.pooling = read_pooling(self._start.folder)
        if self.pooling.learned:
            raise ValueError(f"{model} has a Dense layer, which is not trained here. Use a model without it.")
        self.eval()  # as the network is after loading

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        vectors, rows = _encode_spans(self.network, self.pooling, texts, spans)
        return [vectors[own] for own in rows]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, special ones not counted."""
        return self.network.token_counts(texts)

    def reads(self, pieces: Sequence[str]) -> list[bool]:
        """Whether the model knows most tokens of each piece."""
        return self.network.reads(pieces)

    def export(self, folder: Path) -> None:
        """Writes the whole model as this class, `SentenceEncoder` and sentence-transformers read it."""
        super().export(folder)
        kinds = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
        modules = [
            {"idx": i, "name": str(i), "path": place, "type": f"sentence_transformers.models.{kind}"}
            for i, (kind, place) in enumerate(kinds.items())
            if kind != "Normalize" or self.pooling.unit
        ]
        by_mean = self.pooling.by_mean
        modes = {"pooling_mode_mean_tokens": by_mean, "pooling_mode_cls_token": not by_mean}
        (folder / "1_Pooling").mkdir(exist_ok=True)
        for name, values in (
            (MODULES, modules),
            ("1_Pooling/config.json", {"word_embedding_dimension": self.size, **modes}),
            (LIMITS, {"max_seq_length": min(self.pooling.room, self.network.room)}),
        ):
            (folder / name).write_text(json.dumps(values))

    def _base_files(self, folder: Path) -> list[str]:
        return sentence_files(folder)


def _encode_spans(
    network: Network, pooling: Pooling, texts: Sequence[str], spans: Sequence[Sequence[Span]]
) -> tuple[Tensor, list[list[int]]]:
    """The vectors of all distinct spans, (distinct, dimensions), and for each text the rows of its spans among them."""
    pieces = [[text[start:end] for start, end in own] for text, own in zip(texts, spans, strict=True)]
    row = {piece: i for i, piece in enumerate(dict.fromkeys(piece for own in pieces for piece in own))}
    return pooled(network, list(row), pooling), [[row[piece] for piece in own] for own in pieces]


def pooled(network: Network, pieces: Sequence[str], pooling: Pooling) -> Tensor:
    """(pieces, dimensions); a piece in several windows is the mean over the tokens of all of them, or their first."""
    windows, owner = [], []
    size = max(1, min(network.fits, pooling.room - len(network.before) - len(network.after)))
    for number, tokens in enumerate(network.tokens(pieces)):
        for start in range(0, max(len(tokens), 1), size):
            windows.append(network.window(tokens.ids[start : start + size]))
            owner.append(number)
    sums = torch.zeros(len(pieces), network.size, device=network.device)
    counts = torch.zeros(len(pieces), device=network.device)
    for numbers, states in network.batches(windows):
        sizes = [len(windows[number]) if pooling.by_mean else 1 for number in numbers]
        lengths = torch.tensor(sizes, device=network.device)
        counted = torch.arange(states.shape[1], device=network.device)[None] < lengths[:, None]
        owners = torch.tensor([owner[number] for number in numbers], device=network.device)
        sums.index_add_(0, owners, (states * counted[:, :, None]).sum(dim=1))
        counts.index_add_(0, owners, lengths.float())
    vectors: Tensor = pooling.layers(sums / counts.clamp(min=1)[:, None])
    return vectors
