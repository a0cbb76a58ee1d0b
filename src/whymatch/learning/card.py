"""The card of a model: what it is, what it was measured to do, and what to know before using it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whymatch.learning.files import read_json, write_whole
from whymatch.show.words import IN_CONTEXT, in_words
from whymatch.text.encoders.models import MINILM

KNOWS = (
    "The model card of all-MiniLM-L6-v2 lists SNLI, MultiNLI, Quora question pairs and duplicates from StackExchange "
    "among its training data: scores on these are not scores on unseen kinds of text."
)
ALONE = (
    "Spans were read alone: given the links, a prediction depends on the text of the linked spans and on nothing else."
)
ATTENDS = "Attention gives every pair of spans some weight: a prediction depends on all of the text."
VOCABULARY = "It knows the words of the data set that it was trained on; others have the zero vector."


def write_card(folder: Path, results: Mapping[str, Any], data: str | Path, split: str) -> None:
    """Adds what was measured to `evaluations.json`, and writes the card anew from all of it.

    A card that somebody has changed since stays as it is.
    """
    file, name = folder / "evaluations.json", Path(data).resolve().name
    known = [one for one in read_json(file) or [] if (one["data"], one["split"]) != (name, split)]
    readme = folder / "README.md"
    edited = readme.exists() and (not file.exists() or readme.read_text(encoding="utf-8") != card(folder))
    write_whole(file, json.dumps([*known, {"data": name, "split": split, "results": dict(results)}], indent=1))
    if not edited:
        write_whole(readme, card(folder))


def card(folder: Path) -> str:
    """The card as Markdown, from config.json, settings.json and evaluations.json."""
    config = json.loads((folder / "config.json").read_text())
    settings = read_json(folder / "settings.json")
    kind, rule, encoder = config["kind"], config["rule"], config["encoder"]
    by_transport = rule["kind"] == "transport"
    method = in_words({**rule, "by_default": False}) if by_transport else f"{rule['normaliser']} attention"
    faithful = IN_CONTEXT if in_context(encoder) else ALONE
    lines = [
        "---", "library_name: whymatch", "---", "",
        f"# A {kind} of texts, with reasons", "",
        f"It aligns two texts by {method}. {faithful if by_transport else ATTENDS}", "",
        "```python", "import whymatch as wm", "",
        f'model = wm.{kind.title()}.from_pretrained("{folder.name}")', "```", "",
        f"Encoder: {encoder_of(encoder)}.",
        *(["", KNOWS] if MINILM in encoder_of(encoder) else []),
        *(["", VOCABULARY] if encoder["kind"] == "recurrent" else []),
    ]  # fmt: skip
    for one in read_json(folder / "evaluations.json") or []:
        lines += ["", f"## On {one['data']}, {one['split']}", "", "| | | 95% interval |", "|---|---|---|"]
        lines += [f"| {name} | {middle} | {ends} |" for name, middle, ends in rows(one["results"])]
    if settings is not None:
        lines += ["", "## How it was trained", "", "```json", json.dumps(settings, indent=1), "```"]
    return "\n".join(lines) + "\n"


def encoder_of(values: Mapping[str, Any]) -> str:
    base = values.get("base", values)
    return base.get("name") or f"{base['model']}, frozen, with a linear map"


def in_context(encoder: Mapping[str, Any]) -> bool:
    base = encoder.get("base", encoder)
    return base["kind"] in ("word", "in context") or bool(base.get("in_context"))


def rows(results: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Names, values and intervals of what was measured, in words."""
    found = []
    for name, value in results.items():
        if isinstance(value, Mapping):
            found.append((name, f"{value['mean']:.4f}", f"{value['low']:.4f} to {value['high']:.4f}"))
        else:
            found.append((name, f"{value:.4g}" if isinstance(value, float) else str(value), ""))
    return found
