"""What is compared: trained models, constraints and attention, each as links of a pair of texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from whymatch.matching.aligner import Aligner
from whymatch.matching.rules import NORMALISERS, Attend, Rule, Transport
from whymatch.matching.saving import from_pretrained
from whymatch.study.items import At
from whymatch.text.document import Document
from whymatch.transport.constraints import Constraint, UpTo, named_constraint

if TYPE_CHECKING:
    from whymatch.matching.model import Matcher

Texts: TypeAlias = tuple[Document, Document]
KINDS = "a folder of whymatch train, exactly:2, up-to:1, one-to:2, balanced, or attention such as softmax:0.1"


@dataclass(frozen=True)
class Linking:
    """Links by optimal transport, strongest first."""

    name: str
    spans: str
    aligner: Aligner
    constraint: Constraint
    dense: bool = False

    def links(self, pairs: Sequence[Texts]) -> list[list[At]]:
        found = self.aligner.align_many(pairs, self.constraint, clip=True)
        return [[link.at for link in why.links] for why in found]


@dataclass(frozen=True)
class Attending:
    """The pairs of spans that attention calls active, by their weight."""

    name: str
    spans: str
    rule: Rule
    weigh: Any
    """A function of two texts: costs and weights (n, m) of their pairs of spans."""
    dense: bool = True

    def links(self, pairs: Sequence[Texts]) -> list[list[At]]:
        return [self.strongest(*pair) for pair in pairs]

    def strongest(self, left: Document, right: Document) -> list[At]:
        """Active pairs of spans, those of most weight first; ties in the order of the texts."""
        cost, weights = self.weigh(left, right)
        active = self.rule.active(cost[None], torch.tensor([[len(left), len(right)]]))[0] & (weights > 0)
        places: list[At] = [(i, j) for i, j in active.nonzero().tolist()]
        return sorted(places, key=lambda at: (-float(weights[at]), at))


Compared: TypeAlias = Linking | Attending
"""One of the models of a study: `dense` ones rank all pairs of spans, and are cut to the best of them."""


def compared(name: str, spans: str) -> Compared:
    """The model that a word on the command line names."""
    if Path(name).is_dir():
        return trained(name, from_pretrained(name))
    kind, _, number = name.partition(":")
    aligner = partial(Aligner, spans)
    if kind in NORMALISERS:
        try:
            rule = Attend(float(number), kind)  # type: ignore[arg-type]  # one of its names
        except ValueError:
            raise ValueError(f"{kind} takes a temperature above 0, such as {kind}:0.1, got {name!r}.") from None
        return Attending(name, spans, rule, partial(by_costs, aligner(), rule))
    try:
        constraint = named_constraint(name)
    except ValueError:
        raise ValueError(f"A model is {KINDS}, got {name!r}.") from None
    if isinstance(constraint, UpTo):
        constraint = UpTo(constraint.k, below=aligner().default().below)
    return Linking(name, spans, aligner(), constraint)


def trained(name: str, model: "Matcher") -> Compared:
    """A ranker or a classifier, by its own rule."""
    if isinstance(model.rule, Transport):
        return Linking(name, model.split, model.aligner, model.rule.constraint)
    return Attending(name, model.split, model.rule, partial(by_model, model))


def by_costs(aligner: Aligner, rule: Rule, left: Document, right: Document) -> tuple[torch.Tensor, torch.Tensor]:
    """Costs of an aligner, and the weights that a rule gives."""
    (cost,) = aligner.costs([(left, right)])
    return cost, rule.weights(cost[None], torch.tensor([[*cost.shape]]))[0]


def by_model(model: "Matcher", left: Document, right: Document) -> tuple[torch.Tensor, torch.Tensor]:
    """Costs and weights of a trained model."""
    with torch.no_grad():
        matched = model([(left, right)])
    return matched.cost[0], matched.weights[0]
