"""Examples on one web page that needs nothing else: the same two texts under several rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from whymatch.show.html import SIDES, asset, blocks, columns, embedded, policy, started, template

_WIDTH, _HEIGHT, _EDGE = 100, 64, 6  # of the small picture of a rule


def page(groups: Sequence[Mapping[str, Any]], title: str, about: str) -> str:
    """The page of groups of examples.

    A group has a title, a sentence about it and examples; an example a title, `left` and `right` with text, spans and
    the numbers of spans that people `marked`, the rule that is `chosen` first, and rules: a name, what they say in
    words, and links of left number, right number and weight. Pairs of a term and a sentence under `sure` stand behind a
    disclosure.
    """
    style = asset("picture.css") + asset("gallery.css")
    script = asset("curves.js") + asset("gallery.js") + started("showGallery")
    ready: list[dict[str, Any]] = []
    data: list[dict[str, Any]] = []
    for group in groups:
        examples = []
        for example in group["examples"]:
            examples.append(_prepared(example, len(data)))
            rules = [{"words": rule["words"], "links": rule["links"]} for rule in example["rules"]]
            data.append({"number": len(data), "chosen": example["chosen"], "rules": rules})
        ready.append({**group, "examples": examples})
    return template("gallery.html").render(
        title=title,
        about=about,
        policy=policy(style, script),
        style=style,
        script=script,
        groups=ready,
        marks=any(example[side]["marked"] for group in groups for example in group["examples"] for side in SIDES),
        data=embedded(data),
    )


def _prepared(example: Mapping[str, Any], number: int) -> dict[str, Any]:
    """An example with what the template needs: columns as the chosen rule has them, and a small picture per rule."""
    links = [{"at": link[:2]} for link in example["rules"][example["chosen"]]["links"]]
    sides = columns({**example, "links": links})
    for side in sides:
        marked = set(example[side["side"]]["marked"])
        for part in side["parts"]:
            if part.get("number") in marked:
                part["marked"] = True
    sizes = [len(example[side]["spans"]) for side in SIDES]
    rules = [
        {**rule, **_small_picture(rule["links"], sizes), "pairs": sizes[0] * sizes[1]} for rule in example["rules"]
    ]
    return {**example, "number": number, "rules": rules, "columns": sides, "blocks": blocks(example)}


def _small_picture(links: Sequence[Sequence[float]], sizes: Sequence[int]) -> dict[str, Any]:
    """A dot for each span, left and right, and a line for each link."""

    def at(side: int, span: float) -> tuple[float, float]:
        height = _HEIGHT - 2 * _EDGE
        return (_EDGE, _WIDTH - _EDGE)[side], round(_EDGE + height * (span + 0.5) / sizes[side], 1)

    dots = [at(side, span) for side in (0, 1) for span in range(sizes[side])]
    return {"dots": dots, "lines": [(*at(0, i), *at(1, j)) for i, j, *_ in links]}
