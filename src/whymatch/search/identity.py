"""Which encoder wrote an index, and whether another one may read it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from whymatch import __version__
from whymatch.matching.aligner import Aligner
from whymatch.search.rows import pooled
from whymatch.text.document import document
from whymatch.text.encoders import reads_pairs
from whymatch.text.spans import SPLITTERS

FORMAT = 2
PROBE = "Which encoder wrote this index?\n\nTwo paragraphs, so that context shows."
ALIKE = 0.999  # cosine of the probe's vectors: devices round differently, models differ more


@dataclass(frozen=True)
class Identity:
    """What made the vectors of an index: how texts are split, the encoder's name, and what it makes of one text.

    The probe tells encoders of one name apart: other weights, another layer, another training.
    """

    split: str
    encoder: str
    dimensions: int
    probe: tuple[float, ...] | None
    version: str = __version__
    format: int = FORMAT

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @property
    def known(self) -> str:
        return f"{self.encoder} over spans of the kind {self.split!r}"


def read_identity(metadata: dict[bytes, bytes] | None, where: object) -> Identity:
    """What an index says of itself; another format than ours is refused."""
    try:
        values: dict[str, Any] = json.loads((metadata or {})[b"whymatch"])
        found, version = int(values["format"]), values["version"]
        if found == FORMAT:
            probe = None if values["probe"] is None else tuple(map(float, values["probe"]))
            return Identity(**{**values, "probe": probe})
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{where} is no index of whymatch, or is damaged: {error!r}.") from None
    what = "Install a newer whymatch, or index the corpus again"
    raise ValueError(
        f"The index in {where} has format {found}, written by whymatch {version}; this one reads {FORMAT}. {what}."
    )


def identify(aligner: Aligner) -> Identity:
    """The identity of what an aligner would write."""
    if reads_pairs(aligner.encoder):
        raise ValueError(
            f"{aligner.encoder.name} reads both texts together, so that a document has no vectors of its own to keep. "
            "Use an encoder that reads each text alone."
        )
    split = next((name for name, known in SPLITTERS.items() if known is aligner.splitter), None)
    probe = probed(aligner)
    size = getattr(aligner.encoder, "size", None) or (0 if probe is None else len(probe))
    if not size:
        raise ValueError(f"{aligner.encoder.name} does not tell how long its vectors are: give it a size.")
    name = split or str(getattr(aligner.splitter, "__name__", "own"))
    return Identity(name, aligner.encoder.name, int(size), None if probe is None else tuple(probe))


def probed(aligner: Aligner) -> Sequence[float] | None:
    """The pooled vector of the probe, none where an encoder knows only texts of its own."""
    text = document(PROBE, aligner.splitter)
    try:
        (vectors,) = aligner.encoder.encode([text.text], [text.spans])
    except ValueError:
        return None
    return [round(value, 5) for value in pooled(np.asarray(vectors)).tolist()]


def check(index: Identity, given: Identity, where: object) -> None:
    """Raises where vectors of the one cannot be compared with those of the other."""
    same = (index.split, index.encoder, index.dimensions) == (given.split, given.encoder, given.dimensions)
    if same and index.probe is not None and given.probe is not None:
        cosine = float(np.dot(index.probe, given.probe))
        if cosine < ALIKE:
            raise ValueError(
                f"The index in {where} was written with other weights of {index.encoder} than are given now "
                f"(cosine {cosine:.3f} on one text). Give the model it was written with, or index the corpus again."
            )
    elif not same or index.probe != given.probe:
        raise ValueError(
            f"The index in {where} was written with {index.known} ({index.dimensions} dimensions), and now there is "
            f"{given.known} ({given.dimensions}). Give the model it was written with, or index the corpus again."
        )
