"""Backgrounds: samples of texts that stand for "anything else", against which a similarity is surprising or is not."""

import hashlib
import json
import random
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from whymatch.cost.term import PaddedPairs
from whymatch.cost.words import WordCounts
from whymatch.files import whole_file
from whymatch.interruption import interruption_point
from whymatch.text.document import Document, joined
from whymatch.text.encoders import Encoder
from whymatch.text.spans import Span, Splitter

if TYPE_CHECKING:
    from whymatch.cost.cost import Cost

MAX_SPANS = 8192
"""Spans in a background: more make it slower and no better (docs/measured/evidence.md)."""
MIN_SPANS = 200
"""Fewer spans say too little about what is rare."""
MANY_TEXTS = 200
"""Texts from which on random pairs of them say what chance gives (docs/measured/evidence.md)."""
MIN_TEXTS = 20
"""Fewer texts make too few random pairs to say what chance gives."""
TAIL_SHARE = 0.0125
"""The share of the background's spans that are the tail of a span: its nearest."""
_MIN_TAIL = 10
_SKIPPED = 2  # nearest spans that are left out of the tail: the span itself, and a copy of it
_SHRINKAGE = 0.5  # how far the threshold of a span's tail is moved towards the typical one
_SPANS_PER_PRODUCT = 512
_SPANS_WITH_THEMSELVES = 64  # compared at a time, where only the diagonal counts
_ROUNDING = 1e-6  # of vectors in single precision, as a share of the size of their costs
_MIN_SCALE = 1e-5  # the least mean excess, as a share of the size of costs: well above rounding
_TYPICAL_SPANS = 256  # of the background, whose tails are averaged


class SplitsAndEncodes(Protocol):
    """What makes a background of texts: an aligner, or anything that splits and encodes as one does."""

    encoder: Encoder
    splitter: Splitter

    def split(self, text: Any) -> Document:
        """A text with its spans."""


@dataclass(frozen=True, eq=False)
class Background:
    """A sample of texts with the vectors of their spans.

    Against it a span has a tail: how close the nearest of unrelated spans come to it. `tails` describes that by two
    numbers, from which the evidence of any cost follows, in bits.

    >>> import whymatch as wm
    >>> numbered = [f"Line {n} of the log. The disk has {n} errors. Reboot {n}." for n in range(200)]
    >>> background = wm.Background.of(numbered, wm.Aligner(), "a log")
    >>> background.name, len(background.documents), background.vectors.shape
    ('a log', 200, (600, 384))
    >>> wm.Aligner(background=background).align("It rained all day.", "It was raining all day.").judgement.background
    'a log'

    Args:
        name: what it is, as an answer says it: "1,000 posts".
        encoder: the name of the encoder that made the vectors.
        documents: the texts, each once, with their spans.
        vectors: (spans of all documents, dimensions), in their order.
        general: whether it stands for texts of any kind, and not for those that are compared.
    """

    name: str
    encoder: str
    documents: tuple[Document, ...]
    vectors: np.ndarray
    general: bool = False

    def __post_init__(self) -> None:
        spans = sum(map(len, self.documents))
        if self.vectors.ndim != 2 or len(self.vectors) != spans:
            raise ValueError(f"A background of {spans} spans takes as many vectors, got {self.vectors.shape}.")
        if spans < MIN_SPANS or len(self.documents) < MIN_TEXTS:
            raise ValueError(
                f"A background takes {MIN_TEXTS} texts with {MIN_SPANS} spans or more to say what is rare. Of "
                f"{self.name}, texts: {len(self.documents)}, spans: {spans}. Give more texts, or leave it out."
            )
        if not np.isfinite(self.vectors).all():
            raise ValueError(f"The vectors of a background are finite, and those of {self.name} hold NaN or infinity.")
        object.__setattr__(self, "vectors", np.asarray(self.vectors, np.float32))
        object.__setattr__(self, "_tables", {})

    @classmethod
    def of(cls, texts: Iterable[Any], aligner: SplitsAndEncodes, name: str | None = None) -> "Background":
        """A sample of texts, split and encoded as an aligner does; texts that are equal count once.

        Raises:
            ValueError: if they have too few spans, or a text cannot be read.
        """
        if isinstance(texts, str):
            raise TypeError(f"Background.of takes texts, such as a list of strings, got one string: {texts!r:.60}.")
        documents = [*dict.fromkeys(map(aligner.split, texts))]
        chosen = pieces_of(documents, sample(documents))
        encoded = aligner.encoder.encode([text.text for text in chosen], [text.spans for text in chosen])
        vectors = np.concatenate([*encoded] or [np.zeros((0, 0))]).astype(np.float32)
        return cls(name or f"{len(documents):,} texts", aligner.encoder.name, chosen, vectors)

    def __repr__(self) -> str:
        return f"Background({self.name!r}, {len(self.vectors):,} spans, {self.encoder})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.encoder, self.documents, self.vectors, self.general)

    @cached_property
    def digest(self) -> str:
        """A hash of its texts, spans and vectors, by which tails know that they are of this background."""
        digest = hashlib.sha256(self._stored.tobytes())
        facts = [self.encoder, self.general, [[text.text, text.spans] for text in self.documents]]
        digest.update(json.dumps(facts).encode())
        return digest.hexdigest()[:16]

    @cached_property
    def _stored(self) -> np.ndarray:
        """The vectors in half precision, or in single where they are too large or too small for that."""
        with np.errstate(over="ignore"):
            half = self.vectors.astype(np.float16)
        largest = float(np.abs(self.vectors).max(initial=0.0))
        return half if np.abs(half - self.vectors).max(initial=0.0) <= 1e-3 * largest else self.vectors

    def as_stored(self) -> "Background":
        """The background as `read` gives it after `write`: its vectors in half precision, where that holds them."""
        return replace(self, vectors=self._stored.astype(np.float32))

    @cached_property
    def counts(self) -> WordCounts:
        """In how many of its texts each word is."""
        return WordCounts.of(text.text for text in self.documents)

    @cached_property
    def as_document(self) -> Document:
        """All spans as those of one text, for terms that read words."""
        return joined([piece for text in self.documents for piece in text.pieces])

    def tails(
        self,
        cost: "Cost",
        documents: Sequence[Document],
        vectors: Sequence[np.ndarray],
        left_out: Iterable[int] = (),
    ) -> list[np.ndarray]:
        """For each text with vectors (spans, dimensions): (spans, 2), the intercept and the slope of every span.

        A pair that costs c has intercept − slope · c bits for the span: how rare it is that a span of the background
        comes so close. The tail is exponential: its threshold is the cost of the K-th nearest span, its scale the mean
        excess over that. Both are estimates from few spans, some of which may be true matches, so each is moved towards
        the typical one, but not where copies of the span fill the tail: those make it a template, which is worth
        nothing.

        `cost` is the cost before evidence, and `left_out` are the numbers of texts of the background that do not count.
        """
        if not any(map(len, documents)):
            return [np.zeros((0, 2)) for _ in documents]
        dimensions = {rows.shape[1] for rows in vectors if len(rows)}
        if dimensions - {self.vectors.shape[1]}:
            there = ", ".join(map(str, sorted(dimensions)))
            raise ValueError(f"{self!r} has vectors of {self.vectors.shape[1]} dimensions, and the texts of {there}.")
        table = self._table(cost)
        prepared = np.concatenate(cost.prepared(vectors))
        hidden = self._spans_of(left_out)
        threshold, scale, rank = self._raw_tails(cost, documents, prepared, table.prepared, hidden)
        own = _own_costs(cost, documents, prepared)
        gap = table.threshold - threshold
        room = np.clip((threshold - own) / np.maximum(table.threshold - own, 1e-9), 0, 1)
        threshold = threshold + _SHRINKAGE * np.where(gap > 0, gap * room, gap)
        slope = 1 / (np.maximum(scale, table.scale / 2) * log(2))
        intercept = np.log2((len(self.vectors) - len(hidden)) / rank) + threshold * slope
        both = np.stack([intercept, slope], axis=1)
        return np.split(both, np.cumsum([len(rows) for rows in vectors])[:-1])

    def _spans_of(self, texts: Iterable[int]) -> np.ndarray:
        """The numbers of the spans of some of its texts."""
        parts = [np.zeros(0, int)]
        if numbers := [*texts]:
            ends = np.cumsum([0, *map(len, self.documents)])
            parts += [np.arange(ends[number], ends[number + 1]) for number in numbers]
        return np.concatenate(parts)

    def _table(self, cost: "Cost") -> "_Table":
        """What a cost makes of the background: its vectors with what terms mix in, and the typical tail."""
        tables: dict[Cost, _Table] = self._tables  # type: ignore[attr-defined]
        if cost not in tables:
            ends = np.cumsum([len(text) for text in self.documents])
            prepared = np.concatenate(cost.prepared(np.split(self.vectors, ends[:-1])))
            chosen = sorted(random.Random(0).sample(range(len(prepared)), min(_TYPICAL_SPANS, len(prepared))))
            pieces = self.as_document.pieces if cost.terms else [""] * len(prepared)
            text = joined([pieces[number] for number in chosen]) if cost.terms else Document("", ())
            threshold, scale, _ = self._raw_tails(cost, [text], prepared[chosen], prepared)
            typical = float(threshold.mean())
            least = _MIN_SCALE * (float(_size(cost, typical)) or 1.0)
            tables[cost] = _Table(prepared, typical, max(float(scale.mean()), least))
        return tables[cost]

    def _raw_tails(
        self,
        cost: "Cost",
        documents: Sequence[Document],
        prepared: np.ndarray,
        background: np.ndarray,
        hidden: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For every span: the cost of the K-th nearest of the background, the mean excess, and how many are as near.

        Prepared vectors are those of the spans (spans, d) and of the background, some of whose spans may be hidden.
        """
        hidden = np.zeros(0, int) if hidden is None else hidden
        tail = max(_MIN_TAIL, round(TAIL_SHARE * (len(background) - len(hidden))))
        pieces = [piece for text in documents for piece in text.pieces] if cost.terms else []
        parts = []
        for start in range(0, len(prepared), _SPANS_PER_PRODUCT):
            interruption_point()
            costs = cost.base.compared(prepared[None, start : start + _SPANS_PER_PRODUCT], background[None])
            if cost.terms:
                texts = [(joined(pieces[start : start + _SPANS_PER_PRODUCT]), self.as_document)]
                pairs = PaddedPairs(np.array([costs.shape[1:]]), texts)
                for term in cost.terms:
                    costs = term.changed(costs, pairs)
            costs[0, :, hidden] = np.inf
            nearest = np.partition(costs[0], tail + _SKIPPED - 1, axis=1)[:, : tail + _SKIPPED]
            nearest = np.sort(nearest, axis=1)[:, _SKIPPED:]
            threshold = nearest[:, -1]
            limit = threshold + _ROUNDING * _size(cost, threshold)
            as_near = (costs[0] <= limit[:, None]).sum(axis=1) - _SKIPPED
            parts.append((threshold, threshold - nearest.mean(axis=1), np.maximum(as_near, tail)))
        threshold, scale, rank = (np.concatenate(part) for part in zip(*parts, strict=True))
        return threshold, scale, rank

    def write(self, file: Path) -> None:
        """Writes it as one file of safetensors, its vectors in half precision where that holds them."""
        texts = {"texts": [text.text for text in self.documents], "spans": [text.spans for text in self.documents]}
        arrays: dict[str, np.ndarray] = {
            "texts": np.frombuffer(json.dumps(texts, ensure_ascii=False).encode(), dtype=np.uint8),
            "vectors": self._stored,
        }
        facts = {"name": self.name, "encoder": self.encoder, "general": json.dumps(self.general), "digest": self.digest}
        with whole_file(file, follow=False) as draft:
            save_file(arrays, draft, facts)

    @classmethod
    def read(cls, file: Path) -> "Background":
        """What `write` wrote.

        Raises:
            ValueError: if there is no such file, or it is damaged.
        """
        try:
            with safe_open(file, framework="np") as stored:
                facts = stored.metadata() or {}
                texts = json.loads(stored.get_tensor("texts").tobytes())
                vectors = stored.get_tensor("vectors").astype(np.float32)
            documents = tuple(
                Document(text, tuple(Span(*span) for span in spans))
                for text, spans in zip(texts["texts"], texts["spans"], strict=True)
            )
            general, expected = facts["general"] == "true", facts["digest"]
            background = cls(facts["name"], facts["encoder"], documents, vectors, general)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{file} holds no background, or a damaged one: {error}") from None
        if background.digest != expected:
            raise ValueError(f"The background in {file} is damaged: it is not what was written.")
        return background


@dataclass(frozen=True, eq=False)
class _Table:
    """The vectors of a background as a cost compares them, and the typical tail of its spans."""

    prepared: np.ndarray
    threshold: float
    scale: float


def _own_costs(cost: "Cost", documents: Sequence[Document], prepared: np.ndarray) -> np.ndarray:
    """(spans): what the spans of texts, whose prepared vectors are (spans, d), cost with themselves."""
    pieces = [piece for text in documents for piece in text.pieces] if cost.terms else []
    own = []
    for start in range(0, len(prepared), _SPANS_WITH_THEMSELVES):
        rows = prepared[None, start : start + _SPANS_WITH_THEMSELVES]
        costs = cost.base.compared(rows, rows)
        if cost.terms:
            text = joined(pieces[start : start + _SPANS_WITH_THEMSELVES])
            pairs = PaddedPairs(np.array([costs.shape[1:]]), [(text, text)])
            for term in cost.terms:
                costs = term.changed(costs, pairs)
        own.append(np.diagonal(costs[0]))
    return np.concatenate(own)


def _size(cost: "Cost", costs: Any) -> Any:
    """How large the numbers are that costs were computed from: what rounding is a share of."""
    return np.maximum(np.abs(costs), np.abs(cost.neutral - costs))


def sample(documents: Sequence[Sized]) -> list[tuple[int, slice]]:
    """Documents drawn at random that have `MAX_SPANS` spans together: the number of each, in order, and its spans.

    Of long documents, a piece of each is taken where fewer than `MANY_TEXTS` would fit as wholes.
    """
    order = [number for number, document in enumerate(documents) if len(document)]
    draw = random.Random(0)
    draw.shuffle(order)
    for longest in (MAX_SPANS, MAX_SPANS // MANY_TEXTS):
        chosen, spans = dict[int, slice](), 0
        for number in order:
            start = draw.randrange(max(1, len(documents[number]) - longest + 1))
            size = min(longest, len(documents[number]))
            if spans + size <= MAX_SPANS:
                chosen[number] = slice(start, start + size)
                spans += size
        if len(chosen) >= min(MANY_TEXTS, len(order)):
            break
    return sorted(chosen.items())


def pieces_of(documents: Sequence[Document], sampled: Iterable[tuple[int, slice]]) -> tuple[Document, ...]:
    """The documents of a sample, each with its sampled spans alone."""
    return tuple(Document(documents[number].text, documents[number].spans[part]) for number, part in sampled)
