"""Groups of documents that say the same, as a page: their texts, and the spans that say why."""

from collections.abc import Mapping, Sequence
from typing import Any

from whymatch.show.html import asset, policy, template
from whymatch.show.words import bits, kept_text, percent, short

_COLOURS = 6  # of reasons
_MAX_DOCUMENTS = 6  # of a group that are shown; the others are folded
_MAX_REASONS = 5  # of a group that are shown; the others are folded
_MAX_CHARACTERS = 400  # between two reasons that are shown; the rest is folded
_EDGE = 160  # characters of what is folded that stay in view, before and after it


def page(duplicates: Mapping[str, Any]) -> str:
    """The page of the dictionary of groups of duplicates."""
    style = asset("picture.css") + asset("grouped.css")
    return template("grouped.html").render(
        title=duplicates["verdict"],
        policy=policy(style, ""),
        style=style,
        limits=_limits(duplicates["limits"]),
        background=duplicates["background"],
        notes=duplicates["notes"],
        groups=[_shown(number, group) for number, group in enumerate(duplicates["groups"], start=1)],
    )


def _limits(limits: Mapping[str, float | None]) -> str:
    """What counted as a duplicate, in a sentence.

    >>> _limits({"e_value": 0.01, "probability": None})
    'Two documents count as duplicates where chance brings at most 0.01 documents so close to one of them.'
    """
    parts = []
    if (e_value := limits["e_value"]) is not None:
        parts.append(f"chance brings at most {short(e_value)} documents so close to one of them")
    if (probability := limits["probability"]) is not None:
        parts.append(f"they match with a probability of {percent(probability)} or more")
    return f"Two documents count as duplicates where {', and '.join(parts)}."


def _shown(number: int, group: Mapping[str, Any]) -> dict[str, Any]:
    """A group as the page has it: its documents with the spans of its reasons, and those in a table."""
    by_ids = {(pair["left"], pair["right"]): pair for pair in group["pairs"]}
    reasons = list[dict[str, Any]]()
    marks = dict[str, dict[tuple[int, int], list[int]]]()
    for pair in (by_ids[ids["left"], ids["right"]] for ids in group["reasons"]):
        for link in pair["alignment"]["links"]:
            reasons.append(
                {
                    "number": len(reasons) + 1,
                    "colour": len(reasons) % _COLOURS,
                    "texts": link["texts"],
                    "ids": (pair["left"], pair["right"]),
                    "bits": f"{link['bits']:.1f}",
                }
            )
            for side in ("left", "right"):
                span = (link[side][0], link[side][1])
                marks.setdefault(pair[side], {}).setdefault(span, []).append(len(reasons) - 1)
    documents = [
        {
            "id": id_,
            "kept": kept_text(group["metadata"].get(id_, {})),
            "parts": _parts(text, marks.get(id_, {}), reasons),
        }
        for id_, text in group["documents"].items()
    ]
    weakest = by_ids[group["weakest"]["left"], group["weakest"]["right"]]
    return {
        "number": number,
        "probability": group["probability"],
        "e_value": short(weakest["e_value"]),
        "bits": bits(weakest["bits"]),
        "weakest": weakest if len(documents) > 2 else None,
        "documents": [documents[:_MAX_DOCUMENTS], documents[_MAX_DOCUMENTS:]],
        "reasons": [reasons[:_MAX_REASONS], reasons[_MAX_REASONS:]],
        "size": len(documents),
    }


def _parts(
    text: str, marks: Mapping[tuple[int, int], Sequence[int]], reasons: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """A text as the spans of reasons with their numbers, and what stands between them, folded where it is long."""
    parts, end = [], 0
    for (start, stop), numbers in sorted(marks.items()):
        parts += _between(text[end:start])
        badges = [{"number": reasons[one]["number"], "colour": reasons[one]["colour"]} for one in numbers]
        parts.append({"text": text[start:stop], "badges": badges})
        end = stop
    return parts + _between(text[end:])


def _between(text: str) -> list[dict[str, Any]]:
    """Text that says nothing of why; the middle of a long one is folded."""
    if len(text) <= _MAX_CHARACTERS:
        return [{"text": text}] if text else []
    middle = text[_EDGE:-_EDGE]
    return [{"text": text[:_EDGE]}, {"text": middle, "folded": f"{len(middle):,} characters"}, {"text": text[-_EDGE:]}]
