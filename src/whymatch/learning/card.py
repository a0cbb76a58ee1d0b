"""The card of a model: what it is, what it was measured to do, and what to know before using it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whymatch.show.words import IN_CONTEXT, in_words

MINILM = (
    "The model card of all-MiniLM-L6-v2 lists SNLI, MultiNLI, Quora question pairs and duplicates from StackExchange "
    "among its training data: scores on these are not scores on unseen kinds of text."
)
ALONE = "Spans were read alone: predictions depend on the text of the linked spans and on nothing else."


def write_card(folder: Path, results: Mapping[str, Any], data: str | Path, split: str) -> None:
    """Adds what was measured to `evaluations.json`, and writes the card anew from all of it."""
    file = folder / "evaluations.json"
    known = json.loads(file.read_text()) if file.is_file() else []
    name = Path(data).resolve().name
    known = [one for one in known if (one["data"], one["split"]) != (name, split)]
    known.append({"data": name, "split": split, "results": dict(results)})
    file.write_text(json.dumps(known, indent=1))
    (folder / "README.md").write_text(card(folder), encoding="utf-8")


def card(folder: Path) -> str:
    """The card as Markdown, from config.json, settings.json and evaluations.json."""
    config = json.loads((folder / "config.json").read_text())
    settings = json.loads((folder / "settings.json").read_text()) if (folder / "settings.json").is_file() else None
    kind, rule = config["kind"], config["rule"]
    method = (
        in_words({**rule, "by_default": False}) if rule["kind"] == "transport" else f"{rule['normaliser']} attention"
    )
    lines = [
        "---", "library_name: whymatch", "---", "",
        f"# A {kind} of texts, with reasons", "",
        f"It aligns two texts ({method}), and its score or label comes from the aligned spans.", "",
        "```python", "import whymatch as wm", "",
        f'model = wm.{kind.title()}.from_pretrained("{folder.name}")', "```", "",
        f"Encoder: {encoder_of(config['encoder'])}. {IN_CONTEXT if in_context(config) else ALONE}",
        *(["", MINILM] if "MiniLM" in json.dumps(config["encoder"]) else []),
    ]  # fmt: skip
    for one in json.loads((folder / "evaluations.json").read_text()):
        lines += ["", f"## On {one['data']}, {one['split']}", "", "| | | 95% interval |", "|---|---|---|"]
        lines += [f"| {name} | {middle} | {ends} |" for name, middle, ends in rows(one["results"])]
    if settings is not None:
        lines += ["", "## How it was trained", "", "```json", json.dumps(settings, indent=1), "```"]
    return "\n".join(lines) + "\n"


def encoder_of(values: Mapping[str, Any]) -> str:
    base = values.get("base", values)
    return base.get("name") or f"{base['model']}, frozen, with a linear map"


def in_context(config: Mapping[str, Any]) -> bool:
    encoder = config["encoder"]
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
