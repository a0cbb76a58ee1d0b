"""The four constraints: what an alignment may look like.

The methods speak of the shorter and the longer text, since the promises do; they take whole numbers or arrays of them.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

Sizes: TypeAlias = Any  # an int or an integer array


def check_k(name: str, k: object) -> None:
    if isinstance(k, bool) or not isinstance(k, int):
        raise TypeError(f"{name}(k) takes a whole number, got {k!r}.")
    if k < 1:
        raise ValueError(f"{name}(k={k}) would allow no link at all. Use k = 1 or more.")


@dataclass(frozen=True)
class Balanced:
    """Every span carries its mass, 1/n or 1/m unless given, in at most n + m - 1 links: the paper's vanilla."""

    def admits(self, shorter: Sizes, longer: Sizes) -> Sizes:
        """Whether texts of these sizes can keep the promise."""
        return shorter >= 1

    def links(self, shorter: int, longer: int) -> tuple[int, int]:
        """The fewest and the most links that the promise allows."""
        return longer, shorter + longer - 1

    def advice(self, left: int, right: int) -> str:
        return f"{self} needs a span on both sides, got {left} and {right}. Use UpTo(1) to allow empty texts."


@dataclass(frozen=True)
class OneTo:
    """Every span of the shorter text in exactly `k` links, of the longer in at most one (the paper's one-to-k)."""

    k: int = 1

    def __post_init__(self) -> None:
        check_k("OneTo", self.k)

    def admits(self, shorter: Sizes, longer: Sizes) -> Sizes:
        return (shorter >= 1) & (self.k <= longer // np.maximum(shorter, 1))

    def links(self, shorter: int, longer: int) -> tuple[int, int]:
        return self.k * shorter, self.k * shorter

    def mass(self, shorter: Sizes, longer: Sizes) -> Sizes:
        """The mass of a link."""
        return 1 / np.maximum(float(self.k) * shorter, 1)

    def advice(self, left: int, right: int) -> str:
        return (
            f"{self} needs {self.k} spans of the longer text for each of the shorter, got {left} and {right}. "
            f"Use UpTo({self.k}) to allow fewer."
        )


@dataclass(frozen=True)
class UpTo:
    """Pairs that cost less than `below`: at most `k` for a span of the shorter text, one for a span of the longer.

    The paper's relaxed one-to-k. Where both texts are equally long, the left one counts as the shorter. A `below` of 0,
    the paper's, suits negative cosine; 0.5 suits cosine distance.
    """

    k: int = 1
    below: float = 0.0

    def __post_init__(self) -> None:
        check_k("UpTo", self.k)
        if not isfinite(self.below):
            raise ValueError(f"UpTo(below={self.below}) takes a finite cost. Use OneTo to link whatever the cost.")

    def admits(self, shorter: Sizes, longer: Sizes) -> Sizes:
        return shorter >= 0

    def links(self, shorter: int, longer: int) -> tuple[int, int]:
        return 0, min(self.k * shorter, longer)

    def mass(self, shorter: Sizes, longer: Sizes) -> Sizes:
        return 1 / np.maximum(np.minimum(float(self.k) * shorter, longer), 1)

    def advice(self, left: int, right: int) -> str:
        raise AssertionError("UpTo admits texts of every size")


@dataclass(frozen=True)
class Exactly:
    """Exactly `k` links in all, each span in at most one (the paper's exact-k)."""

    k: int

    def __post_init__(self) -> None:
        check_k("Exactly", self.k)

    def admits(self, shorter: Sizes, longer: Sizes) -> Sizes:
        return self.k <= shorter

    def links(self, shorter: int, longer: int) -> tuple[int, int]:
        return self.k, self.k

    def mass(self, shorter: Sizes, longer: Sizes) -> Sizes:
        return np.full_like(shorter, 1 / self.k, dtype=float)

    def advice(self, left: int, right: int) -> str:
        return f"{self} needs {self.k} spans on both sides, got {left} and {right}. Use UpTo(1) to allow fewer."


Constraint: TypeAlias = Balanced | OneTo | UpTo | Exactly
