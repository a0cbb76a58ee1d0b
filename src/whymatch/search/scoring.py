"""Exact alignment of one text with many documents, from the vectors that are stored with them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from whymatch.matching.aligner import Aligner
from whymatch.matching.alignment import Alignment
from whymatch.search.entries import Entry
from whymatch.text.document import Document
from whymatch.transport.constraints import MANY, Constraint


@dataclass(frozen=True, eq=False)
class Encoded:
    """A text with the vectors of its spans."""

    document: Document
    vectors: np.ndarray


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
    texts = [(query.document, entry.document) for entry in entries]
    vectors = [(query.vectors, entry.vectors) for entry in entries]
    solved = aligner.solve(texts, vectors, constraint, clip=True)
    found = [-inf if isinstance(one, ValueError) or 0 in one.cost.shape else one.score for one in solved]
    if not ranking:
        return found
    factors = [comparable(constraint, len(query.document), len(some.spans)) for some in entries]
    return [value * factor for value, factor in zip(found, factors, strict=True)]


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
