"""Evidence as a cost term: how surprising the closeness of two spans is, in bits."""

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array

from whymatch.cost.background import Background
from whymatch.cost.term import Array, PaddedPairs, Term


@dataclass(frozen=True)
class Evidence(Term):
    """Turns costs into minus the evidence of a pair, in bits: 0 is what chance gives, and less is significant.

    What a pair costs before this term has bits for each of its two spans: how rare it is that a span of the background
    comes so close. A pair is worth the mean of both, less log2(n · m) for being one of n · m pairs of the two texts.
    Spans with a slope of 0, which the encoder cannot read, have no evidence. An aligner gives the background, unless it
    is given here.
    """

    background: Background | None = field(default=None, repr=False, compare=False)
    name, neutral, least, contextual = "evidence", 0.0, -inf, False

    def __str__(self) -> str:
        return self.name

    def against(self, background: Background) -> "Evidence":
        """The same term with this background."""
        return replace(self, background=background)

    def changed(self, cost: Array, pairs: PaddedPairs) -> Array:
        xp = array_namespace(cost)
        left, right = (
            xp.asarray(side, dtype=cost.dtype, device=device(cost)) for side in pairs.tails or self._tails(pairs)
        )
        searched = pairs.sizes if pairs.searched is None else pairs.searched
        trials = np.log2(np.maximum(np.prod(searched, axis=1, dtype=np.float64), 1))
        trials = xp.asarray(trials, dtype=cost.dtype, device=device(cost))[:, None, None]
        intercept = left[:, :, None, 0] + right[:, None, :, 0]
        slope = left[:, :, None, 1] + right[:, None, :, 1]
        readable = (left[:, :, None, 1] != 0) & (right[:, None, :, 1] != 0)
        return trials - xp.where(readable, (intercept - slope * cost) / 2, xp.zeros_like(cost))

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


def _plain(vectors: Any) -> np.ndarray:
    """Vectors as a numpy array in single precision, without gradients."""
    if is_torch_array(vectors):
        vectors = vectors.detach().cpu().numpy()
    return np.asarray(vectors, dtype=np.float32)
