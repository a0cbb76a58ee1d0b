"""Does an alignment hold when everything outside its rationale is deleted?"""

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from whymatch.cost.evidence import counted_spans
from whymatch.matching.significance import counted_sizes
from whymatch.matching.solving import link_mass
from whymatch.text.encoders import Pair, all_or_raise
from whymatch.transport.exact import solve

if TYPE_CHECKING:
    from whymatch.matching.aligner import Aligner
    from whymatch.matching.alignment import Alignment

ROUNDING = 1e-5
"""Encoding a span beside other neighbours in a batch moves a cost by this share of its size or less."""


@dataclass(frozen=True)
class Verification:
    """What became of the links and the score when only the rationale was left."""

    links_hold: bool
    score_holds: bool
    score: float
    on_rationale: float
    """The score of the links found on the rationale alone, at the original mass of a link."""
    lost: tuple[tuple[int, int], ...]
    """Links, as numbers of spans in the whole texts, that are not found again."""
    contextual: bool

    @property
    def holds(self) -> bool:
        return self.links_hold and self.score_holds

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return "Links and score hold on the rationale alone."
        changes = []
        if not self.links_hold:
            changes.append(f"{len(self.lost)} of the links {'is' if len(self.lost) == 1 else 'are'} not found again")
        if not self.score_holds:
            changes.append(f"the score is {self.on_rationale:.3f}, not {self.score:.3f}")
        why = " The costs look at the deleted text too." if self.contextual else ""
        return f"On the rationale alone, {' and '.join(changes)}.{why}"


def verify(alignment: "Alignment", aligner: "Aligner") -> Verification:
    """Solves again on the rationale alone; equal where spans are encoded alone, up to ties and rounding."""
    if not alignment.links:
        return Verification(True, True, alignment.score, 0.0, (), alignment.contextual)
    kept = [sorted({link.at[side] for link in alignment.links}) for side in (0, 1)]
    left, right = (
        document.keep(numbers, aligner.separator)
        for document, numbers in zip((alignment.left, alignment.right), kept, strict=True)
    )
    cost = _costs(alignment, aligner, (left, right), kept)
    # Where both rationales are equally long, the left text counts as the shorter: keep the part that each text had.
    turned = len(alignment.left) > len(alignment.right)
    plan = solve(np.ascontiguousarray(cost.T) if turned else cost, alignment.constraint).plan
    plan = plan.T if turned else plan
    again = {(kept[0][i], kept[1][j]) for i, j in np.argwhere(plan).tolist()}
    heaviest = float(plan.max())
    rescale = alignment.links[0].mass / heaviest if heaviest and not alignment.constraint.takes_masses else 1.0
    on_rationale = float((plan * (alignment.zero - cost)).sum()) * rescale
    if alignment.judgement is not None:
        on_rationale /= link_mass(alignment.constraint, (len(alignment.left), len(alignment.right)))
    rounding = ROUNDING * max(1.0, abs(alignment.zero), *(abs(link.cost) for link in alignment.links))
    score_holds = abs(on_rationale - alignment.score) <= rounding
    lost = tuple(link.at for link in alignment.links if link.at not in again)
    tie = score_holds and alignment.certificate.margin is not None and alignment.certificate.margin <= rounding
    return Verification(not lost or tie, score_holds, alignment.score, on_rationale, lost, alignment.contextual)


def _costs(alignment: "Alignment", aligner: "Aligner", pair: Pair, kept: list[list[int]]) -> np.ndarray:
    """The costs (n, m) of the rationale alone; evidence is that of these spans among all pairs that were searched."""
    if alignment.judgement is None:
        return aligner.costs([pair])[0]
    vectors = all_or_raise(aligner.encode([pair]))
    left, right = (np.array(side) for side in alignment.judgement.tails)
    searched = counted_sizes(aligner.cost, [(left, right)])
    before = aligner.cost.before_evidence
    counted = counted_spans(left[None], right[None], -inf if before is None else before.least)
    for tails, carry_evidence in zip((left, right), counted, strict=True):
        tails[~carry_evidence[0]] = 0  # what carried none among all spans carries none among few
    return aligner.compare([pair], vectors, tails=[(left[kept[0]], right[kept[1]])], searched=searched)[0]
