"""Vectors of texts that were encoded before, in memory and on disk, for runs that repeat.

A folder has a folder for each encoder, and in it files that are written whole and never changed, so that any process
may be killed and several may write at once. A file that is damaged costs the time to encode its texts again.
"""

import hashlib
import json
import logging
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from uuid import uuid4

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from whymatch.files import whole_file
from whymatch.text.encoders import Encoder, reads_pairs
from whymatch.text.spans import Span, lines

MAX_KNOWN_VECTORS = 2**21  # in memory: 3 GB for MiniLM
MAX_BYTES_ON_DISK = 2**32
"""The size of a folder of vectors. The files that nobody has read for the longest time are deleted from it."""
_MAX_SMALL_FILES, _SMALL_FILE = 32, 2**22  # more files of fewer bytes than this are joined when they are read
_OLD_DRAFT = 3600.0  # seconds, after which a draft is what a killed process has left
_TEXTS_PER_BATCH = 512
_SECONDS_BETWEEN_WRITES = 30.0
PROBES = (
    "How do I reset the password of my account?\nThe old one was sent to me on 3 March 2019, and it does not work.",
    "Water boils at 100 °C, but not on a mountain.\nWhy?",
    "the of and to in is that for it as was with be by on not he his but at are this have from or had an they which",
    "A small red car stopped behind the green house; two dogs ran after a boy.\nEl perro duerme. 犬 собака",
    " ".join(f"Part {number} says more of it, which a model that reads less does not see." for number in range(40)),
)
"""Texts by whose vectors an encoder is told from others of its name."""
_LOGGER = logging.getLogger("whymatch")
Entry: TypeAlias = tuple[str, tuple[Span, ...], np.ndarray]


class KnownVectors:
    """The vectors of texts that were encoded before, in memory and in a folder.

    They are found by text first and spans second: to hash the spans would take longer than to compare them.
    """

    def __init__(self) -> None:
        self.texts: dict[str, list[tuple[tuple[Span, ...], np.ndarray]]] = {}
        self.entries: list[Entry] = []
        self.count = 0
        """The number of vectors."""
        self.on_disk = 0
        """How many of the entries are in the folder that was read or written last."""

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def get(self, text: str, spans: tuple[Span, ...]) -> np.ndarray | None:
        """The vectors of a text that was split so, if they are known."""
        return next((vectors for known, vectors in self.texts.get(text, ()) if known == spans), None)

    def put(self, text: str, spans: tuple[Span, ...], vectors: np.ndarray) -> None:
        """Keeps the vectors, unless there are too many or they are known."""
        if self.count + len(vectors) <= MAX_KNOWN_VECTORS and self.get(text, spans) is None:
            vectors = vectors.view()
            vectors.flags.writeable = False  # callers get these
            self.texts.setdefault(text, []).append((spans, vectors))
            self.entries.append((text, spans, vectors))
            self.count += len(vectors)

    def write(self, folder: Path) -> None:
        """Writes what is new since the last call, or since `read`, as one more file of the folder."""
        new = self.entries[self.on_disk :]
        if new:
            _write_entries(new, folder)
            self.on_disk += len(new)

    @classmethod
    def read(cls, folder: Path) -> "KnownVectors":
        """What `write` wrote, by any process; damaged files are skipped, and their texts encoded again.

        Where there are many small files, they are joined into one.
        """
        known, small = cls(), dict[Path, list[Entry]]()
        for file in sorted(folder.glob("*.safetensors")):
            try:
                entries = _read_entries(file)
                if file.stat().st_size < _SMALL_FILE:
                    small[file] = entries
            except (OSError, SafetensorError, KeyError, ValueError, TypeError):
                continue
            with suppress(OSError):  # of another user, perhaps
                file.touch()  # the files that were read last are kept longest
            for entry in entries:
                known.put(*entry)
        if len(small) > _MAX_SMALL_FILES:
            with suppress(OSError):  # nothing is lost: they stay as they are
                _write_entries([entry for entries in small.values() for entry in entries], folder)
                for file in small:
                    file.unlink(missing_ok=True)
        known.on_disk = len(known.entries)
        return known


class _Projection(Protocol):
    """What is trained over a frozen encoder, and remembers the vectors of that."""

    encoder: Encoder
    known: KnownVectors


class VectorCache:
    """Vectors by encoder. With a folder they outlast the process, so that an interrupted run need not start again."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.known: dict[str, KnownVectors] = {}

    def of(self, encoder: Encoder) -> KnownVectors:
        """The vectors that are known of an encoder, to which new ones may be added."""
        key = encoder_key(encoder)
        if key not in self.known:
            self.known[key] = KnownVectors() if self.folder is None else KnownVectors.read(self.folder / key)
        return self.known[key]

    def share(self, projection: _Projection) -> None:
        """Gives what is trained over a frozen encoder the vectors that others with that encoder have left."""
        projection.known = self.of(projection.encoder)

    def keep(self) -> None:
        """Writes what is new, and deletes what is too much; other processes may write to the same folder."""
        if self.folder is not None:
            for key, known in self.known.items():
                known.write(self.folder / key)
            _shrink(self.folder, MAX_BYTES_ON_DISK)


class CachedEncoder:
    """An encoder whose vectors are kept in a folder, for runs that repeat: each text is encoded once.

    A folder may serve several encoders and processes. It has at most `MAX_BYTES_ON_DISK`, and what is known of an
    encoder is read into memory. Whoever deletes the folder loses nothing but time.

    >>> from tempfile import TemporaryDirectory
    >>> import whymatch as wm
    >>> with TemporaryDirectory() as folder:
    ...     encoder = wm.CachedEncoder(wm.SentenceEncoder(), folder)
    ...     wm.Aligner(encode=encoder).align("A cat slept.", "The cat was asleep.").to_pharaoh()
    '0-0'

    Args:
        encoder: one whose vectors stay as they are, and which reads each text alone.
        folder: where the vectors are kept.
    """

    def __init__(self, encoder: Encoder, folder: str | Path) -> None:
        if reads_pairs(encoder) or hasattr(encoder, "states"):
            reason = "reads both texts together" if reads_pairs(encoder) else "has weights that are trained"
            raise TypeError(f"{encoder.name} {reason}, so that no vectors of it can be kept.")
        self.encoder, self._folder = encoder, Path(folder).expanduser()
        self._cache = VectorCache(self._folder)
        self._known = self._cache.of(encoder)
        self._written = time.monotonic()
        weakref.finalize(self, _keep_if_possible, self._cache)  # at the latest when the process ends

    def __getattr__(self, name: str) -> Any:
        """`reads`, `size`, `backend` and others, where the encoder has them."""
        if name.startswith("_") or name == "encoder":  # before __init__, as in copying
            raise AttributeError(name)
        return getattr(self.encoder, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return CachedEncoder, (self.encoder, self._folder)

    @property
    def name(self) -> str:
        return self.encoder.name

    @property
    def contextual(self) -> bool:
        return self.encoder.contextual

    def encode(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[np.ndarray]:
        given = list(zip(texts, map(tuple, spans), strict=True))
        vectors = {pair: rows for pair in dict.fromkeys(given) if (rows := self._known.get(*pair)) is not None}
        new = [pair for pair in dict.fromkeys(given) if pair not in vectors]
        for start in range(0, len(new), _TEXTS_PER_BATCH):
            batch = new[start : start + _TEXTS_PER_BATCH]
            encoded = self.encoder.encode([text for text, _ in batch], [own for _, own in batch])
            vectors |= zip(batch, encoded, strict=True)
            for (text, own), rows in zip(batch, encoded, strict=True):
                if 0 < len(rows) == len(own) and np.isfinite(rows).all():  # others are reported, and not kept
                    self._known.put(text, own, rows)
            if time.monotonic() - self._written > _SECONDS_BETWEEN_WRITES:
                self.keep()
        return [vectors[pair] for pair in given]

    def keep(self) -> None:
        """Writes what is new; where that is not possible, a line of the log says why."""
        _keep_if_possible(self._cache)
        self._written = time.monotonic()


def _keep_if_possible(cache: VectorCache) -> None:
    try:
        cache.keep()
    except OSError as error:
        _LOGGER.warning("Vectors are not kept in %s: %s.", cache.folder, error.strerror or error)


def encoder_key(encoder: Encoder, *, by_backend: bool = True) -> str:
    """A name for files: that of an encoder with these weights, of 32 hexadecimal digits.

    It changes with the encoder's name, the files in its folder where it has one, and with its vectors of a few texts,
    which count to three digits, so that rounding does not change it; and `by_backend` with its backend. An encoder
    whose weights are always the same ones says which, by its `weights_digest`, and encodes nothing.
    """
    if (weights := getattr(encoder, "weights_digest", None)) is not None:
        return hashlib.sha256(f"{encoder.name} {weights}".encode()).hexdigest()[:32]
    backend = getattr(encoder, "backend", None) if by_backend else None
    folder = getattr(encoder, "folder", None)
    files = [] if folder is None else [file for file in sorted(Path(folder).rglob("*")) if file.is_file()]
    states = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    digest = hashlib.sha256(json.dumps([encoder.name, backend, states]).encode())
    with suppress(ValueError):  # it refuses texts that it does not know
        for rows in encoder.encode(PROBES, [lines(text) for text in PROBES]):
            digest.update(f"{rows.shape}".encode() + _sketch(np.asarray(rows, np.float64)).tobytes())
    return digest.hexdigest()[:32]


def _sketch(rows: np.ndarray) -> np.ndarray:
    """Vectors (rows, dimensions) in two directions, as shares of the largest number, and the logarithm of that.

    They are rounded, and few, since each of them may lie where rounding changes it.
    """
    directions = np.cos(np.outer(np.arange(1, rows.shape[1] + 1), (1.0, 2.0)))
    largest = max(float(np.abs(rows).max(initial=0.0)), 1e-300)
    shares = np.round((rows @ directions).ravel() / largest, 3)
    return np.append(shares, np.round(np.log(largest), 2)) + 0.0  # never -0


def _shrink(folder: Path, most: int) -> None:
    """Deletes the files that were read or written the longest ago until a folder has at most so many bytes."""
    files = list[tuple[float, int, Path]]()
    for file in folder.glob("*/*.safetensors"):
        with suppress(OSError):  # another process has deleted it
            stat = file.stat()
            files.append((stat.st_mtime, stat.st_size, file))
    for draft in folder.glob("*/.*.draft"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > _OLD_DRAFT:
                draft.unlink()
    size = sum(size for _, size, _ in files)
    for _, own, file in sorted(files):
        if size <= most:
            break
        with suppress(OSError):
            file.unlink()
            size -= own


def _write_entries(entries: Sequence[Entry], folder: Path) -> None:
    """Writes entries as one file of a folder."""
    arrays: dict[str, np.ndarray] = {
        "texts": np.frombuffer(json.dumps([text for text, _, _ in entries]).encode(), dtype=np.uint8),
        "counts": np.array([len(spans) for _, spans, _ in entries], dtype=np.int64),
        "spans": np.array([span for _, spans, _ in entries for span in spans], dtype=np.int64).reshape(-1, 2),
        "vectors": np.concatenate([vectors for _, _, vectors in entries]),
    }
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / f"{uuid4().hex}.safetensors") as draft:  # other processes write to the folder too
        save_file(arrays, draft, {"sha256": _digest(arrays)})


def _read_entries(file: Path) -> list[Entry]:
    """The entries of one file; raises ValueError where they are not what was written."""
    with safe_open(file, framework="np") as stored:
        arrays = {name: stored.get_tensor(name) for name in ("texts", "counts", "spans", "vectors")}
        if (stored.metadata() or {}).get("sha256") != _digest(arrays):
            raise ValueError(f"{file} is damaged")
    texts = json.loads(arrays["texts"].tobytes())
    spans = [Span(start, end) for start, end in arrays["spans"].tolist()]
    entries, first = list[Entry](), 0
    for text, count in zip(texts, arrays["counts"].tolist(), strict=True):
        entries.append((text, tuple(spans[first : first + count]), arrays["vectors"][first : first + count]))
        first += count
    return entries


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """A hash of names, types, shapes and values."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
