"""Documents with the vectors of their spans, and the rows of the table that keeps them.

A row has the text, the spans, their vectors in half precision, one pooled vector that finds the document, the tails of
the spans against a background, and what else is kept of the document. Rows are made without the table that they go to,
so that many workers can make them.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from whymatch.search.columns import Columns, Metadata, sealed
from whymatch.text.document import Document
from whymatch.text.spans import Span

NO_COLUMNS = Columns()
ENTRY_COLUMNS = ["id", "text", "spans", "vectors", "seal", "tails", "measured"]
"""The columns that an entry is read from, beside those that are kept."""
_PRIMARY_KEY = {b"lance-schema:unenforced-primary-key": b"true"}
"""Makes one of two writers that insert the same id at once try again; without it both insert."""
_TAILS_SEAL_LENGTH = 32  # hexadecimal digits
_TAILS = pa.list_(pa.list_(pa.float32(), 2))


@dataclass(frozen=True, eq=False)
class Entry:
    """A document with the vectors of its spans."""

    id: str
    text: str
    spans: np.ndarray
    """(spans, 2): start and end offsets."""
    vectors: np.ndarray
    """(spans, dimensions): float16 as it is written, float32 as it is read."""
    tails: np.ndarray | None = None
    """(spans, 2): the two numbers per span from which its evidence follows, in single precision."""
    measured: str | None = None
    """The key of what the tails were measured against, and a hash of key, document and tails."""
    metadata: Metadata = field(default_factory=dict)
    """What else is kept of it, by the names of the columns."""

    @cached_property
    def document(self) -> Document:
        return Document(self.text, tuple(Span(*span) for span in self.spans.tolist()))

    @cached_property
    def seal(self) -> bytes:
        """A hash of id, text, spans, vectors and metadata."""
        return _seal(self.id.encode(), self.text.encode(), self.spans, self.vectors, self.metadata)

    def with_metadata(self, metadata: Metadata) -> "Entry":
        """The same document with other metadata, and with its tails where it has some."""
        changed = replace(self, metadata=metadata)
        key = (self.measured or "")[:-_TAILS_SEAL_LENGTH]
        tails = self.tails_of(key)
        return changed if tails is None else changed.with_tails(tails, key)

    def with_tails(self, tails: np.ndarray, key: str) -> "Entry":
        """The same document with its tails (spans, 2), measured against what `key` stands for."""
        single = tails.astype(np.float32)
        return replace(self, tails=single, measured=key + _tails_seal(key, self.seal, single))

    def tails_of(self, key: str) -> np.ndarray | None:
        """Its tails, if they are those of this document against what `key` stands for, as they were written."""
        if self.tails is None or self.measured != key + _tails_seal(key, self.seal, self.tails):
            return None
        return self.tails


def make_entry(id_: str, document: Document, vectors: np.ndarray) -> Entry:
    """The entry of a document; raises ValueError if half precision cannot hold its vectors (spans, dimensions)."""
    half = vectors.astype(np.float32).astype(np.float16)
    if not np.isfinite(half).all():
        raise ValueError("The vectors hold NaN, infinity or numbers beyond 65,504, which half precision cannot keep.")
    return Entry(id_, document.text, np.array(document.spans, dtype=np.int32).reshape(-1, 2), half)


def pooled(vectors: np.ndarray) -> np.ndarray:
    """The mean of the normalised vectors (spans, dimensions) of a text, normalised: (dimensions)."""
    return _normalised(_normalised(vectors.astype(np.float32)).mean(axis=0))


def text_digest(text: str) -> bytes:
    """A hash of 16 bytes that tells whether a text has changed."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def metadata_digest(metadata: Metadata) -> bytes:
    """A hash of 16 bytes that tells whether metadata have changed."""
    return hashlib.blake2b(sealed(metadata), digest_size=16).digest()


def table_schema(dimensions: int, identity: bytes, columns: Columns = NO_COLUMNS) -> pa.Schema:
    """The columns of the table for vectors of this length, with the identity of their encoder as metadata."""
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False, metadata=_PRIMARY_KEY),
            pa.field("text", pa.string()),
            pa.field("digest", pa.binary(16)),
            pa.field("seal", pa.binary(16)),
            pa.field("spans", pa.list_(pa.list_(pa.int32(), 2))),
            pa.field("vectors", pa.list_(pa.list_(pa.float16(), dimensions))),
            pa.field("pooled", pa.list_(pa.float32(), dimensions)),
            pa.field("tails", _TAILS),
            pa.field("measured", pa.string()),
            *columns.schema(),
        ],
        metadata={b"whymatch": identity},
    )


def to_arrow(entries: Sequence[Entry], schema: pa.Schema) -> pa.Table:
    """The rows of one or more entries."""
    ends = np.cumsum([0, *(len(entry.spans) for entry in entries)], dtype=np.int32)
    spans = np.concatenate([entry.spans for entry in entries]).astype(np.int32)
    vectors = np.concatenate([entry.vectors for entry in entries]).astype(np.float16)
    arrays = [
        pa.array([entry.id for entry in entries], pa.string()),
        pa.array([entry.text for entry in entries], pa.string()),
        pa.array([text_digest(entry.text) for entry in entries], pa.binary(16)),
        pa.array([entry.seal for entry in entries], pa.binary(16)),
        pa.ListArray.from_arrays(ends, _fixed_size_lists(spans)),
        pa.ListArray.from_arrays(ends, _fixed_size_lists(vectors)),
        _fixed_size_lists(np.stack([pooled(entry.vectors) for entry in entries])),
        pa.array([None if entry.tails is None else entry.tails.tolist() for entry in entries], _TAILS),
        pa.array([entry.measured for entry in entries], pa.string()),
        *Columns.of_schema(schema).arrays([entry.metadata for entry in entries]),
    ]
    return pa.table([array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema)


def from_arrow(
    rows: pa.Table, folder: object, columns: Columns = NO_COLUMNS, *, skip_damaged: bool = False
) -> list[Entry]:
    """The entries of rows of the index in `folder`, with vectors in float32 and what `columns` keep.

    Raises:
        OSError: naming the first document that differs from what was written, unless those are skipped.
    """
    if not rows.num_rows:
        return []
    span_lists, vector_lists = (rows.column(name).combine_chunks() for name in ("spans", "vectors"))
    span_ends, vector_ends = span_lists.offsets.to_numpy(), vector_lists.offsets.to_numpy()
    spans, half = _matrix(span_lists.values), _matrix(vector_lists.values)
    single = half.astype(np.float32)
    ids, texts, measured = (rows.column(name).cast(pa.binary()).to_pylist() for name in ("id", "text", "measured"))
    tails, metadata = rows.column("tails").to_pylist(), columns.read(rows)
    entries = []
    for i, (id_, text, seal) in enumerate(zip(ids, texts, rows.column("seal").to_pylist(), strict=True)):
        own_spans, own_rows = spans[span_ends[i] : span_ends[i + 1]], slice(vector_ends[i], vector_ends[i + 1])
        if id_ is None or text is None or _seal(id_, text, own_spans, half[own_rows], metadata[i]) != seal:
            if skip_damaged:
                continue
            name = (id_ or b"").decode(errors="replace")
            raise OSError(
                f"The document {name!r} of the index in {folder} is damaged: its text, spans, vectors or metadata are "
                "not those that were written. Write it again (Index.replace), or delete the folder and index the "
                "corpus again."
            )
        own_tails = None if tails[i] is None else np.array(tails[i], np.float32).reshape(-1, 2)
        by = None if measured[i] is None else measured[i].decode(errors="replace")
        single_rows = single[own_rows]
        entry = Entry(id_.decode(), text.decode(), own_spans, single_rows, own_tails, by, metadata[i])
        entries.append(entry)
        vars(entry)["seal"] = seal  # which was just computed
    return entries


def _seal(id_: bytes, text: bytes, spans: np.ndarray, vectors: np.ndarray, metadata: Metadata) -> bytes:
    """A hash of everything that is kept of an entry, in which a flipped bit shows."""
    sizes = np.array([len(id_), len(text), *spans.shape, *vectors.shape], dtype="<i8").tobytes()
    seal = hashlib.blake2b(sizes + id_ + text, digest_size=16)
    seal.update(spans.astype("<i4").tobytes())
    seal.update(vectors.astype("<f2").tobytes())
    seal.update(sealed(metadata))
    return seal.digest()


def _tails_seal(key: str, seal: bytes, tails: np.ndarray) -> str:
    """A hash in which another background, another document or a flipped bit in the tails shows."""
    return hashlib.blake2b(key.encode() + seal + tails.astype("<f4").tobytes(), digest_size=16).hexdigest()


def _normalised(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length == 0, 1, length)


def _fixed_size_lists(matrix: np.ndarray) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(matrix).ravel()), matrix.shape[1])


def _matrix(lists: pa.Array) -> np.ndarray:
    return lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, lists.type.list_size)
