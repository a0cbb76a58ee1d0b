"""A text with its spans."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import index
from unicodedata import normalize

from whymatch.text.spans import Span, Splitter, is_blank

LIMIT = 2000
"""Spans that a text may have by default: 2,000 on both sides are 4 million pairs."""


@dataclass(frozen=True)
class Document:
    """A text and its spans: they lie in the text, in order, without overlap, and none is blank.

    >>> import whymatch as wm
    >>> text = wm.Document("A cat slept. It rained.", (wm.Span(0, 12), wm.Span(13, 23)))
    >>> text.pieces, text[text.spans[1]], len(text)
    (['A cat slept.', 'It rained.'], 'It rained.', 2)
    """

    text: str
    spans: tuple[Span, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            self.text.encode()
            spans = tuple(Span(index(start), index(end)) for start, end in self.spans)
        except UnicodeEncodeError as error:  # no encoder and no file takes it
            raise ValueError(
                f"The text is not valid Unicode: half a surrogate pair at character {error.start}."
            ) from None
        except (TypeError, ValueError, AttributeError):
            raise TypeError("A document is a string and spans of (start, end), whole numbers.") from None
        object.__setattr__(self, "spans", spans)
        edges = [0, *(edge for span in spans for edge in span), len(self.text)]
        if any(after < before for before, after in pairwise(edges)):
            raise ValueError(
                "Spans must lie in the text, in order, without overlap: a splitter or a caller gave others."
            )
        for number, piece in enumerate(self.pieces):
            if is_blank(piece):
                raise ValueError(f"Span {number} is blank. Leave blank pieces out.")
        object.__setattr__(self, "_hash", hash((self.text, spans)))  # once: training looks a text up in every epoch

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type, tuple[str, tuple[Span, ...]]]:
        """Unpickled by making it anew: in another process strings have other hashes."""
        return type(self), (self.text, self.spans)

    @property
    def pieces(self) -> list[str]:
        """The text of each span."""
        return [self.text[start:end] for start, end in self.spans]

    def __getitem__(self, span: Span) -> str:
        """The text of a span."""
        return self.text[span.start : span.end]

    def __len__(self) -> int:
        return len(self.spans)

    def keep(self, numbers: Iterable[int], separator: str = "\n") -> "Document":
        """The spans of these numbers alone, as a text of their own."""
        pieces = self.pieces
        return joined([pieces[number] for number in numbers], separator)


def same_text(left: str, right: str) -> bool:
    """Whether two texts are equal but for white space, line breaks and how their characters are composed.

    >>> same_text("It closed. Why? ", " It closed.  Why?"), same_text("now here", "nowhere")
    (True, False)
    """
    return left == right or _plain(left) == _plain(right)


def _plain(text: str) -> str:
    return " ".join(normalize("NFC", text).split())


def joined(pieces: Sequence[str], separator: str = "\n") -> Document:
    """A text put together from pieces that are its spans."""
    spans, start = [], 0
    for piece in pieces:
        spans.append(Span(start, start + len(piece)))
        start += len(piece) + len(separator)
    return Document(separator.join(pieces), tuple(spans))


def document(text: object, split: Splitter, *, limit: int = LIMIT, separator: str = "\n") -> Document:
    """A text split into spans; a sequence of strings is split already, and a document is taken as it is.

    Raises:
        TypeError: if it is no text, or the splitter gives something else than spans or strings.
        ValueError: if it is not valid Unicode, has more spans than the limit, or was split badly.
    """
    if isinstance(text, str):
        Document(text, ())  # valid Unicode, before a splitter reads it
        text = Document(text, tuple(_to_spans(text, split(text))))
    elif isinstance(text, Sequence) and all(isinstance(piece, str) for piece in text):
        text = joined(text, separator)
    elif not isinstance(text, Document):
        raise TypeError(f"A text is a string, a list of strings or a Document, got {type(text).__name__}.")
    if len(text) > limit:
        raise ValueError(
            f"A text has {len(text):,} spans, and the limit is {limit:,}. "
            "Use larger spans (paragraphs), or raise the limit: Aligner(limit=…), --limit."
        )
    return text


def _to_spans(text: str, pieces: Iterable[str | tuple[int, int]]) -> Iterator[Span]:
    """What a splitter gave as spans: offsets, or pieces to be found in the text one after another."""
    if not isinstance(pieces, Iterable):
        raise TypeError(f"A splitter gives spans or strings, one after another; this one gave {type(pieces).__name__}.")
    end = 0
    for piece in pieces:
        if isinstance(piece, str):
            start = text.find(piece, end)
            if start < 0:
                raise ValueError(f"The splitter gave {piece!r}, which does not follow in the text after offset {end}.")
            end = start + len(piece)
            yield Span(start, end)
        else:
            yield Span(*piece)
