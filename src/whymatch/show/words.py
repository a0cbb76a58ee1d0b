"""What an alignment's dictionary says, in words."""

from collections.abc import Mapping
from typing import Any

IN_CONTEXT = (
    "Faithful to vectors, not to text: spans or their costs were read in context, "
    "so text outside the links may have had a part in them."
)
_LIKELY = 0.9  # the probability from which on the verdict has no "probably"
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


def verdict(probability: float | None, reasons: int, coverage: tuple[float, float], *, same: bool) -> str:
    """Whether two texts match, in one sentence; `reasons` are links with evidence, `coverage` shares of both texts.

    >>> verdict(0.98, 4, (0.5, 0.6), same=False)
    'They match: 4 reasons cover 50% of the left and 60% of the right text.'
    >>> verdict(0.02, 0, (0.0, 0.0), same=False)
    'No sign of a match: the closest pair is what chance gives.'
    """
    if same:
        return "They match: the two texts are the same."
    pairs = "1 reason covers" if reasons == 1 else f"{reasons} reasons cover"
    covered = f"{pairs} {coverage[0]:.0%} of the left and {coverage[1]:.0%} of the right text."
    if probability is None:
        return f"Not judged, since costs are no evidence: {'1 link' if reasons == 1 else f'{reasons} links'}."
    if probability >= _LIKELY:
        return f"They match: {covered}" if reasons else "They match, as far as their closest spans tell."
    if probability >= 1 / 2:
        return f"They probably match: {covered}" if reasons else "They may match, but no single pair of spans says so."
    if not reasons:
        return "No sign of a match: the closest pair is what chance gives."
    if probability >= 1 - _LIKELY:
        return f"Probably no match: {covered.removesuffix('.')}, but chance could give as much."
    return f"No sign of a match: {covered.removesuffix('.')}, which chance gives as well."
