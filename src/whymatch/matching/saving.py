"""Models as folders: config.json and model.safetensors, and what encoders have of their own, each with its SHA-256.

config.json lists the SHA-256 of every other file of the model and has one over its own values. Loading compares them
all, so that a file that was damaged, or left from an interrupted save, is an error and not another prediction.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from whymatch.cost import Cost, WordCounts
from whymatch.files import file_digest, inside, read_json, whole_file, write_whole
from whymatch.matching.aligner import Aligner
from whymatch.matching.classifier import Classifier
from whymatch.matching.descriptions import build_encoder, describe_encoder
from whymatch.matching.head import LinkReader
from whymatch.matching.matcher import Matcher
from whymatch.matching.ranker import Ranker
from whymatch.matching.rules import Attend, Transport, rule_from_dict
from whymatch.text.encoders import Encoder
from whymatch.text.encoders.context import WordEncoder
from whymatch.text.encoders.folders import member, model_files
from whymatch.text.encoders.modules import sentence_files
from whymatch.text.encoders.recurrent import RecurrentEncoder
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.encoders.trainable import Projected
from whymatch.text.encoders.tuned import FineTuned, InContext
from whymatch.text.vectors import WordVectors

FORMAT = 7
CONFIG, WEIGHTS, COUNTS, VOCABULARY = "config.json", "model.safetensors", "words.json", "vocabulary.json"
OF_MODEL = {"encoder": "encoder.model.", "reader": "reader.encoder.model."}
"""The folders of encoders, and how the names of weights begin that stand in the folder of a fine-tuned one."""
DRAFT = ".whymatch-draft-"
AGAIN = "Copy the model again from where it was saved, or save it again"


def save_pretrained(model: Matcher, folder: str | Path) -> None:
    """Writes a model into a folder, which `from_pretrained` reads; other files of the folder stay.

    All files are drafted first, and config.json takes its place last: where the process dies in between, the folder
    holds the model from before, or `from_pretrained` says that it is damaged.

    Raises:
        ValueError: if a part of the model cannot be written.
        OSError: if the disk cannot take it.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{DRAFT}*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    try:
        with TemporaryDirectory(prefix=DRAFT, dir=folder) as draft:
            config = _write(model, Path(draft))
            text = json.dumps(config, indent=1, allow_nan=False)
            _put_in_place(Path(draft), folder, config["files"])
            write_whole(folder / CONFIG, text)
    except SafetensorError as error:  # a full disk, among others
        raise OSError(f"The model cannot be written to {folder}: {error}") from None


def _write(model: Matcher, folder: Path) -> dict[str, Any]:
    """Writes all files but config.json, and returns what that is to hold."""
    config = _describe(model)
    if getattr(model, "encoder", model.aligner.encoder) is not model.aligner.encoder:
        raise ValueError("The model's encoder is not that of its aligner: build a new model with the other encoder.")
    encoders: dict[str, Encoder] = {"encoder": model.aligner.encoder}
    if isinstance(model, Classifier) and model.reader is not None:
        encoders["reader"] = model.reader.encoder
    for name, encoder in encoders.items():
        _write_encoder(encoder, folder / name)
    tuned = [name for name, encoder in encoders.items() if isinstance(encoder, FineTuned | InContext)]
    elsewhere = tuple(OF_MODEL[name] for name in tuned)
    tensors = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith(elsewhere)}
    tensors |= _write_vectors(encoders.values(), folder)
    if (counts := model.aligner.cost.word_counts) is not None:
        _write_json(folder / COUNTS, {"texts": counts.texts, "words": counts.counts})
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, folder / WEIGHTS)
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    config["files"] = {name: file_digest(folder / name) for name in names}
    return {**config, "sha256": _digest(config)}


def _describe(model: Matcher) -> dict[str, Any]:
    """What config.json says of a model."""
    aligner = model.aligner
    if not isinstance(aligner.spans, str):
        raise ValueError("A model that cuts texts by a function of your own cannot be written: use spans by name.")
    cost = aligner.cost.to_list()
    try:
        known = Cost.from_list(json.loads(json.dumps(cost)), aligner.cost.word_counts) == aligner.cost
    except (ValueError, TypeError):
        known = False
    if not known:
        raise ValueError(f"{aligner.cost} is a cost of your own: it cannot be written to a file.")
    rule = model.rule
    if not isinstance(rule, Transport | Attend):
        raise ValueError(f"{rule} is a rule of your own: it cannot be written to a file.")
    config: dict[str, Any] = {
        "format": FORMAT,
        "kind": model.kind,
        "spans": aligner.spans,
        "below": aligner.below,
        "limit": aligner.limit,
        "cost": cost,
        "rule": rule.to_dict(),
        "encoder": describe_encoder(aligner.encoder),
        "contextual": model.contextual,
    }
    if isinstance(model, Classifier):
        config |= {"labels": model.labels, "hidden": model.head.of_left.out_features, "thresholds": model.thresholds}
        config["reader"] = _describe_reader(model.reader) if model.reader else None
    elif isinstance(model, Ranker):
        config["calibration"] = model.calibration
    else:
        raise ValueError(f"A ranker or a classifier can be written, got a {model.kind}.")
    return config


def _describe_reader(reader: LinkReader) -> dict[str, Any]:
    """What it takes to build a reader again, all of which is written."""
    values = describe_encoder(reader.encoder)
    if values.get("base", values)["kind"] == "given":
        raise ValueError(f"The reader's encoder, {reader.encoder.name}, is one of your own: it cannot be written.")
    return {**values, "alone": reader.alone}


def _write_encoder(encoder: Any, folder: Path) -> None:
    """What of an encoder has a folder of its own: the model that was fine-tuned, or one that nobody else has."""
    if isinstance(encoder, FineTuned | InContext):
        encoder.write(folder)
    base = encoder.encoder if isinstance(encoder, Projected) else None
    if isinstance(base, SentenceEncoder | WordEncoder) and base.local:
        names = sentence_files(base.folder) if isinstance(base, SentenceEncoder) else model_files(base.folder)
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(member(base.folder, name), folder / name)


def _write_vectors(encoders: Iterable[Any], folder: Path) -> dict[str, Tensor]:
    """The word vectors of recurrent encoders, which share them; the words have a file of their own."""
    distinct = {id(encoder.vectors): encoder.vectors for encoder in encoders if isinstance(encoder, RecurrentEncoder)}
    if len(distinct) > 1:
        raise ValueError("Encoder and reader have word vectors of their own: only one set can be written.")
    for vectors in distinct.values():
        _write_json(folder / VOCABULARY, vectors.words)
        return {"vectors": torch.from_numpy(vectors.vectors)}
    return {}


def _write_json(file: Path, values: object) -> None:
    file.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")


def _put_in_place(draft: Path, folder: Path, names: Iterable[str]) -> None:
    """Moves drafted files to their places, and deletes those of an earlier model that have no successor."""
    before = read_json(folder / CONFIG)
    listed = before.get("files") if isinstance(before, dict) else None
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / name) as file:
            (draft / name).rename(file)
    for name in {*(listed if isinstance(listed, dict) else ())} - {*names}:
        if name in (COUNTS, VOCABULARY) or Path(name).parts[:1] in (("encoder",), ("reader",)):
            with suppress(ValueError):  # a name that leads out of the folder is none of ours
                inside(folder, name).unlink(missing_ok=True)


def _digest(config: Mapping[str, Any]) -> str:
    """The SHA-256 of what config.json holds beside it."""
    values = {key: value for key, value in config.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def from_pretrained(folder: str | Path, encoder: Encoder | None = None) -> Any:
    """The ranker or classifier in a folder, or in that of a run; an encoder that was not written there is given.

    Raises:
        ValueError: if there is no model, or any of its files is not what was written.
    """
    folder = Path(folder)
    if not (folder / CONFIG).is_file():
        if (folder / "model" / CONFIG).is_file():
            folder = folder / "model"
        elif (folder / "settings.json").is_file():
            raise ValueError(f"The run in {folder} has not finished: go on with whymatch train … --resume.")
    try:
        model = _read(folder, encoder)
    except OSError as error:
        raise ValueError(f"{folder} holds no model: {error}.") from None
    except (KeyError, TypeError, AttributeError, ValueError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"The model in {folder} cannot be read: {error}") from error
    return model.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def _read(folder: Path, encoder: Encoder | None) -> Ranker | Classifier:
    config = _read_config(folder)
    _check_files(folder, config["files"])
    tensors = load_file(folder / WEIGHTS)
    vectors = _read_vectors(folder, config, tensors)
    if not isinstance(config["spans"], str):
        raise ValueError(f"its spans are {config['spans']!r:.40}, and not the name of a way to cut texts. {AGAIN}.")
    counts = None
    if COUNTS in config["files"]:
        counted = json.loads((folder / COUNTS).read_text(encoding="utf-8"))
        counts = WordCounts(counted["words"], counted["texts"])
    built = build_encoder(folder / "encoder", config["encoder"], vectors, encoder)
    cost = Cost.from_list(config["cost"], counts)
    aligner = Aligner(config["spans"], built, cost, below=config["below"], limit=config["limit"])
    rule = rule_from_dict(config["rule"])
    model: Ranker | Classifier
    if config["kind"] == "classifier":
        reader = None
        if config["reader"]:
            second = build_encoder(folder / "reader", config["reader"], vectors, None)
            reader = LinkReader(second, alone=config["reader"]["alone"])
        model = Classifier(aligner, rule, config["labels"], reader=reader, hidden=config["hidden"])
        model.thresholds = {side: float(value) for side, value in config["thresholds"].items()}
    else:
        model = Ranker(aligner, rule)
        if config["calibration"]:
            slope, offset = map(float, config["calibration"])
            model.calibration = slope, offset
    own = (*OF_MODEL.values(),)
    tensors |= {name: tensor for name, tensor in model.state_dict().items() if name.startswith(own)}
    model.load_state_dict(tensors)
    return model


def _read_config(folder: Path) -> dict[str, Any]:
    """What config.json holds, if it is in the format of this version and nothing in it has changed."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{CONFIG} is damaged: {error}. {AGAIN}.") from None
    if not isinstance(config, dict):
        raise ValueError(f"{CONFIG} is damaged: it must hold a JSON object. {AGAIN}.")
    if (written := config.get("format")) != FORMAT:
        raise ValueError(f"its format is {written!r:.20}, and this version reads {FORMAT}. Train the model again.")
    if config.get("sha256") != _digest(config):
        raise ValueError(f"{CONFIG} is not what was written: its SHA-256 is another. {AGAIN}.")
    return config


def _check_files(folder: Path, digests: Mapping[str, str]) -> None:
    """Raises ValueError for the first file that is missing, changed, or one too many in the folder of an encoder."""
    if WEIGHTS not in digests:
        raise ValueError(f"{CONFIG} does not list {WEIGHTS}. {AGAIN}.")
    for name, digest in digests.items():
        path = member(folder, name)
        if not path.is_file():
            raise ValueError(f"{name} is missing. {AGAIN}.")
        if (actual := file_digest(path)) != digest:
            raise ValueError(f"{name} is not what was written: its SHA-256 is {actual}, and not {digest}. {AGAIN}.")
    present = {path for name in OF_MODEL for path in (folder / name).rglob("*") if not path.is_dir()}
    if unknown := {path.relative_to(folder).as_posix() for path in present} - digests.keys():
        raise ValueError(f"{min(unknown)} is not one of its files. Delete it, or save the model into a new folder.")


def _read_vectors(folder: Path, config: dict[str, Any], tensors: dict[str, Tensor]) -> WordVectors | None:
    """The word vectors of recurrent encoders, taken out of the tensors."""
    for values in (config["encoder"], config.get("reader")):
        if values and values["kind"] == "recurrent":
            if VOCABULARY not in config["files"]:
                raise ValueError(f"{CONFIG} does not list {VOCABULARY}. {AGAIN}.")
            words = json.loads((folder / VOCABULARY).read_text(encoding="utf-8"))
            rows = words.values() if isinstance(words, dict) else [None]
            if not all(type(row) is int and 0 <= row < len(tensors["vectors"]) for row in rows):
                raise ValueError(f"{VOCABULARY} has words without a vector. {AGAIN}.")
            return WordVectors(values["name"], words, tensors.pop("vectors").numpy())
    return None
