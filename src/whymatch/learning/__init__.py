"""Training: encoders and rules that can be trained, and `train`, which trains what a file of settings describes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whymatch.learning.settings import Settings, read_settings
    from whymatch.learning.train import train
    from whymatch.matching.head import LinkReader
    from whymatch.matching.rules import Attend, Transport
    from whymatch.text.encoders.context import InContext
    from whymatch.text.encoders.finetuned import FineTuned
    from whymatch.text.encoders.projected import Projected

_HOMES = {
    "Attend": "matching.rules",
    "FineTuned": "text.encoders.finetuned",
    "InContext": "text.encoders.context",
    "LinkReader": "matching.head",
    "Projected": "text.encoders.projected",
    "Settings": "learning.settings",
    "Transport": "matching.rules",
    "read_settings": "learning.settings",
    "train": "learning.train",
}

__all__ = [
    "Attend",
    "FineTuned",
    "InContext",
    "LinkReader",
    "Projected",
    "Settings",
    "Transport",
    "read_settings",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'whymatch.learning' has no attribute {name!r}")
    return getattr(import_module(f"whymatch.{_HOMES[name]}"), name)
