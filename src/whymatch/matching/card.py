"""The card of a model: what it is, what it was measured to do, and what to know before using it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whymatch.cost import Cost, WordCounts
from whymatch.files import read_json, write_whole
from whymatch.show.words import IN_CONTEXT
from whymatch.text.encoders.models import MINILM
from whymatch.transport.constraints import constraint_from_dict

KNOWS = (
    "The model card of all-MiniLM-L6-v2 lists SNLI, MultiNLI, Quora question pairs and duplicates from StackExchange "
    "among its training data: scores on these are not scores on unseen kinds of text."
)
ALONE = (
    "Spans were read alone: given the links, a prediction depends on the text of the linked spans and on nothing else."
)
TOGETHER = (
    "A second model read the linked spans, and nothing else: given the links, a prediction depends on their text alone."
)
ATTENDS = "Attention gives every pair of spans some weight: a prediction depends on all of the text."
TASKS = {"ranker": "text-ranking", "classifier": "text-classification"}
"""What the hub calls the tasks of models."""
VOCABULARY = "It knows the words of the data set that it was trained on; others have the zero vector."


def write_card(folder: Path, results: Mapping[str, Any], data: str | Path, split: str) -> None:
    """Adds what was measured to `evaluations.json`, and writes the card anew from all of it.

    A card that somebody has changed since stays as it is.
    """
    readme, file, name = folder / "README.md", folder / "evaluations.json", Path(data).resolve().name
    known = _known(file)
    others = [other for other in known["evaluations"] if (other["data"], other["split"]) != (name, split)]
    evaluations = [*others, {"data": name, "split": split, "results": dict(results)}]
    text = _card(folder, evaluations, folder.name, read_json(folder / "settings.json"))
    if readme.exists() and _digest(readme.read_text(encoding="utf-8")) != known["card"]:
        text = ""  # somebody changed it
    digest = _digest(text) if text else known["card"]
    write_whole(file, json.dumps({"card": digest, "evaluations": evaluations}, indent=1))
    if text:
        write_whole(readme, text)


def hub_card(model: Path, name: str, run: Path | None = None) -> str:
    """The card of the model in a folder as `name` on the hub, with what was measured in the folder of a run.

    A card that somebody has written there stands for it.
    """
    if run is None:
        return _card(model, [], name)
    known, readme = _known(run / "evaluations.json"), run / "README.md"
    if readme.exists() and _digest(text := readme.read_text(encoding="utf-8")) != known["card"]:
        return text
    return _card(model, known["evaluations"], name, read_json(run / "settings.json"))


def _known(file: Path) -> dict[str, Any]:
    """What was measured, and the digest of the card that was written of it."""
    known = read_json(file)
    return known if isinstance(known, dict) else {"card": None, "evaluations": []}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _card(folder: Path, evaluations: Sequence[Mapping[str, Any]], name: str, settings: Any = None) -> str:
    """The card of a model of this name as Markdown, from config.json, the settings and what was measured."""
    config = json.loads((folder / "config.json").read_text())
    kind, rule, encoder = config["kind"], config["rule"], config["encoder"]
    by_transport = rule["kind"] == "transport"
    method = constraint_from_dict(rule["constraint"]).words if by_transport else f"{rule['normaliser']} attention"
    reader = config.get("reader")
    faithful = IN_CONTEXT if config["contextual"] else TOGETHER if reader else ALONE
    names = [_encoder_name(values) for values in (encoder, reader) if values]
    allowed = ", download=True" if "/" in name else ""  # of a model on the hub
    lines = [
        "---", "library_name: whymatch", f"pipeline_tag: {TASKS[kind]}", *_base_models((encoder, reader)),
        "tags:", "- text-matching", "- optimal-transport", "- explanation", "---", "",
        f"# A {kind} of texts, with reasons", "",
        f"It aligns two texts by {method}. {faithful if by_transport else ATTENDS}", "",
        "```python", "import whymatch as wm", "",
        f'model = wm.{kind.title()}.from_pretrained("{name}"{allowed})', "```", "",
        f"Encoder: {names[0]}. Cost: {Cost.from_list(config['cost'], WordCounts({}, 0)).name}.",
        *(["", f"The linked spans are read by a second model: {names[1]}."] if reader else []),
        *(["", KNOWS] if any(MINILM in name for name in names) else []),
        *(["", VOCABULARY] if "recurrent" in (encoder["kind"], (reader or encoder)["kind"]) else []),
    ]  # fmt: skip
    for evaluation in evaluations:
        lines += ["", f"## On {evaluation['data']}, {evaluation['split']}", "", "| | | 95% interval |", "|---|---|---|"]
        lines += [f"| {name} | {middle} | {ends} |" for name, middle, ends in rows(evaluation["results"])]
    if settings is not None:
        lines += ["", "## How it was trained", "", "```json", json.dumps(settings, indent=1), "```"]
    return "\n".join(lines) + "\n"


def _base_models(encoders: Sequence[Mapping[str, Any] | None]) -> list[str]:
    """The line of the card's head that names models of the hub which encode."""
    bases = (values.get("base", values) for values in encoders if values)
    names = [base["model"] for base in bases if "model" in base and not base["inside"]]
    return [f"base_model: {names[0]}"] if names else []


def _encoder_name(values: Mapping[str, Any]) -> str:
    base = values.get("base", values)
    return base.get("name") or f"{base['model']}, frozen{', with a linear map' * values.get('learned', False)}"


def rows(results: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Names, values and intervals of what was measured, in words."""
    table = []
    for name, value in results.items():
        if isinstance(value, Mapping):
            table.append((name, f"{value['mean']:.4f}", f"{value['low']:.4f} to {value['high']:.4f}"))
        else:
            table.append((name, f"{value:.4g}" if isinstance(value, float) else str(value), ""))
    return table
