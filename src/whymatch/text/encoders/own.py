"""Encoders that users bring: a model with a method `encode`, or any function from a list of texts to an array."""

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any, Protocol, TypeAlias

import numpy as np

from whymatch.interruption import interruption_point
from whymatch.text.encoders import Encoder
from whymatch.text.encoders.models import MINILM
from whymatch.text.encoders.precomputed import to_array
from whymatch.text.encoders.sentence import distinct_pieces
from whymatch.text.spans import Span


class EncodesTexts(Protocol):
    """A model such as a SentenceTransformer or a StaticModel."""

    def encode(self, texts: Any, /) -> Any:
        """An array (n, dimensions) for a list of n strings."""


GivenEncoder: TypeAlias = Encoder | EncodesTexts | Callable[[list[str]], Any]
_TEXTS_PER_CALL = 1024
_MEMBERS = "name", "contextual", "encode"
_ADVICE = (
    "encode takes the name or the folder of a model, a model whose encode takes a list of strings and gives an array "
    "(texts, dimensions), such as a SentenceTransformer or a StaticModel, or a function that does the same."
)


class FunctionEncoder:
    """Each span encoded alone by a function from a list of n strings to an array (n, dimensions).

    >>> import numpy as np
    >>> import whymatch as wm
    >>> def lengths(texts):
    ...     return np.array([[len(text), 1.0] for text in texts])
    >>> encoder = wm.FunctionEncoder(lengths, name="lengths, version 1")
    >>> wm.Aligner(encode=encoder, cost="euclidean").align(["aaa", "b"], ["c", "ddd"], wm.Exactly(2)).to_pharaoh()
    '0-1 1-0'

    Args:
        function: the function, or a model whose method `encode` is one. It may give an array of numpy, a tensor of
            torch on any device, or a list of either.
        name: by which indices and backgrounds know the encoder: by default that of the function, or the kind of the
            model. Give another one to a model whenever its vectors change.

    Vectors are checked in each call: TypeError is raised where there is not one row of numbers per text.
    """

    contextual = False

    def __init__(self, function: EncodesTexts | Callable[[list[str]], Any], name: str | None = None) -> None:
        self.function = _function(function)
        self.name = _name(function) if name is None else name
        if self.name == MINILM:
            raise ValueError(f"{MINILM} is the name of the model that ships. Give this encoder another name.")
        self._dimensions: int | None = None

    def __repr__(self) -> str:
        return f"FunctionEncoder({self.name})"

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        pieces, rows = distinct_pieces(texts, spans)
        parts = []
        for start in range(0, len(pieces), _TEXTS_PER_CALL):
            interruption_point()
            chosen = pieces[start : start + _TEXTS_PER_CALL]
            parts.append(self._checked(self.function(chosen), len(chosen)))
        vectors = np.concatenate(parts) if parts else np.zeros((0, self._dimensions or 0), np.float32)
        return [vectors[own] for own in rows]

    def _checked(self, given: Any, count: int) -> np.ndarray:
        """What the function gave for so many texts, as an array (texts, dimensions) in single precision."""
        try:
            vectors = to_array([*map(to_array, given)] if isinstance(given, list | tuple) else given)
        except (TypeError, ValueError) as error:
            message = f"{self.name} must give an array of numbers, one row per text, and gave a {type(given).__name__}"
            raise TypeError(f"{message}: {error}.") from None
        if vectors.ndim != 2 or len(vectors) != count or not vectors.size:
            raise TypeError(
                f"{self.name} must give an array of one row per text, ({count}, dimensions) for {count} texts, "
                f"and gave one of the shape {vectors.shape}."
            )
        known, self._dimensions = self._dimensions, vectors.shape[1]
        if known not in (None, self._dimensions):
            raise TypeError(f"{self.name} gave rows of {known} numbers before, and now of {self._dimensions}.")
        return vectors


def given_encoder(value: Any) -> Encoder:
    """The encoder that a user gave as an object: as it is, or a model or function as a `FunctionEncoder`.

    Raises:
        TypeError: if it is neither, saying what is missing.
    """
    if isinstance(value, type):
        raise TypeError(f"{value.__name__} is a class, and no encoder yet: give {value.__name__}(…). {_ADVICE}")
    missing = [name for name in _MEMBERS if not hasattr(value, name)]
    if not missing:
        encoder: Encoder = value
        return encoder
    if callable(getattr(value, "encode", None)) and "spans" in _parameters(value.encode):
        kind = type(value).__name__
        raise TypeError(f"{kind} has encode(texts, spans), and lacks {' and '.join(missing)} to be an encoder.")
    return FunctionEncoder(value)


def _function(value: Any) -> Callable[[list[str]], Any]:
    """The function from texts to vectors that a model has or that a value is; raises TypeError if there is none."""
    if callable(encode := getattr(value, "encode", None)):
        return encode
    kind = type(value).__name__
    if hasattr(value, "forward"):  # a network of torch takes tensors
        raise TypeError(f"{kind} has no method encode(texts). Give a function that calls it: lambda texts: … {_ADVICE}")
    if not callable(value):
        raise TypeError(f"{kind} is no function, and has no method encode(texts). {_ADVICE}")
    return value


def _parameters(function: Any) -> Sequence[str]:
    try:
        return [*signature(function).parameters]
    except (TypeError, ValueError):  # of functions in C, not all are known
        return []


def _name(value: Any) -> str:
    """What a function or a model is called: its own name, or its class with the model that it says to come from."""
    while isinstance(value, partial):
        value = value.func
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, type) and callable(getattr(owner, "encode", None)):
        value = owner  # a method of a model
    own = getattr(value, "__qualname__", None) or getattr(value, "name", None)
    if isinstance(own, str):
        return own
    card = getattr(value, "model_card_data", None)  # of sentence-transformers; base_model_name is model2vec's
    base = getattr(card, "base_model", None) or getattr(value, "base_model_name", None)
    kind = type(value).__name__
    return f"{kind} from {base}" if isinstance(base, str) else kind
