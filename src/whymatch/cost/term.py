"""The seam of a cost: what a term is, and the padded batch that it changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from sys import float_info
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from array_api_compat import device

from whymatch.arrays import array_namespace
from whymatch.text.document import Document

if TYPE_CHECKING:
    from torch import nn

    from whymatch.cost.cost import Cost
    from whymatch.cost.words import WordCounts

Array: TypeAlias = Any  # a numpy array or a torch tensor


@dataclass(frozen=True)
class PaddedPairs:
    """What a term may know of a padded batch beside its costs (batch, n, m).

    `sizes` (batch, 2) are the numbers of left and right spans, and `texts` the documents, where they are known. For
    evidence there are the vectors (batch, n, d) and (batch, m, d), the `cost` of the terms before, the `tails`
    (batch, n, 2) and (batch, m, 2) of the spans where the caller has them, and the sizes of the texts that were
    `searched`, where these spans are a part of them.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> pairs = wm.cost.PaddedPairs(np.array([[1, 2], [2, 1]]))            # the sizes of two pairs of texts
    >>> pairs.mask(np.zeros((2, 2, 2))).tolist()
    [[[True, True], [False, False]], [[True, False], [True, False]]]
    """

    sizes: np.ndarray
    texts: Sequence[tuple[Document, Document]] | None = None
    vectors: tuple[Array, Array] | None = None
    cost: "Cost | None" = None
    tails: tuple[np.ndarray, np.ndarray] | None = None
    searched: np.ndarray | None = None

    def mask(self, like: Array) -> Array:
        """The padding mask (batch, n, m) of costs: true where there is a pair of spans."""
        xp = array_namespace(like)
        sizes = self.sizes_like(like)
        left, right = (
            xp.arange(length, device=device(like))[None, :] < sizes[:, side, None]
            for side, length in enumerate(like.shape[1:])
        )
        return left[:, :, None] & right[:, None, :]

    def sizes_like(self, like: Array) -> Array:
        """The sizes as an array of the kind and on the device of another."""
        return array_namespace(like).asarray(self.sizes, device=device(like))

    def documents(self, term: "Term") -> Sequence[tuple[Document, Document]]:
        """The texts, for a term that reads their words.

        Raises:
            ValueError: if the caller gave vectors alone.
        """
        if self.texts is None:
            raise ValueError(
                f"The cost term {term.name} reads words: give texts=[(left, right), …] beside the vectors."
            )
        return self.texts


@dataclass(frozen=True)
class Term:
    """Something that changes costs. A new term is a subclass with a `name`, its parameters as fields, and its tests.

    It overrides `mixed_in` if it changes vectors, or `changed` if it changes costs. The name stands in settings and in
    a model's config.json, `{neighbours = 0.4}`, with the value of its only number, or a table of its fields.

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> import whymatch as wm
    >>> @dataclass(frozen=True)
    ... class Dearer(wm.cost.Term):
    ...     by: float
    ...     name, contextual = "dearer", False
    ...     def changed(self, cost, pairs):
    ...         return cost + self.by
    >>> wm.Cost(wm.cost.Dot(), Dearer(0.5))(np.array([[1.0]]), np.array([[2.0]])).tolist(), Dearer(0.5).to_dict()
    ([[-1.5]], {'dearer': 0.5})
    """

    name: ClassVar[str]
    contextual: ClassVar[bool] = True
    """Whether the cost of a pair then depends on more than the text of its two spans."""
    neutral: ClassVar[float | None] = None
    """What spans with nothing in common cost after it, if that is not what they cost before."""
    least: ClassVar[float | None] = None
    """What no pair costs less than after it, if it guarantees such a bound: -inf if it may lower any cost."""
    trains: ClassVar[bool] = False
    """Whether it has weights that training changes."""
    reads_pairs: ClassVar[bool] = False
    """Whether a model reads the texts of every pair of spans, which is too slow for pairs with a whole background."""
    ranks: ClassVar[bool] = True
    """Whether links that it makes cheaper speak for a match, so that a ranker may use it."""

    def mixed_in(self, vectors: Array) -> Array | None:
        """What is added to vectors (batch, n, d) before they are compared; padding is zero vectors. None: nothing."""
        return None

    def changed(self, cost: Array, pairs: PaddedPairs) -> Array:
        """Costs (batch, n, m) after this term. What it does behind the end of a text does not matter."""
        return cost

    @property
    def module(self) -> "nn.Module | None":
        """The weights that it learns, if it does."""
        return None

    @classmethod
    def from_value(cls, value: Any, counts: "WordCounts | None" = None) -> Self:
        """What `to_dict` gives for the name; `counts` are for terms that weigh words."""
        build: Callable[..., Self] = cls
        return build(**value) if isinstance(value, dict) else build(value)

    def to_dict(self) -> dict[str, Any]:
        """Its name with its parameter, or with a dictionary of them where there are several."""
        values = self.parameters
        return {self.name: next(iter(values.values())) if len(values) == 1 else values}

    @property
    def parameters(self) -> dict[str, Any]:
        """Its numbers, by name; data, such as word counts, are fields with `repr=False` and not among them."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.repr}

    def __str__(self) -> str:
        numbers = ", ".join(f"{value:g}" for value in self.parameters.values())
        return f"{self.name.replace('_', ' ')} ({numbers})"


def non_negative(term: Term) -> None:
    """Raises ValueError unless all parameters of a term are finite numbers that are 0 or more."""
    for name, value in term.parameters.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= float_info.max:
            raise ValueError(f"{type(term).__name__}({name}={value!r:.80}) takes a number that is 0 or more.")
