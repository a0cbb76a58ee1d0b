"""The aligners that are used where nobody gives one: to verify an alignment, and to look inside its links."""

from functools import cache

from whymatch.matching.aligner import EVIDENCE, WORD_COST, Aligner
from whymatch.text.encoders.models import MINILM


@cache
def default_aligner(spans: str, cost: str = "evidence") -> Aligner:
    """`Aligner(spans, cost=cost)`, made once."""
    return Aligner(spans, cost=cost)


def word_aligner() -> Aligner:
    """What aligns the words inside a link."""
    return default_aligner("word", "calibrated")


def default_maker(encoder: str, cost: str) -> Aligner | None:
    """The default aligner with an encoder and a cost of these names, if there is one."""
    words = f"{MINILM}, layer 3"
    defaults = {
        (MINILM, EVIDENCE.name): ("sentence", "evidence"),
        (words, EVIDENCE.name): ("word", "evidence"),
        (words, WORD_COST.name): ("word", "calibrated"),
    }
    parts = defaults.get((encoder, cost))
    return None if parts is None else default_aligner(*parts)
