"""Do these two texts match, and which spans of one say so with which spans of the other?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whymatch.forking import loading

if TYPE_CHECKING:
    from whymatch.matching.aligner import Aligner
    from whymatch.matching.alignment import Alignment, Link
    from whymatch.matching.classifier import Classifier
    from whymatch.matching.costs import Cost
    from whymatch.matching.ranker import Ranker
    from whymatch.matching.reader import Reader
    from whymatch.matching.rules import Attend, Transport
    from whymatch.search.index import Index
    from whymatch.text.document import Document
    from whymatch.text.encoders.context import InContext, WordEncoder
    from whymatch.text.encoders.precomputed import Precomputed
    from whymatch.text.encoders.recurrent import RecurrentEncoder
    from whymatch.text.encoders.sentence import FineTuned, SentenceEncoder
    from whymatch.text.encoders.trainable import Projected
    from whymatch.text.spans import Span
    from whymatch.text.vectors import read_vectors
    from whymatch.transport.batch import pad
    from whymatch.transport.constraints import Balanced, Constraint, Exactly, OneTo, UpTo
    from whymatch.transport.entropic import Temperature, sinkhorn
    from whymatch.transport.exact import margin, path, solve
    from whymatch.transport.paper import augmented
    from whymatch.transport.solution import Entropic, Solution, Status

__version__ = "0.1.0"

# Where the public names live. They load on first use, so that importing whymatch takes no time.
HOMES = {
    "Aligner": "matching.aligner",
    "Alignment": "matching.alignment",
    "Link": "matching.alignment",
    "Classifier": "matching.classifier",
    "Ranker": "matching.ranker",
    "Reader": "matching.reader",
    "Index": "search.index",
    "Projected": "text.encoders.trainable",
    "FineTuned": "text.encoders.sentence",
    "InContext": "text.encoders.context",
    "Transport": "matching.rules",
    "Attend": "matching.rules",
    "Cost": "matching.costs",
    "Document": "text.document",
    "Span": "text.spans",
    "SentenceEncoder": "text.encoders.sentence",
    "WordEncoder": "text.encoders.context",
    "RecurrentEncoder": "text.encoders.recurrent",
    "read_vectors": "text.vectors",
    "Precomputed": "text.encoders.precomputed",
    "Balanced": "transport.constraints",
    "Constraint": "transport.constraints",
    "Exactly": "transport.constraints",
    "OneTo": "transport.constraints",
    "UpTo": "transport.constraints",
    "solve": "transport.exact",
    "path": "transport.exact",
    "margin": "transport.exact",
    "pad": "transport.batch",
    "sinkhorn": "transport.entropic",
    "Temperature": "transport.entropic",
    "Entropic": "transport.solution",
    "augmented": "transport.paper",
    "Solution": "transport.solution",
    "Status": "transport.solution",
}

__all__ = [
    "Aligner",
    "Alignment",
    "Attend",
    "Balanced",
    "Classifier",
    "Constraint",
    "Cost",
    "Document",
    "Entropic",
    "Exactly",
    "FineTuned",
    "InContext",
    "Index",
    "Link",
    "OneTo",
    "Precomputed",
    "Projected",
    "Ranker",
    "Reader",
    "RecurrentEncoder",
    "SentenceEncoder",
    "Solution",
    "Span",
    "Status",
    "Temperature",
    "Transport",
    "UpTo",
    "WordEncoder",
    "augmented",
    "margin",
    "pad",
    "path",
    "read_vectors",
    "sinkhorn",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'whymatch' has no attribute {name!r}")
    with loading:
        value = globals()[name] = getattr(import_module(f"whymatch.{HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *HOMES])
