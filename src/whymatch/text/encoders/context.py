"""A model that reads whole texts and learns: the vector of a span is the mean of its sub-words."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from torch import Tensor

from whymatch.text.document import Document
from whymatch.text.encoders.models import MINILM, locate, short
from whymatch.text.encoders.network import load_own
from whymatch.text.encoders.trainable import TrainableEncoder, to_array
from whymatch.text.encoders.word import by_text, in_context, in_windows, mean_over
from whymatch.text.spans import Span, overlaps


class InContext(TrainableEncoder):
    """Each text read as a whole, or with the other one where `jointly`; the weights of the model learn.

    What is predicted from such vectors is faithful to the vectors and not to the text: a span that has no link may have
    had its part in the vector of one that has.
    """

    contextual = True
    tuned = True

    def __init__(
        self, model: str | Path = MINILM, *, jointly: bool = False, device: str | None = None, download: bool = False
    ) -> None:
        super().__init__()
        self.network = load_own(locate(model, download=download), device)
        self.model = self.network.model
        self.jointly = jointly
        self.size = int(self.model.config.hidden_size)
        self.name = f"{short(model)}, fine-tuned, {'both texts together' if jointly else 'in context'}"
        self.eval()  # as the network comes

    def states(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Tensor]:
        return by_text(in_context(self.network, texts, spans), spans)

    def pair_states(self, pairs: Sequence[tuple[Document, Document]]) -> list[tuple[Tensor, Tensor]]:
        """The vectors of both texts of each pair, read together.

        Texts that do not fit in one window are cut, every part of one is read with every part of the other, and a
        sub-word counts as often as it was read, which is the same for all of its text.
        """
        texts = list(dict.fromkeys(text.text for pair in pairs for text in pair))
        if not texts:
            return []
        tokenized = self.network.tokens(texts)
        tokens = dict(zip(texts, zip(tokenized["input_ids"], tokenized["offset_mapping"], strict=True), strict=True))
        windows, types, places = [], [], []
        for number, (left, right) in enumerate(pairs):
            ids = tokens[left.text][0], tokens[right.text][0]
            for i, j in product(*cuts(len(ids[0]), len(ids[1]), self.pair_room)):
                window, kinds, start = self.network.together(ids[0][i.start : i.stop], ids[1][j.start : j.stop])
                windows.append(window)
                types.append(kinds)
                places += [(2 * number, i, len(self.network.before)), (2 * number + 1, j, start)]
        states, begin = self.network.read(windows, types=types)
        read: list[dict[range, list[np.ndarray]]] = [{} for _ in range(2 * len(pairs))]
        for row, (side, some, start) in zip(begin.repeat(2), places, strict=True):
            read[side].setdefault(some, []).append(row + start + np.arange(len(some)))
        sides = [text for pair in pairs for text in pair]
        rows = []
        for text, parts in zip(sides, read, strict=True):
            often = np.concatenate([np.stack(some) for some in parts.values()], axis=1)
            covered = overlaps(tokens[text.text][1], text.spans)
            rows += [often[:, inside.start : inside.stop].ravel() for inside in covered]
        pooled = by_text(mean_over(states, rows), [text.spans for text in sides])
        return list(zip(pooled[::2], pooled[1::2], strict=True))

    def encode_pairs(self, pairs: Sequence[tuple[Document, Document]]) -> list[tuple[np.ndarray, np.ndarray]]:
        """As `pair_states`, as arrays without gradients and without dropout."""
        with self.at_rest():
            return [(to_array(left), to_array(right)) for left, right in self.pair_states(pairs)]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens the model reads for each text by itself: those of all windows."""
        return in_windows(self.network, texts)

    def pair_token_counts(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """How many tokens the model reads for each pair: each part of one text with each part of the other."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        known = dict(zip(texts, self.network.token_counts(texts), strict=True))
        parts = [cuts(known[left], known[right], self.pair_room) for left, right in pairs]
        return [sum(map(len, left)) * len(right) + len(left) * sum(map(len, right)) for left, right in parts]

    @property
    def pair_room(self) -> int:
        """Tokens of two texts that fit in one window."""
        return self.network.room - len(self.network.together([], [])[0])

    def write(self, folder: Path) -> None:
        """The model and its tokenizer."""
        self.network.write(folder)


def cuts(left: int, right: int, room: int) -> tuple[list[range], list[range]]:
    """Where two texts are cut so that any part of one and any part of the other fit in a window together.

    >>> cuts(3, 4, room=8)
    ([range(0, 3)], [range(0, 4)])
    >>> cuts(3, 9, room=8)
    ([range(0, 3)], [range(0, 5), range(5, 9)])
    """
    size = min(left, max(room // 2, room - right))
    sizes = max(size, 1), max(room - size, 1)
    return tuple(  # type: ignore[return-value]
        [range(start, min(start + most, length)) for start in range(0, max(length, 1), most)]
        for length, most in zip((left, right), sizes, strict=True)
    )
