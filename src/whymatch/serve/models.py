"""What a server works with, and how much it takes on: aligners by their spans, a trained ranker, an index, limits."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from whymatch.checking.check import check_texts
from whymatch.checking.sources import NamedTexts
from whymatch.matching.aligner import Aligner
from whymatch.matching.alignment import Alignment
from whymatch.matching.defaults import word_aligner
from whymatch.matching.relating import related
from whymatch.matching.relations import shipped_reader
from whymatch.serve.problems import Problem
from whymatch.text.document import Document, document
from whymatch.text.encoders import tokens_read
from whymatch.text.encoders.models import bundle
from whymatch.text.encoders.naming import encoder_for
from whymatch.transport.constraints import Balanced, Constraint, Exactly
from whymatch.transport.kernels.cpu.compiling import expect_work

if TYPE_CHECKING:
    from whymatch.matching.ranker import Ranker
    from whymatch.matching.relations import RelationReader
    from whymatch.search.index import Index

RANKING_CONSTRAINT = Exactly(2)  # for ranking by costs that are no evidence
_SENTENCE_SPANS = ("sentence", "line", "paragraph", "text")  # spans that a sentence encoder encodes
_NOT_READ = "Relations were not read: this server has no model for them. pip install 'whymatch[bundled]'."
_REFRESH_SECONDS = 5.0  # after which a search looks for what others wrote


@dataclass(frozen=True)
class Limits:
    """How large requests may be, and how much is worked on at once. The defaults are for a machine with two cores."""

    characters: int = 100_000  # in all texts of a request
    tokens: int = 25_000  # that the model reads for a request: about 100,000 characters of English
    spans: int = 500  # of a text
    matrix: int = 40_000  # pairs of spans of two texts
    matrices: int = 400_000  # pairs of spans of all pairs of texts of a request; pairs of edited blocks of versions
    pairs: int = 64  # in a request to /align/batch
    documents: int = 100  # in a request to /rank
    sources: int = 100  # in a request to /check
    blocks: int = 5000  # of a version, in a request to /compare
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
    index: "Index | None"
    limits: Limits
    sentence_aligner: Aligner | None = None
    """What checks claims and compares versions, MiniLM over sentences; None where it is not here."""
    relation_reader: "RelationReader | None" = None
    """What reads the relations of links; None where its model is not on this machine."""
    refreshed: list[float] = field(default_factory=lambda: [-inf])
    """When the index last looked for what others wrote."""

    def aligner(self, spans: str | None) -> Aligner:
        """The aligner for these spans; the first one for None. Raises a `Problem` while its background is encoded."""
        if spans is None:
            return next(iter(self.aligners.values()))
        if spans not in self.aligners:
            raise ValueError(f"This server's model aligns spans of the kind {', '.join(self.aligners)}; got {spans}.")
        return _prepared(self.aligners[spans])

    def aligner_of_sentences(self) -> Aligner:
        """What checks claims and compares versions. Raises a `Problem` where it is not here, or not yet."""
        if self.sentence_aligner is None:
            raise Problem(404, "This server has no model for that. On its machine: pip install 'whymatch[bundled]'.")
        return _prepared(self.sentence_aligner)

    def prepare(self) -> None:
        """Encodes what the other aligners are judged against, which takes a minute where it is not cached yet.

        Before that, an answer is checked, so that the first person who sends one does not wait for what that loads.
        """
        # Against the texts that ship: those that people send at the same time are not each other's background.
        if self.sentence_aligner is not None:
            self.sentence_aligner.judge.fix_background()
            check_texts("One text.", NamedTexts.of("One text. Another one."), self.sentence_aligner)
        for aligner in self.aligners.values():
            aligner.judge.fix_background()

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

    def refreshed_index(self) -> "Index":
        """The index, which there must be, with what others wrote lately."""
        assert self.index is not None
        if time.monotonic() - self.refreshed[0] > _REFRESH_SECONDS:
            self.index.refresh()
            self.refreshed[0] = time.monotonic()
        return self.index

    def related(self, alignments: Sequence[Alignment]) -> Sequence[Alignment]:
        """The alignments with what their links mean; a remark says where that cannot be read."""
        if not alignments or not alignments[0].zooms:
            return alignments
        if self.relation_reader is None:
            return [replace(why, remarks=(*why.remarks, _NOT_READ)) for why in alignments]
        return related(alignments, self.relation_reader, word_aligner)

    def forget(self) -> None:
        """Empties the cache of texts that a trained model keeps: a server hardly sees a text twice."""
        if self.ranker is not None:
            self.ranker.forget()


def load(run: Path | None, index: Path | None, limits: Limits, encoder_name: str | None = None) -> Models:
    """Reads the models, and aligns once, so that everything is compiled before the first request.

    Another encoder than MiniLM, which `encoder_name` stands for, aligns no words.
    """
    expect_work()
    ranker = None
    if run is None:
        encoder = encoder_for("sentence", encoder_name)
        aligners = {spans: Aligner(spans, encoder, limit=limits.spans) for spans in _SENTENCE_SPANS}
        if encoder_name is None:
            aligners["word"] = Aligner("word", limit=limits.spans)
        of_sentences: Aligner | None = aligners["sentence"]
    else:
        from whymatch.matching.ranker import Ranker

        ranker = Ranker.from_pretrained(run).eval()
        aligners = {str(ranker.aligner.spans): ranker.aligner}
        of_sentences = None if bundle() is None else Aligner("sentence", limit=limits.spans)
    reader = None if shipped_reader().missing else shipped_reader()
    models = Models(aligners, ranker, None if index is None else _open(index, ranker), limits, of_sentences, reader)
    first = models.aligner(None)
    first.judge.fix_background()
    texts = "One text.\nAnother line.", "Two texts.\nAnd lines."
    tokens_read(first.encoder, [texts])
    for constraint in (models.constraint, RANKING_CONSTRAINT, Balanced()):
        if constraint is not None or first.below is not None:
            first.outcomes([texts], constraint, clip=True)
    if reader is not None:
        reader.relations([texts])
    if models.index is not None:
        models.index.search("One text.", 1)
    return models


def _prepared(aligner: Aligner) -> Aligner:
    """The aligner. Raises a `Problem` while the texts that it judges evidence against are encoded."""
    if aligner.cost.evidence is not None and aligner.judge.background is None:
        reason = f"The texts that spans of the kind {aligner.spans} are judged against are still being encoded."
        raise Problem(503, f"{reason} Try again in a moment.", retry_after=2)
    return aligner


def _open(folder: Path, ranker: "Ranker | None") -> "Index":
    from whymatch.search.index import Index

    return Index.open(folder, ranker)
