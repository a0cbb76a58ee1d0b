"""Groups of documents that say the same, with their links, from the neighbours of each document alone."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import pyarrow as pa

from whymatch.interruption import interruption_point
from whymatch.matching.aligner import Aligner
from whymatch.matching.alignment import Alignment
from whymatch.matching.significance import Scale
from whymatch.matching.solving import Solved
from whymatch.search.entries import Entry, from_arrow, pooled
from whymatch.search.index import Index
from whymatch.text.encoders import all_or_raise

MAX_E_VALUE = 0.01
NEIGHBOURS = 10
_DOCUMENTS_PER_BATCH = 256  # whose pairs are aligned together


@dataclass(frozen=True)
class Duplicate:
    """Two documents, by id, that say the same, and their alignment."""

    left: str
    right: str
    p_value: float
    e_value: float
    """How many documents of the index chance would bring as close to one of the two."""
    probability: float
    alignment: Alignment

    @property
    def bits(self) -> float:
        """The evidence of all significant links."""
        return self.alignment.bits or 0.0

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
    weakest: Duplicate
    """The least sure pair without which the group would fall apart."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        weakest = {"left": self.weakest.left, "right": self.weakest.right}
        pairs = [pair.to_dict() for pair in self.pairs]
        return {"documents": dict(self.texts), "weakest": weakest, "pairs": pairs}


def duplicates(
    index: Index,
    *,
    e_value: float | None = None,
    probability: float | None = None,
    neighbours: int = NEIGHBOURS,
    progress: Callable[[int], None] = lambda done: None,
) -> list[DuplicateGroup]:
    """The groups of documents that say the same, the surest first.

    Each document is aligned with its nearest `neighbours` by pooled vectors and as many by spans, so that the work
    grows with the number of documents and not with its square. A pair is kept whose e-value is at most `e_value`
    (`MAX_E_VALUE` if neither is given) and whose probability is at least `probability`, or whose texts are equal.

    Raises:
        ValueError: if a limit is out of range.
    """
    if neighbours < 1 or (e_value is not None and not e_value > 0) or not 0 <= (probability or 0) <= 1:
        raise ValueError(
            "Duplicates take an e-value above 0, a probability from 0 to 1 and 1 or more neighbours, "
            f"got {e_value}, {probability} and {neighbours}."
        )
    if e_value is None and probability is None:
        e_value = MAX_E_VALUE
    index = _with_evidence(index)
    least_surprise = 0.0 if e_value is None else log2(max(1, len(index)) / e_value)
    pairs = [*_pairs(index, neighbours, least_surprise, probability or 0.0, progress)]
    return _groups(pairs)


def _pairs(
    index: Index, neighbours: int, least_surprise: float, probability: float, progress: Callable[[int], None]
) -> Iterator[Duplicate]:
    """The pairs of documents near each other, each once, with so much surprise (−log2 p) and so high a probability."""
    scale, documents = index.scale, len(index)
    assert scale is not None
    seen: set[tuple[str, str]] = set()
    done = 0
    for batch in index.store.batches(index.store.entry_columns, _DOCUMENTS_PER_BATCH):
        entries = from_arrow(pa.Table.from_batches([batch]), index.store.folder, index.columns)
        near = [pair for pair in dict.fromkeys(_near_pairs(index, entries, neighbours)) if pair not in seen]
        seen.update(near)
        by_id = {entry.id: entry for entry in index.entries(dict.fromkeys(id_ for pair in near for id_ in pair))}
        solved = all_or_raise(index.solve([(by_id[left], by_id[right]) for left, right in near]))
        kept = _kept(solved, scale, least_surprise, probability)
        alignments = index.aligner.explain([solved[number] for number in kept], links_only=True, scale=scale)
        for number, why in zip(kept, alignments, strict=True):
            p_value = why.p_value or 0.0
            yield Duplicate(*near[number], p_value, p_value * documents, why.probability or 0.0, why)
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
        if close[number] or plan.problem.texts[0].text == plan.problem.texts[1].text
    ]


def _near_pairs(index: Index, entries: Sequence[Entry], neighbours: int) -> Iterator[tuple[str, str]]:
    """The pairs of entries with their nearest by pooled vectors and by spans, each in the order of the ids."""
    for entry in entries:
        interruption_point()
        by_text = index.store.nearest_texts(pooled(entry.vectors), neighbours + 1)
        by_spans = index.store.nearest_spans(entry.vectors, neighbours + 1)
        for id_ in {*by_text, *by_spans} - {entry.id}:
            yield (entry.id, id_) if entry.id < id_ else (id_, entry.id)


def _groups(pairs: Sequence[Duplicate]) -> list[DuplicateGroup]:
    """The connected documents of pairs, groups with the surest pair first: Kruskal's algorithm, by p-value."""
    group_of: dict[str, set[str]] = {}
    weakest: dict[int, Duplicate] = {}
    ordered = sorted(pairs, key=lambda pair: (pair.p_value, -pair.bits, pair.left, pair.right))
    for pair in ordered:
        left, right = (group_of.setdefault(id_, {id_}) for id_ in (pair.left, pair.right))
        if left is not right:
            left |= right
            group_of |= dict.fromkeys(right, left)
            weakest[id(left)] = pair
    members: dict[int, list[Duplicate]] = defaultdict(list)
    for pair in ordered:
        members[id(group_of[pair.left])].append(pair)
    return [_group(own, weakest[group]) for group, own in members.items()]


def _group(pairs: Sequence[Duplicate], weakest: Duplicate) -> DuplicateGroup:
    texts = {pair.left: pair.alignment.left.text for pair in pairs}
    texts |= {pair.right: pair.alignment.right.text for pair in pairs}
    return DuplicateGroup({id_: texts[id_] for id_ in sorted(texts)}, tuple(pairs), weakest)


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
