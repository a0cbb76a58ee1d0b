"""Static encoders, the fast lane without torch: each token has one vector, and a span is the mean of its tokens."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError
from tokenizers import Tokenizer

from whymatch.interruption import interruption_point
from whymatch.text.encoders.folders import CONFIG, STATIC, WEIGHTS, member, read_arrays, read_object
from whymatch.text.encoders.models import is_folder, locate, short
from whymatch.text.encoders.sentence import distinct_pieces
from whymatch.text.encoders.tokenizing import TOKENIZER
from whymatch.text.encoders.windows import summed_rows
from whymatch.text.spans import Span, words
from whymatch.text.vectors import WordVectors

_FREQUENT = 1e-3  # the share of all words from which on a word counts for less than half
_PIECES_PER_BATCH = 1024


class StaticEncoder:
    """Each span encoded alone, as the mean of the vectors of its tokens.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> from whymatch.text.vectors import WordVectors
    >>> vectors = WordVectors("two words", {"cat": 0, "dog": 1}, np.eye(2, dtype=np.float32))
    >>> [rows] = wm.StaticEncoder(vectors).encode(["a cat"], [[wm.Span(0, 5)]])
    >>> rows.shape                                                 # (spans, dimensions)
    (1, 2)

    Args:
        model: the folder or the name of a model2vec model, or word vectors, as `read_vectors` gives them. Words of a
            file that has the frequent ones first count the less, the more frequent they are.
        download: whether a model may be fetched from the Hugging Face hub.

    Vectors of a model equal those of model2vec, which cuts a text off after 512 tokens where this one reads all of it.
    A span of which no token is known has the zero vector.

    Raises:
        ValueError: if the folder holds no such model, or a damaged one.
    """

    contextual = False

    def __init__(self, model: str | Path | WordVectors, *, download: bool = False) -> None:
        if isinstance(model, WordVectors):
            self.name, table = model.name, _table_of_words(model)
        else:
            self.name, folder = short(model), locate(model, download=download)
            try:
                table = _read_table(folder)
            except (OSError, ValueError, SafetensorError) as error:
                raise ValueError(f"The model in {folder} cannot be loaded: {error}") from error
            self.local, self.folder = is_folder(model), folder
        self._table = table
        self.size = table.vectors.shape[1]

    def __repr__(self) -> str:
        return f"StaticEncoder({self.name})"

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        pieces, rows = distinct_pieces(texts, spans)
        vectors = np.zeros((len(pieces), self.size), np.float32)
        for start in range(0, len(pieces), _PIECES_PER_BATCH):
            interruption_point()
            chosen = pieces[start : start + _PIECES_PER_BATCH]
            vectors[start : start + len(chosen)] = self._table.means(chosen)
        return [vectors[own] for own in rows]

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has."""
        return [len(numbers) for numbers in self._table.tokens(texts)]

    def reads(self, pieces: Sequence[str]) -> list[bool]:
        """Whether half or more of the tokens of each piece are known."""
        tokens = self._table.tokens(pieces)
        known = [int((numbers >= 0).sum()) for numbers in tokens]
        return [0 < count >= len(numbers) - count for count, numbers in zip(known, tokens, strict=True)]


class _Table(NamedTuple):
    """The vectors of tokens, and which tokens a text has."""

    tokens: Callable[[Sequence[str]], list[np.ndarray]]
    """The numbers of the tokens of each text; -1 for unknown ones."""
    vectors: np.ndarray
    """(rows, dimensions)"""
    rows: np.ndarray | None
    """(tokens): the row of each token's vector, where tokens share rows."""
    weights: np.ndarray | None
    """(tokens): how much each token counts."""
    unit: bool
    """Whether the means are scaled to length 1."""

    def means(self, texts: Sequence[str]) -> np.ndarray:
        """(texts, dimensions)"""
        known = [numbers[numbers >= 0] for numbers in self.tokens(texts)]
        counts, numbers = np.array([len(own) for own in known]), np.concatenate(known)
        vectors = self.vectors[numbers if self.rows is None else self.rows[numbers]]
        if self.weights is not None:
            vectors = vectors * self.weights[numbers, None]
        means = summed_rows(vectors, np.arange(len(numbers)), counts) / np.maximum(counts, 1)[:, None]
        return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-30) if self.unit else means


def _read_table(folder: Path) -> _Table:
    """The tokens and the vectors of a model of model2vec; raises ValueError where a file is not as it should be."""
    config = read_object(folder, CONFIG)
    if config.get("model_type") != STATIC:
        raise ValueError(f"it is no static model: its config.json has the model_type {config.get('model_type')!r:.40}.")
    for name in (WEIGHTS, TOKENIZER):
        if not member(folder, name).is_file():
            raise ValueError(f"there is no {name} in it.")
    stored = read_arrays(member(folder, WEIGHTS))
    if "embeddings" not in stored:
        raise ValueError(f"{WEIGHTS} has no embeddings, but {', '.join(stored) or 'nothing'}.")
    vectors = np.ascontiguousarray(stored["embeddings"], np.float32)
    try:
        tokenizer = Tokenizer.from_str(member(folder, TOKENIZER).read_text(encoding="utf-8"))
    except Exception as error:  # tokenizers has no narrower one
        raise ValueError(f"{TOKENIZER} is damaged: {error}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    mapping, weights = stored.get("mapping"), stored.get("weights")
    count = max(tokenizer.get_vocab().values(), default=-1) + 1
    sizes = [len(values) for values in (vectors if mapping is None else mapping, weights) if values is not None]
    if vectors.ndim != 2 or not vectors.size or not count or min(sizes) < count:
        raise ValueError(f"{WEIGHTS} has vectors of the shape {vectors.shape}, and {TOKENIZER} {count} tokens.")
    if mapping is not None and (mapping.ndim != 1 or mapping.min() < 0 or mapping.max() >= len(vectors)):
        raise ValueError(f"the mapping in {WEIGHTS} names rows that there are not.")
    if not all(np.isfinite(values).all() for values in (vectors, weights) if values is not None):
        raise ValueError(f"{WEIGHTS} holds NaN or infinity.")
    unknown = _unknown(tokenizer, read_object(folder, TOKENIZER).get("model"))

    def tokens(texts: Sequence[str]) -> list[np.ndarray]:
        encoded = tokenizer.encode_batch_fast([*texts], add_special_tokens=False)
        numbers = [np.array(own.ids, dtype=np.int64) for own in encoded]
        return [np.where(own == unknown, -1, own) for own in numbers]

    return _Table(tokens, vectors, mapping, weights, bool(config.get("normalize", False)))


def _unknown(tokenizer: Tokenizer, model: object) -> int:
    """The number of the token that stands for what the tokenizer does not know; -1 if there is none."""
    values = model if isinstance(model, dict) else {}
    number = values.get("unk_id")
    if number is None and isinstance(values.get("unk_token"), str):
        number = tokenizer.token_to_id(values["unk_token"])
    return number if isinstance(number, int) else -1


def _table_of_words(vectors: WordVectors) -> _Table:
    """The vectors of words. Where their order tells how frequent they are, a frequent one counts less.

    By Zipf's law the share of a word among all words is that of the inverse of its rank.
    """
    weights = None
    if vectors.by_frequency:
        inverse = 1 / np.arange(1, len(vectors.vectors) + 1)
        weights = (_FREQUENT / (_FREQUENT + inverse / inverse.sum())).astype(np.float32)

    def tokens(texts: Sequence[str]) -> list[np.ndarray]:
        split = [[text[start:end] for start, end in words(text)] for text in texts]
        return [np.array([vectors.number(word) for word in own], dtype=np.int64) for own in split]

    return _Table(tokens, vectors.vectors, None, weights, unit=False)
