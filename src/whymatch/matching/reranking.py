"""Documents that something else found, ranked by what their links with a query are worth."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING, Any

from whymatch.matching.aligner import Aligner, Text
from whymatch.matching.alignment import Alignment
from whymatch.matching.defaults import default_aligner
from whymatch.matching.parts import Link
from whymatch.transport.constraints import Constraint

if TYPE_CHECKING:
    from whymatch.matching.ranker import Ranker


@dataclass(frozen=True)
class Scored:
    """What a text is worth for a query, and which links say so."""

    score: float | None
    """High is good: −log2 of the p-value where costs are evidence, or else the score; None if it cannot be aligned."""
    probability: float | None = None
    """The calibrated chance that it matches; None where nothing is calibrated or its language is not read."""
    links: tuple[Link, ...] = ()
    error: str | None = None
    """Why it cannot be aligned."""


class Reranker:
    """Scores pairs of texts by an aligner or a ranker, each pair by itself.

    Args:
        model: an `Aligner`, a `Ranker`, or None for `Aligner()`. Where an aligner has no background of its own,
            evidence is measured against the one that ships, so that a score does not depend on the texts beside it.
        constraint: what an aligner may link, where its costs are no evidence.
    """

    def __init__(self, model: "Aligner | Ranker | None" = None, constraint: Constraint | None = None) -> None:
        model = default_aligner("sentence") if model is None else model
        if not isinstance(model, Aligner) and not callable(getattr(model, "rank", None)):
            raise TypeError(f"What ranks is an Aligner or a Ranker, got {type(model).__name__}.")
        if constraint is not None and not isinstance(model, Aligner):
            raise ValueError("A ranker has a constraint of its own.")
        if isinstance(model, Aligner):
            model = copy(model)
            model.judge = copy(model.judge)
            model.judge.fix_background()
            model.resolve(constraint)
        self.model: Any = model
        self.constraint = constraint

    def scored(self, pairs: Sequence[tuple[Text, Text]]) -> list[Scored]:
        """What each pair of texts is worth."""
        if isinstance(self.model, Aligner):
            outcomes = self.model.outcomes(pairs, self.constraint, clip=True, links_only=True)
            return [_of_evidence(one) if isinstance(one, Alignment) else _failed(one) for one in outcomes]
        constraint = getattr(self.model.rule, "constraint", None)
        if constraint is None:  # attention
            ranked = [self.model.rank(left, [right])[0] for left, right in pairs]
            return [Scored(one["score"], one.get("probability"), one["links"]) for one in ranked]
        outcomes = self.model.aligner.outcomes(pairs, constraint, clip=True, links_only=True)
        return [self._of_ranker(one) if isinstance(one, Alignment) else _failed(one) for one in outcomes]

    def rank(self, query: Text, texts: Sequence[Text]) -> list[tuple[int, Scored]]:
        """The numbers of the texts with what they are worth, best first; those that cannot be aligned come last."""
        scored = self.scored([(query, text) for text in texts])
        order = sorted(range(len(texts)), key=lambda number: _place(scored[number], number))
        return [(number, scored[number]) for number in order]

    def _of_ranker(self, why: Alignment) -> Scored:
        probability = None if self.model.calibration is None else self.model.probability(why.score)
        return Scored(why.score, probability, why.links)


def _of_evidence(why: Alignment) -> Scored:
    return Scored(why.score if why.p_value is None else -log2(why.p_value), why.probability, why.links)


def _failed(error: ValueError) -> Scored:
    return Scored(None, error=str(error))


def _place(scored: Scored, number: int) -> tuple[bool, float, int]:
    return scored.score is None, -(scored.score or 0.0), number
