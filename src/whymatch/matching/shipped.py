"""The background that ships with whymatch: texts of many kinds, for pairs of texts that have no corpus of their own."""

import hashlib
import json
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from whymatch import __version__
from whymatch.cost import Background, Cost
from whymatch.cost.background import SplitsAndEncodes, pieces_of, sample
from whymatch.cost.evidence import measure_key
from whymatch.files import cache_folder, read_json, write_whole
from whymatch.matching.significance import Calibration, Chance
from whymatch.show.words import SHIPPED_BACKGROUND
from whymatch.text.document import Document, document, joined
from whymatch.text.encoders import Encoder, check_finite, reads_pairs
from whymatch.text.encoders.caching import KnownVectors, encoder_key
from whymatch.text.encoders.models import MINILM
from whymatch.text.spans import Span, Splitter, sentences

FOLDER = Path(__file__).parent / "general"
NAME = SHIPPED_BACKGROUND
"""What an answer calls it."""


@cache
def shipped_texts() -> tuple[str, ...]:
    """The texts, which were written for whymatch: forum posts, news, contracts, reviews, abstracts and many others."""
    blocks = re.split(r"(?m)^%% ", (FOLDER / "texts.txt").read_text(encoding="utf-8"))
    return tuple(block.partition("\n")[2].strip().replace("\n", "\n\n") for block in blocks if block.strip())


@cache
def set_phrases() -> tuple[str, ...]:
    """Greetings, thanks, pleas, closings and labels that people put into any text, a line each."""
    return tuple((FOLDER / "phrases.txt").read_text(encoding="utf-8").splitlines())


@cache
def _measured() -> dict[str, Any]:
    return json.loads((FOLDER / "measured.json").read_text(encoding="utf-8"))


def shipped_calibration(*, general: bool) -> Calibration:
    """From p-values to probabilities, as `python -m experiments.calibration` has fitted it."""
    return Calibration(**_measured()["general" if general else "corpus"])


def shipped_chance(cost: Cost, background: Background) -> Chance | None:
    """What random pairs of the shipped texts have, where that ships or is cached."""
    measured = _measured()
    if background.digest == measured["digest"] and cost.to_list() == measured["cost"] and measured["chance"]:
        return Chance.from_dict(measured["chance"])
    try:
        return Chance.from_dict(read_json(_chance_file(cost, background)))
    except ValueError:  # there is none, or a damaged one
        return None


def cache_chance(cost: Cost, background: Background, chance: Chance) -> None:
    """Keeps what random pairs of the shipped texts have for another encoder or cost than the default ones."""
    with suppress(OSError):  # it is measured again next time
        cache_folder().mkdir(parents=True, exist_ok=True)
        write_whole(_chance_file(cost, background), json.dumps(chance.to_dict()))


def _chance_file(cost: Cost, background: Background) -> Path:
    return cache_folder() / f"chance-{measure_key(background, cost)}.json"


def shipped_background(aligner: SplitsAndEncodes) -> Background:
    """The shipped texts as an aligner splits and encodes them.

    Vectors of sentences by MiniLM ship too. Others are encoded once, and kept in the user's folder of caches.

    Raises:
        ValueError: if the encoder refuses a text, or gives NaN or infinity for one.
    """
    if aligner.encoder.name == MINILM and aligner.splitter is sentences:
        return _of_minilm()
    by_default = aligner.splitter is sentences  # then the version says how texts are split, and nothing has to be
    documents = () if by_default else _sampled(aligner.splitter)
    facts = [__version__, *shipped_texts()] if by_default else [text.spans for text in documents]
    key = hashlib.sha256(json.dumps([encoder_key(aligner.encoder, by_backend=False), facts]).encode())
    file = cache_folder() / f"background-{key.hexdigest()[:32]}.safetensors"
    try:
        return Background.read(file)
    except ValueError:
        pass
    documents = documents or _sampled(aligner.splitter)
    encoded = aligner.encoder.encode([text.text for text in documents], [text.spans for text in documents])
    for text, rows in zip(documents, encoded, strict=True):
        check_finite(aligner.encoder.name, text, rows)
    vectors = np.concatenate(encoded)
    background = Background(NAME, aligner.encoder.name, documents, vectors, general=True).as_stored()
    with suppress(OSError):  # it is encoded again next time
        file.parent.mkdir(parents=True, exist_ok=True)
        background.write(file)
    return background


def _sampled(splitter: Splitter) -> tuple[Document, ...]:
    """Shipped texts as a splitter cuts them, drawn at random, with as many spans as a background has."""
    documents = [document(text, splitter) for text in shipped_texts()]
    return pieces_of(documents, sample(documents))


def phrase_vectors(encoder: Encoder) -> np.ndarray | None:
    """(phrases, dimensions): the vectors of the set phrases; None by an encoder that does not read them alone.

    Those of MiniLM ship. Others are encoded once, and kept in the user's folder of caches.
    """
    if encoder.name == MINILM:
        return _stored("phrases")
    if encoder.contextual or reads_pairs(encoder):
        return None
    phrases = joined(set_phrases())
    folder = cache_folder() / f"phrases-{encoder_key(encoder)}"
    cached = KnownVectors.read(folder)
    vectors = cached.get(phrases.text, phrases.spans)
    if vectors is None:
        try:
            (vectors,) = encoder.encode([phrases.text], [phrases.spans])
        except ValueError:  # it knows no other texts than those that are compared
            return None
        if np.isfinite(vectors).all():
            cached.put(phrases.text, phrases.spans, vectors)
            with suppress(OSError):  # they are encoded again next time
                cached.write(folder)
    return vectors


@cache
def _stored(name: str) -> np.ndarray:
    """The vectors of this name that ship: whole numbers of 8 bits, and a scale for each row."""
    stored = load_file(FOLDER / "minilm.safetensors")
    return stored[name].astype(np.float32) * stored[f"{name}_scales"].astype(np.float32)[:, None]


@cache
def _of_minilm() -> Background:
    """All texts with the shipped vectors of their sentences.

    The spans ship too: another version of what splits sentences would give other spans than those that have vectors.
    """
    stored = load_file(FOLDER / "spans.safetensors")
    spans = np.split(stored["spans"].astype(int), np.cumsum(stored["counts"])[:-1])
    documents = tuple(
        Document(text, tuple(Span(*span) for span in own.tolist()))
        for text, own in zip(shipped_texts(), spans, strict=True)
    )
    return Background(NAME, MINILM, documents, _stored("vectors"), general=True)
