"""An alignment as one web page that needs nothing else.

Text is escaped where it is written (Jinja's autoescape in the page, `textContent` in the script), data travel as JSON
without "<", and the page's policy allows its one style sheet and its one script, by hash, and nothing from outside.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from whymatch.show.words import IN_CONTEXT, in_words, number

TEMPLATES = Path(__file__).parent / "templates"
BLOCK = 24  # mean characters of a span, from which each span gets a line of its own


def page(picture: Mapping[str, Any], title: str = "Why do these texts match?") -> str:
    """The page of an alignment's dictionary."""
    style, script = asset("picture.css"), asset("curves.js") + asset("picture.js") + started("showPicture")
    return template("page.html").render(
        title=title,
        policy=policy(style, script),
        style=style,
        script=script,
        picture=picture,
        in_context=IN_CONTEXT,
        views=views(picture),
        columns=columns(picture),
        blocks=blocks(picture),
        data=embedded({"views": views(picture), "words": [inside(words) for words in picture.get("words", [])]}),
    )


def frame(picture: Mapping[str, Any]) -> str:
    """The page in a frame of its own, for notebooks."""
    sides = [picture[side] for side in ("left", "right")]
    tall = 40 * max(len(side["spans"]) for side in sides)
    flat = 24 * (sum(len(side["text"]) for side in sides) // 80)
    height = min(900, 380 + (tall if blocks(picture) else flat) + 36 * len(picture["links"]))
    return (
        f'<iframe sandbox="allow-scripts" style="width: 100%; height: {height}px; border: 0" '
        f'title="Alignment" srcdoc="{escape(page(picture))}"></iframe>'
    )


def views(picture: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The links as asked for, and those of exactly k for every k of the path: left, right, cost and share."""
    asked = [[*link["at"], link["cost"], link["share"]] for link in picture["links"]]
    zero = f"{picture['constraint'].get('below', picture['neutral']):g}"
    certificate = picture["certificate"]["in_words"]
    found = [
        {"name": in_words(picture), "score": picture["score"], "zero": zero, "links": asked, "certificate": certificate}
    ]
    for step in picture["path"]:
        links = [[i, j, cost, (picture["neutral"] - cost) / step["k"]] for i, j, cost in step["links"]]
        name = "exactly 1 link" if step["k"] == 1 else f"exactly {step['k']} links"
        links.sort(key=lambda link: -link[3])
        proof = f"Optimal: nothing scores higher with {name}."
        zero = f"{picture['neutral']:g}"
        found.append({"name": name, "score": step["score"], "zero": zero, "links": links, "certificate": proof})
    return found


def columns(picture: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each text as spans and what stands between them, with the numbers of the links that a span is in."""
    found = []
    for side, name in enumerate(("left", "right")):
        text, spans = picture[name]["text"], picture[name]["spans"]
        badges: dict[int, list[int]] = {}
        for rank, link in enumerate(picture["links"], start=1):
            badges.setdefault(link["at"][side], []).append(rank)
        parts, end = [], 0
        for place, (start, stop) in enumerate(spans):
            parts.append({"between": text[end:start]})
            parts.append({"number": place, "text": text[start:stop], "badges": badges.get(place, [])})
            end = stop
        parts.append({"between": text[end:]})
        found.append({"side": name, "parts": parts})
    return found


def blocks(picture: Mapping[str, Any]) -> bool:
    """Whether spans are long enough for a line each, and the texts for a column each."""
    lengths = [stop - start for side in ("left", "right") for start, stop in picture[side]["spans"]]
    return sum(lengths) >= BLOCK * len(lengths)


def inside(words: Mapping[str, Any]) -> dict[str, Any]:
    """What the script needs to show the words of a link."""
    sides = {side: {"text": words[side]["text"], "spans": words[side]["spans"]} for side in ("left", "right")}
    links = [[*link["at"], link["cost"], link["share"]] for link in words["links"]]
    return {"at": words["at"], **sides, "links": links}


def embedded(data: Any) -> str:
    """JSON that can stand inside a script element: no "<", so nothing in it closes the element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def started(function: str) -> str:
    """What gives a page's data to the function that shows them."""
    data = 'JSON.parse(document.getElementById("data").textContent)'
    return f'{function}(document.querySelector(".picture"), {data});\n'


@cache
def asset(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def template(name: str) -> Any:
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    environment.filters["three"] = number
    return environment.get_template(name)


def policy(style: str, script: str) -> str:
    """What a page may do: its one style sheet, its one script, nothing from outside."""
    own = f"style-src {hashed(style)}; script-src {hashed(script)}"
    return f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"


def hashed(text: str) -> str:
    """A content security policy's name for an inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
