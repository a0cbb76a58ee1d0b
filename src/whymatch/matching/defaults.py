"""The aligners that are used where nobody gives one: to verify an alignment, and to look inside its links."""

from functools import cache

from whymatch.matching.aligner import EVIDENCE, WORD_COST, Aligner
from whymatch.text.encoders.models import MINILM, MULTILINGUAL


@cache
def default_aligner(spans: str, cost: str = "evidence", encode: str | None = None) -> Aligner:
    """`Aligner(spans, encode, cost)`, made once."""
    return Aligner(spans, encode, cost)


def word_aligner() -> Aligner:
    """What aligns the words inside a link."""
    return default_aligner("word", "calibrated")


def default_maker(encoder: str, cost: str) -> Aligner | None:
    """The default aligner with an encoder and a cost of these names, if there is one."""
    words = f"{MINILM}, layer 3"
    defaults: dict[tuple[str, str], tuple[str, ...]] = {
        (MINILM, EVIDENCE.name): ("sentence", "evidence"),
        (MULTILINGUAL, EVIDENCE.name): ("sentence", "evidence", "multilingual"),
        (words, EVIDENCE.name): ("word", "evidence"),
        (words, WORD_COST.name): ("word", "calibrated"),
    }
    parts = defaults.get((encoder, cost))
    return None if parts is None else default_aligner(*parts)
