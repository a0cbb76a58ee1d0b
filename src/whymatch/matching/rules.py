"""How costs become weights of pairs: by transport, or by the paper's attention baselines."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from whymatch.matching.attention import THRESHOLD, Attention, Normaliser, active, attention, entmax15, sparsemax
from whymatch.transport.constraints import Constraint, check_constraint, constraint_from_dict
from whymatch.transport.entropic import Temperature, sinkhorn
from whymatch.transport.exact import solve

NORMALISERS: dict[str, Normaliser] = {"softmax": torch.softmax, "sparsemax": sparsemax, "entmax15": entmax15}


class Rule(Protocol):
    """Weights (batch, n, m), of total 1 or less, from padded costs (batch, n, m) and sizes (batch, 2)."""

    def weights(self, cost: Tensor, sizes: Tensor) -> Tensor: ...

    def active(self, cost: Tensor, sizes: Tensor) -> Tensor:
        """Which pairs count as aligned."""

    def zero(self, neutral: float) -> float:
        """The cost at which a pair adds nothing to the score."""

    def selection(self, cost: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
        """How strongly each left span (batch, n) and each right span (batch, m) is selected, by degrees."""


@dataclass(frozen=True)
class Transport:
    """The optimal plan, k clipped where a text is short; `smooth` gives it a derivative, `soft` makes it entropic.

    >>> import whymatch as wm
    >>> rule = wm.learning.Transport(wm.Exactly(2), smooth=wm.transport.Temperature(0.1))
    >>> rule.constraint, rule.soft
    (Exactly(k=2), False)

    Args:
        constraint: what an alignment may look like.
        smooth: the temperature of the derivative; without it no gradient flows through the plan.
        soft: whether the plan itself is the entropic one.
    """

    constraint: Constraint
    smooth: Temperature | None = None
    soft: bool = False

    def __post_init__(self) -> None:
        check_constraint(self.constraint)

    @property
    def supervisable(self) -> bool:
        """Whether marked rationales can supervise which spans it links, through its entropic plan."""
        return self.constraint.entropic and not self.constraint.takes_masses

    def weights(self, cost: Tensor, sizes: Tensor) -> Tensor:
        groups: dict[Constraint, list[int]] = defaultdict(list)
        for number, (n, m) in enumerate(sizes.tolist()):
            fitted = self.constraint.fitted(n, m)
            if fitted is not None:  # a text without spans has no links
                groups[fitted].append(number)
        if len(groups) == 1 and len(next(iter(groups.values()))) == len(cost):
            return self.plan(cost, next(iter(groups)), sizes)
        plan = torch.zeros_like(cost)
        for constraint, numbers in groups.items():
            rows = torch.tensor(numbers, device=cost.device)
            plan = plan.index_copy(0, rows, self.plan(cost[rows], constraint, sizes[numbers]))
        return plan

    def plan(self, cost: Tensor, constraint: Constraint, sizes: Tensor) -> Tensor:
        """The plans (batch, n, m) of problems that all admit the constraint."""
        if self.soft:
            return sinkhorn(cost, constraint, self.smooth or Temperature(), sizes=sizes).plan
        return solve(cost, constraint, sizes=sizes, smooth=self.smooth, strict=False).plan

    def active(self, cost: Tensor, sizes: Tensor) -> Tensor:
        return active(self.weights(cost, sizes), sizes=sizes)

    def zero(self, neutral: float) -> float:
        return self.constraint.zero(neutral)

    def selection(self, cost: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
        """The chance that a span is in a link, by the entropic plan; 0 or more by the links where there is none."""
        soft = replace(self, soft=self.constraint.entropic)
        return chances(soft.weights(cost, sizes), sizes, self.constraint)

    def to_dict(self) -> dict[str, Any]:
        smooth = asdict(self.smooth) if self.smooth else None
        return {"kind": "transport", "constraint": self.constraint.to_dict(), "smooth": smooth, "soft": self.soft}


@dataclass(frozen=True)
class Attend:
    """Attention in both directions, half of the weight each; of active pairs alone with `active_only`.

    A pair is active where the attention in a direction exceeds `threshold` / (n·m).

    >>> import whymatch as wm
    >>> vectors = wm.Precomputed({"a": [1.0, 0.0], "b": [0.0, 1.0]})
    >>> ranker = wm.Ranker(wm.Aligner("line", vectors), wm.learning.Attend(0.1, "sparsemax"))
    >>> [row["corpus_id"] for row in ranker.rank(["a"], [["b"], ["b", "a"]])]
    [1, 0]

    Args:
        temperature: what costs are divided by.
        normaliser: softmax, sparsemax or entmax15.
        active_only: whether only active pairs count.
        threshold: of active pairs, over n·m.
    """

    temperature: float = 1.0
    normaliser: Literal["softmax", "sparsemax", "entmax15"] = "softmax"
    active_only: bool = False
    threshold: float = THRESHOLD

    def __post_init__(self) -> None:
        if self.normaliser not in NORMALISERS:
            raise ValueError(f"Attention is {', '.join(NORMALISERS)}, got {self.normaliser!r}.")
        if not (isfinite(self.temperature) and self.temperature > 0):
            raise ValueError(f"Attend(temperature={self.temperature}) takes a positive number.")
        if not (isfinite(self.threshold) and self.threshold >= 0):
            raise ValueError(f"Attend(threshold={self.threshold}) takes 0 or more.")

    def both(self, cost: Tensor, sizes: Tensor) -> Attention:
        return attention(cost, temperature=self.temperature, normaliser=NORMALISERS[self.normaliser], sizes=sizes)

    def active(self, cost: Tensor, sizes: Tensor) -> Tensor:
        to_right, to_left = (
            active(direction, sizes=sizes, threshold=self.threshold) for direction in self.both(cost, sizes)
        )
        return to_right | to_left

    def weights(self, cost: Tensor, sizes: Tensor) -> Tensor:
        both = self.both(cost, sizes)
        n, m = (sizes.to(cost).clamp(min=1)[:, side, None, None] for side in (0, 1))
        weights = both.to_right / (2 * n) + both.to_left / (2 * m)
        if not self.active_only:
            return weights
        return weights * self.active(cost, sizes)

    def zero(self, neutral: float) -> float:
        return neutral

    def selection(self, cost: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
        """The attention that a span gets, as a multiple of what all would get if they got the same."""
        both = self.both(cost, sizes)
        n, m = (sizes.to(cost).clamp(min=1)[:, side, None] for side in (0, 1))
        return both.to_left.sum(dim=2) * n / m, both.to_right.sum(dim=1) * m / n

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "attend", **asdict(self)}


def rule_from_dict(values: Mapping[str, Any]) -> Transport | Attend:
    """The rule that `to_dict` described."""
    if values["kind"] == "attend":
        return Attend(values["temperature"], values["normaliser"], values["active_only"], values["threshold"])
    smooth = Temperature(**values["smooth"]) if values["smooth"] else None
    return Transport(constraint_from_dict(values["constraint"]), smooth, values["soft"])


def chances(plan: Tensor, sizes: Tensor, constraint: Constraint) -> tuple[Tensor, Tensor]:
    """The marginals of soft plans as chances to be in a link: divided by the most that a span can carry.

    That is the mass of a link, k clipped as in solving, and k of them for the shorter text's spans under one-to-k.
    """
    most = []
    for n, m in sizes.tolist():
        fitted = constraint.fitted(n, m)
        mass = None if fitted is None else fitted.mass(n, m)
        if fitted is None or mass is None:
            most.append([1.0, 1.0])
        else:
            most.append([float(mass) * links for links in fitted.per_span(n, m)])
    left, right = plan.new_tensor(most)[:, :, None].unbind(dim=1)
    return (plan.sum(dim=2) / left).clamp(0, 1), (plan.sum(dim=1) / right).clamp(0, 1)
