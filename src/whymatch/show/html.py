"""An alignment, or the report of a study, as one web page that needs nothing else.

Text is escaped where it is written (Jinja's autoescape in the page, `textContent` in the script), data travel as JSON
without "<", and the page's policy allows its one style sheet and its one script, by hash, and nothing from outside.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from whymatch.show.words import (
    IN_CONTEXT,
    SIGNS,
    bits,
    conflict_words,
    conflicts_first,
    evidence,
    how_sure,
    in_words,
    meaning,
    number,
    percent,
    worth,
)

SIDES = ("left", "right")
PICTURE_SCRIPTS = ("curves.js", "long.js", "picture.js")
"""What brings the picture of an alignment to life, in this order."""
_TEMPLATES = Path(__file__).parent / "templates"
_MIN_BLOCK = 24  # mean characters of a span, from which each span gets a line of its own
_LONG_FROM = 40  # spans of a text, from which on its runs without links are folded and only curves in view are drawn
_ROWS_AT_FIRST = 10  # links of long texts that the table shows before a reader asks for all
_FIT = (  # runs in the notebook: sets the height of the frame that a message comes from, within bounds
    'addEventListener("message", ({ source, data }) => { for (const frame of document.querySelectorAll('
    '"iframe.whymatch")) if (frame.contentWindow === source && data?.whymatchHeight > 0) '
    "frame.style.height = `${Math.min(Number(data.whymatchHeight), 3000)}px`; });"
)
_COLOURS = 6  # of links without a relation
_BAR_WIDTH, _MIN_LABELLED = 600, 40  # of a bar, and of a part of it that has room for a number
_QUESTIONS = {
    "redundancy": ("Redundancy", "2: each link says something of its own."),
    "relevance": ("Relevance", "2: all linked pieces belong together and explain the match."),
    "overall": ("Overall quality", "2: the links convince."),
    "links": ("Single links", "Rejected, accepted."),
}


def page(picture: Mapping[str, Any], title: str | None = None) -> str:
    """The page of an alignment's dictionary; its title is the verdict, if none is given."""
    picture = conflicts_first(picture)
    judgement = picture["judgement"]
    style, script = (
        asset("picture.css"),
        "".join(map(asset, PICTURE_SCRIPTS)) + started("showPicture") + asset("frame.js"),
    )
    return template("page.html").render(
        title=title or (picture["verdict"] if judgement else "Links between two texts"),
        policy=policy(style, script),
        style=style,
        script=script,
        picture=picture,
        in_context=IN_CONTEXT,
        sure=how_sure(picture),
        views=views(picture),
        columns=columns(picture),
        blocks=blocks(picture),
        signs=SIGNS,
        meanings=meanings(picture),
        contradictions=sum(meaning(link) == "contradicts" for link in picture["links"]),
        colours=[_colour(rank, link) for rank, link in enumerate(picture["links"])],
        long=blocks(picture) and any(len(picture[side]["spans"]) > _LONG_FROM for side in SIDES),
        data=embedded(
            {
                "evidence": judgement is not None,
                "views": views(picture),
                "meanings": meanings(picture),
                "rowsAtFirst": _ROWS_AT_FIRST,
                "words": [_word_links(words) for words in picture.get("words", [])],
            }
        ),
    )


def report_page(report: Mapping[str, Any]) -> str:
    """The page of the dictionary of a study's report."""
    style = asset("picture.css") + asset("ratings.css")
    questions = []
    for name, agreement in report["agreement"].items():
        judged = [model["links"] if name == "links" else model["ratings"][name] for model in report["models"]]
        rows = [
            {"model": model, "answers": answers, "parts": _bar_parts(answers["counts"])}
            for model, answers in zip(report["models"], judged, strict=True)
        ]
        title, means = _QUESTIONS[name]
        kind = "verdict" if name == "links" else "rating"
        questions.append({"name": title, "means": means, "kind": kind, "agreement": agreement, "rows": rows})
    return template("ratings.html").render(
        policy=policy(style, ""), style=style, report=report, questions=questions, width=_BAR_WIDTH
    )


def _bar_parts(counts: Sequence[int]) -> list[dict[str, Any]]:
    """Where each part of a bar begins, how wide it is, and its label.

    >>> [(part["x"], part["width"], part["label"]) for part in _bar_parts([1, 0, 3])]
    [(0.0, 150.0, '25%'), (150.0, 0.0, ''), (150.0, 450.0, '75%')]
    """
    parts, x, total = [], 0.0, max(1, sum(counts))
    for value, count in enumerate(counts):
        width = _BAR_WIDTH * count / total
        label = f"{100 * count / total:.0f}%" if width >= _MIN_LABELLED else ""
        parts.append({"value": value, "x": x, "width": width, "middle": x + width / 2, "label": label, "number": count})
        x += width
    return parts


def frame(picture: Mapping[str, Any]) -> str:
    """The page of an alignment in a frame of its own, for notebooks."""
    sides = [picture[side] for side in SIDES]
    tall = 40 * max(len(side["spans"]) for side in sides)
    flat = 24 * (sum(len(side["text"]) for side in sides) // 80)
    height = min(900, 420 + (tall if blocks(picture) else flat) + 36 * len(picture["links"]))
    return framed(page(picture), "Alignment", height)


def framed(html: str, title: str, height: int) -> str:
    """A page in a frame that cannot reach what is around it; it has a height until the page says how tall it is."""
    return (
        f'<iframe class="whymatch" sandbox="allow-scripts" style="width: 100%; height: {height}px; border: 0" '
        f'title="{title}" srcdoc="{escape(html)}"></iframe><script>{_FIT}</script>'
    )


def views(picture: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The links as asked for, and those of exactly k for every k of the path.

    A link is its left and right numbers, its cost, and what it adds to the score. Every score is on the same scale: the
    sum of bits, and a link has those in place of its cost; where costs are no evidence, the mean over the links, by
    their mass, of what they cost less than the neutral cost.
    """
    judged = picture["judgement"] is not None
    adds = worth(picture) if judged else _strengths(picture)
    asked = [
        [*link["at"], link["bits"] if judged else link["cost"], added]
        for link, added in zip(picture["links"], adds, strict=True)
    ]
    name, proof = in_words(picture), picture["certificate"]["in_words"]
    shown = [{"name": name, "score": sum(adds), "links": asked, "certificate": proof}]
    for step in picture["path"]:
        unit = 1 if judged else step["k"]
        links = [[i, j, -cost if judged else cost, (picture["neutral"] - cost) / unit] for i, j, cost in step["links"]]
        name = "exactly 1 link" if step["k"] == 1 else f"exactly {step['k']} links"
        links.sort(key=lambda link: -link[3])
        proof = f"Optimal: nothing scores higher with {name}."
        shown.append({"name": name, "score": step["score"], "links": links, "certificate": proof})
    return shown


def _strengths(picture: Mapping[str, Any]) -> list[float]:
    """What each link adds to the mean of what links cost less than the neutral cost."""
    mass = sum(link["mass"] for link in picture["links"])
    return [link["mass"] * (picture["neutral"] - link["cost"]) / mass for link in picture["links"]]


def meanings(picture: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the links mean that were read, by their numbers: relation, sign, and the words in conflict."""
    return {
        "{}-{}".format(*link["at"]): {
            "relation": relation,
            "sign": SIGNS[relation],
            "conflicts": conflict_words(picture, link),
        }
        for link in picture["links"]
        if (relation := meaning(link)) is not None
    }


def columns(picture: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each text as spans and what stands between them, with the numbers of the links that a span is in.

    A span is cut into pieces, of which some are words that contradict the other text.
    """
    sides = []
    for side, name in enumerate(SIDES):
        text, spans = picture[name]["text"], picture[name]["spans"]
        badges: dict[int, list[dict[str, Any]]] = {}
        for rank, link in enumerate(picture["links"]):
            badges.setdefault(link["at"][side], []).append({"number": rank + 1, "colour": _colour(rank, link)})
        marks = [mark for link in picture["links"] for one in link.get("conflicts", ()) for mark in one[name]]
        parts, end = [], 0
        for place, (start, stop) in enumerate(spans):
            parts.append({"between": text[end:start]})
            pieces = marked_pieces(text, start, stop, marks)
            own = {"number": place, "text": text[start:stop], "pieces": pieces, "badges": badges.get(place, [])}
            parts.append(own)
            end = stop
        parts.append({"between": text[end:]})
        sides.append({"side": name, "parts": parts})
    return sides


def _colour(rank: int, link: Mapping[str, Any]) -> str:
    """What the colour of a link is called: its relation, or a number by its place where relations were not read."""
    return meaning(link) or str(rank % _COLOURS)


def marked_pieces(text: str, start: int, stop: int, marks: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """The characters of a span in pieces that are marked or not.

    >>> [(piece["text"], piece["conflict"]) for piece in marked_pieces("Take 50 mg.", 0, 11, [[5, 10]])]
    [('Take ', False), ('50 mg', True), ('.', False)]
    """
    edges = {start, stop, *(edge for mark in marks for edge in mark if start < edge < stop)}
    ordered = sorted(edges)
    return [
        {"text": text[a:b], "conflict": any(first <= a and b <= last for first, last in marks)}
        for a, b in pairwise(ordered)
    ]


def blocks(picture: Mapping[str, Any]) -> bool:
    """Whether spans are long enough for a line each, and the texts for a column each."""
    lengths = [stop - start for side in SIDES for start, stop in picture[side]["spans"]]
    return sum(lengths) >= _MIN_BLOCK * len(lengths)


def _word_links(words: Mapping[str, Any]) -> dict[str, Any]:
    """What the script needs to show the words inside a link."""
    sides = {side: {"text": words[side]["text"], "spans": words[side]["spans"]} for side in SIDES}
    links = [[*link["at"], link["cost"], link["share"]] for link in words["links"]]
    return {"at": words["at"], **sides, "links": links}


def embedded(data: Any) -> str:
    """JSON that can stand inside a script element: no "<", so nothing in it closes the element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def started(function: str) -> str:
    """The script that gives a page's data to the function that shows them."""
    data = 'JSON.parse(document.getElementById("data").textContent)'
    return f'{function}(document.querySelector(".picture"), {data});\n'


@cache
def asset(name: str) -> str:
    """The text of a style sheet or a script."""
    return (_TEMPLATES / name).read_text(encoding="utf-8")


@cache
def template(name: str) -> Any:
    environment = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"three": number, "bits": bits, "evidence": evidence, "percent": percent}
    return environment.get_template(name)


def policy(style: str, script: str) -> str:
    """The content security policy of a page: its one style sheet, its one script, by hash, nothing from outside."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    allowed = "style-src 'sha256-{}'; script-src 'sha256-{}'".format(*hashes)
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
