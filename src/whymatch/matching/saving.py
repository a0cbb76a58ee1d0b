"""Models as folders: config.json and model.safetensors, and the vocabulary where an encoder has its own."""

import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from whymatch.matching.classifier import Classifier
from whymatch.matching.costs import COSTS, blended
from whymatch.matching.model import Matcher
from whymatch.matching.ranker import Ranker
from whymatch.matching.rarity import Rarity
from whymatch.matching.reader import Reader
from whymatch.matching.refinement import Refinement
from whymatch.matching.rules import Attend, Rule, Transport
from whymatch.text.encoders import Encoder
from whymatch.text.encoders.context import InContext
from whymatch.text.encoders.finetuned import FineTuned
from whymatch.text.encoders.models import SAFE
from whymatch.text.encoders.projected import Projected
from whymatch.text.encoders.recurrent import RecurrentEncoder
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.encoders.word import WordEncoder
from whymatch.text.spans import splitter
from whymatch.text.vectors import WordVectors
from whymatch.transport.constraints import Balanced, Exactly, OneTo, UpTo
from whymatch.transport.entropic import Temperature

FORMAT = 5
READ = (3, 4, 5)  # 3 has no reader, 4 no shared words
OF_MODEL = {"encoder": "encoder.model.", "reader": "reader.encoder.model."}
"""How the names of weights begin that stand in the folder of a fine-tuned encoder."""
CONSTRAINTS: dict[str, Any] = {kind.__name__: kind for kind in (Balanced, OneTo, UpTo, Exactly)}


def save_pretrained(model: Matcher, folder: str | Path) -> None:
    """Writes a model into a folder, which `from_pretrained` reads."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        write(model, folder)
    except SafetensorError as error:  # a full disk, among others
        raise OSError(f"The model cannot be written to {folder}: {error}") from None


def write(model: Matcher, folder: Path) -> None:
    mixes = model.cost.mixes
    cost = next((name for name, known in COSTS.items() if blended(known, *mixes) == model.cost), None)
    if cost is None:
        raise ValueError(f"{model.cost.name} is a cost of your own: it cannot be written to a file.")
    config: dict[str, Any] = {
        "format": FORMAT,
        "kind": model.kind,
        "split": model.split,
        "cost": cost,
        "mixes": mixes,
        "refine": model.refinement.hidden if model.refinement else 0,
        "novelty": model.refinement.novelty if model.refinement else 0.0,
        "nearest": model.refinement.nearest if model.refinement else 0,
        "rarity": [model.rarity.weight, model.rarity.shared] if model.rarity else None,
        "rule": describe_rule(model.rule),
        "encoder": describe_encoder(model.encoder),
        "contextual": model.contextual,
    }
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    if isinstance(model, Classifier):
        config |= {"labels": model.labels, "hidden": model.head.of_left.out_features, "thresholds": model.thresholds}
        config["reader"] = describe_reader(model.reader) if model.reader else None
    elif isinstance(model, Ranker):
        config["calibration"] = model.calibration
    else:
        raise ValueError(f"A ranker or a classifier can be written, got a {model.kind}.")
    encoders = {"encoder": model.encoder}
    if isinstance(model, Classifier) and model.reader is not None:
        encoders["reader"] = model.reader.encoder
    for name, encoder in encoders.items():
        write_encoder(encoder, folder / name)
    tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith(of_folders(encoders))}
    tensors |= write_vectors(encoders.values(), folder)
    if model.rarity is not None:
        counted = {"texts": model.rarity.texts, "words": model.rarity.counts}
        (folder / "rarity.json").write_text(json.dumps(counted, ensure_ascii=False))
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config, indent=1, allow_nan=False))


def write_encoder(encoder: Any, inside: Path) -> None:
    """What of an encoder has a folder of its own: the model that was fine-tuned, or one that nobody else has."""
    if isinstance(encoder, FineTuned | InContext):
        encoder.write(inside)
    base = encoder.encoder if isinstance(encoder, Projected) else None
    if isinstance(base, SentenceEncoder | WordEncoder) and base.local and base.folder.resolve() != inside.resolve():
        shutil.copytree(base.folder, inside, ignore=unsafe, dirs_exist_ok=True)


def of_folders(encoders: dict[str, Any]) -> tuple[str, ...]:
    """How the names of weights begin that stand in folders."""
    tuned = [name for name, encoder in encoders.items() if isinstance(encoder, FineTuned | InContext)]
    return tuple(OF_MODEL[name] for name in tuned)


def write_vectors(encoders: Iterable[Any], folder: Path) -> dict[str, Tensor]:
    """The word vectors of recurrent encoders, which share them; the words have a file of their own."""
    found = {id(encoder.vectors): encoder.vectors for encoder in encoders if isinstance(encoder, RecurrentEncoder)}
    if len(found) > 1:
        raise ValueError("Encoder and reader have word vectors of their own: only one set can be written.")
    for vectors in found.values():
        (folder / "vocabulary.json").write_text(json.dumps(vectors.words, ensure_ascii=False))
        return {"vectors": vectors.vectors.contiguous()}
    return {}


def from_pretrained(folder: str | Path, encoder: Encoder | None = None) -> Any:
    """The ranker or classifier in a folder, or in that of a run; an encoder that was not written there is given."""
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        if (folder / "model" / "config.json").is_file():
            folder = folder / "model"
        elif (folder / "settings.json").is_file():
            raise ValueError(f"The run in {folder} has not finished: go on with whymatch train … --resume.")
    try:
        config = json.loads((folder / "config.json").read_text())
        tensors = load_file(folder / "model.safetensors")
        if config["format"] not in READ:
            raise ValueError(f"its format is {config['format']}, and this version reads {', '.join(map(str, READ))}")
        vectors = read_vectors(folder, config, tensors)
        learner = build_encoder(folder / "encoder", config["encoder"], vectors, encoder)
        rule, cost = build_rule(config["rule"]), blended(COSTS[config["cost"]], *config["mixes"])
        parts: dict[str, Any] = {"split": config["split"]}
        if config["refine"] or config["novelty"]:
            parts["refinement"] = Refinement(config["refine"], config["novelty"], config.get("nearest", 0))
        if weights := config["rarity"]:
            counted = json.loads((folder / "rarity.json").read_text())
            weights = weights if isinstance(weights, list) else [weights]  # before format 5
            parts["rarity"] = Rarity(counted["words"], counted["texts"], *weights)
        splitter(config["split"])  # there is one of that name
        model: Ranker | Classifier
        if config["kind"] == "classifier":
            labels, hidden = config["labels"], config["hidden"]
            if config.get("reader"):
                second = build_encoder(folder / "reader", config["reader"], vectors, None)
                parts["reader"] = Reader(second, alone=config["reader"]["alone"])
            model = Classifier(learner, rule, labels, cost, **parts, hidden=hidden)
            model.thresholds = {side: float(value) for side, value in config["thresholds"].items()}
        else:
            model = Ranker(learner, rule, cost, **parts)
            model.calibration = tuple(config["calibration"]) if config["calibration"] else None
        inside = (*OF_MODEL.values(),)
        tensors |= {name: tensor for name, tensor in model.state_dict().items() if name.startswith(inside)}
        model.load_state_dict(tensors)
    except OSError as error:
        raise ValueError(f"{folder} holds no model: {error}.") from None
    except (KeyError, TypeError, AttributeError, ValueError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"The model in {folder} cannot be read: {error}") from error
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def describe_rule(rule: Rule) -> dict[str, Any]:
    if isinstance(rule, Attend):
        return {"kind": "attend", **asdict(rule)}
    assert isinstance(rule, Transport)
    constraint = {"name": type(rule.constraint).__name__, **asdict(rule.constraint)}
    smooth = asdict(rule.smooth) if rule.smooth else None
    return {"kind": "transport", **asdict(rule), "constraint": constraint, "smooth": smooth}


def build_rule(values: dict[str, Any]) -> Rule:
    if values["kind"] == "attend":
        return Attend(values["temperature"], values["normaliser"], values["active_only"], values["threshold"])
    constraint = dict(values["constraint"])
    smooth = Temperature(**values["smooth"]) if values["smooth"] else None
    fitted = CONSTRAINTS[constraint.pop("name")](**constraint)
    return Transport(fitted, smooth, values["soft"], values["unrolled"])


def describe_encoder(encoder: Any) -> dict[str, Any]:
    """What it takes to build an encoder again."""
    if isinstance(encoder, Projected):
        base = describe_encoder(encoder.encoder)
        if base["kind"] not in ("sentence", "word"):
            base = {"kind": "given", "name": encoder.encoder.name}
        return {"kind": "projected", "size": encoder.size, "learned": encoder.learned, "base": base}
    if isinstance(encoder, SentenceEncoder):
        return {"kind": "sentence", "model": encoder.name, "inside": encoder.local}
    if isinstance(encoder, WordEncoder):
        return {"kind": "word", "model": encoder.model, "inside": encoder.local, "layer": encoder.layer}
    if isinstance(encoder, FineTuned):
        return {"kind": "fine-tuned", "name": encoder.name}
    if isinstance(encoder, InContext):
        return {"kind": "in context", "name": encoder.name, "jointly": encoder.jointly}
    if isinstance(encoder, RecurrentEncoder):
        return {
            "kind": "recurrent",
            "name": encoder.vectors.name,
            "hidden": encoder.hidden,
            "layers": encoder.layers,
            "in_context": encoder.contextual,
            "weighted": encoder.weights is not None,
        }
    return {"kind": "given", "name": encoder.name}


def describe_reader(reader: Reader) -> dict[str, Any]:
    """What it takes to build a reader again, all of which is written."""
    values = describe_encoder(reader.encoder)
    if values.get("base", values)["kind"] == "given":
        raise ValueError(f"The reader's encoder, {reader.encoder.name}, is one of your own: it cannot be written.")
    return {**values, "alone": reader.alone}


def unsafe(folder: str, names: list[str]) -> set[str]:
    """What is not copied of a model's folder: pickles, code, and whatever else is not JSON, text or safetensors."""
    inside = Path(folder)
    return {name for name in names if (inside / name).is_file() and not any(fnmatch(name, kind) for kind in SAFE)}


def read_vectors(folder: Path, config: dict[str, Any], tensors: dict[str, Tensor]) -> WordVectors | None:
    """The word vectors of recurrent encoders, taken out of the tensors."""
    for values in (config["encoder"], config.get("reader")):
        if values and values["kind"] == "recurrent":
            words = json.loads((folder / "vocabulary.json").read_text())
            return WordVectors(values["name"], words, tensors.pop("vectors"))
    return None


def build_encoder(folder: Path, values: dict[str, Any], vectors: WordVectors | None, given: Encoder | None) -> Any:
    """The encoder that was described; a given one takes the place of one that was not written."""
    kind = values["kind"]
    if kind == "projected":
        base = build_encoder(folder, values["base"], vectors, given)
        return Projected(base, values["size"], learned=values["learned"])
    if given is not None:
        return given
    if kind in ("sentence", "word"):
        model = folder if values["inside"] else values["model"]
        if kind == "word":
            words = WordEncoder(model, layer=values["layer"])
            words.model = values["model"]  # not that of the folder
            return words
        sentences = SentenceEncoder(model)
        sentences.name = values["model"]
        return sentences
    if kind in ("fine-tuned", "in context"):
        tuned = FineTuned(folder) if kind == "fine-tuned" else InContext(folder, jointly=values["jointly"])
        tuned.name = values["name"]
        return tuned
    if kind == "recurrent":
        assert vectors is not None
        weights = vectors.vectors.new_ones(len(vectors.vectors)) if values.get("weighted") else None  # then loaded
        shape = values["hidden"], values["layers"]
        return RecurrentEncoder(vectors, *shape, in_context=values["in_context"], weights=weights)
    raise ValueError(
        f"its encoder, {values['name']}, is not in the folder: from_pretrained(folder, encoder=…) takes it"
    )
