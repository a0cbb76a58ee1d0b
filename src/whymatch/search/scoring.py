"""Exact alignment of one text with many documents, from the vectors that are stored with them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from whymatch.batching import Size, size_sorted
from whymatch.matching.aligner import MAX_PAIRS, MAX_PAIRS_PER_BATCH, Aligner
from whymatch.matching.alignment import Alignment
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Transport
from whymatch.search.rows import Entry
from whymatch.text.document import Document
from whymatch.transport.batch import pad
from whymatch.transport.constraints import MANY, Constraint
from whymatch.transport.exact import solve
from whymatch.transport.solution import Status



@dataclass(frozen=True, eq=False)
class Encoded:
    """A text with the vectors of its spans."""

    document: Document
    vectors: np.ndarray


def parts(matcher: Aligner | Ranker) -> tuple[Aligner, Constraint | None]:
    """The aligner of a matcher, and its constraint if it was trained with one."""
    if isinstance(matcher, Aligner):
        return matcher, None
    if not isinstance(matcher, Ranker):
        raise TypeError(f"An index takes an Aligner or a Ranker, got {type(matcher).__name__}.")
    if not isinstance(matcher.rule, Transport):
        raise ValueError("This ranker attends to every pair of spans: it has no few links to search by. Use Transport.")
    return matcher.aligner, matcher.rule.constraint


def comparable(constraint: Constraint, query: int, document: int) -> float:
    """What a score is multiplied by, so that links weigh the same in documents of every length.

    A link's mass depends on both texts: in a document of one span, one good link is everything. For a ranking it gets
    the mass that it has in a long document, and a document too short for k links lacks what they would have added.
    """
    fits, long = constraint.fitted(query, document), constraint.fitted(query, MANY)
    if fits is None or long is None or constraint.takes_masses:
        return 1.0
    return float(long.mass(query, MANY) / fits.mass(query, document))


def scores(
    aligner: Aligner, query: Encoded, entries: Sequence[Entry], constraint: Constraint, *, ranking: bool = False
) -> list[float]:
    """The score of each entry's optimal alignment with a text, -inf where there is none; k is clipped.

    `ranking` makes the scores of documents of different lengths comparable.
    """
    groups: dict[Constraint, list[int]] = defaultdict(list)
    found = [-inf] * len(entries)
    for number, some in enumerate(entries):
        fits = constraint.fitted(len(query.document), len(some.spans))
        if fits is not None and len(query.document) * len(some.spans) <= MAX_PAIRS:
            groups[fits].append(number)
    costs = compared(aligner, query, entries)
    for fits, numbers in groups.items():
        zero = 0.0 if fits.thresholded else aligner.cost.neutral  # the objective of UpTo counts from below
        for some_numbers in size_sorted(numbers, [Size(1, *cost.shape) for cost in costs], MAX_PAIRS_PER_BATCH):
            padded, sizes = pad([costs[number] for number in some_numbers])
            solution = solve(padded, fits, sizes=sizes, strict=False)
            for number, cost, status in zip(
                some_numbers, solution.cost.tolist(), solution.status.tolist(), strict=True
            ):
                found[number] = zero - cost + 0.0 if status == Status.OK else -inf
    if not ranking:
        return found
    factors = [comparable(constraint, len(query.document), len(some.spans)) for some in entries]
    return [value * factor for value, factor in zip(found, factors, strict=True)]


def compared(aligner: Aligner, query: Encoded, entries: Sequence[Entry]) -> list[np.ndarray]:
    """The costs of a text with each entry."""
    return [aligner.compare((query.document, entry.document), (query.vectors, entry.vectors)) for entry in entries]


def encoded(entry: Entry) -> Encoded:
    """An entry's text with its vectors."""
    return Encoded(entry.document, entry.vectors)


def alignments(
    aligner: Aligner, pairs: Sequence[tuple[Encoded, Encoded]], constraint: Constraint | None
) -> list[Alignment]:
    """The alignments of pairs of texts, as the aligner gives them, from vectors that are there."""
    texts = [(left.document, right.document) for left, right in pairs]
    vectors = [(left.vectors, right.vectors) for left, right in pairs]
    return aligner.align_vectors(texts, vectors, constraint, clip=True)


def reweighed(why: Alignment, factor: float) -> Alignment:
    """An alignment whose links have another mass, and with it another share of the score."""
    if factor == 1:
        return why
    links = tuple(replace(link, mass=link.mass * factor, share=link.share * factor) for link in why.links)
    proof = why.certificate
    margin = None if proof.margin is None else proof.margin * factor
    return replace(why, links=links, certificate=replace(proof, gap=proof.gap * factor, margin=margin))
