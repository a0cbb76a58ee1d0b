"""Hugging Face models whose weights are trained further: spans read alone, or in their context."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from torch import Tensor

from whymatch.text.document import Document
from whymatch.text.encoders.adapter import Adapter
from whymatch.text.encoders.context import read_texts, split_means, tokens_in_windows
from whymatch.text.encoders.models import MINILM
from whymatch.text.encoders.modules import LIMITS, MODULES, read_pooling, sentence_files
from whymatch.text.encoders.sentence import distinct_pieces, pooled
from whymatch.text.encoders.trainable import to_array
from whymatch.text.encoders.tuning import TunedEncoder
from whymatch.text.spans import Span, overlaps


class FineTuned(TunedEncoder):
    """As `SentenceEncoder`, with a copy of the model of its own, whose weights or whose `adapter` are trained.

    >>> import whymatch as wm
    >>> encoder = wm.learning.FineTuned(adapter=wm.learning.Adapter(rank=4))
    >>> [rows] = encoder.encode(["A cat slept."], [[wm.Span(0, 12)]])
    >>> rows.shape                                                 # (spans, dimensions)
    (1, 384)

    Args:
        model: the name or the folder of a sentence model.
        adapter: the size of a low-rank adapter, which is then trained in place of the weights.
        device: where torch computes.
        download: whether a model may be fetched from the Hugging Face hub.
    """

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
        pieces, rows = distinct_pieces(texts, spans)
        vectors: Tensor = self.pooling.finished(pooled(self.network, pieces, self.pooling))
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


class InContext(TunedEncoder):
    """Each text read as a whole, or with the other one where `jointly`; the model's weights or `adapter` are trained.

    What is predicted from such vectors is faithful to the vectors and not to the text: a span without a link may have
    had its part in the vector of one with a link.

    >>> import whymatch as wm
    >>> encoder = wm.learning.InContext(adapter=wm.learning.Adapter(rank=4))
    >>> [rows] = encoder.encode(["A cat slept. It rained."], [[wm.Span(0, 12), wm.Span(13, 23)]])
    >>> rows.shape, encoder.contextual                             # (spans, dimensions)
    ((2, 384), True)

    Args:
        model: the name or the folder of a model of a transformer.
        jointly: whether both texts are read together.
        adapter: as for `FineTuned`.
        device: as for `FineTuned`.
        download: as for `FineTuned`.
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
        return read_texts(self.network, texts, spans)

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
        vectors = split_means(states, rows, [text.spans for text in sides])
        return list(zip(vectors[::2], vectors[1::2], strict=True))

    def encode_pairs(self, pairs: Sequence[tuple[Document, Document]]) -> list[tuple[np.ndarray, np.ndarray]]:
        """The vectors of `pair_states` as arrays, without gradients and without dropout."""
        with self.at_rest():
            return [(to_array(left), to_array(right)) for left, right in self.pair_states(pairs)]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens the model reads for each text by itself: those of all windows."""
        return tokens_in_windows(self.network, texts)

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
