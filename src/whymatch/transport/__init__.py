"""Tensors in, plans out: optimal transport under constraints that keep an alignment sparse."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whymatch.transport.augmented import augmented
    from whymatch.transport.batch import pad
    from whymatch.transport.entropic import Temperature
    from whymatch.transport.exact import solve
    from whymatch.transport.margin import margin
    from whymatch.transport.path import path
    from whymatch.transport.sinkhorn import Entropic, sinkhorn
    from whymatch.transport.solution import Solution, Status

_HOMES = {
    "Entropic": "sinkhorn",
    "Solution": "solution",
    "Status": "solution",
    "Temperature": "entropic",
    "augmented": "augmented",
    "margin": "margin",
    "pad": "batch",
    "path": "path",
    "sinkhorn": "sinkhorn",
    "solve": "exact",
}

__all__ = [
    "Entropic",
    "Solution",
    "Status",
    "Temperature",
    "augmented",
    "margin",
    "pad",
    "path",
    "sinkhorn",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'whymatch.transport' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"whymatch.transport.{_HOMES[name]}"), name)
    return value
