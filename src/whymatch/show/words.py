"""What an alignment's dictionary says, in words."""

from collections.abc import Mapping
from typing import Any

IN_CONTEXT = (
    "Faithful to vectors, not to text: spans or their costs were read in context, "
    "so text outside the links may have had a part in them."
)
JOINERS = "\u200c\u200d\u00ad"  # without width, but scripts and emoji need them


def number(value: float) -> str:
    """Three decimals, and no minus before a zero.

    >>> number(-1e-9), number(0.12345)
    ('0.000', '0.123')
    """
    return f"{round(value, 3) + 0.0:.3f}"


def in_words(picture: Mapping[str, Any]) -> str:
    """The constraint, as people say it."""
    default = " (the default, since no constraint was given)" if picture["by_default"] else ""
    return f"{picture['constraint_in_words']}{default}"


def plain(text: str) -> str:
    """One line without characters that a terminal would obey.

    >>> plain("two\\nlines \\x1b[31mred")
    'two lines �[31mred'
    """
    return "".join(c if c.isprintable() or c in JOINERS else "�" for c in " ".join(text.split()))
