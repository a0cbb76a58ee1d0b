"""Tensors in, plans out: optimal transport under constraints that keep an alignment sparse."""

from importlib import import_module
from typing import Any

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'whymatch.transport' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"whymatch.transport.{_HOMES[name]}"), name)
    return value
