"""Which documents are worth aligning: near as a whole, near in some spans, or with the same words."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from lancedb.query import MatchQuery

from whymatch.search.rows import COLUMNS, Entry, from_arrow, pooled
from whymatch.search.store import Store

PROBES = 32  # partitions of an index of vectors that are looked into
REFINED = 2  # times as many spans' nearest are compared in full: their index is coarse
MOST_SPANS = 64  # of a text, that are looked for
MOST_WORDS = 256  # distinct ones of a text, that are looked for
FUSION = 60  # of reciprocal ranks, the usual constant


class Candidate(NamedTuple):
    """An entry, and its places, from 1, among the nearest by "text", by "spans" and by "words"."""

    entry: Entry
    places: Mapping[str, int]

    @property
    def fused(self) -> float:
        """The sum of the reciprocal ranks: high is good."""
        return sum(1 / (FUSION + place) for place in self.places.values())


def candidates(store: Store, text: str, vectors: np.ndarray, number: int) -> list[Candidate]:
    """The `number` nearest documents in each way, those first that are near in several."""
    found = {
        "text": by_vectors(store, pooled(vectors), number),
        "spans": by_spans(store, vectors, number),
        "words": by_words(store, text, number),
    }
    entries: dict[str, Entry] = {}
    places: dict[str, dict[str, int]] = {}
    for way, rows in found.items():
        for place, id_ in enumerate(rows.column("id").to_pylist(), start=1):
            places.setdefault(id_, {})[way] = place
        entries |= {some.id: some for some in from_arrow(rows, store.folder)}
    return sorted((Candidate(some, places[id_]) for id_, some in entries.items()), key=lambda some: -some.fused)


def by_vectors(store: Store, vector: np.ndarray, number: int, columns: Sequence[str] = COLUMNS) -> pa.Table:
    """The rows whose pooled vectors are nearest."""
    query = store.table.search(vector.astype(np.float32), vector_column_name="pooled").distance_type("cosine")
    query = query.nprobes(PROBES).limit(number).select([*columns, "_distance"])
    return store.read(query.to_arrow)


def by_spans(store: Store, vectors: np.ndarray, number: int, columns: Sequence[str] = COLUMNS) -> pa.Table:
    """The rows with the nearest spans: the sum, over the text's spans, of the similarity of the row's nearest one."""
    some = vectors[np.linspace(0, len(vectors) - 1, min(len(vectors), MOST_SPANS)).astype(int)].astype(np.float32)
    query = store.table.search(some, vector_column_name="vectors").distance_type("cosine")
    query = query.nprobes(PROBES).limit(number).select([*columns, "_distance"])
    query = query.refine_factor(REFINED) if "vectors" in store.indices else query
    return store.read(query.to_arrow)


def by_words(store: Store, text: str, number: int, columns: Sequence[str] = COLUMNS) -> pa.Table:
    """The rows that share words with a text, by BM25; none where there is no index of words yet."""
    words = [*dict.fromkeys(re.findall(r"\w+", text.lower()))][:MOST_WORDS]
    if not words or "text" not in store.indices:
        return store.schema.empty_table().select([*columns])
    query = store.table.search(MatchQuery(" ".join(words), "text"), query_type="fts")
    return store.read(query.limit(number).select([*columns, "_score"]).to_arrow)
