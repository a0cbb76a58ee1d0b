"""What the card beside the weights says: where they come from, where they fail, and their licence."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whymatch.files import file_digest
from whymatch.matching.entailing import MAX_TOKENS
from whymatch.matching.entailment import BASE

_TRAINED_ON = [
    {
        "name": "SNLI: 94,092 pairs of its training split, and three quarters of its development split (e-SNLI's file)",
        "licence": "CC BY-SA 4.0",
        "attribution": "Bowman, Angeli, Potts and Manning (2015), A large annotated corpus for learning natural "
        "language inference; captions from Flickr30k; e-SNLI by Camburu and others (2018), MIT",
    },
    {
        "name": "PAWS-Wiki, labelled, development split, four fifths of 8,000 pairs, split by sentences",
        "licence": "free for any purpose, with acknowledgement of Google LLC",
        "attribution": "Zhang, Baldridge and He (2019), PAWS: Paraphrase Adversaries from Word Scrambling",
    },
    {
        "name": "Edinburgh++, training part, 714 pairs",
        "licence": "Apache 2.0",
        "attribution": "Cohn, Callison-Burch and Lapata (2008); Thadani, Martin and White (2012)",
    },
    {
        "name": "edits of these sentences, of four fifths of whymatch's own background texts, and of made sentences",
        "licence": "MIT; opposites and synonyms from WordNet 3.0, by Princeton University",
        "attribution": "experiments/edits",
    },
]
_FAILS = [
    "English only. MiniLM reads no case: a change of case is no change.",
    "Opposites that it was not trained with are missed half of the time, and most swapped roles in long sentences; "
    "where one word names a party (tenant, landlord), another in its place may go unnoticed.",
    "Rare synonyms are called contradicting one time in forty, and human paraphrases about as often.",
    "Short sentences that have nothing in common may be called contradicting, as captions are in SNLI.",
    "What has to be computed is not known to it, but for amounts, which are written in one way before they are read.",
    "Sentences of more than about 40 words were hardly trained on; of long spans the end is cut.",
]


def card(
    weights: Path, trained_by: str, temperature: float, contradicts_from: float, results: Mapping[str, Any]
) -> dict[str, Any]:
    """The card of weights in a file, with how they were trained, what calibrates them and what was measured."""
    return {
        "name": "whymatch relations",
        "reads": f"two spans together, in both orders, up to {MAX_TOKENS} tokens",
        "sha256": file_digest(weights),
        "base": {"name": BASE.name, "sha256": BASE.sha256},
        "licence": "CC BY-SA 4.0",
        "share_alike": "The weights are shared under CC BY-SA 4.0, as SNLI is; whymatch's code stays under MIT.",
        "trained_on": _TRAINED_ON,
        "trained_by": trained_by,
        "not_trained_on": "iSTS, MTRef, arXivEdits, WiCE, StackExchange: these only evaluate. MTRef's train part set "
        "the threshold of contradictions; MTRef's dev part and Edinburgh++ were in view when that was decided",
        "temperature": temperature,
        "contradicts_from": contradicts_from,
        "measured": {**results},
        "fails": _FAILS,
    }
