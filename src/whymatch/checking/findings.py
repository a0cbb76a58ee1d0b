"""What one source says of one claim: read by the relation model and by rules, and what that makes of the claim."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whymatch.checking.evidence import Linked, Source, coverage, spoken
from whymatch.checking.limits import cells_to_interpret, limits
from whymatch.checking.result import ClaimVerdict
from whymatch.interruption import interruption_point
from whymatch.matching.alignment import Alignment
from whymatch.matching.conflicts import Conflict, conflicts
from whymatch.matching.conflicts.correspondence import FUNCTION_WORDS
from whymatch.matching.defaults import word_aligner
from whymatch.matching.relating import SAME_WORD, confirmed, looks_english
from whymatch.matching.relations import Relation, RelationReader
from whymatch.text.amounts import agree, amounts, periods
from whymatch.text.dates import Date
from whymatch.text.measures import Quantity
from whymatch.text.spans import Span

SUPPORTED_FROM = 0.5
"""The support from which on a claim is supported: the mean of its coverage and of the probability that it follows."""
_BY_WORDS_FROM = 0.9
"""The coverage from which on a claim is supported by its words alone, where relations were not read."""
SAME_MEANING, _CLOSE_MEANING = 0.8, 0.6
"""The cosine from which on a span in another language supports a claim, and from which on it speaks of it."""
_POSSIBLE, _RULED_OUT = 0.2, 0.6
"""Where a word of a claim stands in no linked span as it is: the probability that it follows, from which on it can be
supported, and that of a contradiction, from which on it cannot."""
_AMOUNTS = ("number", "date")
_UNLIKELY = (
    0.1  # the probability of a contradiction below which amounts contradict each other only in the same statement
)
_SAME_STATEMENT = 0.85  # of the bits of a claim's other words, from which on a span makes the same statement
_SAME_PERIOD = 0.05  # of a period: the difference up to which something recurs as often
_SAME_MATTER = 0.5  # of the bits of a claim's other words, from which on a source can contradict it


@dataclass(frozen=True)
class Finding:
    """What one source says of a claim."""

    source: Source
    linked: Linked
    said: tuple[bool, ...]
    """For each word of the claim, as `spoken` gives them: whether a linked span says it."""
    coverage: float
    """The share of the claim's bits that are said."""
    follows: float | None
    """The probability that the claim follows from the linked spans; None where relations were not read."""
    relations: tuple[Relation | None, ...]
    """Of the claim and each linked span."""
    conflicts: tuple[tuple[Conflict, ...], ...]
    """With each linked span, by the characters of the claim and of the source."""
    matter: float
    """The share of the bits of the claim's other words, those in conflict left out, that are said."""
    has_amounts: bool
    """Whether each number and date of the claim agrees with one of the linked spans."""
    has_words: bool
    """Whether the linked spans have each word of the claim, in some form, function words left out."""
    limits: tuple[str, ...]
    """Words such as "if" and "not", with which the linked spans say less than the claim."""
    rewritten: bool
    """Whether the strongest linked span differs from the claim only in how amounts are written that agree."""

    @property
    def support(self) -> float:
        """From 0 to 1."""
        if self.linked.asked_only:
            return 0.0
        if self.linked.likeness is not None:
            return min(max(self.linked.likeness, 0.0), 1.0)
        return self.coverage if self.follows is None else (self.coverage + self.follows) / 2

    @property
    def verdict(self) -> ClaimVerdict:
        """Words in conflict make a contradiction, whatever else is said. A question says nothing."""
        if self.linked.asked_only:
            return "unsupported"
        by_model = any(one and one.name == "contradicts" for one in self.relations[:1])
        if (any(self.conflicts) or by_model) and self.speaks and self.matter >= _SAME_MATTER:
            return "contradicted" if any(self.conflicts) or not self.rewritten else "unsupported"
        if self.linked.likeness is not None:
            plainly = self.linked.likeness >= SAME_MEANING
        elif self.follows is None:
            plainly = self.coverage >= _BY_WORDS_FROM
        else:
            against = max((one.probabilities["contradicts"] for one in self.relations if one), default=0.0)
            possible = self.follows >= _POSSIBLE and against < _RULED_OUT
            plainly = (self.has_words or self.follows >= SUPPORTED_FROM or possible) and not self.limits
        supported = self.support >= SUPPORTED_FROM and self.speaks and self.has_amounts and plainly
        return "supported" if supported else "unsupported"

    @property
    def speaks(self) -> bool:
        """Whether the source speaks of the claim at all: in its words, or in others from which it follows."""
        if self.linked.likeness is not None:
            return self.linked.likeness >= _CLOSE_MEANING
        return self.linked.adds or (self.follows or 0.0) >= SUPPORTED_FROM

    @property
    def rank(self) -> tuple[int, float, float]:
        """High is good: support counts before a contradiction, and that before nothing."""
        order = ("unsupported", "contradicted", "supported").index(self.verdict)
        return order, self.support if order != 1 else self.coverage, sum(self.linked.bits)


def read_findings(pairs: Sequence[tuple[str, Source, Linked]], reader: RelationReader | None) -> list[Finding]:
    """What sources say of claims by their linked spans, all read in one batch.

    Without a reader, and where texts do not look English, neither relations nor conflicts are read.
    """
    texts = [[source.document[source.document.spans[j]] for j in linked.spans] for _, source, linked in pairs]
    readings = [[source.readings[j] for j in linked.spans] for _, source, linked in pairs]
    together = ["\n".join(source.readings[j] for j in sorted(linked.spans)) for _, source, linked in pairs]
    english = [
        reader is not None and source.language in ("en", None) and looks_english(claim, text)
        for (claim, source, _), text in zip(pairs, together, strict=True)
    ]
    single = [(claim, text) for (claim, _, _), own in zip(pairs, texts, strict=True) for text in own]
    words = iter(_aligned_words(single))
    asked = [
        (claim, text)
        for (claim, _, _), own, whole, read in zip(pairs, readings, together, english, strict=True)
        if read
        for text in ([*own, whole] if len(own) > 1 else own)
    ]
    relations = iter(reader.relations(asked) if reader is not None and asked else ())
    findings = []
    for (claim, source, linked), own, read in zip(pairs, texts, english, strict=True):
        interruption_point()
        aligned = [next(words) for _ in own]
        each = tuple(next(relations) for _ in own) if read else (None,) * len(own)
        joint = next(relations) if read and len(own) > 1 else None
        agreed, recurring = _agreed_amounts(claim, own), _agreed_periods(claim, own)
        against = _conflicts(claim, source, linked, aligned, each, agreed, recurring) if read else ((),) * len(own)
        agreed = [amounts_of_span | of_periods for amounts_of_span, of_periods in zip(agreed, recurring, strict=True)]
        said = _said(claim, source, linked, aligned if read else (), against, agreed)
        said_words = _said_words(claim, said)
        in_conflict = {word for one in against for conflict in one for word in _stems(claim, conflict.left)}
        others = {word: bits for word, bits in linked.worth.items() if word not in in_conflict}
        shares = coverage(linked.worth, said_words), coverage(others, said_words)
        follows = max(map(_follows, filter(None, (*each, joint))), default=0.0) if read else None
        needed = {one.span for one in amounts(claim) if isinstance(one, Date) or not one.vague}
        has_amounts = needed <= set[Span]().union(*agreed)
        has_words = {*linked.worth} <= {*_said_words(claim, _said(claim, source, linked, (), against, agreed))}
        limiting = _limits(claim, source, linked, said) if read else ()
        rewritten = bool(own) and _rewritten(claim, own[0], agreed[0], needed)
        facts = against, shares[1], has_amounts, has_words, limiting, rewritten
        findings.append(Finding(source, linked, said, shares[0], follows, each, *facts))
    return findings


def _limits(claim: str, source: Source, linked: Linked, said: Sequence[bool]) -> tuple[str, ...]:
    """The words that make the linked spans say less than the claim, each once.

    A name in the claim that none of them says is one where it is in the heading of another section, or in another row.
    """
    places = [source.places[j] for j in linked.spans]
    in_words = [word for j in linked.spans for word in limits(claim, source.readings[j])]
    in_cells = [cell for place in places for cell in cells_to_interpret(claim, place)]
    own = frozenset(linked.spans).union(*(place.above for place in places))
    kinds = {"heading", "row"} if any(place.kind == "row" for place in places) else {"heading"}
    names = (source.stems[j] for j, place in enumerate(source.places) if place.kind in kinds and j not in own)
    elsewhere = frozenset[str]().union(*names) & linked.worth.keys()
    unsaid = [
        claim[span.start : span.end]
        for (word, span), one in zip(spoken(claim), said, strict=True)
        if not one and word in elsewhere and not claim[span.start].islower()
    ]
    return tuple(dict.fromkeys([*in_words, *in_cells, *unsaid]))


def _agreed_amounts(claim: str, texts: Sequence[str]) -> list[set[Span]]:
    """The numbers and dates of a claim that agree with one of each text."""
    own = amounts(claim)
    others = [amounts(text) if own else [] for text in texts]
    return [{one.span for one in own if any(agree(one, other) for other in each)} for each in others]


def _agreed_periods(claim: str, texts: Sequence[str]) -> list[set[Span]]:
    """How often something recurs in a claim, and its amounts inside, where it recurs as often in each text."""
    own = periods(claim)
    others = [periods(text) if own else [] for text in texts]
    inside = [one.span for one in amounts(claim)] if own else []
    agreed = [
        {span for span, length in own if any(abs(length - other) <= length * _SAME_PERIOD for _, other in each)}
        for each in others
    ]
    return [spans | {span for span in inside if _overlaps(span, spans)} for spans in agreed]


def _rewritten(claim: str, text: str, agreed: set[Span], needed: set[Span]) -> bool:
    """Whether a text has all words of a claim except those of its amounts, and these agree."""
    there = {word for word, _ in spoken(text)}
    unsaid = [span for word, span in spoken(claim) if word not in there]
    rest = [span for span in unsaid if claim[span.start : span.end].lower() not in FUNCTION_WORDS]
    hedged = [one.phrase for one in amounts(claim) if isinstance(one, Quantity) and one.phrase and one.span in agreed]
    return bool(agreed) and needed <= agreed and all(_overlaps(span, [*agreed, *hedged]) for span in rest)


def _follows(relation: Relation) -> float:
    return relation.probabilities["same"] + relation.probabilities["implied"]


def _aligned_words(pairs: Sequence[tuple[str, str]]) -> list[list[tuple[Span, Span, float]]]:
    """The links between the words of each pair of texts, with their costs; none of texts with too many words."""
    outcomes = word_aligner().outcomes(pairs, links_only=True)
    return [
        [(link.left, link.right, link.cost) for link in why.links] if isinstance(why, Alignment) else []
        for why in outcomes
    ]


def _said_words(claim: str, said: Sequence[bool]) -> list[str]:
    return [word for (word, _), one in zip(spoken(claim), said, strict=True) if one]


def _said(
    claim: str,
    source: Source,
    linked: Linked,
    aligned: Sequence[Sequence[tuple[Span, Span, float]]],
    against: Sequence[Sequence[Conflict]],
    agreed: Sequence[set[Span]],
) -> tuple[bool, ...]:
    """Whether a linked span has each word of the claim, in some form, or one that is aligned with it and close.

    Numbers are close to each other, so they are said only as they are or by an amount that agrees; words in conflict
    are not said.
    """
    stems = frozenset[str]().union(*(source.stems[j] for j in linked.spans))
    close = {left for links in aligned for left, _, cost in links if linked.adds and cost < SAME_WORD}
    measured = {span for own in agreed for span in own}
    conflicting = [span for conflicts_of_link in against for one in conflicts_of_link for span in one.left]
    return tuple(
        (word in stems or (span in close and not word[:1].isdigit()) or _overlaps(span, measured))
        and not _overlaps(span, conflicting)
        for word, span in spoken(claim)
    )


def _conflicts(
    claim: str,
    source: Source,
    linked: Linked,
    aligned: Sequence[Sequence[tuple[Span, Span, float]]],
    relations: Sequence[Relation | None],
    agreed: Sequence[set[Span]],
    recurring: Sequence[set[Span]],
) -> tuple[tuple[Conflict, ...], ...]:
    """The conflicts with each linked span, except in words or amounts that another one has as the claim has them."""
    against = []
    for place, (j, links, relation) in enumerate(zip(linked.spans, aligned, relations, strict=True)):
        others = frozenset[str]().union(*(source.stems[k] for k in linked.spans[:place] + linked.spans[place + 1 :]))
        elsewhere = {span for number, spans in enumerate(agreed) if number != place for span in spans}
        elsewhere = elsewhere.union(*recurring)
        span = source.document.spans[j]
        same = [link[:2] for link in links if link[2] < SAME_WORD]
        own = conflicts(claim, source.document[span], [link[:2] for link in links], same=same, claim=True)
        kept = [
            one
            for one in confirmed(own, relation)
            if not (one.left and _stems(claim, one.left) <= others)
            and not (one.kind in _AMOUNTS and all(_overlaps(span, elsewhere) for span in one.left))
            and not (one.kind in _AMOUNTS and _other_matter(claim, source.stems[j], linked, one, relation))
        ]
        against.append(tuple(one.moved(0, span.start) for one in kept))
    return tuple(against)


def _other_matter(
    claim: str, span: frozenset[str], linked: Linked, conflict: Conflict, relation: Relation | None
) -> bool:
    """Whether a span lacks words of a claim beside the amounts that differ, and the model sees no contradiction."""
    amount = _stems(claim, conflict.left)
    rest = {word: bits for word, bits in linked.worth.items() if word not in amount}
    unlikely = relation is not None and relation.probabilities["contradicts"] < _UNLIKELY
    return unlikely and coverage(rest, span) < _SAME_STATEMENT


def _stems(text: str, spans: Sequence[Span]) -> set[str]:
    return {word for span in spans for word, _ in spoken(text[span.start : span.end])}


def _overlaps(span: Span, others: Iterable[Span]) -> bool:
    return any(start < span.end and span.start < end for start, end in others)
