"""A corpus on disk that can be searched: add, replace and delete documents while others read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from whymatch.cost import Cosine, Cost, WholeText
from whymatch.matching.aligner import Aligner, Text
from whymatch.search.encoding import AlignerOrRanker, Identity, aligner_and_constraint, make_entries, split_text
from whymatch.search.entries import ENTRY_COLUMNS, Entry, from_arrow, table_schema, to_arrow
from whymatch.search.results import Hit, SearchResults, ranking_weight, reweighted
from whymatch.search.store import Candidate, Store
from whymatch.text.document import Document
from whymatch.transport.constraints import Constraint, Exactly

CANDIDATES = 100  # in each of three ways
DEFAULT_CONSTRAINT = Exactly(2)  # of a search without a trained ranker: docs/decisions.md
_WHOLE_TEXT = 1.0  # how much of a text counts in its sentences, where nothing was trained
MIN_CHANGES_BEFORE_COMPACTION = 32
_ROWS_PER_CHANGE = 256  # of a large table, before it is compacted: compaction writes them all again


class Index:
    """The documents of a folder, found by vectors and words together and ranked by their alignment with a text.

    An index is a view of one version: what other writers do is seen after `refresh`, what it does itself at once. It
    splits and encodes with an aligner or a trained ranker; the default is `untrained_aligner`.
    """

    def __init__(self, store: Store, matcher: "AlignerOrRanker | None" = None) -> None:
        self.store = store
        self.identity = Identity.from_json((store.schema.metadata or {}).get(b"whymatch"), store.folder)
        self._given_matcher = matcher
        self._changes = 0
        if matcher is not None:
            _ = self.matcher  # refuses one that does not suit the index

    @classmethod
    def open(cls, folder: str | Path, matcher: "AlignerOrRanker | None" = None) -> "Index":
        """The index in a folder; raises ValueError if there is none, or one written with another encoder."""
        return cls(Store.open(Path(folder)), matcher)

    @classmethod
    def create(cls, folder: str | Path, matcher: "AlignerOrRanker | None" = None) -> "Index":
        """A new index in a folder, or the one that is there already."""
        matcher = matcher or untrained_aligner()
        identity = Identity.of(aligner_and_constraint(matcher)[0])
        return cls(Store.create(Path(folder), table_schema(identity.dimensions, identity.to_json())), matcher)

    def __repr__(self) -> str:
        return f"Index({str(self.store.folder)!r}, {len(self):,} documents, {self.identity.encoder})"

    @cached_property
    def matcher(self) -> AlignerOrRanker:
        """The aligner or ranker, once its encoder is known to be that of the index."""
        matcher = self._given_matcher or untrained_aligner()
        self.identity.check(Identity.of(aligner_and_constraint(matcher)[0]), self.store.folder)
        return matcher

    @cached_property
    def aligner(self) -> Aligner:
        return aligner_and_constraint(self.matcher)[0]

    def __len__(self) -> int:
        return len(self.store)

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and self.store.rows([id_], ["id"]).num_rows > 0

    def __getitem__(self, id_: str) -> Document:
        """The document of an id, with its spans."""
        return self.entries([id_])[0].document

    def ids(self) -> Iterator[str]:
        """The ids of all documents."""
        for batch in self.store.batches(["id"]):
            yield from batch.column("id").to_pylist()

    def digests(self) -> dict[str, bytes]:
        """The digest of every document's text, by id."""
        digests: dict[str, bytes] = {}
        for batch in self.store.batches(["id", "digest"]):
            digests |= zip(batch.column("id").to_pylist(), batch.column("digest").to_pylist(), strict=True)
        return digests

    def entries(self, ids: Iterable[str]) -> list[Entry]:
        """The documents of these ids with their vectors; raises ValueError if there is no such document."""
        wanted = [*ids]
        rows = self.store.rows([*dict.fromkeys(wanted)], ENTRY_COLUMNS)
        entries = {entry.id: entry for entry in from_arrow(rows, self.store.folder)}
        missing = [id_ for id_ in wanted if id_ not in entries]
        if missing:
            raise ValueError(f"There is no document {missing[0]!r} in {self.store.folder}.")
        return [entries[id_] for id_ in wanted]

    def refresh(self) -> None:
        """Moves on to the newest version."""
        self.store.refresh()

    def add(self, documents: Mapping[str, Text]) -> int:
        """Adds documents by id, in one transaction, and returns how many were new; others keep their text."""
        return self.write(self._encode(documents), replace=False)

    def replace(self, documents: Mapping[str, Text]) -> int:
        """Adds documents, or puts them in the place of those with the same ids, in one transaction."""
        return self.write(self._encode(documents), replace=True)

    def delete(self, ids: Iterable[str]) -> int:
        """Deletes the documents of these ids, and returns how many there were."""
        if isinstance(ids, str):
            raise TypeError("delete takes a list of ids; this one is a single string.")
        return self._changed(self.store.delete(ids))

    def _encode(self, documents: Mapping[str, Text]) -> list[Entry]:
        if not isinstance(documents, Mapping):
            raise TypeError(f"Documents are a dictionary of texts by id, got {type(documents).__name__}.")
        entries = []
        for id_, outcome in make_entries(self.aligner, documents).items():
            if isinstance(outcome, ValueError):
                raise ValueError(f"Document {id_!r}: {outcome}")
            entries.append(outcome)
        return entries

    def write(self, entries: Sequence[Entry], *, replace: bool) -> int:
        """Writes entries in one transaction, and returns how many; with `replace` also those whose ids are there."""
        return self.merge(to_arrow(entries, self.store.schema), replace=replace) if entries else 0

    def merge(self, rows: pa.Table, *, replace: bool) -> int:
        """As `write`, for rows that workers have made of entries."""
        return self._changed(self.store.merge(rows, replace=replace))

    def _changed(self, rows: int) -> int:
        self._changes += 1
        if self._changes >= max(MIN_CHANGES_BEFORE_COMPACTION, len(self) // _ROWS_PER_CHANGE):
            self.compact()
        return rows

    def compact(self) -> None:
        """Joins small files, and brings the indices of vectors and words up to date."""
        self.store.compact()
        self._changes = 0

    def search(
        self, query: Text, top_k: int = 10, constraint: Constraint | None = None, *, candidates: int = CANDIDATES
    ) -> SearchResults:
        """The `top_k` documents whose alignment with a text scores highest.

        `candidates` in each of three ways (by vectors of texts and of spans, by words) are aligned, exactly, from
        stored vectors; k is clipped where a text is short. The constraint is a ranker's own, or `Exactly(2)`.
        """
        if top_k < 1 or candidates < 1:
            raise ValueError(
                f"A search gives 1 or more documents of 1 or more candidates, got {top_k} of {candidates}."
            )
        text = self.split(query)
        (vectors,) = self.aligner.encoder.encode([text.text], [text.spans])
        nearest = self.store.candidates(text.text, vectors, max(top_k, candidates))
        return self.rank(text, vectors, nearest, top_k, constraint)

    def split(self, text: Text) -> Document:
        """A text with its spans, as documents are split."""
        return split_text(self.aligner, text)

    def rank(
        self,
        query: Document,
        vectors: np.ndarray,
        candidates: Sequence[Candidate],
        top_k: int,
        constraint: Constraint | None = None,
    ) -> SearchResults:
        """The best candidates by their exact alignment with a text of these vectors (spans, dimensions).

        A trained ranker ranks as `Ranker.rank` does. Otherwise links weigh the same in documents of every length.
        """
        ranker = None if isinstance(self.matcher, Aligner) else self.matcher
        constraint = constraint or aligner_and_constraint(self.matcher)[1] or DEFAULT_CONSTRAINT
        entries = [candidate.entry for candidate in candidates]
        solved = self.aligner.solve(
            [(query, entry.document) for entry in entries],
            [(vectors, entry.vectors) for entry in entries],
            constraint,
            clip=True,
        )
        weights = [1.0 if ranker else ranking_weight(constraint, len(query), len(entry.spans)) for entry in entries]
        plans = {i: plan for i, plan in enumerate(solved) if not isinstance(plan, ValueError)}
        scores = {i: plan.score * weights[i] for i, plan in plans.items()}
        best = sorted(scores, key=lambda i: (-scores[i], i))[:top_k]
        hits = []
        for i, exact in zip(best, self.aligner.explain([plans[i] for i in best]), strict=True):
            alignment = reweighted(exact, weights[i])
            calibrated = ranker is not None and ranker.calibration is not None
            probability = ranker.probability(alignment.score) if ranker is not None and calibrated else None
            hits.append(Hit(entries[i].id, alignment.score, alignment, candidates[i].places, probability))
        return SearchResults(query.text, tuple(hits), len(candidates))


def untrained_aligner() -> Aligner:
    """MiniLM over sentences, as in `Aligner()`, but a sentence counts with what its text is about: that ranks better.

    The vectors that are kept are the same. Links then depend on the text around them; with `Aligner()` they do not.
    """
    return Aligner(cost=Cost(Cosine(), WholeText(_WHOLE_TEXT)))
