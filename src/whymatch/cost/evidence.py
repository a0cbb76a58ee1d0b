"""Evidence as a cost term: how surprising the closeness of two spans is, in bits."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from math import inf, log2
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import device, is_torch_array

from whymatch import __version__
from whymatch.arrays import array_namespace
from whymatch.cost.background import TAIL_SHARE, Background
from whymatch.cost.term import Array, PaddedPairs, Term

if TYPE_CHECKING:
    from whymatch.cost.cost import Cost

_MEASURED_BY = 2  # raised whenever tails or random pairs are measured otherwise, so that what was kept is not used
_TEMPLATE_BITS = 1 - log2(TAIL_SHARE)  # a copy of a span whose tail is full of copies is worth a bit less


@dataclass(frozen=True)
class Evidence(Term):
    """Turns costs into minus the evidence of a pair, in bits: 0 is what chance gives, and less is significant.

    What a pair costs before this term has bits for each of its two spans: how rare it is that a span of the background
    comes so close. A pair is worth the mean of both, less log2(n · m) for being one of n · m pairs of the two texts.
    Spans with a slope of 0, which the encoder cannot read, and templates, which would hardly be significant if the
    other text had a copy of them, have no evidence and do not count in n and m. An aligner gives the background, unless
    it is given here.

    >>> import whymatch as wm
    >>> cost = wm.Cost(wm.cost.Cosine(), wm.cost.Evidence())               # what Aligner() has
    >>> wm.Aligner(cost=cost).align("It rained all day.", "It was raining all day.").links[0].bits > 3
    True
    """

    background: Background | None = field(default=None, repr=False, compare=False)
    name, neutral, least, contextual = "evidence", 0.0, -inf, False

    def __post_init__(self) -> None:
        if self.background is not None and not isinstance(self.background, Background):
            raise TypeError(f"Evidence takes a Background or nothing, got {self.background!r:.60}.")

    def __str__(self) -> str:
        return self.name

    def against(self, background: Background) -> "Evidence":
        """The same term with this background."""
        return replace(self, background=background)

    def changed(self, cost: Array, pairs: PaddedPairs) -> Array:
        xp = array_namespace(cost)
        tails = pairs.tails or self._tails(pairs)
        counted = counted_spans(*tails, -inf if pairs.cost is None else pairs.cost.least)
        searched = pairs.searched
        trials = _log_trials(*counted) if searched is None else np.log2(np.prod(searched, axis=1, dtype=np.float64))
        trials = xp.asarray(trials, dtype=cost.dtype, device=device(cost))[:, None, None]
        left, right = (xp.asarray(side, dtype=cost.dtype, device=device(cost)) for side in tails)
        intercept = left[:, :, None, 0] + right[:, None, :, 0]
        slope = left[:, :, None, 1] + right[:, None, :, 1]
        both = xp.asarray(counted[0][:, :, None] & counted[1][:, None, :], device=device(cost))
        return trials - xp.where(both, (intercept - slope * cost) / 2, xp.zeros_like(cost))

    def _tails(self, pairs: PaddedPairs) -> tuple[np.ndarray, np.ndarray]:
        """The tails (batch, n, 2) and (batch, m, 2) of the spans of a batch, from vectors without their gradients."""
        if self.background is None or pairs.vectors is None or pairs.cost is None:
            raise ValueError(
                "Evidence is measured against a background: give Evidence(Background.of(texts, aligner)), "
                "or let an Aligner choose one."
            )
        sides = []
        for side, vectors in enumerate(pairs.vectors):
            rows = _plain(vectors)
            tails = np.zeros((*rows.shape[:2], 2))
            documents = [pair[side] for pair in pairs.documents(self)]
            own = [rows[number, : len(text)] for number, text in enumerate(documents)]
            for number, part in enumerate(self.background.tails(pairs.cost, documents, own)):
                tails[number, : len(part)] = part
            sides.append(tails)
        return sides[0], sides[1]


def counted_spans(left: np.ndarray, right: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Which left (batch, n) and right spans (batch, m), by their tails (batch, n, 2) and (batch, m, 2), carry evidence.

    No pair costs less than `least`. A span counts if a pair at that cost would be worth more than log2(n · m) bits, n
    and m being all spans that can be read, and more than a copy of a span whose tail is full of copies.
    """
    readable = [side[:, :, 1] > 0 for side in (left, right)]
    if least == -inf:
        return readable[0], readable[1]
    trials = np.maximum(_log_trials(*readable), _TEMPLATE_BITS)[:, None]
    best = [side[:, :, 0] - side[:, :, 1] * least for side in (left, right)]
    return readable[0] & (best[0] > trials), readable[1] & (best[1] > trials)


def _log_trials(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(batch): log2 of the number of pairs of left (batch, n) and right spans (batch, m) that count, or 0."""
    return np.log2(np.maximum(left.sum(axis=1), 1) * np.maximum(right.sum(axis=1), 1))


def measure_key(background: Background, cost: "Cost") -> str:
    """16 characters that stand for a background, and the cost and version of whymatch that something is measured with.

    Tails are measured with the cost before evidence, and random pairs with all of it that is unread.
    """
    facts: list[object] = [__version__, _MEASURED_BY, background.digest, *cost_facts(cost)]
    return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=8).hexdigest()


def cost_facts(cost: "Cost") -> list[object]:
    """Plain values that differ between costs that may differ; weights of networks are not among them."""
    counts = cost.word_counts
    return [cost.to_list(), *([] if counts is None else [counts.texts, sorted(counts.counts.items())])]


def _plain(vectors: Any) -> np.ndarray:
    """Vectors as a numpy array in single precision, without gradients."""
    if is_torch_array(vectors):
        vectors = vectors.detach().cpu().numpy()
    return np.asarray(vectors, dtype=np.float32)
