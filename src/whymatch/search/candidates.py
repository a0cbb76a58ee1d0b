"""Which documents are worth aligning: those near by their vectors, and those that share words."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from lancedb.query import MatchQuery

from whymatch.search.rows import COLUMNS, Entry, from_arrow, pooled
from whymatch.search.store import Store

PROBES = 32  # partitions of the vectors' index that are looked into
MOST_WORDS = 256  # distinct words of a text that are looked for
FUSION = 60  # of reciprocal ranks, the usual constant


class Candidate(NamedTuple):
    """An entry, and its places among the nearest by vectors and by words, from 0; None where it is not among them."""

    entry: Entry
    by_vectors: int | None
    by_words: int | None

    @property
    def fused(self) -> float:
        """The sum of the reciprocal ranks: high is good."""
        return sum(1 / (FUSION + place) for place in (self.by_vectors, self.by_words) if place is not None)


def candidates(store: Store, text: str, vectors: np.ndarray, number: int) -> list[Candidate]:
    """The `number` nearest documents by vectors and the `number` nearest by words, the best of both together first."""
    near, shared = by_vectors(store, pooled(vectors), number), by_words(store, text, number)
    entries = {some.id: some for some in (*from_arrow(near), *from_arrow(shared))}
    places = [{id_: place for place, id_ in enumerate(found.column("id").to_pylist())} for found in (near, shared)]
    found = [Candidate(some, places[0].get(id_), places[1].get(id_)) for id_, some in entries.items()]
    return sorted(found, key=lambda candidate: -candidate.fused)


def by_vectors(store: Store, vector: np.ndarray, number: int, columns: Sequence[str] = COLUMNS) -> pa.Table:
    """The rows whose pooled vectors are nearest."""
    query = store.table.search(vector.astype(np.float32), vector_column_name="pooled").distance_type("cosine")
    return query.nprobes(PROBES).limit(number).select([*columns, "_distance"]).to_arrow()


def by_words(store: Store, text: str, number: int, columns: Sequence[str] = COLUMNS) -> pa.Table:
    """The rows that share words with a text, by BM25; none where there is no index of words yet."""
    words = [*dict.fromkeys(re.findall(r"\w+", text.lower()))][:MOST_WORDS]
    if not words or "text" not in store.indices:
        return store.schema.empty_table().select([*columns])
    query = store.table.search(MatchQuery(" ".join(words), "text"), query_type="fts")
    return query.limit(number).select([*columns, "_score"]).to_arrow()
