"""Training: encoders and rules that can be trained; `learning.train.train` trains what a file of settings describes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whymatch.learning.settings import Settings, read_settings
    from whymatch.learning.tuning import Choice, tune
    from whymatch.matching.head import LinkReader
    from whymatch.matching.rules import Attend, Transport
    from whymatch.text.encoders.adapter import Adapter
    from whymatch.text.encoders.trainable import Projected
    from whymatch.text.encoders.tuned import FineTuned, InContext

_HOMES = {
    "Adapter": "text.encoders.adapter",
    "Attend": "matching.rules",
    "Choice": "learning.tuning",
    "FineTuned": "text.encoders.tuned",
    "InContext": "text.encoders.tuned",
    "LinkReader": "matching.head",
    "Projected": "text.encoders.trainable",
    "Settings": "learning.settings",
    "Transport": "matching.rules",
    "read_settings": "learning.settings",
    "tune": "learning.tuning",
}

__all__ = [
    "Adapter",
    "Attend",
    "Choice",
    "FineTuned",
    "InContext",
    "LinkReader",
    "Projected",
    "Settings",
    "Transport",
    "read_settings",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'whymatch.learning' has no attribute {name!r}")
    return getattr(import_module(f"whymatch.{_HOMES[name]}"), name)
