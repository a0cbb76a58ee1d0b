"""The constraints: what an alignment may look like. Everything that is known about a constraint is known here.

Sizes are the numbers of spans of the left and of the right text. Where `Sizes` stands, they are whole numbers, or
integer arrays of numpy or torch with one number per problem.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import isfinite
from operator import index
from typing import Any, ClassVar, TypeAlias

Sizes: TypeAlias = Any  # an int or an integer array

INSTEAD = "UpTo(1, below=…) allows fewer links."
MANY = 2**31  # more spans than any text has
ONE_TO, UP_TO, EXACTLY, EACH = 0, 1, 2, 3  # what the kernels call the rules


class Constraint(ABC):
    """What an alignment promises. A subclass is a frozen dataclass, and is named in `CONSTRAINTS`.

    A k or `below` that is no number raises TypeError, and a k below 1 or a `below` that is not finite ValueError.

    >>> import whymatch as wm
    >>> wm.Exactly(2).text, wm.Exactly(2).admits(5, 1), wm.UpTo(2, below=0.5).links(5, 3)
    ('exactly:2', False, (0, 5))
    """

    word: ClassVar[str]
    """Its name in texts such as exactly:2."""
    takes_masses: ClassVar[bool] = False
    """Whether every span carries a mass, all of which moves, so that nothing is left out and links differ in mass."""
    shares_right: ClassVar[bool] = False
    """Whether right spans may be in any number of links, so that every left span chooses on its own."""
    entropic: ClassVar[bool] = True
    """Whether it has the paper's construction, and so an entropic plan (`sinkhorn`) and a derivative (`smooth`)."""
    thresholded: ClassVar[bool] = False
    """Whether only pairs that cost less than `below` are linked; the objective then counts costs from there."""

    @property
    @abstractmethod
    def text(self) -> str:
        """As it is written in settings and on the command line; `parse_constraint` reads it."""

    @property
    @abstractmethod
    def words(self) -> str:
        """As people say it."""

    @abstractmethod
    def admits(self, left: Sizes, right: Sizes) -> Sizes:
        """Whether texts of these sizes can keep the promise."""

    @abstractmethod
    def links(self, left: int, right: int) -> tuple[int, int]:
        """The fewest and the most links that the promise allows."""

    @abstractmethod
    def per_span(self, left: Sizes, right: Sizes) -> tuple[Sizes, Sizes]:
        """The most links of a left span, and of a right span."""

    @abstractmethod
    def advice(self, left: int, right: int) -> str:
        """What is wrong with texts that it does not admit, and what to do."""

    def rule(self) -> tuple[int, int]:
        """What the kernels for links are told: the number of the rule, and its k."""
        raise NotImplementedError(f"{self} is not solved link by link.")

    def full(self, left: Sizes, right: Sizes) -> Sizes:
        """The number of links, 1 or more, that carry a mass of 1 in all."""
        raise NotImplementedError(f"The links of {self} have no common mass.")

    def mass(self, left: Sizes, right: Sizes) -> Sizes:
        """The mass of a link; None where links differ in mass."""
        return None if self.takes_masses else 1 / self.full(left, right)

    def dummies(self, left: Sizes, right: Sizes) -> tuple[Sizes, Sizes]:
        """How many dummies stand beside the left and beside the right spans in the paper's construction (table 1).

        There a span is replicated as often as `per_span` says. Not for constraints that take masses.
        """
        raise NotImplementedError(f"{self} has neither replicas nor dummies.")

    def fitted(self, left: int, right: int) -> "Constraint | None":
        """The constraint with the largest k, up to its own, that texts of these sizes admit; None if there is none."""
        return self if self.admits(left, right) else None

    def may_omit(self, left: int, right: int, side: int) -> bool:
        """Whether some spans of the left (side 0) or right text (side 1) may stay alone, k fitted to the sizes.

        >>> [OneTo(2).may_omit(2, 5, side) for side in (0, 1)]
        [False, True]
        """
        fits = self.fitted(left, right)
        if fits is None or self.takes_masses:
            return False
        return bool(fits.links(left, right)[0] < (left, right)[side] * fits.per_span(left, right)[side])

    def zero(self, neutral: float) -> float:
        """The cost at which a link is worth nothing: `below` where it has one, else the neutral cost."""
        return neutral

    def resolved(self, below: float | None) -> "Constraint":
        """The constraint with `below` where it left that open; others as they are.

        Raises ValueError where it is needed and None came.
        """
        return self

    def to_dict(self) -> dict[str, Any]:
        """Its name and fields, which JSON can hold."""
        return {"name": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class Balanced(Constraint):
    """Every span carries its mass, 1/n or 1/m unless given, in at most n + m - 1 links: the paper's vanilla.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> wm.solve(np.array([[0.1, 0.8, 0.4]]), wm.Balanced()).plan.round(2).tolist()
    [[0.33, 0.33, 0.33]]
    """

    word = "balanced"
    takes_masses = True
    text = "balanced"
    words = "every span carries its share"

    def admits(self, left: Sizes, right: Sizes) -> Sizes:
        return (left >= 1) & (right >= 1)

    def links(self, left: int, right: int) -> tuple[int, int]:
        return max(left, right), left + right - 1

    def per_span(self, left: Sizes, right: Sizes) -> tuple[Sizes, Sizes]:
        return right, left

    def advice(self, left: int, right: int) -> str:
        return f"{self} needs a span on both sides, got {left} and {right}. {INSTEAD}"


@dataclass(frozen=True)
class _Counted(Constraint):
    """A constraint with a k, which the kernels for links know by a number."""

    k: int
    number: ClassVar[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _whole_k(type(self).__name__, self.k))

    @property
    def text(self) -> str:
        return f"{self.word}:{self.k}"

    def rule(self) -> tuple[int, int]:
        return self.number, self.most

    @property
    def most(self) -> int:
        """Its k, or less where no text has so many spans: products with sizes stay within 64 bits."""
        return min(self.k, MANY)


@dataclass(frozen=True)
class OneTo(_Counted):
    """Every span of the shorter text in exactly `k` links, of the longer in at most one (the paper's one-to-k).

    Where both texts are equally long, the left one counts as the shorter.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> wm.solve(np.array([[0.1, 0.8, 0.4]]), wm.OneTo(2)).links.tolist()
    [[0, 0], [0, 2]]

    Args:
        k: links of each span of the shorter text, 1 or more.
    """

    k: int = 1
    word = "one-to"
    number = ONE_TO

    @property
    def words(self) -> str:
        return f"every span of the shorter text in exactly {_links(self.k)}"

    def admits(self, left: Sizes, right: Sizes) -> Sizes:
        shorter, longer = _sorted(left, right)
        return (shorter >= 1) & (self.most * shorter <= longer)

    def links(self, left: int, right: int) -> tuple[int, int]:
        return self.k * min(left, right), self.k * min(left, right)

    def full(self, left: Sizes, right: Sizes) -> Sizes:
        return larger(self.most * smaller(left, right), 1)

    def per_span(self, left: Sizes, right: Sizes) -> tuple[Sizes, Sizes]:
        return 1 + (self.most - 1) * (left <= right), 1 + (self.most - 1) * (left > right)

    def dummies(self, left: Sizes, right: Sizes) -> tuple[Sizes, Sizes]:
        return larger(right - self.most * left, 0), larger(left - self.most * right, 0)

    def fitted(self, left: int, right: int) -> "OneTo | None":
        shorter, longer = _sorted(left, right)
        return None if shorter == 0 else self if self.admits(left, right) else OneTo(longer // shorter)

    def advice(self, left: int, right: int) -> str:
        needs = f"{self.k} of the longer text's spans for each of the shorter's"
        return f"{self} needs {needs}, got {left} and {right}. Use a smaller k. {INSTEAD}"


@dataclass(frozen=True)
class _Thresholded(_Counted):
    """A constraint with a k that links pairs which cost less than `below`, and any number of them.

    Without `below` it links what the cost calls significant, which an aligner knows; `solve`, which sees numbers alone,
    takes 0.
    """

    k: int = 1
    below: float | None = None
    thresholded = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.below is not None:
            object.__setattr__(self, "below", _finite_below(type(self).__name__, self.below))

    @property
    def _where(self) -> str:
        """For people: which pairs may be linked."""
        return "where it is significant" if self.below is None else f"where the cost is below {self.below:g}"

    def admits(self, left: Sizes, right: Sizes) -> Sizes:
        return (left >= 0) & (right >= 0)

    def zero(self, neutral: float) -> float:
        return 0.0 if self.below is None else self.below

    def resolved(self, below: float | None) -> "_Thresholded":
        if self.below is not None:
            return self
        if below is None:
            name = f"{type(self).__name__}({self.k}, below=…)"
            raise ValueError(f"Nothing says below which cost {self.text} may link a pair: give {name}.")
        return replace(self, below=below)

    def advice(self, left: int, right: int) -> str:
        raise AssertionError(f"{type(self).__name__} admits texts of every size")


@dataclass(frozen=True)
class UpTo(_Thresholded):
    """Pairs that cost less than `below`: at most `k` for a span of the shorter text, one for a span of the longer.

    The paper's relaxed one-to-k. Where both texts are equally long, the left one counts as the shorter. Without `below`
    it links what the cost calls significant, which an aligner knows; `solve`, which sees numbers alone, takes 0.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> wm.solve(np.array([[0.1, 0.8], [0.2, 0.9]]), wm.UpTo(1, below=0.5)).links.tolist()
    [[0, 0]]

    Args:
        k: the most links of a span of the shorter text, 1 or more.
        below: the cost from which on nothing is linked, in the unit of the costs; minus bits for evidence.
    """

    word = "up-to"
    number = UP_TO

    @property
    def words(self) -> str:
        return f"up to {_links(self.k)} a span, {self._where}"

    def links(self, left: int, right: int) -> tuple[int, int]:
        return 0, min(self.k * min(left, right), max(left, right))

    def full(self, left: Sizes, right: Sizes) -> Sizes:
        shorter, longer = _sorted(left, right)
        return larger(smaller(self.most * shorter, longer), 1)

    def per_span(self, left: Sizes, right: Sizes) -> tuple[Sizes, Sizes]:
        k = smaller(larger(left, right), self.most)  # more could not be linked
        return 1 + (k - 1) * (left <= right), 1 + (k - 1) * (left > right)

    def dummies(self, left: Sizes, right: Sizes) -> tuple[Sizes, Sizes]:
        of_left, of_right = self.per_span(left, right)
        return of_right * right, of_left * left


@dataclass(frozen=True)
class Each(_Thresholded):
    """Pairs that cost less than `below`: for every left span the `k` cheapest; right spans in any number of links.

    Without `below` it links what the cost calls significant, which an aligner knows; `solve` takes 0.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> wm.solve(np.array([[0.1, 0.8], [0.2, 0.9]]), wm.Each(1, below=0.5)).links.tolist()
    [[0, 0], [1, 0]]

    Args:
        k: the most links of a left span, 1 or more.
        below: the cost from which on nothing is linked, in the unit of the costs; minus bits for evidence.
    """

    word = "each"
    number = EACH
    shares_right = True
    entropic = False

    @property
    def words(self) -> str:
        return f"up to {_links(self.k)} for each left span, {self._where}"

    def links(self, left: int, right: int) -> tuple[int, int]:
        return 0, left * min(self.k, right)

    def full(self, left: Sizes, right: Sizes) -> Sizes:
        return larger(left * smaller(right, self.most), 1)

    def per_span(self, left: Sizes, right: Sizes) -> tuple[Sizes, Sizes]:
        return smaller(right, self.most), left


@dataclass(frozen=True)
class Exactly(_Counted):
    """Exactly `k` links in all, each span in at most one (the paper's exact-k).

    >>> import numpy as np
    >>> import whymatch as wm
    >>> wm.solve(np.array([[0.1, 0.8], [0.2, 0.9]]), wm.Exactly(2)).links.tolist()
    [[0, 0], [1, 1]]

    Args:
        k: the number of links, 1 or more.
    """

    word = "exactly"
    number = EXACTLY

    @property
    def words(self) -> str:
        return f"exactly {_links(self.k)}"

    def admits(self, left: Sizes, right: Sizes) -> Sizes:
        return (self.most <= left) & (self.most <= right)

    def links(self, left: int, right: int) -> tuple[int, int]:
        return self.k, self.k

    def full(self, left: Sizes, right: Sizes) -> Sizes:
        return self.most + 0 * left

    def per_span(self, left: Sizes, right: Sizes) -> tuple[Sizes, Sizes]:
        return 1 + 0 * left, 1 + 0 * right

    def dummies(self, left: Sizes, right: Sizes) -> tuple[Sizes, Sizes]:
        return right - self.most, left - self.most

    def fitted(self, left: int, right: int) -> "Exactly | None":
        shorter = min(left, right)
        return None if shorter == 0 else self if self.k <= shorter else Exactly(shorter)

    def advice(self, left: int, right: int) -> str:
        return f"{self} needs {self.k} or more spans on both sides, got {left} and {right}. Use a smaller k. {INSTEAD}"


CONSTRAINTS: tuple[type[Constraint], ...] = (Exactly, UpTo, OneTo, Balanced, Each)
EXAMPLES = ", ".join(f"{kind.word}:2" if issubclass(kind, _Counted) else kind.word for kind in CONSTRAINTS)
"""One text for each constraint, for help and error messages: exactly:2, up-to:2, …"""


def parse_constraint(text: str, below: float | None = None) -> Constraint:
    """The constraint that a text such as exactly:2 names; `below` is that of up-to and each.

    Raises ValueError for other texts, and for a `below` of a constraint that has none.

    >>> import whymatch as wm
    >>> wm.transport.parse_constraint("exactly:2"), wm.transport.parse_constraint("up-to:1", below=0.5)
    (Exactly(k=2), UpTo(k=1, below=0.5))
    """
    name, _, number = text.partition(":")
    kind = {kind.word: kind for kind in CONSTRAINTS}.get(name)
    counted = kind is not None and issubclass(kind, _Counted)
    if kind is None or (not number.isdecimal() or len(number) > 100 if counted else text != name):
        raise ValueError(f"Constraints are {EXAMPLES}, got {text!r:.80}.")
    if below is not None and not kind.thresholded:
        raise ValueError(f"below goes with up-to and each, which link spans that cost less, got {text}.")
    values = {"k": int(number)} if counted else {}
    return kind(**values, **({} if below is None else {"below": below}))


def constraint_from_dict(values: Mapping[str, Any]) -> Constraint:
    """The constraint that `to_dict` described; raises ValueError for other dictionaries.

    >>> import whymatch as wm
    >>> wm.transport.constraint_from_dict({"name": "UpTo", "k": 2, "below": 0.5})
    UpTo(k=2, below=0.5)
    """
    kinds = {kind.__name__: kind for kind in CONSTRAINTS}
    fields = dict(values) if isinstance(values, Mapping) else {}
    name = fields.pop("name", None)
    if not isinstance(name, str) or name not in kinds:
        raise ValueError(f"A constraint is named {', '.join(kinds)}, got {name!r:.80}.")
    try:
        return kinds[name](**fields)
    except TypeError as error:
        raise ValueError(f"These are no fields of {name}: {error}.") from None


def check_constraint(constraint: object, mass: object = None, *, entropic: bool = False) -> None:
    """Raises unless this is a constraint, one with an entropic plan if asked, and `mass` a pair if it takes masses."""
    if not isinstance(constraint, Constraint):
        raise TypeError(f"A constraint is {', '.join(kind.__name__ for kind in CONSTRAINTS)}, got {constraint!r}.")
    if entropic and not constraint.entropic:
        raise ValueError(f"{constraint} has no entropic plan: solve it exactly, without smooth.")
    if mass is not None and not constraint.takes_masses:
        raise ValueError(f"Only Balanced() takes masses, got {constraint}, whose links all have the same mass.")
    if mass is not None and not (isinstance(mass, tuple | list) and len(mass) == 2):
        raise TypeError(f"mass takes a pair (left, right), got {type(mass).__name__}.")


def _whole_k(name: str, k: Any) -> int:
    """k as an int; raises TypeError or ValueError where it cannot be one."""
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
    return number


def _finite_below(name: str, below: Any) -> float:
    try:
        number = float(below)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name}(below) takes a number, got {below!r}.") from None
    except OverflowError:
        raise ValueError(f"{name}(below) takes a cost within the range of floating-point numbers.") from None
    if not isfinite(number):
        raise ValueError(f"{name}(below={number}) takes a finite cost. Use OneTo to link whatever the cost.")
    return number


def _links(k: int) -> str:
    return "one link" if k == 1 else f"{k} links"


def smaller(a: Sizes, b: Sizes) -> Sizes:
    """The smaller of two numbers, or of arrays and numbers; nothing waits for a GPU."""
    if isinstance(a, int):
        return min(a, b)
    return a.clip(max=b)


def larger(a: Sizes, b: Sizes) -> Sizes:
    """The larger of two numbers, or of arrays and numbers; nothing waits for a GPU."""
    if isinstance(a, int):
        return max(a, b)
    return a.clip(min=b)


def _sorted(left: Sizes, right: Sizes) -> tuple[Sizes, Sizes]:
    """The sizes of the shorter and of the longer text."""
    return smaller(left, right), larger(left, right)
