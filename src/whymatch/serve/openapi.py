"""What is answered, as OpenAPI describes it."""

from typing import Any


def _record(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "required": [*required], "properties": required | (optional or {})}


def _array(items: dict[str, Any], description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more} | ({"description": description} if description else {})


_NUMBER, _INTEGER, _STRING, _BOOLEAN, _OBJECT = (
    {"type": kind} for kind in ("number", "integer", "string", "boolean", "object")
)
_NULLABLE = {"type": ["number", "null"]}
_PROBABILITY = _NULLABLE | {"description": "The calibrated chance that the texts match."}
_BITS = _NULLABLE | {"description": "The evidence of all significant links; 0 is what chance gives."}
_P_VALUE = _NULLABLE | {"description": "The share of random pairs of texts with as much evidence."}
_SPAN = _array(_INTEGER, "Start and end, in characters.", minItems=2, maxItems=2)
_RELATION = {
    "type": ["object", "null"],
    "description": "What its spans say of each other (same, implies, implied, contradicts, related); null if not read.",
    "properties": {"name": _STRING, "probabilities": _OBJECT},
}
_CONFLICT = _record({"kind": _STRING, "left": _array(_SPAN), "right": _array(_SPAN)})
_LINK = _record(
    {
        "left": _SPAN,
        "right": _SPAN,
        "at": _array(_INTEGER, "The numbers of the two spans, from 0."),
        "texts": _array(_STRING),
        "bits": _NULLABLE | {"description": "Its evidence; null where costs are no evidence."},
        "cost": _NUMBER | {"description": "Low is good; minus the bits, where costs are evidence."},
        "mass": _NUMBER,
        "share": _NUMBER | {"description": "What the link adds to the score."},
        "relation": _RELATION,
        "conflicts": _array(_CONFLICT, "Words that contradict each other."),
    }
)
_DOCUMENT = _record({"text": _STRING, "spans": _array(_SPAN)})
_MARGIN = {"description": 'A number, "inf", or null where it was not computed.'}
_CERTIFICATE = _record({"links": _INTEGER, "gap": _NUMBER, "margin": _MARGIN, "clipped": _BOOLEAN, "in_words": _STRING})
_JUDGEMENT = {
    "type": ["object", "null"],
    "description": "What the evidence is worth, and against what; null where costs are no evidence.",
    "properties": {
        "bits": _NUMBER,
        "p_value": _NUMBER,
        "probability": _PROBABILITY,
        "background": _STRING | {"description": "What the evidence was measured against."},
        "calibrated_on": _STRING | {"description": "The labelled pairs that made a probability of the p-value."},
        "notes": _array(_STRING),
        "tails": _array(_array(_array(_NUMBER)), "Two numbers per left and per right span, of which bits follow."),
    },
}
_ALIGNMENT = _record(
    {
        "format": _INTEGER,
        "verdict": _STRING | {"description": "The answer in one sentence."},
        "probability": _PROBABILITY,
        "bits": _BITS,
        "p_value": _P_VALUE,
        "coverage": _array(_NUMBER, "The shares of both texts that stand in links."),
        "notes": _array(_STRING, "What a reader has to know, such as spans that could not be read."),
        "score": _NUMBER | {"description": "The sum of the links' shares, in bits where costs are evidence."},
        "links": _array(_LINK, "Strongest first."),
        "left": _DOCUMENT,
        "right": _DOCUMENT,
        "unmatched": _record({"left": _array(_SPAN), "right": _array(_SPAN)}),
        "constraint": _record({"name": _STRING}, {"k": _INTEGER, "below": _NUMBER}),
        "by_default": _BOOLEAN,
        "cost": _STRING,
        "neutral": _NUMBER,
        "encoder": _STRING,
        "contextual": _BOOLEAN,
        "certificate": _CERTIFICATE,
        "path": _array(_OBJECT, "The optimum for exactly 1, 2, … links, up to 32."),
        "judgement": _JUDGEMENT,
        "remarks": _array(_STRING, "Notes beside those of the judgement."),
    },
    {"page": _STRING},
)
_BATCH = _record({"results": _array(_OBJECT, 'An alignment, or {"problem": …}.')})
_RANK = {"corpus_id": _INTEGER, "score": _NUMBER, "text": {}, "links": _array(_LINK)}
_JUDGED = {"probability": _PROBABILITY, "bits": _BITS, "p_value": _P_VALUE}
_RANKING = _record({"results": _array(_record(_RANK, {"verdict": _STRING, **_JUDGED}))})
_E_VALUE = _NULLABLE | {"description": "How many documents of the index chance would bring as close."}
_HIT = _record(
    {"id": _STRING, "score": _NUMBER, "places": _OBJECT, "metadata": _OBJECT, "alignment": _ALIGNMENT},
    {"e_value": _E_VALUE, **_JUDGED},
)
_RESULTS = _record({"query": _STRING, "candidates": _INTEGER, "hits": _array(_HIT)}, {"page": _STRING})

_CLAIM = _record(
    {
        "verdict": {"enum": ["supported", "contradicted", "unsupported"]},
        "reason": _STRING | {"description": "Why, in one sentence."},
        "support": _NUMBER | {"description": "From 0 to 1: how far the source with the most says it."},
        "text": _STRING,
        "span": _SPAN,
        "sentence": _INTEGER | {"description": "The number of its sentence in the answer, from 0."},
        "citations": _array(
            _record(
                {
                    "source": _STRING | {"description": "The name of the source."},
                    "span": _SPAN,
                    "text": _STRING,
                    "bits": _NUMBER,
                    "relation": _RELATION,
                    "conflicts": _array(
                        _record({"kind": _STRING, "answer": _array(_SPAN), "source": _array(_SPAN)}),
                        "Words that contradict each other.",
                    ),
                }
            ),
            "Spans of a source that speak of it, strongest first.",
        ),
        "missing": _array(_SPAN, "Words of the claim that no cited span says."),
        "read": _BOOLEAN | {"description": "Whether relations were read; else it is judged by its words alone."},
    }
)
_CHECK = _record(
    {
        "format": _INTEGER,
        "verdict": _STRING | {"description": "Whether the sources support the answer, in one sentence."},
        "faithfulness": _NUMBER | {"description": "The share of claims that are supported."},
        "counts": _record({"supported": _INTEGER, "contradicted": _INTEGER, "unsupported": _INTEGER}),
        "answer": _STRING,
        "claims": _array(_CLAIM, "In the order of the answer."),
        "no_claims": _array(
            _record({"span": _SPAN, "text": _STRING, "kind": {"enum": ["heading", "question", "lead-in", "offer"]}}),
            "Pieces of the answer that claim nothing.",
        ),
        "sources": _array(_record({"name": _STRING, "text": _STRING, "spans": _array(_SPAN)})),
        "background": _STRING | {"description": "What evidence was measured against."},
        "notes": _array(_STRING, "What a reader has to know, such as sources that could not be read."),
    },
    {"page": _STRING},
)
_KINDS = ["same", "moved", "changed", "split", "merged", "new", "missing"]
_BLOCKS = _array(_INTEGER, "The numbers of its blocks; empty where it is new or missing.")
_CHANGE = _record(
    {
        "kind": {"enum": _KINDS},
        "was": _STRING | {"description": "Its clause, heading or line in the old version."},
        "where": _STRING | {"description": "The same in the new version."},
        "matters": _BOOLEAN | {"description": "Whether both sides contradict each other."},
        "reworded": _BOOLEAN,
        "edited": _BOOLEAN,
        "renumbered": _BOOLEAN,
        "numbers": _array(_STRING, "The bullet and the number that it begins with in each version."),
        "left": _BLOCKS,
        "right": _BLOCKS,
        "places": _array({"type": ["array", "null"], "items": _INTEGER}, "Its characters in each version."),
        "texts": _array(_STRING),
        "marks": _record({"left": _array(_SPAN), "right": _array(_SPAN)}) | {"description": "The words that differ."},
        "conflicts": _array(_CONFLICT, "Words that contradict each other."),
        "relation": _RELATION,
    }
)
_COMPARISON = _record(
    {
        "format": _INTEGER,
        "verdict": _STRING | {"description": "What changed, in one sentence, what matters first."},
        "counts": _record(dict.fromkeys(_KINDS, _INTEGER)),
        "changes": _array(_CHANGE, "What became of every block of both versions, what matters first."),
        "left": _DOCUMENT,
        "right": _DOCUMENT,
        "remarks": _array(_STRING),
    },
    {"page": _STRING},
)


def _answer(schema: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """An answer of this kind, as OpenAPI lists it."""
    return {200: {"description": "OK", "content": {"application/json": {"schema": schema}}}}


ALIGNED, BATCH, RANKED, FOUND, CHECKED, COMPARED = map(
    _answer, (_ALIGNMENT, _BATCH, _RANKING, _RESULTS, _CHECK, _COMPARISON)
)
