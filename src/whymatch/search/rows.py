"""Documents as rows of a table: text, spans and their vectors in half precision, and one pooled vector to find them by.

Rows are made without the table they go to, so that many writers can make them.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from whymatch.text.document import Document
from whymatch.text.spans import Span

KEY = {b"lance-schema:unenforced-primary-key": b"true"}
"""Of two writers that insert the same id, one is told to look again. Without it both insert."""
COLUMNS = ["id", "text", "spans", "vectors", "seal"]  # what an entry is read from


@dataclass(frozen=True, eq=False)
class Entry:
    """A document with the vectors of its spans."""

    id: str
    text: str
    spans: np.ndarray
    """(spans, 2) start and end"""
    vectors: np.ndarray
    """(spans, dimensions) in single precision, as they are used, or half, as they are kept"""

    @cached_property
    def document(self) -> Document:
        return Document(self.text, tuple(Span(*span) for span in self.spans.tolist()))


def entry(id_: str, document: Document, vectors: Any) -> Entry:
    """A document with vectors that fit in half precision."""
    half = np.asarray(vectors, dtype=np.float32).astype(np.float16)
    if not np.isfinite(half).all():
        raise ValueError("The vectors hold NaN, infinity or numbers beyond 65,504, which half precision cannot keep.")
    return Entry(id_, document.text, np.array(document.spans, dtype=np.int32).reshape(-1, 2), half)


def pooled(vectors: np.ndarray) -> np.ndarray:
    """The direction of the mean of the directions of some vectors (…, spans, dimensions)."""
    return unit(unit(vectors.astype(np.float32)).mean(axis=-2))


def unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length == 0, 1, length)


def digest(text: str) -> bytes:
    """What tells two texts apart without reading them."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def seal(id_: bytes, text: bytes, spans: np.ndarray, vectors: np.ndarray) -> bytes:
    """What tells an entry, as it is kept, from one in which a bit has flipped."""
    sizes = np.array([len(id_), len(text), *spans.shape, *vectors.shape], dtype="<i8").tobytes()
    found = hashlib.blake2b(sizes + id_ + text, digest_size=16)
    found.update(spans.astype("<i4").tobytes())
    found.update(vectors.astype("<f2").tobytes())
    return found.digest()


def schema(dimensions: int, about: bytes) -> pa.Schema:
    """The columns of the table, and what is to be known about them."""
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False, metadata=KEY),
            pa.field("text", pa.string()),
            pa.field("digest", pa.binary(16)),
            pa.field("seal", pa.binary(16)),
            pa.field("spans", pa.list_(pa.list_(pa.int32(), 2))),
            pa.field("vectors", pa.list_(pa.list_(pa.float16(), dimensions))),
            pa.field("pooled", pa.list_(pa.float32(), dimensions)),
        ],
        metadata={b"whymatch": about},
    )


def to_arrow(entries: Sequence[Entry], columns: pa.Schema) -> pa.Table:
    """Entries as rows."""
    dimensions = columns.field("pooled").type.list_size
    ends = np.cumsum([0, *(len(some.spans) for some in entries)], dtype=np.int32)
    spans = np.concatenate([some.spans for some in entries]).astype(np.int32)
    vectors = np.concatenate([some.vectors for some in entries]).astype(np.float16)
    wholes = np.stack([pooled(some.vectors) for some in entries])
    arrays = [
        pa.array([some.id for some in entries], pa.string()),
        pa.array([some.text for some in entries], pa.string()),
        pa.array([digest(some.text) for some in entries], pa.binary(16)),
        pa.array([seal(some.id.encode(), some.text.encode(), some.spans, some.vectors) for some in entries]),
        pa.ListArray.from_arrays(ends, rows_of(spans, 2)),
        pa.ListArray.from_arrays(ends, rows_of(vectors, dimensions)),
        rows_of(wholes.astype(np.float32), dimensions),
    ]
    return pa.table([array.cast(field.type) for array, field in zip(arrays, columns, strict=True)], schema=columns)


def rows_of(matrix: np.ndarray, size: int) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(matrix).ravel()), size)


def from_arrow(table: pa.Table, where: object) -> list[Entry]:
    """The entries that rows of the index in a folder hold.

    Raises:
        OSError: naming the first document that is not what was written.
    """
    if not table.num_rows:
        return []
    spans, vectors = (table.column(name).combine_chunks() for name in ("spans", "vectors"))
    ends, starts = spans.offsets.to_numpy(), vectors.offsets.to_numpy()
    offsets, numbers = matrix_of(spans.values, 2), matrix_of(vectors.values, vectors.type.value_type.list_size)
    single = numbers.astype(np.float32)
    ids, texts = (table.column(name).cast(pa.binary()).to_pylist() for name in ("id", "text"))
    found = []
    for i, (id_, text, written) in enumerate(zip(ids, texts, table.column("seal").to_pylist(), strict=True)):
        own, rows = offsets[ends[i] : ends[i + 1]], slice(starts[i], starts[i + 1])
        if id_ is None or text is None or seal(id_, text, own, numbers[rows]) != written:
            name = (id_ or b"").decode(errors="replace")
            raise OSError(
                f"The document {name!r} of the index in {where} is damaged: its text, spans or vectors are not those "
                "that were written. Write it again (Index.replace), or delete the folder and index the corpus again."
            )
        found.append(Entry(id_.decode(), text.decode(), own, single[rows]))
    return found


def matrix_of(lists: pa.Array, size: int) -> np.ndarray:
    return lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, size)
