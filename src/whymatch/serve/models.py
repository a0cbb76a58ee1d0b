"""What a server works with: aligners by the spans that they align, a trained ranker, an index."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from whymatch.matching.aligner import Aligner
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Transport
from whymatch.serve.limits import Limits
from whymatch.serve.problems import Problem
from whymatch.text.document import Document, document
from whymatch.text.encoders import tokens_read
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.transport.constraints import Balanced, Constraint, Exactly

if TYPE_CHECKING:
    from whymatch.search.index import Index

SENTENCES = ("sentence", "line", "paragraph", "text")  # what the model of sentences encodes
DEFAULT = Exactly(2)  # for ranking, where nothing was trained
FRESH = 5.0  # seconds after which a search looks for what others wrote


@dataclass(frozen=True, eq=False)
class Models:
    """Loaded models; `aligners` has the one for "sentence", or a ranker's own, first."""

    aligners: Mapping[str, Aligner]
    ranker: Ranker | None
    indices: "Mapping[bool, Index]"
    """By whether sentences count alone, without their text: thresholds are known for that."""
    limits: Limits
    refreshed: dict[int, float] = field(default_factory=dict)
    """When each index last looked for what others wrote."""

    def aligner(self, spans: str | None) -> Aligner:
        """What aligns these spans."""
        if spans is None:
            return next(iter(self.aligners.values()))
        if spans not in self.aligners:
            raise ValueError(f"This server's model aligns spans of the kind {', '.join(self.aligners)}; got {spans}.")
        return self.aligners[spans]

    @property
    def constraint(self) -> Constraint | None:
        """What a ranker was trained with."""
        rule = None if self.ranker is None else self.ranker.rule
        return rule.constraint if isinstance(rule, Transport) else None

    def split(self, text: object, aligner: Aligner) -> Document:
        """A text with its spans, if it is one that this server takes."""
        found = document(text, aligner.splitter, limit=10**9, separator=aligner.separator)
        if not found.spans:
            raise ValueError("A text is empty: there is nothing to align.")
        if len(found) > self.limits.spans:
            most = f"this server takes {self.limits.spans:,}"
            raise ValueError(f"A text has {len(found):,} spans, and {most}. Use larger spans, or cut it.")
        return found

    def check_tokens(self, tokens: int) -> None:
        """Raises a `Problem` if a model had to read more tokens for a request than this server takes."""
        if tokens > (most := self.limits.tokens):
            reads = f"The model would read {tokens:,} tokens for these texts"
            advice = "Send less text at a time: words are a token or more, and each sign, such as a dot, is one."
            raise Problem(413, f"{reads}, and this server takes {most:,} tokens a request. {advice}")

    def pair(self, left: object, right: object, aligner: Aligner) -> tuple[Document, Document]:
        """Both texts with their spans, if there are not too many pairs of them."""
        a, b = self.split(left, aligner), self.split(right, aligner)
        if len(a) * len(b) > self.limits.matrix:
            pairs = f"{len(a):,} × {len(b):,} pairs of spans"
            raise ValueError(f"{pairs} are more than the {self.limits.matrix:,} that this server takes.")
        return a, b

    def view(self, *, alone: bool) -> "Index":
        """The index, as it is known; there must be one."""
        return self.indices[alone and True in self.indices]

    def index(self, *, alone: bool) -> "Index":
        """The index, with what others wrote to it lately."""
        found = self.view(alone=alone)
        now = time.monotonic()
        if now - self.refreshed.get(id(found), -inf) > FRESH:
            found.refresh()
            self.refreshed[id(found)] = now
        return found

    def forget(self) -> None:
        """Drops what a trained model keeps of each text: it is new texts that come to a server."""
        if self.ranker is not None:
            self.ranker.forget()


def load(run: Path | None, index: Path | None, limits: Limits) -> Models:
    """Reads the models, and aligns once, so that the first request finds everything compiled."""
    ranker = None if run is None else Ranker.from_pretrained(run)
    if ranker is None:
        encoder = SentenceEncoder()
        aligners = {spans: Aligner(spans, encoder, limit=limits.spans) for spans in SENTENCES}
        aligners["word"] = Aligner("word", limit=limits.spans)
    else:
        ranker.eval()
        aligners = {str(ranker.aligner.spans): ranker.aligner}
    models = Models(aligners, ranker, {} if index is None else opened(index, ranker), limits)
    first = models.aligner(None)
    texts = "One text.\nAnother line.", "Two texts.\nAnd lines."
    tokens_read(first.encoder, [texts])
    for constraint in (models.constraint, DEFAULT, Balanced()):
        if constraint is not None or first.below is not None:
            first.outcomes([texts], constraint, clip=True)
    for view in models.indices.values():
        view.search("One text.", 1)
    return models


def opened(folder: Path, ranker: Ranker | None) -> "dict[bool, Index]":
    """The views of an index."""
    from whymatch.search.index import Index, untrained_aligner

    if ranker is not None:
        return {False: Index.open(folder, ranker)}
    return {False: Index.open(folder, untrained_aligner()), True: Index.open(folder, Aligner())}
