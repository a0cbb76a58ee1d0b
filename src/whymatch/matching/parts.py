"""What an alignment is made of: links, what its evidence is worth, what proves it, and the optimum for each k."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from whymatch.matching.relations import Relation
from whymatch.text.document import Document
from whymatch.text.spans import Span

if TYPE_CHECKING:
    from whymatch.matching.conflicts import Conflict

ROUNDING = 1e-9  # a gap that is not worth saying


@dataclass(frozen=True)
class Link:
    """One aligned pair of spans, with its cost and its share of the score.

    >>> import whymatch as wm
    >>> [link] = wm.Aligner().align("It rained all day.", "Hello! It was raining all day long.").links
    >>> link.texts[1], link.at, link.right, link.bits > 3
    ('It was raining all day long.', (0, 1), Span(start=7, end=35), True)
    """

    left: Span
    right: Span
    at: tuple[int, int]
    """The numbers of the two spans, from 0."""
    texts: tuple[str, str]
    cost: float
    mass: float
    share: float
    """What it adds to the score."""
    bits: float | None = None
    """Its evidence, where costs are evidence: 0 is what chance gives."""
    relation: Relation | None = None
    """What its two spans say of each other; None where that was not read."""
    conflicts: "tuple[Conflict, ...]" = ()
    """Words that contradict each other, by their places in the two texts."""

    @property
    def contradicts(self) -> bool:
        """Whether its spans contradict each other: as a whole, or in words."""
        return bool(self.conflicts) or (self.relation is not None and self.relation.name == "contradicts")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        conflicts = [
            {"kind": one.kind, "left": [[*span] for span in one.left], "right": [[*span] for span in one.right]}
            for one in self.conflicts
        ]
        return asdict(self) | {"left": [*self.left], "right": [*self.right], "conflicts": conflicts}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], left: Document, right: Document) -> "Link":
        """What `to_dict` gave, with the spans and texts that its numbers stand for."""
        from whymatch.matching.conflicts import Conflict

        i, j = at = _numbers(values["at"], left, right)
        texts = left.pieces[i], right.pieces[j]
        cost, mass, share = (float(values[name]) for name in ("cost", "mass", "share"))
        bits = None if values["bits"] is None else float(values["bits"])
        relation = None if values.get("relation") is None else Relation.from_dict(values["relation"])
        conflicts = tuple(
            Conflict.from_dict(one, len(left.text), len(right.text)) for one in values.get("conflicts", ())
        )
        return cls(left.spans[i], right.spans[j], at, texts, cost, mass, share, bits, relation, conflicts)


@dataclass(frozen=True)
class Judgement:
    """What the evidence of two texts is worth.

    Args:
        bits: what all significant links are worth together, or the best pair where no link is significant.
        p_value: the share of random pairs of texts of such sizes with as much evidence.
        probability: the calibrated chance that the texts match; None where the encoder does not read their language.
        background: what the evidence was measured against.
        calibrated_on: the labelled pairs that made a probability of the p-value.
        notes: what a reader has to know, such as spans that could not be read.
        general: whether the background is of texts of any kind, or has so few that probabilities are as careful.
        tails: the two numbers of each left and of each right span from which its evidence follows.
        sizes: how many left and right spans carry evidence.
    """

    bits: float
    p_value: float
    probability: float | None
    background: str
    calibrated_on: str
    notes: tuple[str, ...] = ()
    general: bool = False
    tails: tuple[tuple[tuple[float, float], ...], ...] = field(default=((), ()), repr=False)
    sizes: tuple[int, int] = (1, 1)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Judgement":
        """What `asdict` gave."""
        left, right = (tuple((float(a), float(b)) for a, b in side) for side in values["tails"])
        bits, p_value = (float(values[name]) for name in ("bits", "p_value"))
        probability = None if values["probability"] is None else float(values["probability"])
        background, calibrated_on = (str(values[name]) for name in ("background", "calibrated_on"))
        return cls(
            bits,
            p_value,
            probability,
            background,
            calibrated_on,
            tuple(map(str, values["notes"])),
            bool(values.get("general", False)),
            (left, right),
            (int(values["sizes"][0]), int(values["sizes"][1])),
        )


@dataclass(frozen=True)
class Certificate:
    """What proves an alignment: it is optimal to within `gap`, and the next best one scores `margin` less."""

    links: int
    gap: float
    margin: float | None
    """0 is a tie, infinite where there is no other alignment, None where the problem was too large to say."""
    clipped: bool
    """Whether k was made smaller to suit a short text."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Certificate":
        margin = None if values["margin"] is None else float(values["margin"])
        return cls(int(values["links"]), float(values["gap"]), margin, bool(values["clipped"]))

    def __str__(self) -> str:
        links = "1 link" if self.links == 1 else f"{self.links} links"
        clipped = ", fewer than asked because a text is short" if self.clipped else ""
        within = "" if self.gap <= ROUNDING else f" by more than {self.gap:.1g}"
        proof = f"optimal: no alignment under this constraint scores higher{within}"
        if self.margin is None:
            clear = "how close the next best comes was not computed"
        elif self.margin == float("inf"):
            clear = "there is no other alignment" if self.links else "no pair is close enough"
        elif self.margin == 0:
            clear = "another alignment scores the same"
        else:
            clear = f"the next best one scores {self.margin:.2g} less"
        return f"{links}{clipped}; {proof}; {clear}."


@dataclass(frozen=True)
class Step:
    """The optimal `Exactly(k)` for one k."""

    k: int
    score: float
    adds: float
    """What this link adds to the total of neutral value minus cost; never rises with k."""
    gap: float
    links: tuple[tuple[int, int, float], ...]
    """Left number, right number, cost."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], left: Document, right: Document) -> "Step":
        links = tuple((*_numbers(at, left, right), float(cost)) for *at, cost in values["links"])
        return cls(int(values["k"]), float(values["score"]), float(values["adds"]), float(values["gap"]), links)


class Unmatched(NamedTuple):
    """The spans of each text that are in no link."""

    left: tuple[Span, ...]
    right: tuple[Span, ...]


def make_link(
    left: Document,
    right: Document,
    i: int,
    j: int,
    cost: float,
    mass: float,
    zero: float,
    unit: float = 1.0,
    evidence: bool = False,
) -> Link:
    """The link of span i of the left text with span j of the right.

    `unit` is the mass that counts as one, and `evidence` says that costs are minus bits.
    """
    a, b = left.spans[i], right.spans[j]
    texts = left.text[a.start : a.end], right.text[b.start : b.end]
    return Link(a, b, (i, j), texts, cost, mass, mass / unit * (zero - cost), -cost if evidence else None)


def _numbers(at: Any, left: Document, right: Document) -> tuple[int, int]:
    """The numbers of a left and a right span, if there are such spans."""
    i, j = map(index, at)
    if not (0 <= i < len(left) and 0 <= j < len(right)):
        raise ValueError(f"a link of spans {i} and {j}, of {len(left)} and {len(right)}")
    return i, j
