"""Groups of documents that say the same, with their links, from the neighbours of each document alone."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf, log2
from typing import Any, overload

import pyarrow as pa

from whymatch.interruption import interruption_point
from whymatch.matching.aligner import Aligner
from whymatch.matching.alignment import Alignment
from whymatch.matching.significance import Scale
from whymatch.matching.solving import Solved
from whymatch.search.columns import Metadata
from whymatch.search.encoding import unread_languages
from whymatch.search.entries import Entry, from_arrow, pooled, text_digest
from whymatch.search.index import Index
from whymatch.show.words import groups_verdict
from whymatch.text.document import same_text
from whymatch.text.encoders import all_or_raise, unread_documents_note

MAX_E_VALUE = 0.01
MIN_PROBABILITY = 0.5
"""Asked for together with `MAX_E_VALUE`, where no limit is given."""
NEIGHBOURS = 10
_DOCUMENTS_PER_BATCH = 256  # whose pairs are aligned together


@dataclass(frozen=True)
class Duplicate:
    """Two documents that say the same: `left` and `right` are their ids, and `alignment` has the links and both texts.

    `p_value` is the share of random pairs of documents that have as much evidence.
    """

    left: str
    right: str
    p_value: float
    e_value: float
    """How many documents of the index chance would bring as close to one of the two."""
    probability: float | None
    """How likely they match, where one pair in as many does as there are documents; None where that is not judged."""
    alignment: Alignment

    @property
    def bits(self) -> float:
        """The evidence of all significant links."""
        return self.alignment.bits or 0.0

    @property
    def reason(self) -> tuple[str, str] | None:
        """The two spans that say most of why, of those that differ if any do; None of equal texts without links."""
        texts = [link.texts for link in self.alignment.links]
        differing = (pair for pair in texts if not same_text(*pair))
        return next(differing, texts[0]) if texts else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        numbers = {"probability": self.probability, "e_value": self.e_value, "bits": self.bits, "p_value": self.p_value}
        return {"left": self.left, "right": self.right, **numbers, "alignment": self.alignment.to_dict()}


@dataclass(frozen=True)
class DuplicateGroup:
    """Documents that are connected by duplicates."""

    texts: dict[str, str]
    """The texts of its documents by id, in the order of the ids."""
    pairs: tuple[Duplicate, ...]
    """Its duplicates, the surest first."""
    reasons: tuple[Duplicate, ...]
    """The surest pairs that connect all of its documents, one fewer than there are documents, the surest first."""
    metadata: Mapping[str, Metadata] = field(default_factory=dict)
    """What the index keeps of its documents, by their ids."""

    @property
    def weakest(self) -> Duplicate:
        """The least sure pair without which the group would fall apart."""
        return self.reasons[-1]

    def surest(self, id_: str) -> Duplicate:
        """The surest pair that one of its documents is in."""
        return next(pair for pair in self.pairs if id_ in (pair.left, pair.right))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        reasons = [{"left": pair.left, "right": pair.right} for pair in self.reasons]
        return {
            "documents": dict(self.texts),
            "metadata": {id_: dict(own) for id_, own in self.metadata.items()},
            "probability": self.weakest.probability,
            "weakest": reasons[-1],
            "reasons": reasons,
            "pairs": [pair.to_dict() for pair in self.pairs],
        }


@dataclass(frozen=True)
class DuplicateGroups(Sequence[DuplicateGroup]):
    """The groups of documents of an index that say the same, the surest first."""

    groups: tuple[DuplicateGroup, ...]
    documents: int
    """How many documents were compared."""
    background: str
    """What evidence was measured against."""
    e_value: float | None
    """The limit that was asked for; None if there was none."""
    probability: float | None
    """The limit that was asked for; None if there was none."""
    notes: tuple[str, ...] = ()
    """What a reader has to know: how many documents the encoder does not read, how many pairs were left out."""

    @overload
    def __getitem__(self, place: int) -> DuplicateGroup: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[DuplicateGroup, ...]: ...
    def __getitem__(self, place: int | slice) -> DuplicateGroup | tuple[DuplicateGroup, ...]:
        return self.groups[place]

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def verdict(self) -> str:
        """How much was found, in one sentence."""
        return groups_verdict([len(group.texts) for group in self], self.documents)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        limits = {"e_value": self.e_value, "probability": self.probability}
        about = {"verdict": self.verdict, "documents": self.documents, "background": self.background, "limits": limits}
        about["notes"] = [*self.notes]
        return {**about, "groups": [group.to_dict() for group in self]}

    def to_html(self) -> str:
        """A page that needs nothing else: the documents of each group, and the spans that say why."""
        from whymatch.show.grouped import page

        return page(self.to_dict())


def duplicates(
    index: Index,
    *,
    e_value: float | None = None,
    probability: float | None = None,
    neighbours: int = NEIGHBOURS,
    progress: Callable[[int], None] = lambda done: None,
) -> DuplicateGroups:
    """The groups of documents that say the same, the surest first.

    Each document is aligned with its nearest `neighbours` by pooled vectors and as many by spans, and with one of the
    same text, so that the work grows with the number of documents and not with its square. A pair is kept whose
    e-value is at most `e_value` and whose probability is at least `probability` (0.01 and 0.5 if neither is given), or
    whose texts are equal. Texts in languages that the encoder does not read are duplicates only
    of equal ones.

    >>> from tempfile import TemporaryDirectory
    >>> import whymatch as wm
    >>> from whymatch.search.duplicates import duplicates
    >>> texts = {"old": "My disk is full.", "new": "There is no room on the disk.", "wine": "Wine is red."}
    >>> with TemporaryDirectory() as folder:
    ...     index = wm.Index.create(folder)
    ...     added = index.add(texts)
    ...     groups = duplicates(index, e_value=0.01, probability=0.5)
    >>> groups.verdict
    '2 of 3 documents say the same.'
    >>> for group in groups:
    ...     print(*group.texts, group.weakest.probability > 0.5, group.weakest.reason)
    new old True ('There is no room on the disk.', 'My disk is full.')

    Args:
        index: the documents; `Index.create` and `Index.add` make one.
        e_value: how many documents chance may bring as close as the two of a pair.
        probability: the least probability, from 0 to 1. Of the two limits, one that is not given does not count if the
            other is.
        neighbours: how many documents each is aligned with, in each of the two ways; 10 by default.
        progress: takes how many documents are done.

    Raises:
        ValueError: if a limit is out of range.
    """
    check_limits(e_value, probability, neighbours)
    by_default = e_value is None and probability is None
    if by_default:
        e_value = MAX_E_VALUE
    index = _with_evidence(index)
    least_surprise = 0.0 if e_value is None else log2(max(1, len(index)) / e_value)
    unread_by_language = Counter[str]()
    pairs = [*_pairs(index, neighbours, least_surprise, probability or 0.0, unread_by_language, progress)]
    notes = [*filter(None, [unread_documents_note(index.aligner.encoder, unread_by_language, len(index))])]
    if by_default:
        probability = MIN_PROBABILITY
        likely = [pair for pair in pairs if _likely(pair) >= probability]
        if unlikely := len(pairs) - len(likely):
            are = "pair is" if unlikely == 1 else "pairs are"
            shown = f"--e-value {e_value}, or e_value={e_value}, lists them"
            notes.append(f"{unlikely:,} {are} left out whose probability is below one half: {shown}.")
        pairs = likely
    groups = _groups(pairs)
    if index.columns:
        kept = {entry.id: entry.metadata for entry in index.entries(id_ for group in groups for id_ in group.texts)}
        groups = [replace(group, metadata={id_: kept[id_] for id_ in group.texts}) for group in groups]
    assert index.scale is not None
    return DuplicateGroups(tuple(groups), len(index), index.scale.background.name, e_value, probability, tuple(notes))


def check_limits(e_value: float | None, probability: float | None, neighbours: int) -> None:
    """Raises ValueError for limits of `duplicates` that are out of range."""
    if neighbours < 1 or (e_value is not None and not 0 < e_value < inf) or not 0 <= (probability or 0) <= 1:
        raise ValueError(
            "Duplicates take an e-value above 0, a probability from 0 to 1 and 1 or more neighbours, "
            f"got {e_value}, {probability} and {neighbours}."
        )


def _pairs(
    index: Index,
    neighbours: int,
    least_surprise: float,
    probability: float,
    unread_by_language: Counter[str],
    progress: Callable[[int], None],
) -> Iterator[Duplicate]:
    """The pairs of documents near each other, each once, with so much surprise (−log2 p) and so high a probability.

    Documents that the encoder does not read are counted by their language.
    """
    scale, documents, encoder = index.scale, len(index), index.aligner.encoder
    assert scale is not None
    seen: set[tuple[str, str]] = set()
    first_with: dict[bytes, str] = {}
    done = 0
    for batch in index.store.batches(index.store.entry_columns, _DOCUMENTS_PER_BATCH):
        entries = from_arrow(pa.Table.from_batches([batch]), index.store.folder, index.columns)
        unread_by_language.update(unread_languages(encoder, entries))
        pairs = dict.fromkeys(chain(_equal_pairs(entries, first_with), _near_pairs(index, entries, neighbours)))
        near = [pair for pair in pairs if pair not in seen]
        seen.update(near)
        by_id = {entry.id: entry for entry in index.entries(dict.fromkeys(id_ for pair in near for id_ in pair))}
        solved = all_or_raise(index.solve([(by_id[left], by_id[right]) for left, right in near]))
        kept = [
            number
            for number in _kept(solved, scale, least_surprise, probability)
            if same_text(*(by_id[id_].text for id_ in near[number]))
            or not any(unread_languages(encoder, (by_id[id_] for id_ in near[number])))
        ]
        alignments = index.aligner.explain([solved[number] for number in kept], links_only=True, scale=scale)
        for number, why in zip(kept, alignments, strict=True):
            if why.probability is not None or probability == 0:
                p_value = why.p_value or 0.0
                yield Duplicate(*near[number], p_value, p_value * documents, why.probability, why)
        done += batch.num_rows
        progress(done)


def _kept(solved: Sequence[Solved], scale: Scale, least_surprise: float, probability: float) -> list[int]:
    """The numbers of the plans of texts that are equal, or have so much surprise and so high a probability."""
    if not solved:
        return []
    surprise, probabilities = scale.judge([plan.bits for plan in solved], [plan.tails for plan in solved if plan.tails])
    close = (surprise >= least_surprise) & (probabilities >= probability)
    return [
        number
        for number, plan in enumerate(solved)
        if close[number] or same_text(*(text.text for text in plan.problem.texts))
    ]


def _equal_pairs(entries: Sequence[Entry], first_with: dict[bytes, str]) -> Iterator[tuple[str, str]]:
    """The pairs of entries with the first one of the same text, by digest, each in the order of the ids."""
    for entry in entries:
        first = first_with.setdefault(text_digest(entry.text), entry.id)
        if first != entry.id:
            yield (first, entry.id) if first < entry.id else (entry.id, first)


def _near_pairs(index: Index, entries: Sequence[Entry], neighbours: int) -> Iterator[tuple[str, str]]:
    """The pairs of entries with their nearest by pooled vectors and by spans, each in the order of the ids."""
    for entry in entries:
        interruption_point()
        by_text = index.store.nearest_texts(pooled(entry.vectors), neighbours + 1)
        by_spans = index.store.nearest_spans(entry.vectors, neighbours + 1)
        for id_ in {*by_text, *by_spans} - {entry.id}:
            yield (entry.id, id_) if entry.id < id_ else (id_, entry.id)


def _groups(pairs: Sequence[Duplicate]) -> list[DuplicateGroup]:
    """The connected documents of pairs by Kruskal's algorithm, the surest pairs first.

    A group is as sure as the least sure pair that it needs, and the surest group comes first.
    """
    group_of: dict[str, set[str]] = {}
    reasons: dict[int, list[Duplicate]] = defaultdict(list)
    ordered = sorted(pairs, key=_surest_first)
    for pair in ordered:
        left, right = (group_of.setdefault(id_, {id_}) for id_ in (pair.left, pair.right))
        if left is not right:
            if len(left) < len(right):
                left, right = right, left
            left |= right
            group_of |= dict.fromkeys(right, left)
            reasons[id(left)] += [*reasons.pop(id(right), ()), pair]
    members: dict[int, list[Duplicate]] = defaultdict(list)
    for pair in ordered:
        members[id(group_of[pair.left])].append(pair)
    groups = [_group(own, reasons[group]) for group, own in members.items()]
    return sorted(groups, key=lambda group: _surest_first(group.weakest))


def _likely(pair: Duplicate) -> float:
    return 0.0 if pair.probability is None else pair.probability


def _surest_first(pair: Duplicate) -> tuple[float, float, float, str, str]:
    """What pairs are sorted by: the probability, then what chance gives."""
    return -_likely(pair), pair.p_value, -pair.bits, pair.left, pair.right


def _group(pairs: Sequence[Duplicate], reasons: Sequence[Duplicate]) -> DuplicateGroup:
    texts = {pair.left: pair.alignment.left.text for pair in pairs}
    texts |= {pair.right: pair.alignment.right.text for pair in pairs}
    connecting = {id(pair) for pair in reasons}
    ordered = tuple(pair for pair in pairs if id(pair) in connecting)
    return DuplicateGroup({id_: texts[id_] for id_ in sorted(texts)}, tuple(pairs), ordered)


def _with_evidence(index: Index) -> Index:
    """The index, or the same one searched by evidence of the same vectors where its ranker has none.

    Raises:
        ValueError: if there is nothing that evidence could be measured against.
    """
    if index.scale is None:
        index = Index(index.store, Aligner(index.aligner.spans, index.aligner.encoder))
    if index.scale is None:
        raise ValueError(
            f"Duplicates are found by evidence, and {index.aligner.encoder.name} cannot encode the texts of a "
            "background. Make the index with an encoder, or with 20 documents and 200 spans or more."
        )
    return index
