"""What answers look like, for OpenAPI: the parts that a reader needs; the manual has the rest."""

from typing import Any

Schema = dict[str, Any]


def record(required: Schema, optional: Schema | None = None) -> Schema:
    return {"type": "object", "required": [*required], "properties": required | (optional or {})}


def many(items: Schema) -> Schema:
    return {"type": "array", "items": items}


NUMBER, WHOLE, TEXT, TRUTH = ({"type": kind} for kind in ("number", "integer", "string", "boolean"))
SPAN = many(WHOLE) | {"minItems": 2, "maxItems": 2, "description": "Start and end, in characters."}
LINK = record(
    {
        "left": SPAN,
        "right": SPAN,
        "at": many(WHOLE) | {"description": "The numbers of the two spans, from 0."},
        "texts": many(TEXT),
        "cost": NUMBER | {"description": "Low is good: 0 is the same."},
        "mass": NUMBER,
        "share": NUMBER | {"description": "What the link adds to the score."},
    }
)
SIDE = record({"text": TEXT, "spans": many(SPAN)})
CERTIFICATE = record(
    {
        "links": WHOLE,
        "gap": NUMBER,
        "margin": {"description": 'A number, "inf", or null where it was not computed.'},
        "clipped": TRUTH,
        "in_words": TEXT,
    }
)
PAGE = {"page": TEXT}
ALIGNMENT = record(
    {
        "format": WHOLE,
        "score": NUMBER,
        "links": many(LINK) | {"description": "Strongest first."},
        "left": SIDE,
        "right": SIDE,
        "unmatched": record({"left": many(SPAN), "right": many(SPAN)}),
        "constraint": record({"name": TEXT}, {"k": WHOLE, "below": NUMBER}),
        "by_default": TRUTH,
        "cost": TEXT,
        "neutral": NUMBER,
        "encoder": TEXT,
        "contextual": TRUTH,
        "certificate": CERTIFICATE,
        "path": many({"type": "object"}) | {"description": "The optimum for exactly 1, 2, … links, up to 32."},
    },
    PAGE,
)
BATCH = record({"results": many({"type": "object"}) | {"description": 'An alignment, or {"problem": …}.'}})
ROW = {"corpus_id": WHOLE, "score": NUMBER, "text": {}, "links": many(LINK)}
RANKING = record({"results": many(record(ROW, {"probability": NUMBER}))})
HIT = record({"id": TEXT, "score": NUMBER, "places": {"type": "object"}, "alignment": ALIGNMENT})
RESULTS = record({"query": TEXT, "candidates": WHOLE, "hits": many(HIT)}, PAGE)


def answered_with(schema: Schema) -> dict[int | str, Schema]:
    """An answer of this kind, as OpenAPI lists it."""
    return {200: {"description": "OK", "content": {"application/json": {"schema": schema}}}}
