"""Ranks documents by the score of their alignment with a query."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from whymatch.matching.aligner import Aligner, Text
from whymatch.matching.matcher import Matcher
from whymatch.matching.parts import Link, make_link
from whymatch.matching.rules import Rule, Transport
from whymatch.transport.constraints import Constraint


class Ranker(Matcher):
    """A document ranks by what its links with the query are worth, and by nothing else.

    Works untrained with any aligner; `whymatch.learning` trains it.

    >>> import whymatch as wm
    >>> ranker = wm.Ranker(wm.Aligner(), wm.Exactly(1))
    >>> best = ranker.rank("My wifi drops.", ["Wine is red.", "The wireless connection fails."])[0]
    >>> best["corpus_id"], best["links"][0].texts
    (1, ('My wifi drops.', 'The wireless connection fails.'))

    Args:
        aligner: how texts are split, encoded and compared.
        rule: a constraint, `Transport` or `Attend`.
    """

    kind = "ranker"

    def __init__(self, aligner: Aligner, rule: Rule | Constraint) -> None:
        super().__init__(aligner, rule)
        self.calibration: tuple[float, float] | None = None

    def rank(self, query: Text, documents: Sequence[Text], top_k: int | None = None) -> list[dict[str, Any]]:
        """The best documents, best first, as sentence-transformers' `CrossEncoder.rank` gives them, with their links.

        k is clipped where a text is short. After `calibrate` each has the probability that it matches, too.
        """
        if isinstance(documents, str):
            raise TypeError("rank takes a query and a list of documents; this one is a single text.")
        pairs = [(query, text) for text in documents]
        if isinstance(self.rule, Transport):
            alignments = self.aligner.align_many(
                pairs, self.rule.constraint, clip=True, links_only=True, progress=False
            )
            scored = [(why.score, why.links) for why in alignments]
        else:
            scored = self._attend(pairs)
        order = sorted(range(len(documents)), key=lambda number: (-scored[number][0], number))
        return [
            {
                "corpus_id": number,
                "score": scored[number][0],
                "text": documents[number],
                "links": scored[number][1],
                **({} if self.calibration is None else {"probability": self.probability(scored[number][0])}),
            }
            for number in order[:top_k]
        ]

    def _attend(self, pairs: Sequence[tuple[Text, Text]]) -> list[tuple[float, tuple[Link, ...]]]:
        """Scores by attention, which rest on every pair of spans, and the pairs that count as aligned."""
        zero = self.rule.zero(self.aligner.cost.neutral)
        texts = [(self.aligner.split(left), self.aligner.split(right)) for left, right in pairs]
        scored = []
        with torch.no_grad():
            for left, right in texts:
                matched = self([(left, right)])
                active = self.rule.active(matched.cost, matched.sizes)[0].nonzero().tolist()
                cost, weights = matched.cost[0], matched.weights[0]
                links = [make_link(left, right, i, j, float(cost[i, j]), float(weights[i, j]), zero) for i, j in active]
                links.sort(key=lambda link: (-link.share, link.at))
                scored.append((matched.score.item(), tuple(links)))
        return scored

    def calibrate(self, scores: Sequence[float], matches: Sequence[bool]) -> None:
        """Learns from validation pairs what a score means: a logistic curve, by maximum likelihood."""
        if len(scores) != len(matches) or len(set(map(bool, matches))) < 2:
            raise ValueError("Calibration needs scores of pairs that match and of pairs that do not.")
        if not torch.tensor(scores).isfinite().all():
            raise ValueError("Calibration needs scores that are numbers.")
        slope, offset = _logistic(torch.tensor(scores).double(), torch.tensor(matches).double())
        if slope <= 0:
            raise ValueError(
                "Pairs that match score no higher here than pairs that do not: there is nothing to calibrate."
            )
        self.calibration = slope, offset

    def probability(self, score: float) -> float:
        """The chance that two texts with this score match."""
        if self.calibration is None:
            raise ValueError("This ranker is not calibrated: call calibrate with scores of validation pairs first.")
        slope, offset = self.calibration
        return torch.tensor(slope * score + offset).sigmoid().item()

    def matches(self, score: float) -> bool:
        """Whether two texts with this score more likely match than not."""
        return self.probability(score) > 0.5


def _logistic(scores: Tensor, targets: Tensor, ridge: float = 1e-3) -> tuple[float, float]:
    """Slope and offset of the logistic curve through 0/1 targets, by Newton's method, with a ridge on the slope."""
    centre, spread = scores.mean(), scores.std().clamp(min=1e-12)
    inputs = torch.stack([(scores - centre) / spread, torch.ones_like(scores)], dim=1)
    penalty = torch.diag(torch.tensor([ridge, 0.0], dtype=torch.float64)) * len(scores)
    weights = torch.zeros(2, dtype=torch.float64)
    for _ in range(100):
        chance = (inputs @ weights).sigmoid()
        gradient = inputs.T @ (chance - targets) + penalty @ weights
        curvature = inputs.T @ (inputs * (chance * (1 - chance))[:, None]) + penalty
        step = torch.linalg.solve(curvature, gradient)
        weights = weights - step * min(1.0, 5.0 / float(step.norm().clamp(min=1e-12)))
        if step.norm() < 1e-10:
            break
    slope = weights[0] / spread
    return float(slope), float(weights[1] - slope * centre)
