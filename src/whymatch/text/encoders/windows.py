"""What encoders need of a network: tokens with their places in a text, and texts read in windows of tokens.

`Network` (torch) and `CompiledNetwork` (OpenVINO) are its two kinds. Rows of vectors are tensors of torch or arrays of
numpy accordingly, and what is computed from them here is written once for both.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

Rows: TypeAlias = Any
"""(rows, dimensions): an array of numpy or a tensor of torch."""


class WindowNetwork(ABC):
    """A network with its tokenizer. A window is a list of token numbers that the network reads at once."""

    before: list[int]
    """The special tokens before a text."""
    after: list[int]
    room: int
    """Tokens that fit in a window, special ones included."""

    @property
    @abstractmethod
    def backend(self) -> str:
        """The library that computes, and its precision: "openvino bfloat16", "torch float32"."""

    @property
    @abstractmethod
    def layers(self) -> int:
        """The number of transformer layers."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The length of a token's vector."""

    @property
    @abstractmethod
    def unknown_token(self) -> int | None:
        """The token that stands for what the tokenizer does not know."""

    @property
    @abstractmethod
    def plain_tokenizer(self) -> "Tokenizer":
        """The tokenizer without truncation and padding, which nobody changes while it is in use."""

    @abstractmethod
    def batches(
        self, windows: Sequence[list[int]], layer: int | None = None
    ) -> Iterator[tuple[list[int], Rows, np.ndarray]]:
        """The numbers of windows, the states of their tokens as rows, and the row of each window's first token.

        The rows of a window follow one another. States are those of a layer, the last one by default. The longest
        windows come first, and empty ones are left out.
        """

    @abstractmethod
    def joined(self, parts: Sequence[Rows]) -> Rows:
        """The rows of all parts, of which there may be none."""

    def prepare(self, layer: int | None = None) -> None:  # noqa: B027 (there is nothing to do on torch)
        """Does now what the first call of `batches` for a layer would do; raises ValueError where it cannot."""

    def frozen(self) -> AbstractContextManager[Any]:
        """A block in which no gradients are kept."""
        return nullcontext()

    @property
    def fits(self) -> int:
        """Tokens of a text that fit between the special ones."""
        return self.room - len(self.before) - len(self.after)

    def window(self, tokens: list[int]) -> list[int]:
        """Tokens with the special ones around them."""
        return [*self.before, *tokens, *self.after]

    def tokens(self, texts: Sequence[str]) -> "list[Encoding]":
        """The tokens of each text (`ids`, `offsets`), without special ones and without truncation."""
        return self.plain_tokenizer.encode_batch([*texts], add_special_tokens=False)

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, special ones not counted; other threads may run meanwhile."""
        return [len(tokens) for tokens in self.plain_tokenizer.encode_batch_fast([*texts], add_special_tokens=False)]

    def reads(self, pieces: Sequence[str], *, only_latin: bool = False) -> list[bool]:
        """Whether half or more of the tokens of each piece are known to the tokenizer.

        `only_latin` says that the model knows no other scripts: at least half of the letters have to be Latin then.
        """
        unknown = self.unknown_token
        encoded = self.plain_tokenizer.encode_batch_fast([*pieces], add_special_tokens=False)
        return [
            0 < len(ids) >= 2 * (ids.count(unknown) if unknown is not None else 0)
            and not (only_latin and _mostly_other_script(piece))
            for ids, piece in zip((tokens.ids for tokens in encoded), pieces, strict=True)
        ]

    def read(self, windows: Sequence[list[int]], layer: int | None = None) -> tuple[Rows, np.ndarray]:
        """The states of the tokens of all windows, (rows, size), and the row of each window's first token."""
        return self._gathered(len(windows), self.batches(windows, layer))

    def _gathered(self, count: int, batches: Iterator[tuple[list[int], Rows, np.ndarray]]) -> tuple[Rows, np.ndarray]:
        """The rows of all batches of `count` windows, and the row of each window's first token among them."""
        parts, first_rows, total = list[Rows](), np.zeros(count, np.int64), 0
        for numbers, rows, firsts in batches:
            first_rows[numbers] = total + firsts
            parts.append(rows)
            total += len(rows)
        return self.joined(parts), first_rows


def special_tokens(bare: list[int], full: list[int]) -> tuple[list[int], list[int]]:
    """The special tokens before and after a text, from its tokens without and with them.

    >>> special_tokens([7], [101, 7, 102])
    ([101], [102])
    """
    start = next(i for i in range(len(full)) if full[i : i + len(bare)] == bare)
    return full[:start], full[start + len(bare) :]


def ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Whole numbers from each start on, as many as its count says, one after another.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    return np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())


def summed_rows(vectors: Rows, rows: np.ndarray, counts: np.ndarray) -> Rows:
    """(groups, dimensions): the sums of rows of `vectors`; `rows` has those of each group, one group after another.

    `counts` says how many rows each group has. A group without rows has the zero vector.
    """
    if not isinstance(vectors, np.ndarray):
        return _summed_tensors(vectors, rows, counts)
    sums, filled = np.zeros((len(counts), vectors.shape[1]), vectors.dtype), counts > 0
    if filled.any():
        sums[filled] = np.add.reduceat(vectors[rows], (np.cumsum(counts) - counts)[filled], axis=0)
    return sums


def _summed_tensors(vectors: Rows, rows: np.ndarray, counts: np.ndarray) -> Rows:
    import torch

    lengths, chosen = (torch.from_numpy(values).to(vectors.device) for values in (counts, rows))
    return torch.segment_reduce(vectors[chosen], "sum", lengths=lengths, unsafe=True)  # a check would wait for the GPU


def mean_rows(vectors: Rows, rows: np.ndarray, counts: np.ndarray) -> Rows:
    """(groups, dimensions): the means in place of the sums of `summed_rows`."""
    sums, divisors = summed_rows(vectors, rows, counts), np.maximum(counts, 1).astype(np.float32)[:, None]
    if isinstance(sums, np.ndarray):
        return sums / divisors
    return sums / sums.new_tensor(divisors)


def as_array(vectors: Rows) -> np.ndarray:
    """An array, or a tensor without gradients, as an array in single precision."""
    return vectors if isinstance(vectors, np.ndarray) else vectors.float().cpu().numpy()


def _mostly_other_script(piece: str) -> bool:
    """Whether most letters of a text are not Latin.

    >>> [_mostly_other_script(text) for text in ("naïve", "12 °C", "5 µm", "the word 漢字", "漢字 (kanji)", "Привет")]
    [False, False, False, False, False, True]
    """
    import regex  # knows scripts

    return len(regex.findall(r"(?V1)[\p{L}--\p{Latin}]", piece)) > len(regex.findall(r"\p{Latin}", piece))
