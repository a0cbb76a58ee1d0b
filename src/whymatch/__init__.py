"""Do these two texts match, and which spans of one say so with which spans of the other?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whymatch.deprecation import Renamed
from whymatch.forking import loading

if TYPE_CHECKING:
    from whymatch import cost, learning, nn, transport
    from whymatch.checking.check import check
    from whymatch.cost import Background, Cost
    from whymatch.matching.aligner import Aligner
    from whymatch.matching.alignment import Alignment
    from whymatch.matching.classifier import Classifier
    from whymatch.matching.parts import Link
    from whymatch.matching.ranker import Ranker
    from whymatch.search.index import Index
    from whymatch.text.document import Document
    from whymatch.text.encoders.caching import CachedEncoder
    from whymatch.text.encoders.context import WordEncoder
    from whymatch.text.encoders.own import FunctionEncoder
    from whymatch.text.encoders.precomputed import Precomputed
    from whymatch.text.encoders.recurrent import RecurrentEncoder
    from whymatch.text.encoders.sentence import SentenceEncoder
    from whymatch.text.encoders.static import StaticEncoder
    from whymatch.text.spans import Span
    from whymatch.text.vectors import read_vectors
    from whymatch.translations.aligning import bitext
    from whymatch.translations.bitext import Bitext
    from whymatch.transport.constraints import Balanced, Constraint, Each, Exactly, OneTo, UpTo
    from whymatch.transport.exact import path, solve
    from whymatch.transport.groups import InOrder, in_order
    from whymatch.versions.comparing import compare
    from whymatch.versions.comparison import Comparison

__version__ = "0.1.0"

# Where the public names live. They load on first use, so that importing whymatch takes no time.
_HOMES = {
    "Aligner": "matching.aligner",
    "Alignment": "matching.alignment",
    "Background": "cost",
    "Bitext": "translations.bitext",
    "Balanced": "transport.constraints",
    "CachedEncoder": "text.encoders.caching",
    "Classifier": "matching.classifier",
    "Comparison": "versions.comparison",
    "Constraint": "transport.constraints",
    "Cost": "cost",
    "Document": "text.document",
    "Each": "transport.constraints",
    "Exactly": "transport.constraints",
    "FunctionEncoder": "text.encoders.own",
    "InOrder": "transport.groups",
    "Index": "search.index",
    "Link": "matching.parts",
    "OneTo": "transport.constraints",
    "Precomputed": "text.encoders.precomputed",
    "Ranker": "matching.ranker",
    "RecurrentEncoder": "text.encoders.recurrent",
    "SentenceEncoder": "text.encoders.sentence",
    "Span": "text.spans",
    "StaticEncoder": "text.encoders.static",
    "UpTo": "transport.constraints",
    "WordEncoder": "text.encoders.context",
    "bitext": "translations.aligning",
    "check": "checking.check",
    "compare": "versions.comparing",
    "in_order": "transport.groups",
    "path": "transport.exact",
    "read_vectors": "text.vectors",
    "solve": "transport.exact",
}
_PACKAGES = ("cost", "learning", "nn", "transport")  # cost terms, trainable parts, a layer, the solver
_RENAMED: dict[str, Renamed] = {}  # what public names were called: deprecation.py

__all__ = [
    "Aligner",
    "Alignment",
    "Background",
    "Balanced",
    "Bitext",
    "CachedEncoder",
    "Classifier",
    "Comparison",
    "Constraint",
    "Cost",
    "Document",
    "Each",
    "Exactly",
    "FunctionEncoder",
    "InOrder",
    "Index",
    "Link",
    "OneTo",
    "Precomputed",
    "Ranker",
    "RecurrentEncoder",
    "SentenceEncoder",
    "Span",
    "StaticEncoder",
    "UpTo",
    "WordEncoder",
    "bitext",
    "check",
    "compare",
    "cost",
    "in_order",
    "learning",
    "nn",
    "path",
    "read_vectors",
    "solve",
    "transport",
]


def __getattr__(name: str) -> Any:
    if (renamed := _RENAMED.get(name)) is not None:
        renamed.warn(f"whymatch.{name}")
        return __getattr__(renamed.instead)
    if name not in _HOMES and name not in _PACKAGES:
        raise AttributeError(f"module 'whymatch' has no attribute {name!r}")
    with loading:
        if name in _PACKAGES:
            return import_module(f"whymatch.{name}")
        try:
            value = globals()[name] = getattr(import_module(f"whymatch.{_HOMES[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name not in ("torch", "transformers"):
                raise
            advice = "pip install 'whymatch[train]'"
            raise ModuleNotFoundError(f"whymatch.{name} needs {error.name}: {advice}.", name=error.name) from None
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_PACKAGES])
