"""From texts to the entries of an index, and the identity of the encoder that made their vectors."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from whymatch import __version__
from whymatch.matching.aligner import Aligner, Text
from whymatch.progress import call_progress
from whymatch.search.columns import Columns
from whymatch.search.entries import Entry, make_entry, pooled
from whymatch.text.document import Document, document
from whymatch.text.encoders import encode_texts, reads_pairs, unread
from whymatch.text.encoders.models import MULTILINGUAL, name_on_hub
from whymatch.text.spans import SPLITTERS, is_blank
from whymatch.transport.constraints import Constraint

if TYPE_CHECKING:
    from whymatch.matching.ranker import Ranker

AlignerOrRanker: TypeAlias = "Aligner | Ranker"
INDEX_FORMAT = 4
_PROBE = "Which encoder wrote this index?\n\nTwo paragraphs, so that context shows."
_MIN_PROBE_COSINE = 0.9995  # backends and precisions differ by .9999 or more, models by less
_MAX_ID_BYTES = 1000


def aligner_and_constraint(matcher: AlignerOrRanker) -> tuple[Aligner, Constraint | None]:
    """The aligner of a matcher, and the constraint if it is a ranker; raises ValueError if that has no links."""
    if isinstance(matcher, Aligner):
        return matcher, None
    from whymatch.matching.ranker import Ranker
    from whymatch.matching.rules import Transport

    if not isinstance(matcher, Ranker):
        raise TypeError(f"An index takes an Aligner or a Ranker, got {type(matcher).__name__}.")
    if not isinstance(matcher.rule, Transport):
        raise ValueError("This ranker attends to every pair of spans: it has no few links to search by. Use Transport.")
    return matcher.aligner, matcher.rule.constraint


def make_entries(
    aligner: Aligner, texts: Mapping[str, Text], report: Callable[[int, int], None] = lambda done, texts: None
) -> dict[str, Entry | ValueError]:
    """The entry of each text by its id, or what is wrong with the text; a bad one changes nothing for the others.

    `report` takes how many texts are encoded of how many.
    """
    outcomes: dict[str, Entry | ValueError] = {}
    documents: dict[str, Document] = {}
    for id_, text in texts.items():
        try:
            _check_id(id_)
            documents[id_] = split_text(aligner, text)
        except (ValueError, TypeError) as error:
            outcomes[id_] = ValueError(str(error))
    encoded = encode_texts(aligner.encoder, [*documents.values()], report)
    for (id_, text), vectors in zip(documents.items(), encoded, strict=True):
        try:
            if isinstance(vectors, ValueError):
                raise vectors
            outcomes[id_] = make_entry(id_, text, vectors)
        except ValueError as error:
            outcomes[id_] = error
    return {id_: outcomes[id_] for id_ in texts}


def given_entries(
    aligner: Aligner,
    columns: Columns,
    documents: Mapping[str, Text],
    metadata: Mapping[str, Mapping[str, Any]],
    progress: bool | None,
) -> list[Entry]:
    """The entries of documents by id, with what the columns keep of them; `progress` says whether a bar is shown.

    Raises:
        TypeError: if documents or metadata are no dictionaries.
        ValueError: for the first document that cannot be kept.
    """
    for name, given in (("Documents", documents), ("Metadata", metadata)):
        if not isinstance(given, Mapping):
            raise TypeError(f"{name} are a dictionary by id, got {type(given).__name__}.")
    unknown = next((id_ for id_ in metadata if id_ not in documents), None)
    if unknown is not None:
        raise ValueError(f"There are metadata of {unknown!r:.60}, which is not among the documents.")
    kept = {}
    for id_ in documents:
        try:
            kept[id_] = columns.metadata(metadata.get(id_, {}))
        except ValueError as error:
            raise ValueError(f"Document {id_!r}: {error}") from None
    entries = []
    with call_progress("encoding", len(documents), progress) as update:
        outcomes = make_entries(aligner, documents, lambda done, texts: update(done, total=texts))
    for id_, outcome in outcomes.items():
        if isinstance(outcome, ValueError):
            raise ValueError(f"Document {id_!r}: {outcome}")
        entries.append(outcome.with_metadata(kept[id_]))
    return entries


def unread_languages(encoder: object, entries: Iterable[Entry]) -> Iterator[str]:
    """The language, by its name, of each document that an encoder does not read."""
    return (name for entry in entries if (name := unread(encoder, entry.document)) is not None)


def split_text(aligner: Aligner, text: Text) -> Document:
    """A text with its spans; raises ValueError if there are none."""
    split = aligner.split(text)
    if not len(split) or is_blank(split.text):
        raise ValueError("The text is empty.")
    return split


def _check_id(id_: object) -> None:
    if not isinstance(id_, str):
        raise TypeError(f"An id is a string, got {type(id_).__name__}.")
    if is_blank(id_):
        raise ValueError("The id is empty.")
    if "\0" in id_ or len(id_.encode()) > _MAX_ID_BYTES:
        raise ValueError(f"An id has no zero bytes and {_MAX_ID_BYTES:,} bytes or fewer: {id_!r:.40}.")


@dataclass(frozen=True)
class Identity:
    """What made the vectors of an index: how texts are cut into spans, and the encoder with its vector of a probe text.

    The probe tells encoders of one name apart: other weights, another layer, another training. It is None where an
    encoder knows only texts of its own. The backend says what computed the vectors, where the encoder tells: the same
    weights in another precision give vectors that can be compared, so that another backend is no reason to refuse.
    """

    spans: str
    encoder: str
    dimensions: int
    probe: tuple[float, ...] | None
    backend: str | None = None
    version: str = __version__
    format: int = INDEX_FORMAT

    @classmethod
    def of(cls, aligner: Aligner) -> "Identity":
        """The identity of what an aligner would write; raises ValueError if its vectors cannot be kept."""
        encoder = aligner.encoder
        if reads_pairs(encoder):
            raise ValueError(
                f"{encoder.name} reads both texts together, so that a document has no vectors of its own to keep. "
                "Use an encoder that reads each text alone."
            )
        name = next((name for name, known in SPLITTERS.items() if known is aligner.splitter), None)
        try:
            text = document(_PROBE, aligner.splitter)
            (vectors,) = encoder.encode([text.text], [text.spans])
            probe = tuple(round(value, 5) for value in pooled(vectors).tolist())
        except ValueError:
            probe = None
        dimensions = getattr(encoder, "size", None) or len(probe or ())
        if not dimensions:
            raise ValueError(f"{encoder.name} does not tell how long its vectors are: give it a size.")
        spans, backend = name or str(getattr(aligner.splitter, "__name__", "own")), getattr(encoder, "backend", None)
        return cls(spans, encoder.name, int(dimensions), probe, backend)

    @classmethod
    def from_json(cls, data: bytes | None, folder: object) -> "Identity":
        """The identity of the index in `folder`; raises ValueError if there is none, or one of another format."""
        try:
            values = json.loads(data or b"")
            written, version = int(values["format"]), values["version"]
            if written == INDEX_FORMAT:
                probe = None if values["probe"] is None else tuple(map(float, values["probe"]))
                return cls(**{**values, "probe": probe})
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{folder} is no index of whymatch, or is damaged: {error!r}.") from None
        raise ValueError(
            f"The index in {folder} has format {written}, written by whymatch {version}; this one reads "
            f"{INDEX_FORMAT}. Install a newer whymatch, or index the corpus again."
        )

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @property
    def known_spans(self) -> str | None:
        """The name by which `Aligner` knows how texts are cut; None for a function of the user's own."""
        return self.spans if self.spans in SPLITTERS else None

    def aligner(self) -> Aligner:
        """An aligner that cuts texts likewise, with the encoder of this name: one that ships or is on this machine.

        Where the name is that of none, such as that of a function, it has the default one, which `check` refuses.

        Raises:
            ModuleNotFoundError: if the extra of the encoder is not installed.
        """
        spans = self.known_spans or "sentence"
        with suppress(ValueError):
            if self.encoder == MULTILINGUAL:
                return Aligner(spans, "multilingual")
            if spans != "word" and "/" in self.encoder:
                return Aligner(spans, name_on_hub(self.encoder))
        return Aligner(spans)

    def __str__(self) -> str:
        return f"{self.encoder} over spans of the kind {self.spans!r}"

    def check(self, other: "Identity", folder: object) -> None:
        """Raises ValueError if vectors of `other` cannot be compared with those of the index in `folder`."""
        given = "--encoder MODEL or --model RUN, in Python the aligner or ranker"
        advice = f"Give what it was written with ({given}), or index the corpus again."
        same = (self.spans, self.encoder, self.dimensions) == (other.spans, other.encoder, other.dimensions)
        if same and self.probe is not None and other.probe is not None:
            cosine = float(np.dot(self.probe, other.probe))
            if cosine < _MIN_PROBE_COSINE:
                raise ValueError(
                    f"The index in {folder} was written with other weights of {self.encoder} than are given now "
                    f"(cosine {cosine:.3f} on one text). {advice}"
                )
        elif not same or self.probe != other.probe:
            raise ValueError(
                f"The index in {folder} was written with {self} ({self.dimensions} dimensions), and now there is "
                f"{other} ({other.dimensions}). {advice}"
            )
