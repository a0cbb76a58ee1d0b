"""What a server works with, and how much it takes on: aligners by their spans, a trained ranker, an index, limits."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from whymatch.matching.aligner import Aligner, encoder_for
from whymatch.text.document import Document, document
from whymatch.text.encoders import tokens_read
from whymatch.transport.constraints import Balanced, Constraint, Exactly

if TYPE_CHECKING:
    from whymatch.matching.ranker import Ranker
    from whymatch.search.index import Index

RANKING_CONSTRAINT = Exactly(2)  # for ranking, where nothing was trained
_SENTENCE_SPANS = ("sentence", "line", "paragraph", "text")  # spans that a sentence encoder encodes
_REFRESH_SECONDS = 5.0  # after which a search looks for what others wrote


@dataclass(frozen=True)
class Limits:
    """How large requests may be, and how much is worked on at once. The defaults are for a machine with two cores."""

    characters: int = 100_000  # in all texts of a request
    tokens: int = 25_000  # that the model reads for a request: about 100,000 characters of English
    spans: int = 500  # of a text
    matrix: int = 40_000  # pairs of spans of two texts
    matrices: int = 400_000  # pairs of spans of all pairs of texts of a request to /align/batch or /rank
    pairs: int = 64  # in a request to /align/batch
    documents: int = 100  # in a request to /rank
    results: int = 50  # of a search
    bytes: int = 2**20  # of a request's body
    requests: int = 64  # worked on at once; the next one is refused
    seconds: float = 30.0  # for a request, from the moment that it is complete
    body_seconds: float = 10.0  # for a request to become complete
    round_requests: int = 32  # that are encoded and solved in one round
    round_tokens: int = 4000  # in one round; a larger request has a round of its own, in which smaller ones are let in
    waiting_tokens: int = 60_000  # of requests that wait and are larger than a round, and of all others

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise ValueError(f"The limit of {name} must be above 0, got {value:g}.")


@dataclass(frozen=True, eq=False)
class Models:
    """Loaded models; `aligners` has the one for "sentence", or a ranker's own, first."""

    aligners: Mapping[str, Aligner]
    ranker: "Ranker | None"
    indices: "Mapping[bool, Index]"
    """By whether sentences count alone, without the text around them: thresholds are known for that."""
    limits: Limits
    refreshed: dict[int, float] = field(default_factory=dict)
    """When each index last looked for what others wrote, by its `id`."""

    def aligner(self, spans: str | None) -> Aligner:
        """The aligner for these spans; the first one for None."""
        if spans is None:
            return next(iter(self.aligners.values()))
        if spans not in self.aligners:
            raise ValueError(f"This server's model aligns spans of the kind {', '.join(self.aligners)}; got {spans}.")
        return self.aligners[spans]

    @property
    def constraint(self) -> Constraint | None:
        """The constraint that a ranker was trained with."""
        return None if self.ranker is None else getattr(self.ranker.rule, "constraint", None)

    def split(self, text: object, aligner: Aligner) -> Document:
        """A text with its spans. Raises ValueError if it has none, or more than this server takes."""
        split = document(text, aligner.splitter, limit=10**9, separator=aligner.separator)
        if not split.spans:
            raise ValueError("A text is empty: there is nothing to align.")
        if len(split) > (most := self.limits.spans):
            limit = f"this server takes {most:,}"
            raise ValueError(f"A text has {len(split):,} spans, and {limit}. Use larger spans, or cut it.")
        return split

    def split_pair(self, left: object, right: object, aligner: Aligner) -> tuple[Document, Document]:
        """Both texts with their spans. Raises ValueError for more pairs of spans than this server takes."""
        pair = self.split(left, aligner), self.split(right, aligner)
        rows, columns = map(len, pair)
        if rows * columns > (most := self.limits.matrix):
            raise ValueError(f"{rows:,} × {columns:,} pairs of spans are more than this server's limit of {most:,}.")
        return pair

    def index(self, constraint: Constraint | None, *, refresh: bool = False) -> "Index":
        """The index for searches under a constraint; there must be one. `refresh`: with what others wrote lately."""
        alone = constraint is not None and constraint.thresholded
        index = self.indices[alone and True in self.indices]
        now = time.monotonic()
        if refresh and now - self.refreshed.get(id(index), -inf) > _REFRESH_SECONDS:
            index.refresh()
            self.refreshed[id(index)] = now
        return index

    def forget(self) -> None:
        """Empties the cache of texts that a trained model keeps: a server hardly sees a text twice."""
        if self.ranker is not None:
            self.ranker.forget()


def load(run: Path | None, index: Path | None, limits: Limits) -> Models:
    """Reads the models, and aligns once, so that everything is compiled before the first request."""
    ranker = None
    if run is None:
        encoder = encoder_for("sentence")
        aligners = {spans: Aligner(spans, encoder, limit=limits.spans) for spans in _SENTENCE_SPANS}
        aligners["word"] = Aligner("word", limit=limits.spans)
    else:
        from whymatch.matching.ranker import Ranker

        ranker = Ranker.from_pretrained(run).eval()
        aligners = {str(ranker.aligner.spans): ranker.aligner}
    models = Models(aligners, ranker, {} if index is None else _open(index, ranker), limits)
    first = models.aligner(None)
    texts = "One text.\nAnother line.", "Two texts.\nAnd lines."
    tokens_read(first.encoder, [texts])
    for constraint in (models.constraint, RANKING_CONSTRAINT, Balanced()):
        if constraint is not None or first.below is not None:
            first.outcomes([texts], constraint, clip=True)
    for searched in models.indices.values():
        searched.search("One text.", 1)
    return models


def _open(folder: Path, ranker: "Ranker | None") -> "dict[bool, Index]":
    """The views of an index, by whether sentences count alone."""
    from whymatch.search.index import Index, untrained_aligner

    if ranker is not None:
        return {False: Index.open(folder, ranker)}
    return {False: Index.open(folder, untrained_aligner()), True: Index.open(folder, Aligner())}
