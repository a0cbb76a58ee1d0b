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
    constraint = picture["constraint"]
    k = constraint.get("k")
    each = "one link" if k == 1 else f"{k} links"
    words: str = {
        "Balanced": "every span carries its share",
        "OneTo": f"every span of the shorter text in exactly {each}",
        "UpTo": f"up to {each} a span, where the cost is below {constraint.get('below', 0):g}",
        "Exactly": f"exactly {each}",
    }[constraint["name"]]
    return f"{words} (the default, since no constraint was given)" if picture["by_default"] else words


def plain(text: str) -> str:
    """One line without characters that a terminal would obey.

    >>> plain("two\\nlines \\x1b[31mred")
    'two lines �[31mred'
    """
    return "".join(c if c.isprintable() or c in JOINERS else "�" for c in " ".join(text.split()))
