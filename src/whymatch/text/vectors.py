"""Word vectors from files: fastText's .vec, GloVe's .txt, and the folders of spaCy's pipelines."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whymatch.reading import opened

# Words that spaCy numbers by themselves and leaves out of its list of strings: its dependency labels.
_FIRST_SYMBOL = 398
_SYMBOLS = """
acomp advcl advmod agent amod appos attr aux auxpass cc ccomp complm conj cop csubj csubjpass dep det dobj expl
hmod hyph infmod intj iobj mark meta neg nmod nn npadvmod nsubj nsubjpass num number oprd obj obl parataxis partmod
pcomp pobj poss possessive preconj prep prt punct quantmod relcl rcmod root xcomp acl
"""


@dataclass(frozen=True, eq=False)
class WordVectors:
    """A vector for each known word. An unknown word has that of its lower case, or else the zero vector."""

    name: str
    words: dict[str, int]
    """The row of each word's vector."""
    vectors: np.ndarray
    """(rows, dimensions) in single precision"""
    by_frequency: bool = False
    """Whether frequent words come first."""

    def number(self, word: str) -> int:
        """The row of a word's vector, -1 if it has none."""
        return self.words.get(word, self.words.get(word.lower(), -1))

    def of(self, words: Sequence[str]) -> np.ndarray:
        """(words, dimensions)"""
        rows = np.array([self.number(word) for word in words], dtype=np.int64)
        return self.vectors[rows.clip(min=0)] * (rows >= 0).astype(np.float32)[:, None]


def read_vectors(path: str | Path, keep: Collection[str] | None = None) -> WordVectors:
    r"""The vectors in a file or a folder; with `keep`, of these words and their lower cases alone.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import whymatch as wm
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "glove.txt")
    ...     _ = file.write_text("cat 1 0\ndog 0 1\n")
    ...     vectors = wm.read_vectors(file)
    >>> vectors.vectors.shape                                      # (words, dimensions)
    (2, 2)

    Args:
        path: a file with a word and its numbers in each line (GloVe, fastText; also gzipped), or a folder of spaCy's
            vectors.
        keep: the words that are kept.

    Raises:
        ValueError: if the file holds something else; the message names the line.
    """
    path = Path(path)
    kept = None if keep is None else {*keep, *(word.lower() for word in keep)}
    if path.is_dir():
        return _read_spacy(path, kept)
    return _read_lines(path, kept)


def _read_lines(path: Path, keep: Collection[str] | None) -> WordVectors:
    """One word with its numbers per line, frequent ones first; fastText's first line holds two counts instead."""
    words: dict[str, int] = {}
    rows: list[np.ndarray] = []
    size = 0
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            fields = line.decode("utf-8", errors="replace").rstrip().split(" ")
            if number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields):
                size = int(fields[1])
                continue
            size = size or len(fields) - 1
            word = " ".join(fields[: len(fields) - size])  # some of GloVe's words hold blanks
            if word in words or (keep is not None and word not in keep):
                continue
            try:
                row = np.array(fields[-size:], dtype=np.float32)
            except ValueError:
                row = np.empty(0, dtype=np.float32)
            if not word or size < 1 or len(row) != size or not np.isfinite(row).all():
                raise ValueError(f"{path}, line {number}: this is not a word with {size} numbers.")
            words[word] = len(rows)
            rows.append(row)
    if not rows:
        raise ValueError(f"{path} holds no vectors{'' if keep is None else ' of the words that were asked for'}.")
    return WordVectors(path.name, words, np.stack(rows), by_frequency=keep is None)


def _read_spacy(folder: Path, keep: Collection[str] | None) -> WordVectors:
    """The vectors of a spaCy pipeline: rows by the hash of a word. Needs msgpack, not spaCy.

    Raises:
        ValueError: if a file is missing, or does not hold what spaCy writes.
    """
    vocab = folder if (folder / "key2row").is_file() else folder / "vocab"
    for name in ("key2row", "vectors", "strings.json"):
        if not (vocab / name).is_file():
            raise ValueError(f"{folder} holds no spaCy vectors: there is no {vocab / name}.")
    rows, table = _read_rows(vocab / "key2row"), _read_table(vocab / "vectors")
    strings = [word for word in _read_strings(vocab / "strings.json") if keep is None or word in keep]
    keys = dict(zip(strings, hashes(strings).tolist(), strict=True))
    keys |= {word: _FIRST_SYMBOL + i for i, word in enumerate(_SYMBOLS.split()) if keep is None or word in keep}
    words = {word: rows[key] for word, key in keys.items() if 0 <= rows.get(key, -1) < len(table)}
    if keep is not None:  # a row for each, where spaCy lets words share them
        table, words = table[list(words.values())], {word: row for row, word in enumerate(words)}
    return WordVectors(folder.name, words, np.array(table, dtype=np.float32))


def _read_rows(path: Path) -> dict[int, int]:
    """The row of each word's vector, by the word's hash."""
    try:
        import msgpack
    except ImportError:
        raise ValueError("Reading spaCy's vectors needs msgpack: pip install 'whymatch[spacy]'.") from None
    try:
        rows = msgpack.unpackb(path.read_bytes(), strict_map_key=False)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise ValueError(f"{path} is damaged: {error!r}.") from None
    if not isinstance(rows, dict) or not all(type(number) is int for pair in rows.items() for number in pair):
        raise ValueError(f"{path} is damaged: it must map numbers to numbers.")
    return rows


def _read_table(path: Path) -> np.ndarray:
    """(rows, dimensions), mapped from the file, where its header can ask neither for a pickle nor for more memory."""
    try:
        table: np.ndarray = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if table.ndim != 2 or table.dtype.kind != "f" or not np.isfinite(table).all():
        raise ValueError(f"{path} is damaged: it must hold a table of finite numbers.")
    return table


def _read_strings(path: Path) -> list[str]:
    try:
        strings = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if not isinstance(strings, list) or not all(isinstance(word, str) for word in strings):
        raise ValueError(f"{path} is damaged: it must hold a list of words.")
    return strings


def hashes(words: Sequence[str]) -> np.ndarray:
    """MurmurHash64A with seed 1 of each word, as spaCy numbers its strings; words of one length at a time."""
    multiplier, shift = np.uint64(0xC6A4A7935BD1E995), np.uint64(47)
    values = np.zeros(len(words), dtype=np.uint64)
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    by_length: dict[int, list[int]] = {}
    for number, data in enumerate(encoded):
        by_length.setdefault(len(data), []).append(number)
    with np.errstate(over="ignore"):
        for length, numbers in by_length.items():
            padded = b"".join(encoded[number].ljust(-(-length // 8) * 8, b"\0") for number in numbers)
            blocks = np.frombuffer(padded, dtype="<u8").reshape(len(numbers), -1).astype(np.uint64)
            value = np.full(len(numbers), np.uint64(1) ^ (np.uint64(length) * multiplier), dtype=np.uint64)
            for place in range(length // 8):
                block = blocks[:, place] * multiplier
                value = (value ^ ((block ^ (block >> shift)) * multiplier)) * multiplier
            if length % 8:
                value = (value ^ blocks[:, -1]) * multiplier
            value = (value ^ (value >> shift)) * multiplier
            values[numbers] = value ^ (value >> shift)
    return values
