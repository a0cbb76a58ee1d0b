"""The near-duplicate pairs of a whole corpus, with their links, from the neighbours of each document alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from whymatch.matching.alignment import Alignment
from whymatch.search.candidates import by_vectors
from whymatch.search.index import Index
from whymatch.search.rows import COLUMNS, Entry, from_arrow, pooled
from whymatch.search.scoring import alignments, encoded
from whymatch.transport.constraints import UpTo

BELOW = 0.15  # cosine distance of spans that say the same
LEAST = 0.8  # share of both texts that stands in links
NEIGHBOURS = 10
FAR = 0.3  # cosine distance of pooled vectors, beyond which texts cannot share so much
TOGETHER = 256  # documents whose pairs are aligned at a time


@dataclass(frozen=True)
class Duplicate:
    """Two documents of which nearly everything is in both."""

    left: str
    right: str
    overlap: float
    """The share of the characters of both texts' spans that stands in links."""
    alignment: Alignment

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        values = {"left": self.left, "right": self.right, "overlap": self.overlap}
        return {**values, "alignment": self.alignment.to_dict()}


def duplicates(
    index: Index,
    *,
    below: float = BELOW,
    least: float = LEAST,
    neighbours: int = NEIGHBOURS,
    progress: Callable[[int], None] = lambda done: None,
) -> Iterator[Duplicate]:
    """Pairs with `least` of both texts in links that cost less than `below`, each pair once, as they are found.

    Each document is aligned with its nearest `neighbours` by pooled vectors, so that the work grows with the number of
    documents and not with its square. A document with more copies than that is found with some of them.
    """
    if not 0 < least <= 1 or neighbours < 1:
        raise ValueError(f"least is a share above 0 and neighbours 1 or more, got {least:g} and {neighbours}.")
    seen: set[tuple[str, str]] = set()
    done = 0
    for batch in index.store.batches(COLUMNS, TOGETHER):
        entries = from_arrow(pa.Table.from_batches([batch]), index.store.folder)
        pairs = [pair for pair in near(index, entries, neighbours) if pair not in seen]
        seen.update(pairs)
        yield from aligned(index, [*dict.fromkeys(pairs)], UpTo(1, below=below), least)
        done += batch.num_rows
        progress(done)


def near(index: Index, entries: Sequence[Entry], neighbours: int) -> Iterator[tuple[str, str]]:
    """The pairs of documents with their nearest, in the order of their ids."""
    for entry in entries:
        found = by_vectors(index.store, pooled(entry.vectors), neighbours + 1, ["id"])
        for other, distance in zip(found.column("id").to_pylist(), found.column("_distance").to_pylist(), strict=True):
            if other != entry.id and distance <= FAR:
                yield (entry.id, other) if entry.id < other else (other, entry.id)


def aligned(index: Index, pairs: list[tuple[str, str]], constraint: UpTo, least: float) -> Iterator[Duplicate]:
    """The pairs of which enough is linked."""
    if not pairs:
        return
    ids = [*dict.fromkeys(id_ for pair in pairs for id_ in pair)]
    texts = {some.id: encoded(some) for some in index.entries(ids)}
    whys = alignments(index.aligner, [(texts[left], texts[right]) for left, right in pairs], constraint)
    for (left, right), why in zip(pairs, whys, strict=True):
        share = overlap(why)
        if share >= least:
            yield Duplicate(left, right, share, why)


def overlap(why: Alignment) -> float:
    """The share of the characters of both texts' spans that stands in links."""
    linked = sum(end - start for side in (why.rationale("left"), why.rationale("right")) for start, end in side)
    return linked / max(1, sum(end - start for text in (why.left, why.right) for start, end in text.spans))
