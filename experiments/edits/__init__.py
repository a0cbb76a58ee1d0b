"""Edits of sentences, by kind: those that contradict the sentence, and those that leave its meaning as it is."""

import random
from collections.abc import Callable, Mapping
from typing import TypeAlias

from experiments.edits import contradicting, harmless, negation, roles
from experiments.edits.lexicon import Lexicon

Edit: TypeAlias = Callable[[str, random.Random, Lexicon], str | None]

CONTRADICTING: Mapping[str, Edit] = {
    "number": contradicting.number,
    "unit": contradicting.unit,
    "date": contradicting.date,
    "name": contradicting.name,
    "negation": negation.negation,
    "antonym": contradicting.antonym,
    "role swap": roles.role_swap,
    "quantifier": contradicting.quantifier,
    "modality": contradicting.modality,
}
HARMLESS: Mapping[str, Edit] = {
    "punctuation": harmless.punctuation,
    "case": harmless.case,
    "number form": harmless.number_form,
    "contraction": harmless.contraction,
    "spelling": harmless.spelling,
    "reordering": harmless.reordering,
    "active and passive": roles.passive,
    "synonym": harmless.synonym,
}


def edited(kind: str, sentence: str, rng: random.Random, lexicon: Lexicon) -> str | None:
    """The sentence after an edit of this kind, or None where the kind does not apply or changes nothing."""
    edit = CONTRADICTING.get(kind) or HARMLESS[kind]
    text = edit(sentence, rng, lexicon)
    return None if text is None or text == sentence else text
