"""A corpus on disk that can be searched: add, replace and delete documents while others read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from whymatch.cost import Background
from whymatch.cost.evidence import measure_key
from whymatch.matching.aligner import Aligner, Text
from whymatch.matching.shipped import shipped_background
from whymatch.matching.significance import Scale
from whymatch.matching.solving import SIGNIFICANT, Solved
from whymatch.search.background import KeptBackground, sampled
from whymatch.search.columns import Columns
from whymatch.search.encoding import AlignerOrRanker, Identity, aligner_and_constraint, given_entries, split_text
from whymatch.search.entries import Entry, metadata_digest, table_schema, to_arrow
from whymatch.search.results import Hit, SearchResults
from whymatch.search.store import Candidate, Selected, Store
from whymatch.text.document import Document, same_text
from whymatch.text.encoders import Vectors, check_readable
from whymatch.transport.constraints import Constraint

CANDIDATES = 75
"""Documents that a search aligns, in each of three ways: near by their text, near by a span, and sharing words."""
MIN_CHANGES_BEFORE_COMPACTION = 32
_ROWS_PER_CHANGE = 256  # of a large table, before it is compacted: compaction writes them all again
_DOCUMENTS_PER_MEASUREMENT = 2048  # whose tails are written in one transaction


class Index:
    """The documents of a folder, found by vectors and words together and ranked by their alignment with a text.

    An index is a view of one version: what other writers do is seen after `refresh`, what it does itself at once. It
    splits and encodes with an aligner or a trained ranker; the default is `Aligner()`.

    Evidence is measured against a background of its own documents, which is sampled anew as the index grows.

    >>> from tempfile import TemporaryDirectory
    >>> import whymatch as wm
    >>> with TemporaryDirectory() as folder:
    ...     index = wm.Index.create(folder)
    ...     added = index.add({"wifi": "The wireless connection keeps failing.", "wine": "Wine is red."})
    ...     [hit] = index.search("My wifi drops every few minutes.", top_k=1)
    >>> added, hit.id, hit.links[0].texts[1]
    (2, 'wifi', 'The wireless connection keeps failing.')
    """

    def __init__(self, store: Store, matcher: "AlignerOrRanker | None" = None) -> None:
        self.store = store
        self._kept = KeptBackground(store.folder)
        self._scale: Scale | None = None
        self.identity = Identity.from_json((store.schema.metadata or {}).get(b"whymatch"), store.folder)
        self._given_matcher = matcher
        self._changes = 0
        if matcher is not None:
            _ = self.matcher  # refuses one that does not suit the index

    @classmethod
    def open(cls, folder: str | Path, matcher: "AlignerOrRanker | None" = None) -> "Index":
        """The index in a folder; raises ValueError if there is none, or one written with another encoder.

        Without a matcher, texts are split as the documents of the index were, and encoded by the encoder of that name
        if it ships or is on this machine.
        """
        return cls(Store.open(Path(folder)), matcher)

    @classmethod
    def create(
        cls,
        folder: str | Path,
        matcher: "AlignerOrRanker | None" = None,
        *,
        keep: Mapping[str, type] | None = None,
    ) -> "Index":
        """A new index in a folder, or the one that is there already.

        Args:
            folder: a new or an empty one, or that of the index.
            matcher: what splits and encodes; by default `Aligner()`, or what the index was written with.
            keep: the columns that are kept with each document, by name: str, int, float or bool. They come with the
                results of a search, and filter it.

        Raises:
            ValueError: if the index that is there has another encoder or other columns, or the folder holds anything
                else, or a name cannot be that of a column.
        """
        columns = Columns.of(keep or {})
        folder = Path(folder)
        if matcher is None and Store.is_in(folder):
            index = cls.open(folder)
        else:
            matcher = matcher or Aligner()
            identity = Identity.of(aligner_and_constraint(matcher)[0])
            index = cls(Store.create(folder, table_schema(identity.dimensions, identity.to_json(), columns)), matcher)
        if keep is not None and index.columns != columns:
            there, asked = (str(own) or "nothing" for own in (index.columns, columns))
            raise ValueError(f"The index in {folder} keeps {there}, and not {asked}. Index into another folder.")
        return index

    def __repr__(self) -> str:
        return f"Index({str(self.store.folder)!r}, {len(self):,} documents, {self.identity.encoder})"

    @cached_property
    def matcher(self) -> AlignerOrRanker:
        """The aligner or ranker, once its encoder is known to be that of the index."""
        matcher = self._given_matcher or self.identity.aligner()
        self.identity.check(Identity.of(aligner_and_constraint(matcher)[0]), self.store.folder)
        return matcher

    @cached_property
    def aligner(self) -> Aligner:
        return aligner_and_constraint(self.matcher)[0]

    @property
    def columns(self) -> Columns:
        """What is kept of documents beside their texts."""
        return self.store.columns

    @property
    def background(self) -> Background | None:
        """A sample of its documents, for `Aligner(background=index)`; None while they have too few spans."""
        return self._kept.background

    @property
    def scale(self) -> Scale | None:
        """What evidence is measured by; None where costs are no evidence.

        The background is the aligner's own, or that of the index, or, for a small index, the one that ships with
        whymatch. Probabilities are those of pairs of which one in as many matches as there are documents: the best of
        many is often close by chance.
        """
        judge = self.aligner.judge
        if judge.cost.evidence is None:
            return None
        if self._scale is None:
            background = judge.background or self.background or shipped_background(self.aligner)
            known = self._kept.chance(background, judge.cost.unread)
            self._scale = judge.scale_of(background, known)
            if known is None and judge.background is None:
                self._kept.keep_chance(background, judge.cost.unread, self._scale.chance)
        calibration = self._scale.calibration.where_fewer_match(1 / max(2, len(self)))
        return replace(self._scale, calibration=calibration)

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

    def digests(self) -> dict[str, tuple[bytes, bytes]]:
        """The digests of every document's text and metadata, by id."""
        digests: dict[str, tuple[bytes, bytes]] = {}
        for batch in self.store.batches(["id", "digest", *self.columns.fields.values()]):
            rows = pa.Table.from_batches([batch])
            ids, of_texts = (rows.column(name).to_pylist() for name in ("id", "digest"))
            of_metadata = map(metadata_digest, self.columns.read(rows))
            digests |= zip(ids, zip(of_texts, of_metadata, strict=True), strict=True)
        return digests

    def entries(self, ids: Iterable[str]) -> list[Entry]:
        """The documents of these ids with their vectors; raises ValueError if there is no such document."""
        wanted = [*ids]
        entries = {entry.id: entry for entry in self.store.entries([*dict.fromkeys(wanted)])}
        missing = [id_ for id_ in wanted if id_ not in entries]
        if missing:
            raise ValueError(f"There is no document {missing[0]!r} in {self.store.folder}.")
        return [entries[id_] for id_ in wanted]

    def refresh(self) -> None:
        """Moves on to the newest version."""
        self.store.refresh()
        if self._kept.refresh():
            self._scale = None

    def add(
        self,
        documents: Mapping[str, Text],
        metadata: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        progress: bool | None = None,
    ) -> int:
        """Adds documents by id, in one transaction, and returns how many were new; others stay as they are.

        Args:
            documents: texts by id.
            metadata: by id, the values of the columns that the index keeps; those that are left out are None.
            progress: whether a bar is shown: by default at a terminal and in a notebook, where it takes longer.

        Raises:
            ValueError: if a document cannot be kept. Then none of them is.
        """
        return self.write(given_entries(self.aligner, self.columns, documents, metadata or {}, progress), replace=False)

    def replace(
        self,
        documents: Mapping[str, Text],
        metadata: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        progress: bool | None = None,
    ) -> int:
        """Adds documents, or puts them in the place of those with the same ids, in one transaction.

        What is kept of a document that `metadata` does not name stays as it is. Otherwise as `add`.
        """
        entries = given_entries(self.aligner, self.columns, documents, given := metadata or {}, progress)
        unnamed = [entry.id for entry in entries if self.columns and entry.id not in given]
        there = {entry.id: entry.metadata for entry in self.store.entries(unnamed, skip_damaged=True)}
        return self.write([one.with_metadata(there.get(one.id, one.metadata)) for one in entries], replace=True)

    def delete(self, ids: Iterable[str]) -> int:
        """Deletes the documents of these ids, and returns how many there were."""
        if isinstance(ids, str):
            raise TypeError("delete takes a list of ids; this one is a single string.")
        return self._changed(self.store.delete(ids))

    def write(self, entries: Sequence[Entry], *, replace: bool) -> int:
        """Writes entries in one transaction, and returns how many; with `replace` also those whose ids are there."""
        return self.merge(self.to_rows(entries), replace=replace) if entries else 0

    def to_rows(self, entries: Sequence[Entry]) -> pa.Table:
        """The rows of one or more entries, with their tails where the index has a background."""
        return to_arrow(self._with_tails(entries), self.store.schema)

    def merge(self, rows: pa.Table, *, replace: bool) -> int:
        """As `write`, for rows that workers have made of entries."""
        return self._changed(self.store.merge(rows, replace=replace))

    def _changed(self, rows: int) -> int:
        self._changes += 1
        documents = len(self)
        if self._changes >= max(MIN_CHANGES_BEFORE_COMPACTION, documents // _ROWS_PER_CHANGE):
            self.compact()
        elif 2 * rows >= documents and not self._kept.fits(documents):
            self._update_background()
        return rows

    def compact(self) -> None:
        """Joins small files, and brings background, tails and the indices of vectors and words up to date."""
        self._update_background()
        self.store.compact()
        self._changes = 0

    def _update_background(self) -> None:
        """Samples a background where there is none, or one of an index half or twice as large; measures all tails."""
        documents = len(self)
        if not self._kept.fits(documents):
            background = sampled(self.store, self.identity.encoder)
            if background is None:
                self._kept.remove()
            else:
                self._kept.write(background, documents)
            self._scale = None
        if (key := self._own_key()) is None:
            return
        outdated = f"measured IS NULL OR NOT starts_with(measured, '{key}')"
        ids = [id_ for batch in self.store.batches(["id"], where=outdated) for id_ in batch.column("id").to_pylist()]
        for start in range(0, len(ids), _DOCUMENTS_PER_MEASUREMENT):
            chosen = ids[start : start + _DOCUMENTS_PER_MEASUREMENT]
            entries = self.store.entries(chosen, skip_damaged=True)  # those are reported where they are read
            if entries:
                self.store.rewrite(self.to_rows(entries))

    def _own_key(self) -> str | None:
        """What tails that are kept were measured against; None where they are not kept."""
        scale, own = self.scale, self.background
        if scale is None or own is None or scale.background.digest != own.digest:
            return None
        return measure_key(scale.background, scale.cost.before_evidence or scale.cost)

    def _with_tails(self, entries: Sequence[Entry]) -> list[Entry]:
        """The entries with their tails, those measured that are not known; as they are where tails are not kept."""
        if (key := self._own_key()) is None:
            return [*entries]
        tails = self.tails(entries)
        return [entry.with_tails(rows, key) for entry, rows in zip(entries, tails, strict=True)]

    def tails(self, entries: Sequence[Entry]) -> list[np.ndarray]:
        """The two numbers (spans, 2) per span from which evidence follows: those that are kept, others measured.

        Raises:
            ValueError: if costs are no evidence.
        """
        scale = self.scale
        if scale is None:
            raise ValueError(f"{self.aligner.cost.name} has no evidence, and so no tails.")
        key = measure_key(scale.background, scale.cost.before_evidence or scale.cost)
        known = {number: tails for number, entry in enumerate(entries) if (tails := entry.tails_of(key)) is not None}
        missing = [number for number in range(len(entries)) if number not in known]
        documents, vectors = ([getattr(entries[i], name) for i in missing] for name in ("document", "vectors"))
        known |= zip(missing, self.aligner.judge.tails_of(scale, documents, vectors), strict=True)
        return [known[number].astype(np.float32) for number in range(len(entries))]

    def search(
        self,
        query: Text,
        top_k: int = 10,
        constraint: Constraint | None = None,
        *,
        candidates: int = CANDIDATES,
        where: str | None = None,
    ) -> SearchResults:
        """The `top_k` documents whose links with a text are the most surprising.

        `candidates` in each of three ways (by vectors of texts and of spans, by words) are aligned, exactly, from
        stored vectors; k is clipped where a text is short. The constraint is a ranker's own, or `UpTo(1)`: every link
        with evidence. `where` is a filter such as "year > 2019" over the columns that are kept: documents for which it
        does not hold are not looked at, and e-values count the others alone.

        Raises:
            ValueError: if the filter cannot be read, or the encoder reads nothing of the text.
        """
        if top_k < 1 or candidates < 1:
            raise ValueError(
                f"A search gives 1 or more documents of 1 or more candidates, got {top_k} of {candidates}."
            )
        among = None if where is None else self.store.selected(where)
        text = self.split(query)
        check_readable(self.aligner.encoder, "query", text)
        (vectors,) = self.aligner.encoder.encode([text.text], [text.spans])
        nearest = self.store.candidates(text.text, vectors, max(top_k, candidates), among)
        return self.rank(text, vectors, nearest, top_k, constraint, among)

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
        among: Selected | None = None,
    ) -> SearchResults:
        """The best candidates by their exact alignment with a text of these vectors (spans, dimensions).

        Evidence ranks by how rarely chance gives as much to texts of such sizes; a document that is equal to the query
        comes first. A trained ranker ranks as `Ranker.rank` does, and costs that are no evidence by their score.
        """
        ranker = None if isinstance(self.matcher, Aligner) else self.matcher
        constraint = constraint or aligner_and_constraint(self.matcher)[1]
        entries, scale = [candidate.entry for candidate in candidates], self.scale
        asked = Entry("", query.text, np.array(query.spans, dtype=np.int32).reshape(-1, 2), vectors)
        solved = self.solve([(asked, entry) for entry in entries], constraint)
        plans = {i: plan for i, plan in enumerate(solved) if not isinstance(plan, ValueError)}
        values = dict(zip(plans, ranking_values([*plans.values()], None if ranker else scale), strict=True))
        same = {i for i, entry in enumerate(entries) if scale is not None and same_text(entry.text, query.text)}
        best = sorted(plans, key=lambda i: (i not in same, -values[i], -plans[i].bits, i))[:top_k]
        documents = len(self) if among is None else among.documents
        hits = []
        for i, why in zip(best, self.aligner.explain([plans[i] for i in best], scale=scale), strict=True):
            e_value = None if why.p_value is None else why.p_value * documents
            probability = why.probability
            if ranker is not None:
                probability = None if ranker.calibration is None else ranker.probability(why.score)
            judged = why.score, why, candidates[i].places, values[i], probability, e_value
            hits.append(Hit(entries[i].id, *judged, metadata=entries[i].metadata))
        return SearchResults(query.text, tuple(hits), len(candidates), documents)

    def solve(
        self, pairs: Sequence[tuple[Entry, Entry]], constraint: Constraint | None = None
    ) -> list[Solved | ValueError]:
        """The optimal plan of each pair of entries, or why there is none; the tails of an entry are measured once."""
        tails: list[Vectors] | None = None
        if (scale := self.scale) is not None:
            entries = [*{id(entry): entry for pair in pairs for entry in pair}.values()]
            by_entry = dict(zip(map(id, entries), self.tails(entries), strict=True))
            tails = [(by_entry[id(left)], by_entry[id(right)]) for left, right in pairs]
            documents = [(left.document, right.document) for left, right in pairs]
            tails = self.aligner.judge.lowered(scale.background, documents, tails)
        return self.aligner.solve(
            [(left.document, right.document) for left, right in pairs],
            [(left.vectors, right.vectors) for left, right in pairs],
            constraint,
            clip=True,
            tails=tails,
            scale=scale,
        )


def ranking_values(plans: Sequence[Solved], scale: Scale | None) -> list[float]:
    """What plans rank by, high is good: how surprising their evidence is, or their scores without a scale.

    Under the default constraint that is −log2 of the p-value; under others, the same of what their links are worth.
    """
    if scale is None or not plans:
        return [plan.score for plan in plans]
    bits = [plan.bits if plan.problem.constraint == SIGNIFICANT else plan.score for plan in plans]
    return scale.judge(bits, [plan.tails for plan in plans if plan.tails])[0].tolist()
