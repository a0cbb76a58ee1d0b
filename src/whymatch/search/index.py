"""A corpus on disk that can be searched: add, replace and delete documents while others read."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

import torch

from whymatch.cost import Cosine, Cost, WholeText
from whymatch.matching.aligner import Aligner, Text
from whymatch.matching.ranker import Ranker
from whymatch.search.candidates import Candidate, candidates
from whymatch.search.encoding import outcomes, split
from whymatch.search.identity import Identity, check, identify, read_identity
from whymatch.search.results import Hit, Results
from whymatch.search.rows import COLUMNS, Entry, from_arrow, schema, to_arrow
from whymatch.search.scoring import Encoded, alignments, comparable, encoded, parts, reweighed, scores
from whymatch.search.store import Store
from whymatch.text.document import Document
from whymatch.transport.constraints import Constraint, Exactly

CANDIDATES = 100  # in each way
WHOLE = 1.0  # how much of a text counts in its sentences, where nothing was trained
DEFAULT = Exactly(2)  # for ranking, where nobody says otherwise: docs/decisions.md, 63
WRITTEN = 32  # changes after which a small table is compacted
ROWS = 256  # of a large one, that there are for each change: compaction writes them all again


class Index:
    """The documents of a folder, found by vectors and words together and ranked by their alignment with a text.

    An index is a view of one version: what other writers do is seen after `refresh`, what it does itself at once. It
    splits and encodes with an aligner or a trained ranker; the default is `untrained`.
    """

    def __init__(self, store: Store, matcher: Aligner | Ranker | None = None) -> None:
        self.store = store
        self.identity: Identity = read_identity(store.schema.metadata, store.folder)
        self.given = matcher
        self.changes = 0
        if matcher is not None:
            _ = self.matcher

    @classmethod
    def open(cls, folder: str | Path, matcher: Aligner | Ranker | None = None) -> "Index":
        """The index in a folder; one that was written with another encoder is refused."""
        return cls(Store.open(Path(folder)), matcher)

    @classmethod
    def create(cls, folder: str | Path, matcher: Aligner | Ranker | None = None) -> "Index":
        """A new index in a folder, or the one that is there already."""
        matcher = matcher or untrained()
        about = identify(parts(matcher)[0])
        return cls(Store.create(Path(folder), schema(about.dimensions, about.to_json())), matcher)

    def __repr__(self) -> str:
        return f"Index({str(self.store.folder)!r}, {len(self):,} documents, {self.identity.encoder})"

    @cached_property
    def matcher(self) -> Aligner | Ranker:
        """What splits, encodes and aligns, once it is known to suit the index."""
        matcher = self.given or untrained()
        check(self.identity, identify(parts(matcher)[0]), self.store.folder)
        return matcher

    @cached_property
    def aligner(self) -> Aligner:
        return parts(self.matcher)[0]

    def __len__(self) -> int:
        return len(self.store)

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and self.store.rows([id_], ["id"]).num_rows > 0

    def __getitem__(self, id_: str) -> Document:
        """The document of an id, as it was split."""
        return self.entries([id_])[0].document

    def ids(self) -> Iterator[str]:
        """The ids of all documents."""
        for batch in self.store.batches(["id"]):
            yield from batch.column("id").to_pylist()

    def digests(self) -> dict[str, bytes]:
        """What tells the texts of all documents from other texts."""
        found = self.store.columns(["id", "digest"])
        return dict(zip(found.column("id").to_pylist(), found.column("digest").to_pylist(), strict=True))

    def entries(self, ids: Iterable[str]) -> list[Entry]:
        """The documents of some ids with their vectors."""
        wanted = [*ids]
        rows = self.store.rows([*dict.fromkeys(wanted)], COLUMNS)
        found = {some.id: some for some in from_arrow(rows, self.store.folder)}
        missing = [id_ for id_ in wanted if id_ not in found]
        if missing:
            raise ValueError(f"There is no document {missing[0]!r} in {self.store.folder}.")
        return [found[id_] for id_ in wanted]

    def refresh(self) -> None:
        """Moves on to the newest version."""
        self.store.refresh()

    def add(self, documents: Mapping[str, Text]) -> int:
        """Adds documents by id, in one transaction; an id that is there already keeps its text. How many were new."""
        return self.write(self.encode(documents), replacing=False)

    def replace(self, documents: Mapping[str, Text]) -> int:
        """Adds documents, or puts them in the place of those with the same ids, in one transaction."""
        return self.write(self.encode(documents), replacing=True)

    def delete(self, ids: Iterable[str]) -> int:
        """Deletes the documents of these ids; how many there were."""
        if isinstance(ids, str):
            raise TypeError("delete takes a list of ids; this one is a single string.")
        return self.changed(self.store.delete(ids))

    def encode(self, documents: Mapping[str, Text]) -> list[Entry]:
        """Documents with their vectors; raises for the first that cannot be kept."""
        if not isinstance(documents, Mapping):
            raise TypeError(f"Documents are a dictionary of texts by id, got {type(documents).__name__}.")
        found = []
        for id_, some in outcomes(self.aligner, documents).items():
            if isinstance(some, ValueError):
                raise ValueError(f"Document {id_!r}: {some}")
            found.append(some)
        return found

    def split(self, text: Text) -> Document:
        """A text as documents are split."""
        return split(self.aligner, text)

    def write(self, entries: list[Entry], *, replacing: bool) -> int:
        """Writes entries in one transaction."""
        if not entries:
            return 0
        return self.changed(self.store.merge(to_arrow(entries, self.store.schema), replace=replacing))

    def changed(self, rows: int) -> int:
        self.changes += 1
        if self.changes >= max(WRITTEN, len(self) // ROWS):
            self.compact()
        return rows

    def compact(self) -> None:
        """Puts small files together and brings the indices of vectors and words up to date."""
        self.store.compact()
        self.changes = 0

    def search(
        self, query: Text, top: int = 10, constraint: Constraint | None = None, *, candidates: int = CANDIDATES
    ) -> Results:
        """The documents whose alignment with a text scores highest.

        `candidates` in each of three ways (by vectors of texts and of spans, by words) are aligned, exactly, from
        stored vectors; k is clipped where a text is short. The constraint is a ranker's own, or `Exactly(2)`.
        """
        if top < 1 or candidates < 1:
            raise ValueError(f"A search gives 1 or more documents of 1 or more candidates, got {top} of {candidates}.")
        text = self.encoded(self.split(query))
        return self.ranked(text, self.candidates(text, max(top, candidates)), top, constraint)

    def encoded(self, text: Document) -> Encoded:
        """A text with its vectors."""
        (vectors,) = self.aligner.encoder.encode([text.text], [text.spans])
        return Encoded(text, vectors)

    def candidates(self, query: Encoded, number: int) -> list[Candidate]:
        """What is worth aligning with a text."""
        return candidates(self.store, query.document.text, query.vectors, number)

    def ranked(self, query: Encoded, found: list[Candidate], top: int, constraint: Constraint | None) -> Results:
        """The best candidates by their exact alignment.

        A trained ranker ranks as `Ranker.rank` does. Otherwise links weigh the same in documents of every length.
        """
        ranker = self.matcher if isinstance(self.matcher, Ranker) else None
        constraint = (constraint or parts(self.matcher)[1] or DEFAULT).resolved(self.aligner.below)
        with torch.no_grad():
            values = scores(self.aligner, query, [some.entry for some in found], constraint, ranking=ranker is None)
            order = sorted(range(len(found)), key=lambda number: (-values[number], number))[:top]
            best = [found[number] for number in order if values[number] != float("-inf")]
            whys = alignments(self.aligner, [(query, encoded(some.entry)) for some in best], constraint)
        if ranker is None:
            whys = [reweighed(why, comparable(constraint, len(why.left), len(why.right))) for why in whys]
        hits = []
        for some, why in zip(best, whys, strict=True):
            chance = None if ranker is None or ranker.calibration is None else ranker.probability(why.score)
            hits.append(Hit(some.entry.id, why.score, why, some.places, chance))
        return Results(query.document.text, tuple(hits), len(found))


def untrained() -> Aligner:
    """MiniLM over sentences, as in `Aligner()`, but a sentence counts with what its text is about: that ranks better.

    The vectors that are kept are the same. Links then depend on the text around them; with `Aligner()` they do not.
    """
    return Aligner(cost=Cost(Cosine(), WholeText(WHOLE)))
