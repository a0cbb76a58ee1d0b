"""A cost as a value: one definition for alignment, training, saving, settings and the model card."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np
from array_api_compat import is_torch_array

from whymatch.arrays import array_namespace
from whymatch.batching import Size, pieces
from whymatch.cost.background import Background
from whymatch.cost.evidence import Evidence
from whymatch.cost.term import Array, PaddedPairs, Term
from whymatch.cost.terms import Calibrated
from whymatch.cost.words import ReadsContradictions, Relations, WordCounts
from whymatch.text.document import Document

_MAX_ROWS_PREPARED = 512  # vectors at a time, few enough to stay in a processor's cache


@dataclass(frozen=True)
class Base:
    """A distance between vectors.

    `name` is its name in settings and `words` the one for people. Two spans with nothing in common cost `neutral`, and
    no pair costs less than `least`.

    >>> import whymatch as wm
    >>> base = wm.cost.Cosine()
    >>> base.neutral, base.least, base.words
    (1.0, 0.0, 'cosine distance')
    """

    name: ClassVar[str]
    words: ClassVar[str]
    neutral: ClassVar[float]
    least: ClassVar[float] = -inf

    def prepared(self, vectors: Array) -> Array:
        """What `compared` takes: (…, n, d), made of each vector (…, n, d) alone."""
        return vectors

    def compared(self, left: Array, right: Array) -> Array:
        """Costs (…, n, m) of prepared left vectors (…, n, d) with prepared right vectors (…, m, d)."""
        raise NotImplementedError

    def between(self, left: Array, right: Array) -> Array:
        """Costs (…, n, m) of left vectors (…, n, d) with right vectors (…, m, d)."""
        return self.compared(self.prepared(left), self.prepared(right))


@dataclass(frozen=True)
class Cosine(Base):
    """1 minus the cosine; the zero vector has nothing in common with any vector.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> left, right = np.array([[2.0, 0.0]]), np.array([[0.6, 0.8], [0.0, 1.0]])
    >>> wm.cost.Cosine().between(left, right).round(3)[0].tolist()
    [0.4, 1.0]
    """

    name, words, neutral, least = "cosine", "cosine distance", 1.0, 0.0

    def prepared(self, vectors: Array) -> Array:
        return exact_rows(unit(vectors))

    def compared(self, left: Array, right: Array) -> Array:
        return 1 - left @ right.mT


@dataclass(frozen=True)
class NegativeCosine(Base):
    """Minus the cosine: the cost for which the paper's `below = 0` is meant.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> left, right = np.array([[2.0, 0.0]]), np.array([[0.6, 0.8], [0.0, 1.0]])
    >>> wm.cost.NegativeCosine().between(left, right).round(3)[0].tolist()
    [-0.6, -0.0]
    """

    name, words, neutral, least = "negative-cosine", "negative cosine", 0.0, -1.0

    def prepared(self, vectors: Array) -> Array:
        return exact_rows(unit(vectors))

    def compared(self, left: Array, right: Array) -> Array:
        return -(left @ right.mT)


@dataclass(frozen=True)
class Dot(Base):
    """Minus the dot product.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> left, right = np.array([[2.0, 0.0]]), np.array([[0.6, 0.8], [0.0, 1.0]])
    >>> wm.cost.Dot().between(left, right).round(3)[0].tolist()
    [-1.2, -0.0]
    """

    name, words, neutral = "dot", "dot product", 0.0

    def prepared(self, vectors: Array) -> Array:
        return exact_rows(vectors)

    def compared(self, left: Array, right: Array) -> Array:
        return -(left @ right.mT)


@dataclass(frozen=True)
class ScaledDot(Base):
    """Minus the dot product over the root of the dimension, as in attention.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> left, right = np.array([[2.0, 0.0]]), np.array([[0.6, 0.8], [0.0, 1.0]])
    >>> wm.cost.ScaledDot().between(left, right).round(3)[0].tolist()
    [-0.849, -0.0]
    """

    name, words, neutral = "scaled-dot", "scaled dot product", 0.0

    def prepared(self, vectors: Array) -> Array:
        return exact_rows(vectors)

    def compared(self, left: Array, right: Array) -> Array:
        return -(left @ right.mT) / left.shape[-1] ** 0.5


@dataclass(frozen=True)
class Euclidean(Base):
    """The Euclidean distance; its neutral cost is that of orthogonal vectors of length 1.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> left, right = np.array([[2.0, 0.0]]), np.array([[0.6, 0.8], [0.0, 1.0]])
    >>> wm.cost.Euclidean().between(left, right).round(3)[0].tolist()
    [1.612, 2.236]
    """

    name, words, neutral, least = "euclidean", "Euclidean distance", 2**0.5, 0.0

    def compared(self, left: Array, right: Array) -> Array:
        return _distance(left, right)


@dataclass(frozen=True)
class SquaredEuclidean(Base):
    """The square of the Euclidean distance.

    >>> import numpy as np
    >>> import whymatch as wm
    >>> left, right = np.array([[2.0, 0.0]]), np.array([[0.6, 0.8], [0.0, 1.0]])
    >>> wm.cost.SquaredEuclidean().between(left, right).round(3)[0].tolist()
    [2.6, 5.0]
    """

    name, words, neutral, least = "squared-euclidean", "squared Euclidean distance", 2.0, 0.0

    def compared(self, left: Array, right: Array) -> Array:
        return _distance(left, right) ** 2


def unit(vectors: Array) -> Array:
    """Vectors of length 1, and zero for the zero vector, whose gradient is finite."""
    xp = array_namespace(vectors)
    if not vectors.shape[-1]:
        return vectors
    fixed = vectors.detach() if is_torch_array(vectors) else vectors
    largest = xp.max(xp.abs(fixed), axis=-1, keepdims=True)
    vectors = vectors / xp.where(largest == 0, xp.ones_like(largest), largest)  # squares neither overflow nor vanish
    squared = xp.sum(vectors * vectors, axis=-1, keepdims=True)
    return vectors / xp.sqrt(xp.where(squared == 0, xp.ones_like(squared), squared))


def exact_rows(vectors: Array) -> Array:
    """Vectors (…, n, d) in double precision, each rounded to 25 bits of its length.

    Products of such rows are whole multiples of one number, and their sums stay within the 53 bits of a double. So the
    product of two rows depends on these two alone, to the bit: on nothing beside them, and on no processor. Vectors in
    single precision, and tensors that are differentiated, stay as they are.
    """
    xp = array_namespace(vectors)
    if vectors.dtype != xp.float64 or not vectors.shape[-1] or (is_torch_array(vectors) and vectors.requires_grad):
        return vectors
    largest = xp.max(xp.abs(vectors), axis=-1, keepdims=True)
    scaled = vectors / xp.where(largest == 0, xp.ones_like(largest), largest)
    lengths = 1.01 * xp.sqrt(xp.sum(scaled * scaled, axis=-1, keepdims=True))  # so that a length of 1 is no edge
    places = xp.clip(26 - xp.frexp(lengths)[1] - xp.frexp(largest)[1], -1000, 1000)
    power = xp.ldexp(xp.ones_like(largest), places)
    return xp.round(vectors * power) / power


def _distance(left: Array, right: Array) -> Array:
    """Euclidean distances by differences, which are exact for near vectors where products are not."""
    if is_torch_array(left):
        import torch

        return torch.cdist(left, right, compute_mode="donot_use_mm_for_euclid_dist")
    rows = [np.linalg.norm(right - left[..., i : i + 1, :], axis=-1) for i in range(left.shape[-2])]
    return np.stack(rows, axis=-2) if rows else np.zeros((*left.shape[:-1], right.shape[-2]), left.dtype)


@dataclass(frozen=True, init=False)
class Cost:
    """A base distance, changed by terms in their order; terms that mix vectors come before the distance.

    >>> import whymatch as wm
    >>> cost = wm.Cost(wm.cost.Cosine(), wm.cost.Neighbours(0.4), wm.cost.Order(0.1))
    >>> cost.name, cost.contextual
    ('cosine distance with neighbours (0.4) and order (0.1)', True)
    >>> cost.to_list()
    ['cosine', {'neighbours': 0.4}, {'order': 0.1}]
    """

    base: Base
    terms: tuple[Term, ...] = ()

    def __init__(self, base: Base | None = None, *terms: Term) -> None:
        object.__setattr__(self, "base", base or Cosine())
        object.__setattr__(self, "terms", terms)
        for part, kind in ((self.base, Base), *((term, Term) for term in terms)):
            if not isinstance(part, kind):
                raise TypeError(f"A cost is Cost(base, *terms), such as Cost(Cosine(), Neighbours(0.4)), got {part!r}.")
        if (before := self.before_evidence) is not None:
            for term in before.terms:
                if term.reads_pairs or (term.contextual and type(term).changed is not Term.changed):
                    raise ValueError(
                        f"Evidence compares a pair with pairs of the background, for which {term.name} has no "
                        "meaning or takes too long: put it after Evidence()."
                    )
        names = [term.name for term in terms]
        if repeated := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"A cost has a term once, got {', '.join(sorted(repeated))} several times.")
        if len({id(term.counts) for term in terms if hasattr(term, "counts")}) > 1:
            raise ValueError("The terms of a cost that weigh words share one WordCounts, got several.")

    def __repr__(self) -> str:
        return f"Cost({', '.join(map(repr, (self.base, *self.terms)))})"

    @property
    def name(self) -> str:
        """What it is, for people."""
        return f"{self.base.words} with {' and '.join(map(str, self.terms))}" if self.terms else self.base.words

    @property
    def neutral(self) -> float:
        """What two spans with nothing in common cost."""
        return next((term.neutral for term in reversed(self.terms) if term.neutral is not None), self.base.neutral)

    @property
    def least(self) -> float:
        """What no pair costs less than."""
        return next((term.least for term in reversed(self.terms) if term.least is not None), self.base.least)

    @property
    def contextual(self) -> bool:
        """Whether the cost of a pair depends on more than the text of its two spans."""
        return any(term.contextual for term in self.terms)

    @property
    def trains(self) -> bool:
        """Whether it has weights that training changes."""
        return any(term.trains for term in self.terms)

    @property
    def evidence(self) -> Evidence | None:
        """Its evidence term, if it has one: costs are then minus bits."""
        return next((term for term in self.terms if isinstance(term, Evidence)), None)

    @cached_property
    def before_evidence(self) -> "Cost | None":
        """The cost that evidence is made of: of the terms before it and of all that mix vectors; None without it."""
        place = next((place for place, term in enumerate(self.terms) if isinstance(term, Evidence)), None)
        if place is None:
            return None
        later = (term for term in self.terms[place:] if type(term).mixed_in is not Term.mixed_in)
        return Cost(self.base, *self.terms[:place], *later)

    @property
    def unread(self) -> "Cost":
        """The cost without terms by which a model reads every pair of spans: that of random pairs, which are many."""
        return Cost(self.base, *(term for term in self.terms if not term.reads_pairs))

    def against(self, background: Background) -> "Cost":
        """The same cost, its evidence measured against this background."""
        return Cost(self.base, *(t.against(background) if isinstance(t, Evidence) else t for t in self.terms))

    def read_by(self, reader: ReadsContradictions) -> "Cost":
        """The same cost, its contradictions read by this reader."""
        return Cost(self.base, *(t.read_by(reader) if isinstance(t, Relations) else t for t in self.terms))

    @property
    def lacks_reader(self) -> bool:
        """Whether a term reads contradictions, and has nothing to read them by."""
        return any(isinstance(term, Relations) and term.reader is None for term in self.terms)

    @property
    def word_counts(self) -> WordCounts | None:
        """The counts that its terms weigh words by, if they do."""
        return next((term.counts for term in self.terms if hasattr(term, "counts")), None)

    def __call__(
        self,
        left: Array,
        right: Array,
        *,
        sizes: np.ndarray | None = None,
        texts: Sequence[tuple[Document, Document]] | None = None,
        tails: tuple[np.ndarray, np.ndarray] | None = None,
        searched: np.ndarray | None = None,
    ) -> Array:
        """Costs (n, m) of left vectors (n, d) and right vectors (m, d), or (batch, n, m) of padded batches of them.

        Padding is zero vectors behind the spans, whose numbers are `sizes` (batch, 2). Terms that read words take
        `texts`, one pair of documents for each pair of the batch. Evidence takes the `tails` of spans, (batch, n, 2)
        and (batch, m, 2), where they are known, and the sizes of the texts that were `searched`, (batch, 2), where only
        a part of their spans is given. numpy gives numpy, torch gives torch.

        Raises:
            ValueError: if shapes do not fit, or a term reads words and there are no texts.
        """
        if left.ndim not in (2, 3) or left.ndim != right.ndim or left.shape[-1] != right.shape[-1]:
            shapes = f"{tuple(left.shape)} and {tuple(right.shape)}"
            raise ValueError(f"Vectors must be (n, d) and (m, d), or batches of them, with the same d, got {shapes}.")
        if left.ndim == 2:
            return self(left[None], right[None], texts=texts, tails=tails, searched=searched)[0]
        if sizes is None:
            sizes = np.tile([left.shape[1], right.shape[1]], (len(left), 1))
        if sizes.shape != (len(left), 2) or (texts is not None and len(texts) != len(left)):
            given = f"sizes {sizes.shape}" + ("" if texts is None else f" and {len(texts)} pairs of texts")
            raise ValueError(f"A batch of {len(left)} takes sizes ({len(left)}, 2) and as many texts, got {given}.")
        cost = self.base.between(self.mixed(left), self.mixed(right))
        return self.changed(cost, PaddedPairs(sizes, texts, (left, right), self.before_evidence, tails, searched))

    def prepared(self, texts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """What the base distance compares of the vectors (n, d) of each text, in double precision."""
        ready: list[np.ndarray] = []
        for batch in pieces([*range(len(texts))], [Size(1, len(rows)) for rows in texts], _MAX_ROWS_PREPARED):
            mixed = [self.mixed(np.asarray(texts[number], np.float64)[None])[0] for number in batch]
            rows = self.base.prepared(np.concatenate(mixed))
            ready += np.split(rows, np.cumsum([*map(len, mixed)])[:-1])
        return ready

    def changed(self, cost: Array, pairs: PaddedPairs) -> Array:
        """Costs (batch, n, m) of the base distance after all terms."""
        for term in self.terms:
            cost = term.changed(cost, pairs)
        return cost

    def mixed(self, vectors: Array) -> Array:
        """Vectors (batch, n, d) with what terms mix in; each term sees them as they came: their order is free."""
        added = [mixed for term in self.terms if (mixed := term.mixed_in(vectors)) is not None]
        return sum(added, start=vectors) if vectors.shape[1] else vectors

    def to_list(self) -> list[Any]:
        """What config.json has and run.toml takes: the name of the base distance, and a dictionary for each term."""
        return [self.base.name, *(term.to_dict() for term in self.terms)]

    @classmethod
    def from_list(cls, values: Sequence[str | Mapping[str, Any]], counts: WordCounts | None = None) -> "Cost":
        """What `to_list` gave; the base distance is cosine if none is named.

        Raises:
            ValueError: if a name or a parameter is none of a known distance or term.
        """
        if not isinstance(values, list | tuple):
            raise ValueError(f"cost is a list, such as ['cosine', {{'neighbours': 0.4}}], got {values!r:.80}.")
        bases, terms = _by_name(Base), _by_name(Term)
        base, built = None, list[Term]()
        for place, entry in enumerate(values):
            if isinstance(entry, str) and place == 0 and entry in bases:
                base = _only(bases[entry])()
                continue
            if not isinstance(entry, Mapping) or len(entry) != 1 or next(iter(entry)) not in terms:
                known = f"one of {', '.join(sorted(bases))} first, then terms such as {{neighbours = 0.4}}"
                raise ValueError(f"cost is a list of {known} ({', '.join(sorted(terms))}), got {entry!r:.80}.")
            ((name, value),) = entry.items()
            try:
                built.append(_only(terms[name]).from_value(value, counts))
            except TypeError as error:
                raise ValueError(f"cost term {name}: {error}.") from None
        return cls(base, *built)


def _by_name(kind: Any) -> dict[str, list[Any]]:
    """The classes below one by the name that each gives itself; of a class that was defined again, the last one."""
    named: dict[str, dict[tuple[str, str], Any]] = defaultdict(dict)
    pending = list(kind.__subclasses__())
    for child in pending:
        pending += child.__subclasses__()
        if "name" in vars(child):
            named[child.name][child.__module__, child.__qualname__] = child
    return {name: [*classes.values()] for name, classes in named.items()}


def _only(classes: Sequence[Any]) -> Any:
    """The class of a name.

    Raises:
        ValueError: if several classes have it.
    """
    if len(classes) > 1:
        names = " and ".join(f"{child.__module__}.{child.__qualname__}" for child in classes)
        raise ValueError(f"{names} are both called {classes[0].name}: give one of them another name.")
    return classes[0]


COSTS = {
    **{base.name: Cost(base()) for base in (Cosine, NegativeCosine, Dot, ScaledDot, Euclidean, SquaredEuclidean)},
    "calibrated": Cost(Cosine(), Calibrated()),
    "evidence": Cost(Cosine(), Evidence()),
}
"""Costs by the names that the command line takes."""


def named_cost(name: str) -> Cost:
    """The cost of a name.

    >>> import whymatch as wm
    >>> wm.cost.named_cost("euclidean"), wm.cost.named_cost("evidence").name
    (Cost(Euclidean()), 'cosine distance with evidence')

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in COSTS:
        raise ValueError(f"Costs are {', '.join(COSTS)} or a Cost, got {name!r}.")
    return COSTS[name]
