"""Exact alignment of one text with many documents, from the vectors that are stored with them."""

from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import inf

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from whymatch.matching.aligner import MOST_PAIRS, Aligner, batches
from whymatch.matching.alignment import Alignment
from whymatch.matching.costs import Cost
from whymatch.search.entries import Entry
from whymatch.text.document import Document
from whymatch.text.spans import Span
from whymatch.transport.batch import pad
from whymatch.transport.constraints import MANY, Constraint
from whymatch.transport.exact import solve
from whymatch.transport.solution import Status

AT_ONCE = 32  # documents that are compared together


@dataclass(frozen=True, eq=False)
class Encoded:
    """A text with the vectors of its spans."""

    document: Document
    vectors: Tensor


class Stored:
    """Gives the vectors that texts have already."""

    def __init__(self, like: Aligner, texts: Sequence[Encoded]) -> None:
        self.name, self.contextual = like.encoder.name, like.encoder.contextual
        self.known = {(text.document.text, text.document.spans): text.vectors for text in texts}

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        return [self.known[text, tuple(some)].numpy() for text, some in zip(texts, spans, strict=True)]


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
        if fits is not None and len(query.document) * len(some.spans) <= MOST_PAIRS:
            groups[fits].append(number)
    costs = compared(aligner, query, entries)
    for fits, numbers in groups.items():
        zero = 0.0 if fits.thresholded else aligner.cost.neutral  # the objective of UpTo counts from below
        for some_numbers in batches(numbers, [tuple(costs[number].shape) for number in numbers]):
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


def compared(aligner: Aligner, query: Encoded, entries: Sequence[Entry]) -> list[Tensor]:
    """The costs of a text with each entry: one product, where a pair of spans costs what it costs by itself."""
    vectors = [torch.from_numpy(some.vectors) for some in entries]
    if aligner.cost.unpadded or aligner.order or aligner.adjusted:
        return [
            aligner.compare((query.document, some.document), query.vectors, own)
            for some, own in zip(entries, vectors, strict=True)
        ]
    if aligner.cost.of_all:
        return padded_costs(aligner.cost, query.vectors.double(), vectors)
    if not entries:
        return []
    together = aligner.cost(query.vectors.double(), torch.cat(vectors).double())
    return [*torch.split(together, [len(own) for own in vectors], dim=1)]


def padded_costs(cost: Cost, query: Tensor, vectors: Sequence[Tensor]) -> list[Tensor]:
    """The costs of a text with many others, those of similar length in one product."""
    order = sorted(range(len(vectors)), key=lambda number: len(vectors[number]))
    found: dict[int, Tensor] = {}
    for start in range(0, len(order), AT_ONCE):
        numbers = order[start : start + AT_ONCE]
        together = cost(query[None], pad_sequence([vectors[number].double() for number in numbers], batch_first=True))
        found |= {number: own[:, : len(vectors[number])] for number, own in zip(numbers, together, strict=True)}
    return [found[number] for number in range(len(vectors))]


def encoded(entry: Entry) -> Encoded:
    """An entry's text with its vectors."""
    return Encoded(entry.document, torch.from_numpy(entry.vectors))


def alignments(
    aligner: Aligner, pairs: Sequence[tuple[Encoded, Encoded]], constraint: Constraint | None
) -> list[Alignment]:
    """The alignments of pairs of texts, as the aligner gives them, from vectors that are there."""
    known = copy(aligner)
    known.encoder = Stored(aligner, [text for pair in pairs for text in pair])
    found = known.align_many([(left.document, right.document) for left, right in pairs], constraint, clip=True)
    return [replace(why, aligner=aligner) for why in found]


def reweighed(why: Alignment, factor: float) -> Alignment:
    """An alignment whose links have another mass, and with it another share of the score."""
    if factor == 1:
        return why
    links = tuple(replace(link, mass=link.mass * factor, share=link.share * factor) for link in why.links)
    proof = why.certificate
    margin = None if proof.margin is None else proof.margin * factor
    return replace(why, links=links, certificate=replace(proof, gap=proof.gap * factor, margin=margin))
