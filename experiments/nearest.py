"""Rationales without training: the sentences nearest to a question, the words farthest from a text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whymatch.datasets.records import Pair
from whymatch.evaluation.intervals import bootstrap
from whymatch.learning.evaluate import Chosen, rationale_metrics
from whymatch.learning.settings import Settings
from whymatch.cost import Cosine
from whymatch.cost.base import unit
from whymatch.text.document import Document
from whymatch.text.encoders.models import MINILM
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.encoders.word import WordEncoder
from whymatch.text.spans import Span

SENTENCES, WORDS = 2, 3  # how many are chosen


def nearest_two(pairs: Sequence[Pair], settings: Settings) -> dict[str, Any]:
    """Chooses the two right spans nearest to the left text as a whole: question and answer, joined by a blank."""
    check_marked(pairs)
    vectors = vectors_of([piece for pair in pairs for piece in (whole(pair.left), *pair.right.pieces)], settings)
    cosines = [stacked(vectors, pair.right.pieces) @ vectors[whole(pair.left)] for pair in pairs]
    return right_metrics(pairs, [(1 + some) / 2 for some in cosines])  # between 0 and 1, as a selection is


def farthest_words(pairs: Sequence[Pair], settings: Settings) -> dict[str, Any]:
    """Chooses the three right words farthest from any left one, and the left word nearest to each of them."""
    check_marked(pairs)
    if settings.spans != "word":
        raise ValueError(f'The baseline "farthest-words" is for spans = "word", got "{settings.spans}".')
    encoder = WordEncoder(settings.encoder.model or MINILM, layer=settings.encoder.layer)
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.left, pair.right)))
    vectors = dict(zip(texts, encoder.encode([t.text for t in texts], [t.spans for t in texts]), strict=True))
    chosen = [farthest(Cosine().between(vectors[pair.left], vectors[pair.right])) for pair in pairs]
    links = [len(one.spans[1]) for one in chosen]
    shares = [100 * number / max(1, len(p.left) * len(p.right)) for number, p in zip(links, pairs, strict=True)]
    found = {"active alignments": bootstrap(links)._asdict(), "% active": bootstrap(shares)._asdict()}
    return {**found, **rationale_metrics(pairs, chosen), "pairs": len(pairs)}


def farthest(cost: Tensor, count: int = WORDS) -> Chosen:
    """The columns whose least cost is largest, and the row where each has it; selected by half that cost."""
    n, m = cost.shape
    if not n or not m:
        return Chosen(([], []), ([0.0] * n, [0.0] * m))
    least, nearest = cost.min(dim=0)
    right = highest(least, count)
    left = sorted(set(nearest[right].tolist()))
    of_left = torch.zeros(n).scatter_reduce(0, nearest, least.clamp(min=0) / 2, "amax")
    return Chosen((left, right), (of_left.tolist(), (least.clamp(min=0) / 2).tolist()))


def right_metrics(pairs: Sequence[Pair], selection: Sequence[Tensor]) -> dict[str, Any]:
    """The agreement of the two right spans that are selected most strongly; nothing is chosen on the left."""
    chosen = [
        Chosen(([], highest(some, SENTENCES)), ([0.0] * len(pair.left), some.tolist()))
        for pair, some in zip(pairs, selection, strict=True)
    ]
    right_only = [replace(pair, left_rationale=None) for pair in pairs]
    return {**rationale_metrics(right_only, chosen), "pairs": len(pairs)}


def highest(values: Tensor, count: int) -> list[int]:
    """The places of the highest values, in order; of equals, the first.

    >>> highest(torch.tensor([0.1, 0.3, 0.2, 0.3]), 3)
    [1, 2, 3]
    """
    return sorted(values.argsort(descending=True, stable=True)[:count].tolist())


def check_marked(pairs: Sequence[Pair]) -> None:
    """Raises where nobody was asked for the reason in a right text, or a left text says nothing."""
    for pair in pairs:
        if pair.right_rationale is None:
            raise ValueError(f"Pair {pair.id} has no right rationale to compare with.")
        if not len(pair.left):
            raise ValueError(f"Pair {pair.id} has an empty left text.")


def whole(text: Document) -> str:
    """The spans of a text as one, joined by blanks."""
    return " ".join(text.pieces)


def vectors_of(texts: Iterable[str], settings: Settings) -> dict[str, Tensor]:
    """Vectors of length 1, each distinct text encoded once."""
    distinct = list(dict.fromkeys(texts))
    encoder = SentenceEncoder(settings.encoder.model or MINILM)
    found = encoder.encode(distinct, [[Span(0, len(text))] for text in distinct])
    return dict(zip(distinct, unit(torch.from_numpy(np.concatenate(found))), strict=True))


def stacked(vectors: Mapping[str, Tensor], pieces: Sequence[str]) -> Tensor:
    """(pieces, dimensions)."""
    size = len(next(iter(vectors.values())))
    return torch.stack([vectors[piece] for piece in pieces]) if pieces else torch.zeros(0, size)
