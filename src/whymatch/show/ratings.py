"""The report of a study as one web page that needs nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

from whymatch.show.html import asset, policy, template

WIDTH, NARROW = 600, 40  # of a bar, and of a part that has no room for a number
NAMES = {"redundancy": "Redundancy", "relevance": "Relevance", "overall": "Overall quality", "links": "Single links"}
MEANS = {
    "redundancy": "2: each link says something of its own.",
    "relevance": "2: all linked pieces belong together and explain the match.",
    "overall": "2: the links convince.",
    "links": "Rejected, accepted.",
}


def page(found: Mapping[str, Any]) -> str:
    """The page of a report's dictionary."""
    style = asset("picture.css") + asset("ratings.css")
    questions = []
    for name in found["agreement"]:
        judged = [model["links"] if name == "links" else model["ratings"][name] for model in found["models"]]
        models = zip(found["models"], judged, strict=True)
        questions.append(
            {
                "name": NAMES[name],
                "means": MEANS[name],
                "kind": "verdict" if name == "links" else "rating",
                "agreement": found["agreement"][name],
                "rows": [{"model": model, "answers": some, "parts": parts(some["counts"])} for model, some in models],
            }
        )
    return template("ratings.html").render(
        policy=policy(style, ""), style=style, found=found, questions=questions, width=WIDTH
    )


def parts(counts: Sequence[int]) -> list[dict[str, Any]]:
    """Where each part of a bar begins, how wide it is, and what it says.

    >>> [(part["x"], part["width"], part["says"]) for part in parts([1, 0, 3])]
    [(0.0, 150.0, '25%'), (150.0, 0.0, ''), (150.0, 450.0, '75%')]
    """
    found, x, total = [], 0.0, sum(counts)
    for value, number in enumerate(counts):
        width = WIDTH * number / total if total else 0.0
        says = f"{100 * number / total:.0f}%" if width >= NARROW else ""
        found.append({"value": value, "x": x, "width": width, "middle": x + width / 2, "says": says, "number": number})
        x += width
    return found
