"""A text beside its translation, in words, for a terminal and as a page, from the dictionary of a bitext."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from whymatch.show.exchange import rows
from whymatch.show.html import asset, policy, template
from whymatch.show.words import percent
from whymatch.text.languages import language_name

_WEAK = 0.3  # the likeness below which a person should look at a passage


def translation_in_words(bitext: Mapping[str, Any]) -> str:
    """What was linked with what, in one sentence."""
    passages, alone = bitext["passages"], bitext["alone"]
    counts = [len(bitext[side]["spans"]) for side in ("left", "right")]
    if not passages:
        return f"No sentence has a counterpart, of {counts[0]:,} and {counts[1]:,}."
    single = sum(len(one["left"]) == len(one["right"]) == 1 for one in passages)
    moved = sum(one["moved"] for one in passages)
    shares = [1 - len(alone[side]) / max(1, count) for side, count in zip(("left", "right"), counts, strict=True)]
    parts = "1 passage" if len(passages) == 1 else f"{len(passages):,} passages, {single:,} of them one sentence each"
    parts += f", and {moved:,} at another place" if moved else ""
    cover = "covers" if len(passages) == 1 else "cover"
    return f"{parts}, {cover} {percent(shares[0])} of the source and {percent(shares[1])} of the translation."


def translation_as_text(bitext: Mapping[str, Any]) -> str:
    """The verdict, remarks, and how many passages there are of each size; then those that are least alike."""
    sizes = Counter((len(one["left"]), len(one["right"])) for one in bitext["passages"])
    names = [language_name(code) if code else "language not recognised" for code in bitext["languages"]]
    lines = [translation_in_words(bitext), *bitext["remarks"], f"Source: {names[0]}. Translation: {names[1]}."]
    if sizes:
        lines.append("Sentences: " + ", ".join(f"{a} : {b}  {count:,}×" for (a, b), count in sizes.most_common()))
    without = [len(bitext["alone"][side]) for side in ("left", "right")]
    if any(without):
        lines.append(f"Without a counterpart: {without[0]:,} of the source, {without[1]:,} of the translation.")
    return "\n".join(lines)


def translation_page(bitext: Mapping[str, Any]) -> str:
    """Both texts side by side; what a person should look at can be shown alone."""
    style = asset("picture.css") + asset("translation.css")
    own = [
        {
            "left": row.left,
            "right": row.right,
            "likeness": row.likeness,
            "state": "alone"
            if row.likeness is None
            else "moved"
            if row.moved
            else "weak"
            if row.likeness < _WEAK
            else "",
        }
        for row in rows(bitext)
    ]
    return template("translation.html").render(
        verdict=translation_in_words(bitext),
        remarks=bitext["remarks"],
        languages=[code or "" for code in bitext["languages"]],
        names=[language_name(code) if code else "" for code in bitext["languages"]],
        rows=own,
        counts=Counter(row["state"] for row in own),
        policy=policy(style, ""),
        style=style,
    )
