"""Encoders as plain values, and back: what config.json says of the encoders of a model."""

from pathlib import Path
from typing import Any

import torch

from whymatch.text.encoders import Encoder
from whymatch.text.encoders.context import WordEncoder
from whymatch.text.encoders.models import name_on_hub
from whymatch.text.encoders.multilingual import MultilingualEncoder
from whymatch.text.encoders.recurrent import RecurrentEncoder
from whymatch.text.encoders.sentence import SentenceEncoder
from whymatch.text.encoders.trainable import Projected
from whymatch.text.encoders.tuned import FineTuned, InContext
from whymatch.text.vectors import WordVectors


def describe_encoder(encoder: Any) -> dict[str, Any]:
    """What it takes to build an encoder again."""
    if isinstance(encoder, Projected):
        base = describe_encoder(encoder.encoder)
        if base["kind"] not in ("sentence", "word", "multilingual"):
            base = {"kind": "given", "name": encoder.encoder.name}
        return {"kind": "projected", "size": encoder.size, "learned": encoder.learned, "base": base}
    if isinstance(encoder, SentenceEncoder):
        return {"kind": "sentence", "model": encoder.name, "inside": encoder.local}
    if isinstance(encoder, MultilingualEncoder):
        return {"kind": "multilingual"}
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


def build_encoder(folder: Path, values: dict[str, Any], vectors: WordVectors | None, given: Encoder | None) -> Any:
    """The encoder that was described; a given one takes the place of one that was not written."""
    kind = values["kind"]
    if kind == "projected":
        base = build_encoder(folder, values["base"], vectors, given)
        return Projected(base, values["size"], learned=values["learned"])
    if given is not None:
        return given
    if kind == "multilingual":
        return MultilingualEncoder()
    if kind in ("sentence", "word"):
        model = folder if values["inside"] else name_on_hub(values["model"])
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
        weights = torch.ones(len(vectors.vectors)) if values["weighted"] else None  # then loaded
        shape = values["hidden"], values["layers"]
        return RecurrentEncoder(vectors, *shape, in_context=values["in_context"], weights=weights)
    raise ValueError(
        f"its encoder, {values['name']}, is not in the folder: from_pretrained(folder, encoder=…) takes it"
    )
