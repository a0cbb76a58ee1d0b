"""The four constraints: what an alignment may look like.

The methods speak of the shorter and the longer text, since the promises do; they take whole numbers or arrays of them.
"""

from dataclasses import dataclass
from math import isfinite
from operator import index
from typing import Any, TypeAlias

import numpy as np

Sizes: TypeAlias = Any  # an int or an integer array


INSTEAD = "UpTo(1, below=…) allows fewer links."
MANY = 2**31  # more spans than any text has


def whole_k(constraint: "OneTo | UpTo | Exactly") -> None:
    """Makes k an int, or says why it cannot be one."""
    name, k = type(constraint).__name__, constraint.k
    try:
        number = None if isinstance(k, bool) else index(k)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{name}(k) takes a whole number, got {k!r}.")
    if number < 1:
        raise ValueError(f"{name}(k={number}) would allow no link at all. Use k = 1 or more.")
    if number.bit_length() > 1000:
        raise ValueError(f"{name}(k) takes fewer than 10^300 links, got a number of {number.bit_length()} bits.")
    object.__setattr__(constraint, "k", number)


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
        return f"{self} needs a span on both sides, got {left} and {right}. {INSTEAD}"


@dataclass(frozen=True)
class OneTo:
    """Every span of the shorter text in exactly `k` links, of the longer in at most one (the paper's one-to-k)."""

    k: int = 1

    def __post_init__(self) -> None:
        whole_k(self)

    def admits(self, shorter: Sizes, longer: Sizes) -> Sizes:
        return (shorter >= 1) & (self.k <= longer // np.maximum(shorter, 1))

    def links(self, shorter: int, longer: int) -> tuple[int, int]:
        return self.k * shorter, self.k * shorter

    def mass(self, shorter: Sizes, longer: Sizes) -> Sizes:
        """The mass of a link."""
        return 1 / np.maximum(float(min(self.k, MANY)) * shorter, 1)

    def construction(self, shorter: Sizes, longer: Sizes) -> tuple[Sizes, Sizes, Sizes]:
        """The paper's table 1: replicas of a span of the shorter text, dummies beside it, dummies beside the longer."""
        k = min(self.k, MANY)
        return k, longer - k * shorter, 0 * longer

    def advice(self, left: int, right: int) -> str:
        needs = f"{self.k} of the longer text's spans for each of the shorter's"
        return f"{self} needs {needs}, got {left} and {right}. Use a smaller k. {INSTEAD}"


@dataclass(frozen=True)
class UpTo:
    """Pairs that cost less than `below`: at most `k` for a span of the shorter text, one for a span of the longer.

    The paper's relaxed one-to-k. Where both texts are equally long, the left one counts as the shorter. A `below` of 0,
    the paper's, suits negative cosine; 0.5 suits cosine distance.
    """

    k: int = 1
    below: float = 0.0

    def __post_init__(self) -> None:
        whole_k(self)
        try:
            below = float(self.below)
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"UpTo(below) takes a number, got {self.below!r}.") from None
        except OverflowError:
            raise ValueError("UpTo(below) takes a cost within the range of floating-point numbers.") from None
        if not isfinite(below):
            raise ValueError(f"UpTo(below={below}) takes a finite cost. Use OneTo to link whatever the cost.")
        object.__setattr__(self, "below", below)

    def admits(self, shorter: Sizes, longer: Sizes) -> Sizes:
        return shorter >= 0

    def links(self, shorter: int, longer: int) -> tuple[int, int]:
        return 0, min(self.k * shorter, longer)

    def mass(self, shorter: Sizes, longer: Sizes) -> Sizes:
        return 1 / np.maximum(np.minimum(float(min(self.k, MANY)) * shorter, longer), 1)

    def construction(self, shorter: Sizes, longer: Sizes) -> tuple[Sizes, Sizes, Sizes]:
        replicas = np.minimum(min(self.k, MANY), longer)  # more could not be linked
        return replicas, longer, replicas * shorter

    def advice(self, left: int, right: int) -> str:
        raise AssertionError("UpTo admits texts of every size")


@dataclass(frozen=True)
class Exactly:
    """Exactly `k` links in all, each span in at most one (the paper's exact-k)."""

    k: int

    def __post_init__(self) -> None:
        whole_k(self)

    def admits(self, shorter: Sizes, longer: Sizes) -> Sizes:
        return self.k <= shorter

    def links(self, shorter: int, longer: int) -> tuple[int, int]:
        return self.k, self.k

    def mass(self, shorter: Sizes, longer: Sizes) -> Sizes:
        return np.full_like(shorter, 1 / self.k, dtype=float)

    def construction(self, shorter: Sizes, longer: Sizes) -> tuple[Sizes, Sizes, Sizes]:
        k = min(self.k, MANY)
        return 1, longer - k, shorter - k

    def advice(self, left: int, right: int) -> str:
        return f"{self} needs {self.k} or more spans on both sides, got {left} and {right}. Use a smaller k. {INSTEAD}"


Constraint: TypeAlias = Balanced | OneTo | UpTo | Exactly


def named_constraint(text: str, below: float = 0.0) -> Constraint:
    """The constraint that a word such as exactly:2 names; `below` is that of up-to.

    >>> named_constraint("exactly:2"), named_constraint("up-to:1", below=0.5)
    (Exactly(k=2), UpTo(k=1, below=0.5))
    """
    name, _, number = text.partition(":")
    if text == "balanced":
        return Balanced()
    if name not in ("exactly", "up-to", "one-to") or not number.isdecimal() or len(number) > 100:
        raise ValueError(f"Constraints are exactly:2, up-to:1, one-to:2 and balanced, got {text!r:.80}.")
    k = int(number)
    return Exactly(k) if name == "exactly" else OneTo(k) if name == "one-to" else UpTo(k, below=below)


def fitted(constraint: Constraint, left: int, right: int) -> Constraint | None:
    """The constraint with the largest k, up to its own, that texts of these sizes admit; None if a text has no span.

    >>> fitted(Exactly(4), 2, 7), fitted(OneTo(3), 2, 5), fitted(Exactly(4), 0, 7)
    (Exactly(k=2), OneTo(k=2), None)
    """
    shorter, longer = min(left, right), max(left, right)
    if constraint.admits(shorter, longer):
        return constraint
    if shorter == 0:
        return None
    assert isinstance(constraint, OneTo | Exactly)
    return Exactly(shorter) if isinstance(constraint, Exactly) else OneTo(longer // shorter)


def check_constraint(constraint: object, mass: object = None) -> None:
    """Raises unless this is one of the constraints, and `mass` a pair if it takes masses."""
    if not isinstance(constraint, Constraint):
        raise TypeError(f"A constraint is Balanced(), OneTo(k), UpTo(k, below) or Exactly(k), got {constraint!r}.")
    if mass is not None and not isinstance(constraint, Balanced):
        raise ValueError(f"Only Balanced() takes masses, got {constraint}, whose links all have the same mass.")
    if mass is not None and not (isinstance(mass, tuple | list) and len(mass) == 2):
        raise TypeError(f"mass takes a pair (left, right), got {type(mass).__name__}.")
