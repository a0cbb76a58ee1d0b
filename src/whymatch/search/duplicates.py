"""The near-duplicate pairs of a whole corpus, with their links, from the neighbours of each document alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from whymatch.matching.alignment import Alignment
from whymatch.search.entries import ENTRY_COLUMNS, Entry, from_arrow, pooled
from whymatch.search.index import Index
from whymatch.transport.constraints import UpTo

MAX_LINK_COST = 0.15  # cosine distance of spans that say the same
MIN_OVERLAP = 0.8
NEIGHBOURS = 10
_MAX_POOLED_DISTANCE = 0.3  # cosine distance of pooled vectors, beyond which texts cannot share so much
_DOCUMENTS_PER_BATCH = 256  # whose pairs are aligned together


@dataclass(frozen=True)
class Duplicate:
    """Two documents, by id, of which nearly everything is in both."""

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
    below: float = MAX_LINK_COST,
    least: float = MIN_OVERLAP,
    neighbours: int = NEIGHBOURS,
    progress: Callable[[int], None] = lambda done: None,
) -> Iterator[Duplicate]:
    """Pairs with a share `least` of both texts in links that cost less than `below`, each pair once, one by one.

    Each document is aligned with its nearest `neighbours` by pooled vectors, so that the work grows with the number of
    documents and not with its square. Of a document with more copies than that, some are found.
    """
    if not 0 < least <= 1 or neighbours < 1:
        raise ValueError(f"least is a share above 0 and neighbours 1 or more, got {least:g} and {neighbours}.")
    seen: set[tuple[str, str]] = set()
    done = 0
    for batch in index.store.batches(ENTRY_COLUMNS, _DOCUMENTS_PER_BATCH):
        entries = from_arrow(pa.Table.from_batches([batch]), index.store.folder)
        pairs = [pair for pair in dict.fromkeys(_near_pairs(index, entries, neighbours)) if pair not in seen]
        seen.update(pairs)
        by_id = {entry.id: entry for entry in index.entries(dict.fromkeys(id_ for pair in pairs for id_ in pair))}
        entries_of_pairs = [(by_id[left], by_id[right]) for left, right in pairs]
        alignments = index.aligner.align_vectors(
            [(left.document, right.document) for left, right in entries_of_pairs],
            [(left.vectors, right.vectors) for left, right in entries_of_pairs],
            UpTo(1, below=below),
        )
        for pair, alignment in zip(pairs, alignments, strict=True):
            overlap = _overlap(alignment)
            if overlap >= least:
                yield Duplicate(*pair, overlap, alignment)
        done += batch.num_rows
        progress(done)


def _near_pairs(index: Index, entries: Sequence[Entry], neighbours: int) -> Iterator[tuple[str, str]]:
    """The pairs of entries with their nearest, each in the order of the ids."""
    for entry in entries:
        rows = index.store.nearest_texts(pooled(entry.vectors), neighbours + 1, ["id"])
        for id_, distance in zip(rows.column("id").to_pylist(), rows.column("_distance").to_pylist(), strict=True):
            if id_ != entry.id and distance <= _MAX_POOLED_DISTANCE:
                yield (entry.id, id_) if entry.id < id_ else (id_, entry.id)


def _overlap(alignment: Alignment) -> float:
    linked = sum(end - start for side in ("left", "right") for start, end in alignment.rationale(side))
    return linked / max(1, sum(end - start for text in (alignment.left, alignment.right) for start, end in text.spans))
