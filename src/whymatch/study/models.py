"""What is compared: trained models, constraints and attention, each as links of a pair of texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import torch

from whymatch.matching.aligner import Aligner
from whymatch.matching.rules import NORMALISERS, Attend, Rule, Transport
from whymatch.matching.saving import from_pretrained
from whymatch.study.items import At
from whymatch.text.document import Document
from whymatch.transport.constraints import EXAMPLES, Constraint, parse_constraint

Texts: TypeAlias = tuple[Document, Document]
_KINDS = f"a folder of whymatch train, {EXAMPLES}, or attention such as softmax:0.1"


@dataclass(frozen=True)
class Linking:
    """Links by optimal transport, strongest first."""

    name: str
    spans: str
    aligner: Aligner
    constraint: Constraint
    dense: bool = False

    def links(self, pairs: Sequence[Texts]) -> list[list[At]]:
        alignments = self.aligner.align_many(pairs, self.constraint, clip=True, links_only=True, progress=False)
        return [[link.at for link in alignment.links] for alignment in alignments]


@dataclass(frozen=True)
class Attending:
    """The pairs of spans that attention calls active, by their weight."""

    name: str
    spans: str
    aligner: Aligner
    rule: Rule
    dense: bool = True

    def links(self, pairs: Sequence[Texts]) -> list[list[At]]:
        return [self._strongest(torch.from_numpy(cost)) for cost in self.aligner.costs(pairs)]

    def _strongest(self, cost: torch.Tensor) -> list[At]:
        """Active pairs of spans, those of most weight first, and of these the cheapest: low temperatures make ties."""
        sizes = torch.tensor([[*cost.shape]])
        weights = self.rule.weights(cost[None], sizes)[0]
        active = self.rule.active(cost[None], sizes)[0] & (weights > 0)
        places: list[At] = [(i, j) for i, j in active.nonzero().tolist()]
        return sorted(places, key=lambda at: (-float(weights[at]), float(cost[at]), at))


Compared: TypeAlias = Linking | Attending
"""One of the models of a study: `dense` ones rank all pairs of spans, and are cut to the best of them."""


def compared(name: str, spans: str) -> Compared:
    """The model that a word on the command line names; a trained ranker or classifier links by its own rule."""
    if Path(name).is_dir():
        model = from_pretrained(name)
        if isinstance(model.rule, Transport):
            return Linking(name, str(model.aligner.spans), model.aligner, model.rule.constraint)
        return Attending(name, str(model.aligner.spans), model.aligner, model.rule)
    kind, _, number = name.partition(":")
    if kind in NORMALISERS:
        try:
            rule = Attend(float(number), kind)  # type: ignore[arg-type]  # one of its names
        except ValueError:
            raise ValueError(f"{kind} takes a temperature above 0, such as {kind}:0.1, got {name!r}.") from None
        return Attending(name, spans, _untrained(spans).without_evidence(), rule)
    try:
        constraint = parse_constraint(name)
    except ValueError:
        raise ValueError(f"A model is {_KINDS}, got {name!r}.") from None
    return Linking(name, spans, _untrained(spans), constraint)


@cache
def _untrained(spans: str) -> Aligner:
    """The default aligner, which several models of a study share."""
    return Aligner(spans)
